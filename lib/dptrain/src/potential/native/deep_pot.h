#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "potential/native/potential_engine.h"
#include "potential/terms/global_term.h"

namespace dptrain {

/// The native potential: master parameters in float64 and what describes them, and an engine that computes in the
/// precision asked for.
class DeepPot final : public Model {
 public:
  explicit DeepPot(ModelData data);

  /// Makes ready what depends on the parameters alone (tables); both passes do.
  void prepare();
  std::optional<Charges> charges() const override;
  bool reads_kernel_memory() const override { return true; }
  void expect_distances(const PairDistances &closest) override;
  void set_precision(Precision precision) override;
  void set_walls(const Walls &walls) override;
  void set_chunk(int centers) override;
  std::vector<double> auxiliary_state() const override;
  void set_auxiliary_state(const std::vector<double> &state) override;
  NeighborReport neighbor_report() const override { return engine_->neighbor_report(); }
  MemoryLedger memory() const override;
  void release_workspace() override { engine_->release_workspace(); }

  PotentialEngine &engine() { return *engine_; }

 private:
  std::unique_ptr<Tape> pass_a(const Domain *domains, int n, ForwardOutput *out,
                               bool keep) override;
  void pass_b(Tape &tape, const GradientSeed *seeds, double *gradient) override;
  void prepare_bars();
  void sweep(const std::function<void()> &work);
  bool use_less_memory(const std::string &cause);

  std::uint64_t prepared_version_ = 0, metric_version_ = 0;  // of what the engine has
  bool table_is_broken_ = false;
  Precision precision_ = Precision::float64;
  int chunk_ = 0;
  std::unique_ptr<PotentialEngine> engine_;
  const std::vector<std::unique_ptr<GlobalTerm>> global_terms_;
};

}  // namespace dptrain
