#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dptrain/base/memory_ledger.h"
#include "dptrain/input/config.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/potential/model/model_data.h"
#include "frames/domain_copy.h"
#include "potential/model/sweep_tape.h"
#include "potential/torchscript/atom_block.h"
#include "potential/torchscript/script_file.h"
#include "potential/torchscript/script_sums.h"

namespace dptrain {

/// A potential in a TorchScript archive, run and trained through LibTorch. Local models are evaluated in blocks of centers,
/// so that memory does not grow with the frame; models with message passing a whole frame at a time. Pass B differentiates
/// the scalar of the seeds through the graph of pass A, which is kept where memory allows, else made again block by block.
class ScriptModel final : public Model {
 public:
  /// From the archive in `data`. Where its other fields hold parameters, bias or metric already (a checkpoint), these
  /// take the place of the archive's; else they are filled in. `path` is for messages.
  ScriptModel(ModelData data, const std::string &path);

  void set_walls(const Walls &walls) override;
  void expect_distances(const PairDistances & /*closest*/) override {}
  /// Archives compute in the precision that they were frozen with. Throws Error for another one.
  void set_precision(Precision precision) override;
  void set_chunk(int centers) override { chunk_ = centers; }
  /// Graphs of pass A that pass B may find: so many bytes, by estimate. Otherwise a quarter of the free memory, 1 GiB at most.
  void set_keep_limit(std::size_t bytes) { keep_limit_ = bytes; }
  std::vector<double> auxiliary_state() const override { return {}; }
  void set_auxiliary_state(const std::vector<double> &state) override;
  MemoryLedger memory() const override;
  void release_workspace() override;
  NeighborReport neighbor_report() const override { return {blocks_.overflow_count(), 0.0, {}}; }

 private:
  /// An archive that was opened, with what of it belongs to `data` filled in there.
  struct Archive {
    Archive(ModelData data, const std::string &path);

    ModelData data;
    torch::Device device;
    Script script;
    std::vector<ScriptParameter> parameters;
    torch::Tensor fparam;
    EnergyConstants constants;
  };
  /// A block with its graph.
  struct Block {
    int domain = 0;
    std::size_t begin = 0, end = 0;  // of its centers
    AtomBlock atoms;
    ScriptResults results;
  };
  /// What pass A leaves for pass B: its domains, and the first blocks of them.
  struct Sweep {
    std::vector<DomainCopy> domains;
    std::vector<Block> kept;
    std::size_t kept_bytes = 0;   // by estimate
    std::vector<char> trainable;  // by block, as in the graphs
  };

  ScriptModel(Archive archive, const std::string &path);
  const ScriptFacts &facts() const { return script_.contract->facts(); }
  std::unique_ptr<Tape> pass_a(const Domain *domains, int n, ForwardOutput *out,
                               bool keep) override;
  void pass_b(Tape &tape, const GradientSeed *seeds, double *gradient) override;
  void begin_sweep(const Domain *domains, int n, bool keep);
  void prepare();
  void prepare_metric();
  void set_differentiable(bool on);
  std::size_t block_end(std::size_t begin, std::size_t centers) const;
  AtomBlock make_block(const Domain &domain, const std::vector<int> &centers, std::size_t begin,
                       std::size_t end);
  void forward_domain(const Domain &domain, int index, const ForwardOutput &out, bool keep,
                      ScriptSums &sums);
  void add_features(const AtomBlock &block, ScriptSums &sums);
  Block graph_of(const Domain &domain, int index, const std::vector<int> &centers,
                 std::size_t begin);
  void add_gradients(const GradientSeed *seeds);
  torch::Tensor scalar_of(const AtomBlock &block, const ScriptResults &results,
                          const GradientSeed &seed) const;
  void add_gradient(const torch::Tensor &scalar);
  void sweep(const std::function<void()> &work);
  bool use_less_memory(const std::string &cause);

  std::string path_;
  torch::Device device_;
  Script script_;
  BlockMaker blocks_;
  std::vector<std::vector<torch::Tensor>> tensors_;  // of each block of parameters
  torch::Tensor fparam_, matrices_;
  std::uint64_t prepared_version_ = 0, metric_version_ = 0;  // of what the tensors hold
  Precision precision_ = Precision::float64;
  bool differentiable_ = false;      // the parameters take part in graphs
  int chunk_ = 0;                    // centers of a block; 0: the usual number
  std::size_t bytes_of_center_ = 0;  // of a graph that is kept; 0: none was yet
  std::size_t keep_limit_ = 0;
  std::shared_ptr<Sweep> sweep_ = std::make_shared<Sweep>();  // the present one, or the latest
  std::vector<torch::Tensor> gradient_;                       // sums, by block
};

/// Fills in what `data` still lacks of the archive: settings, parameters, energy constants. Throws Error where numbers that
/// it has are not as many as the archive's.
void complete(ModelData &data, const Script &script, const std::vector<ScriptParameter> &parameters,
              const EnergyConstants &constants, const std::string &path);

}  // namespace dptrain
