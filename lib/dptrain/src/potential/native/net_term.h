#pragma once

#include <memory>
#include <vector>

#include "dptrain/potential/model/model_data.h"
#include "potential/descriptor/descriptor.h"
#include "potential/nets/fitting_nets.h"
#include "potential/terms/energy_term.h"

namespace dptrain {

/// The learned part of the energy: the descriptor D of a center through the fitting net of its type. The gradient carries tangents
/// along the same way and returns. Where a global term has a net, that takes the same descriptor: n_i(D), whose derivative of the
/// energy comes from the global term before the reverse sweep.
template <class Real> class NetTerm final : public EnergyTerm<Real> {
 public:
  using State = typename EnergyTerm<Real>::State;

  explicit NetTerm(const ModelData &data);

  std::optional<EdgeLimits> edge_limits() const override { return descriptor_->edge_limits(); }
  std::unique_ptr<State> make_state() const override;
  std::size_t bytes_per_center() const override;
  bool has_parameters() const override { return true; }
  void prepare(const double *parameters) override;
  /// Restores DescriptorBase::auxiliary_state and, where parameters are given, makes ready what depends on them.
  void restore(const std::vector<double> &auxiliary_state, const double *parameters);

  /// Whether the sweeps that begin are direct, see DescriptorBase::is_direct.
  void set_direct(bool direct) { direct_ = direct; }
  void begin_sweep() override { descriptor_->begin_sweep(direct_); }
  void value(int type, const EdgeChunk<Real> &edges, bool train, State &state,
             double *energies) override;
  /// Adds them again, after `value`.
  void add_energies(const State &state, double *energies) const;
  void reverse(int type, const EdgeChunk<Real> &edges, const Real *seeds, State &state,
               const kernels::ForceSums *sums) override;
  void begin_gradient(double *gradient) override;
  void gradient(int type, const EdgeChunk<Real> &edges, const Real *c, const Direction &direction,
                State &state) override;
  /// Of the net of a global term, for a chunk: n_i [centers] after `value`, and how they change along a direction.
  bool has_second_net() const { return second_ != nullptr; }
  const kernels::Array<Real> &second_values(const State &state) const;
  const kernels::Array<Real> &second_tangents(int type, const EdgeChunk<Real> &edges,
                                              const Direction &direction, State &state);
  /// Before `reverse`: seeds b, dE/dn_i. Before `gradient`: a, where S has sum_i a_i n_i - b_i n_dot_i.
  void set_second_seeds(State &state, const std::vector<double> &b) const;
  void set_second_weights(State &state, const std::vector<double> &a) const;
  /// dS/dparameters of S = weight * energy of an isolated atom, added to the sum.
  void add_vacuum_gradient(int type, const Real *weight)
  {
    fitting_.add_vacuum_gradient(type, weight);
  }
  void flush_gradient() override;
  void end_gradient() override;

  /// Whether the energy of an isolated atom is subtracted from that of each atom of a type, and what it is.
  bool subtracts_vacuum(int type) const { return fitting_.subtracts(type); }
  double vacuum_energy(int type) { return fitting_.vacuum_energy(type); }
  /// Of AtomFeatures: their number, and those of a chunk [centers][number] after `value`.
  int num_features() const { return by_descriptor_ ? fitting_.inputs() : fitting_.num_features(); }
  const Real *features(int type, const State &state);
  Descriptor<Real> &descriptor() { return *descriptor_; }
  const Descriptor<Real> &descriptor() const { return *descriptor_; }
  /// Where the parameters of the nets begin in the flat array; they are its end.
  std::size_t begin_of_nets() const { return fitting_.begin(); }

  std::size_t workspace_bytes() const override;
  void release_workspace() override;

 private:
  struct NetState final : State {
    std::unique_ptr<DescriptorState<Real>> descriptor;
    FittingState<Real> fitting, second;
    std::vector<double> host_seeds;
    kernels::Array<Real> seeds, weights;  // [centers] of the second net
    kernels::Array<Real> g_d;             // dE/dD of both nets
    std::size_t memory_bytes() const override
    {
      return descriptor->memory_bytes() + fitting.memory_bytes() + second.memory_bytes() +
             seeds.memory_bytes() + weights.memory_bytes() + g_d.memory_bytes();
    }
  };
  /// The state as this term knows it, which looks at these edges.
  static NetState &open(State &state, int type, const EdgeChunk<Real> &edges);

  std::unique_ptr<Descriptor<Real>> descriptor_;
  FittingNets<Real> fitting_;
  std::unique_ptr<FittingNets<Real>> second_;  // null: there is none
  kernels::Array<Real> s_d_;
  bool by_descriptor_;  // it measures distances, else the last hidden layer does
  bool direct_ = false;
};

}  // namespace dptrain
