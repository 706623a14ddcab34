#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "frames/frame_set.h"
#include "kernels/graph.h"
#include "kernels/memory.h"
#include "potential/descriptor/edge_finder.h"
#include "potential/model/sweep_tape.h"
#include "potential/native/feature_results.h"
#include "potential/native/kept_frames.h"
#include "potential/native/net_term.h"
#include "potential/native/potential_engine.h"
#include "potential/native/sweep_results.h"
#include "potential/terms/energy_term.h"

namespace dptrain {

/// float32 sums over more centers than this would lose digits.
constexpr int centers_between_flushes = 4096;

/// A sum of terms, of which the net is the first, over the atoms of some frames.
///
/// For a chunk of centers of one type: edges -> E_i of all terms -> forces of all terms. Pass B asks terms with parameters for the
/// gradient of c E - E_dot.
template <class Real> class DeepPotEngine final : public PotentialEngine {
 public:
  explicit DeepPotEngine(const ModelData &data);

  void prepare(const double *parameters) override;
  void expect_distance(double r_min) override;
  AtomValues second_values(const Domain *domains, int n, bool keep) override;
  void forward(const Domain *domains, int n, const ForwardOutput *out, bool keep,
               const AtomValues &second) override;
  std::unique_ptr<Tape> tape(std::uint64_t version) const override
  {
    return std::make_unique<SweepTape<Sweep>>(version, sweep_);
  }
  void add_results(const std::vector<double> &energy_bias, ForwardOutput *out) override;
  AtomValues second_tangents(Tape &tape, const GradientSeed *seeds) override;
  void gradient(Tape &tape, const GradientSeed *seeds, double *gradient,
                const AtomValues &second) override;
  void set_chunk(int centers) override
  {
    chunk_ = centers;
    kept_frames_.clear();
  }
  int chunk() const override { return chunk_; }
  void use_device_algorithms(bool on) override;
  void set_walls(const ModelData &data) override;
  NeighborReport neighbor_report() const override { return neighbor_report_; }
  std::vector<double> auxiliary_state() const override
  {
    return net_->descriptor().auxiliary_state();
  }
  void set_auxiliary_state(const std::vector<double> &state, const double *parameters) override;
  DescriptorBase &descriptor() override { return net_->descriptor(); }
  int num_features() const override { return features_.features(); }
  void set_metric(const FeatureMetric &metric) override { features_.set_metric(metric); }
  void set_bar_scale(const std::vector<double> &scale) override { features_.set_scale(scale); }
  MemoryLedger memory() const override;
  void set_keep_limit(std::size_t bytes) override { keep_limit_ = bytes; }
  bool keep_less() override;
  void release_workspace() override;

 private:
  /// A chunk between the passes.
  struct Chunk {
    int type = 0, begin = 0, n = 0;
    std::vector<EdgeChunk<Real>> edges;                                     // by finder
    std::vector<std::unique_ptr<typename EnergyTerm<Real>::State>> states;  // by term
    std::size_t memory_bytes() const
    {
      std::size_t sum = 0;
      for (const auto &one : edges) sum += one.memory_bytes();
      for (const auto &state : states)
        if (state) sum += state->memory_bytes();
      return sum;
    }
  };
  /// What both passes over some domains work on.
  struct Sweep {
    std::shared_ptr<FrameSet> frames = std::make_shared<FrameSet>();
    std::shared_ptr<FrameSet> own_frames;  // for those that are not kept; null: they were taken
    // the first num_kept keep what the stage before has left, one more is used again and again
    std::vector<Chunk> chunks;
    std::size_t num_kept = 0;
    bool direct = false;
    // each chunk has edges of its own for all terms: those of all chunks are found before anything is computed
    bool edges_first = false;
    std::vector<std::int64_t> key;  // then: of its commands
    // the second net has values for these frames: its half of pass A needs no second look at the neighbors
    bool has_values = false;
    AtomValues seeds;  // dE/dn of the second net
    // prepared_ when chunks were kept; 0: they were not, or are used up
    std::uint64_t prepared = 0;
  };
  /// Place of a chunk among the centers.
  struct Place {
    int type = 0, begin = 0;
  };

  NetTerm<Real> *add_net(const ModelData &data);
  void add_term(std::unique_ptr<EnergyTerm<Real>> term);
  void set_wall_term(const ModelData &data);

  const FrameSet &frames() const { return *sweep_->frames; }
  // work(type, begin, n) for all chunks of a sweep, or those from `first` on
  template <class Work> void for_chunks(bool direct, const Work &work, Place first = {})
  {
    const int most = chunk_size(direct);
    for (int type = first.type; type < ntypes_; ++type) {
      const int total = frames().num_centers(type);
      for (int begin = type == first.type ? first.begin : 0; begin < total;) {
        const int n = std::min(most, total - begin);
        work(type, begin, n);
        begin += n;
      }
    }
  }
  // work_kept(chunk) for those that an earlier stage has kept, work(type, begin, n) for the others
  template <class Kept, class Work>
  void for_all_chunks(std::size_t kept, bool direct, const Kept &work_kept, const Work &work)
  {
    Place next;
    for (std::size_t k = 0; k < kept; ++k) {
      Chunk &chunk = sweep_->chunks[k];
      work_kept(chunk);
      next = {chunk.type, chunk.begin + chunk.n};
    }
    for_chunks(direct, work, next);
  }
  int chunk_size(bool direct) const;
  std::size_t bytes_per_center() const;
  Chunk &chunk_at(std::size_t place, int type, int begin, int n);
  /// A chunk keeps what pass B needs; the rest is there once, for the chunk that is in work.
  EdgeChunk<Real> &edges_by(std::size_t finder, Chunk &chunk)
  {
    return is_kept_[finder] || sweep_->edges_first ? chunk.edges[finder] : in_work_.edges[finder];
  }
  const EdgeChunk<Real> &edges_of(std::size_t term, Chunk &chunk)
  {
    return edges_by(finder_of_[term], chunk);
  }
  typename EnergyTerm<Real>::State &state_of(std::size_t term, Chunk &chunk)
  {
    return *(terms_[term]->has_parameters() ? chunk : in_work_).states[term];
  }
  void begin_sweep();
  bool sweep_again(const KeptFrame<Real> *known, bool &direct);
  bool end_edges();
  const KeptFrame<Real> *set_frames(const Domain *domains, int n, bool keep);
  void keep_frame(std::uint64_t number);
  void measure_frames(bool &direct);
  /// Of all terms, of those with parameters (pass B), or of those that a kept chunk lacks.
  enum class Edges { all, of_pass_b, not_kept };
  void find_edges(Chunk &chunk, Edges which);
  bool finds_edges_first(std::size_t centers, bool direct) const;
  std::vector<std::int64_t> sequence(std::vector<std::int64_t> key) const;
  void begin_results(const ForwardOutput *out, std::size_t centers);
  void forward_by_chunks(const ForwardOutput *out, std::size_t centers, bool keep,
                         std::size_t resumed, bool direct);
  void forward_at_once(const ForwardOutput *out, std::size_t centers, bool keep,
                       const KeptFrame<Real> *known);
  void forward_chunk(Chunk &chunk, bool train, bool has_values, std::size_t place);
  void value_chunk(Chunk &chunk, bool train, bool has_values, double *energies);
  void reverse_chunk(Chunk &chunk, const kernels::ForceSums *sums);
  template <class Work> void for_atoms(const Chunk &chunk, const Work &work) const;
  AtomValues no_values() const;
  void add_values(const Chunk &chunk, const kernels::Array<Real> &of_centers,
                  AtomValues &values) const;
  std::vector<double> of_centers(const Chunk &chunk, const AtomValues &values) const;
  void repeat_chunk(Chunk &chunk);
  void gradient_chunk(Chunk &chunk, const AtomValues &second);
  std::size_t open_tape(Tape &tape, const GradientSeed *seeds, bool &direct);
  Direction direction() const
  {
    const double *const strains = direction_.data();
    const double *const residuals = strains + 9L * frames().size();
    return {has_residuals_ ? residuals : nullptr, strains, frames().num_atoms(), frames().size()};
  }
  void set_seeds(const GradientSeed *seeds);
  double energy_seed(const FrameSet::Center &center) const
  {
    const GradientSeed &seed = seed_of_frame_[center.frame];
    if (!seed.atom_energy) return seed.energy;
    return seed.energy + seed.atom_energy[center.atom - frames().offset(center.frame)];
  }
  void begin_gradient(bool direct, double *gradient);
  void add_vacuum_gradient();
  void set_energy_seeds();
  long first_center(int type) const;

  const int ntypes_;
  std::vector<double> bias_atom_e_;
  std::vector<char> without_energy_;
  std::vector<std::unique_ptr<EnergyTerm<Real>>> terms_;
  // neighbors of the net, and of terms that see others
  std::vector<EdgeFinder> finders_;
  std::vector<std::size_t> finder_of_;  // by term
  std::vector<char> is_kept_;           // by finder: a term with parameters uses it
  KeptFrames<Real> kept_frames_;        // with the edges of all finders
  Chunk in_work_;
  NetTerm<Real> *const net_;    // the first
  bool has_wall_term_ = false;  // the last
  int chunk_ = 0;
  bool device_algorithms_ = kernels::separate_memory();
  NeighborReport neighbor_report_;

  std::shared_ptr<Sweep> sweep_ = std::make_shared<Sweep>();  // the present one, or the latest
  std::size_t keep_limit_ = std::size_t(256) << 20;  // bytes that pass A may keep for pass B
  std::uint64_t prepared_ = 0;               // another number for each state of the descriptor
  std::vector<EdgeFinder::Report> reports_;  // of the latest sweep, by finder
  kernels::Graphs graphs_;
  SweepResults results_;
  kernels::ForceSums sums_;  // of them
  FeatureResults<Real> features_;

  // pass B
  std::vector<double> host_;
  kernels::Array<double>
      direction_;  // strains of the frames, and residuals of all atoms if there are any
  kernels::Array<Real> seeds_;
  std::vector<GradientSeed> seed_of_frame_;
  std::vector<Real> host_seeds_;
  std::vector<double> vacuum_weights_;
  bool has_residuals_ = false;
  int since_flush_ = 0;
};

}  // namespace dptrain
