#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_number.h"
#include "dptrain/base/memory_ledger.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "potential/native/potential_engine.h"

namespace dptrain {

/// The native potential: master parameters in float64 and what describes them, and an engine that computes in the
/// precision asked for.
class DeepPot final : public Model {
 public:
  explicit DeepPot(ModelData data);

  double cutoff() const override { return data_.config.rcut; }
  const std::vector<std::string> &type_map() const override { return data_.config.type_map; }
  bool is_local() const override { return true; }
  const std::vector<ParameterBlock> &parameter_index() const override { return index_; }
  const std::vector<double> &parameters() const override { return data_.parameters; }
  void set_parameters(const std::vector<double> &values) override;
  void change_parameters(const std::function<void(std::vector<double> &)> &change) override;
  std::uint64_t version() const override { return version_; }
  std::vector<double> energy_bias() const override { return data_.out_bias; }
  void set_energy_bias(const std::vector<double> &bias) override;
  bool has_energy(int type) const override
  {
    const auto &excluded = data_.config.atom_exclude_types;
    return std::find(excluded.begin(), excluded.end(), type) == excluded.end();
  }
  void prepare() override;
  void expect_distance(double r_min) override;
  void set_precision(Precision precision) override;
  void set_chunk(int centers) override;
  std::vector<double> auxiliary_state() const override;
  void set_auxiliary_state(const std::vector<double> &state) override;
  MemoryLedger memory() const override;
  void release_workspace() override { engine_->release_workspace(); }
  MemoryShortages memory_shortages() const override { return shortages_; }
  std::int64_t overflow_count() const override { return engine_->overflow_count(); }
  double distance_below_known() const override { return engine_->distance_below_known(); }
  int num_features() const override { return engine_->num_features(); }
  void set_whitening(const std::vector<double> &matrices) override;
  std::vector<double> whitening() const override { return data_.whitening; }
  void set_weight_samples(const std::vector<double> &changes) override
  {
    engine_->set_weight_samples(changes);
  }

  const ModelData &data() const override { return data_; }
  void set_trainable(const std::vector<char> &blocks) override
  {
    index_ = dptrain::parameter_index(data_.config);
    for (std::size_t k = 0; k < blocks.size(); ++k) index_[k].trainable = blocks[k] != 0;
  }
  PotentialEngine &engine() { return *engine_; }

 private:
  std::unique_ptr<Tape> pass_a(const Domain *domains, int n, ForwardOutput *out,
                               bool keep) override;
  void pass_b(Tape &tape, const GradientSeed *seeds, double *gradient) override;
  void sweep(const std::function<void()> &work);
  bool use_less_memory(const std::string &cause);

  ModelData data_;
  std::vector<ParameterBlock> index_;
  std::uint64_t version_ = unique_number(), prepared_version_ = 0;
  bool table_is_broken_ = false;
  Precision precision_ = Precision::float64;
  int chunk_ = 0;
  MemoryShortages shortages_;
  std::unique_ptr<PotentialEngine> engine_;
};

}  // namespace dptrain
