#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/descriptor.h"
#include "potential/model/sweep_tape.h"
#include "potential/native/edge_chunk.h"
#include "potential/native/embedding_table.h"
#include "potential/native/fitting_net.h"
#include "potential/native/frame_set.h"
#include "potential/native/knot_gradient.h"
#include "potential/native/last_layer.h"
#include "potential/native/potential_engine.h"

namespace dptrain {

/// float32 sums over more centers than this would lose digits.
constexpr int centers_between_flushes = 4096;

/// DeePMD-kit's se_e2_a descriptor with the energy fitting net.
///
/// For a chunk of centers of one type: edges -> table of the embedding net, read along the environment rows -> T ->
/// D = T^T T_< -> fitting net -> E_i, and back to forces. Pass B carries tangents along the same way and returns with the
/// gradient of c E - E_dot. Nothing is stored per edge but neighbor and distance vector.
template <class Real> class DeepPotEngine final : public PotentialEngine {
 public:
  explicit DeepPotEngine(const ModelData &data);

  void prepare(const std::vector<double> &parameters) override;
  void expect_distance(double r_min) override;
  void forward(const Domain *domains, int n, const ForwardOutput *out, bool keep) override;
  std::unique_ptr<Tape> tape(std::uint64_t version) const override
  {
    return std::make_unique<SweepTape<Sweep>>(version, sweep_);
  }
  void add_results(const std::vector<double> &energy_bias, ForwardOutput *out) override;
  void gradient(Tape &tape, const GradientSeed *seeds, double *gradient) override;
  void set_chunk(int centers) override { chunk_ = centers; }
  int chunk() const override { return chunk_; }
  void set_device_ways(bool on) override;
  NeighborReport neighbor_report() const override { return neighbor_report_; }
  std::vector<double> table_state() const override { return table_.state(); }
  void set_table_state(const std::vector<double> &state,
                       const std::vector<double> *parameters) override;
  int knots() const override { return table_.knots(); }
  std::pair<double, double> table_error() override { return table_.error(embedding_parameters()); }
  bool is_direct() const override { return table_.direct(); }
  int num_features() const override { return last_layer_.features(); }
  void set_whitening(const std::vector<double> &matrices) override
  {
    last_layer_.set_whitening(matrices);
  }
  void set_weight_samples(const std::vector<double> &changes) override;
  MemoryLedger memory() const override;
  void set_keep_limit(std::size_t bytes) override { keep_limit_ = bytes; }
  bool keep_less() override;
  void release_workspace() override;

 private:
  /// A chunk between the passes.
  struct Chunk {
    int type = 0, begin = 0, n = 0;
    EdgeChunk<Real> edges;
    kernels::Contraction<Real> contraction;
    kernels::Array<Real> t, g_t;
    FittingState<Real> fitting;
    std::size_t memory_bytes() const;
  };
  /// What both passes over some domains work on.
  struct Sweep {
    FrameSet frames;
    // the first num_kept keep what pass A left, one more is used again and again
    std::vector<Chunk> chunks;
    std::size_t num_kept = 0;
    bool direct = false;
    // table_number_ when chunks were kept; 0: they were not, or are used up
    std::uint64_t table = 0;
  };
  /// Place of a chunk among the centers.
  struct Place {
    int type = 0, begin = 0;
  };

  void make_rules(const ModelConfig &config);
  void copy_parameters(const std::vector<double> &parameters);
  void prepare_vacuum_energies();
  bool subtracts_vacuum(int type) const
  {
    return !config_.atom_ener.empty() && config_.atom_ener[type].has_value();
  }
  double largest_argument(double r) const;
  kernels::DescriptorShape descriptor_shape(int centers) const
  {
    return {centers, table_.width(), config_.neuron.back(), config_.axis_neuron};
  }
  Real *real_parameters();
  double *embedding_parameters();

  FrameSet &frames() { return sweep_->frames; }
  const FrameSet &frames() const { return sweep_->frames; }
  // work(type, begin, n) for all chunks of a sweep, or those from `first` on
  template <class Work> void for_chunks(bool direct, const Work &work, Place first = {})
  {
    const int most = chunk_size(direct);
    for (int type = first.type; type < config_.ntypes(); ++type) {
      const int total = static_cast<int>(frames().centers(type).size());
      for (int begin = type == first.type ? first.begin : 0; begin < total;) {
        const int n = std::min(most, total - begin);
        work(type, begin, n);
        begin += n;
      }
    }
  }
  int chunk_size(bool direct) const;
  std::size_t bytes_per_center() const;
  Chunk &chunk_at(std::size_t place, int type, int begin, int n);
  void clear_reports();
  bool extend_table(double argument);
  bool sweep_again(bool &direct);
  void set_frames(const Domain *domains, int n, bool keep);
  void measure_frames(bool &direct);
  void gather(Chunk &chunk);
  void begin_chunk(Chunk &chunk);
  void forward_chunk(Chunk &chunk, bool train, const kernels::ForceSums *sums);
  void gradient_chunk(Chunk &chunk);
  kernels::ForceSums force_sums(bool atom_virial);
  void sum_force_copies(bool atom_virial);
  const double *on_host(const kernels::Array<double> &array);
  void sum_energies(const std::vector<double> &energy_bias, ForwardOutput *out);
  void add_uncertainties(ForwardOutput *out);
  void begin_samples(const ForwardOutput *out, int n);
  void sample_chunk(Chunk &chunk);
  void add_samples(ForwardOutput *out);
  void add_forces(ForwardOutput *out);
  void set_seeds(const GradientSeed *seeds);
  double energy_seed(const FrameSet::Center &center) const
  {
    const GradientSeed &seed = seed_of_frame_[center.frame];
    if (!seed.atom_energy) return seed.energy;
    return seed.energy + seed.atom_energy[center.atom - frames().offset(center.frame)];
  }
  void begin_gradient(double *gradient);
  void flush_gradient();
  void end_gradient(double *gradient);
  const Real *fitting_gradient(int type, FittingState<Real> &state);
  void add_vacuum_gradient();

  ModelConfig config_;
  std::vector<double> bias_atom_e_;
  std::vector<kernels::Environment<Real>> environment_;  // by center type
  std::vector<kernels::Environment<double>> double_environment_;
  std::vector<double> padding_args_;  // by center type
  double scale_ = 1.0;
  std::vector<ChunkRules> rules_;  // by center type
  kernels::Array<int> sel_;
  kernels::Array<char> excluded_;  // dropped, then hidden, [type][type] each
  std::vector<char> without_energy_;
  EmbeddingTable<Real> table_;
  std::vector<FittingNet<Real>> fitting_;  // by center type
  std::vector<double> vacuum_energy_;      // fitting net at D = 0, by type, where it is subtracted
  FittingState<Real> vacuum_state_;
  int chunk_ = 0;
  bool device_ways_ = kernels::separate_memory();
  int row_capacity_ = 0;  // of a searched neighbor list
  NeighborReport neighbor_report_;

  const double *parameters_ = nullptr;  // of the last prepare, host
  std::size_t num_parameters_ = 0;
  std::vector<std::size_t>
      fitting_begin_;  // of the parameters of each type's fitting net, and the end of the last
  kernels::Array<Real> parameter_copy_;  // where kernels cannot use the host's float64 numbers
  kernels::Array<double> embedding_copy_;

  std::shared_ptr<Sweep> sweep_ = std::make_shared<Sweep>();  // the present one, or the latest
  std::size_t keep_limit_ = std::size_t(256) << 20;  // bytes that pass A may keep for pass B
  std::uint64_t table_number_ = 0;                   // another one for each content of the table
  kernels::Array<GatherReport> reports_;             // by worker
  std::vector<GatherReport> host_reports_;
  kernels::Array<double> forces_, virials_, atom_virials_, energies_;
  LastLayer<Real> last_layer_;
  int num_samples_ = 0;   // of the last layer's weights
  bool samples_ = false;  // the present sweep wants their forces
  bool atom_virial_ = false;
  kernels::Array<Real> weight_samples_, sample_seed_;
  kernels::Array<double> sample_forces_, sample_virials_;
  std::vector<double> host_;

  // pass B
  KnotGradient<Real> knot_gradient_;
  kernels::Array<double> residuals_, strains_, embedding_gradient_;
  kernels::Array<Real> seeds_, t_dot_, s_t_, gradient_copy_;
  std::vector<GradientSeed> seed_of_frame_;
  std::vector<Real> host_seeds_;
  bool has_residuals_ = false;
  Real *gradient_ = nullptr;  // fitting nets
  double *embedding_out_ = nullptr;
  std::vector<char> fresh_;  // by type: nothing of its fitting net stands in gradient_ yet
  int since_flush_ = 0;
  bool flushed_ = false;
};

}  // namespace dptrain
