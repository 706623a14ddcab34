#pragma once

#include <memory>
#include <vector>

#include "dptrain/base/memory_ledger.h"
#include "dptrain/input/config.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/potential/model/model_data.h"
#include "potential/descriptor/descriptor.h"
#include "potential/terms/atom_values.h"

namespace dptrain {

/// The computing half of DeepPot in one precision. Parameters, positions, forces and gradients are float64 outside.
class PotentialEngine {
 public:
  virtual ~PotentialEngine() = default;

  /// New parameters, in the memory of the kernels, where they stay until the next ones: tables, vacuum energies, copies in the
  /// working precision.
  virtual void prepare(const double *parameters) = 0;
  /// Table that reaches this distance (Angstrom).
  virtual void expect_distance(double r_min) = 0;
  /// What the net of a global term has for the atoms, before forward() of the same domains.
  virtual AtomValues second_values(const Domain *domains, int n, bool keep) = 0;
  /// Pass A over n domains, for what `out` asks for, which nothing is added to yet. With `keep`, what pass B of the same
  /// domains can use again stays, within the memory budget. second: dE/dn of what second_values() has, where a global term has a
  /// net. May be repeated where it throws.
  virtual void forward(const Domain *domains, int n, const ForwardOutput *out, bool keep,
                       const AtomValues &second) = 0;
  /// Of the latest forward(), which had `keep`.
  virtual std::unique_ptr<Tape> tape(std::uint64_t version) const = 0;
  /// Adds what the latest forward() has found; energy_bias: by type, eV. May not be repeated.
  virtual void add_results(const std::vector<double> &energy_bias, ForwardOutput *out) = 0;
  /// How what second_values() has found changes along the direction of the seeds, before gradient() of the same tape.
  virtual AtomValues second_tangents(Tape &tape, const GradientSeed *seeds) = 0;
  /// Pass B: dS/dparameters, in the memory of the kernels. second: dS/dn, where a global term has a net. May be repeated where it throws.
  virtual void gradient(Tape &tape, const GradientSeed *seeds, double *gradient,
                        const AtomValues &second) = 0;

  virtual void set_chunk(int centers) = 0;
  virtual int chunk() const = 0;
  /// Whether to use the algorithms of a device: neighbors are found from positions, and the gradient of the table is
  /// summed by matrix products. For tests on the host. Throws Error on a device, which has no others.
  virtual void use_device_algorithms(bool on) = 0;
  virtual NeighborReport neighbor_report() const = 0;
  /// Other walls.
  virtual void set_walls(const ModelData &data) = 0;
  virtual std::vector<double> auxiliary_state() const = 0;
  /// Restores the grid of the table and, when asked, fills it for these parameters without a check.
  virtual void set_auxiliary_state(const std::vector<double> &state, const double *parameters) = 0;
  virtual DescriptorBase &descriptor() = 0;
  virtual int num_features() const = 0;
  virtual void set_metric(const FeatureMetric &metric) = 0;
  /// ErrorBars::scale; empty: bars are distances.
  virtual void set_bar_scale(const std::vector<double> &scale) = 0;
  virtual MemoryLedger memory() const = 0;
  virtual void release_workspace() = 0;
  /// Bytes that pass A may leave for pass B.
  virtual void set_keep_limit(std::size_t bytes) = 0;
  /// Frames that may come again are forgotten; where there are none, pass A will leave half of what it has left now for pass B, from
  /// now on. False: it has left next to nothing.
  virtual bool keep_less() = 0;
};

/// The engine of a model in a precision.
std::unique_ptr<PotentialEngine> make_potential_engine(const ModelData &data, Precision precision);

}  // namespace dptrain
