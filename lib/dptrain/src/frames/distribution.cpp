#include "dptrain/frames/distribution.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "dptrain/base/error.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/kernels/threads.h"

namespace dptrain {

namespace {

// Of a processor core, or of a GPU. bench/run ranks fits those of a core.
constexpr double seconds_of_an_atom = 2e-5;  // beside the fitting net
constexpr double flops_of_a_weight = 12.0;   // in both passes
constexpr double flops_per_second = 2e10, gpu_flops_per_second = 1e13;
constexpr double seconds_of_a_message = 4e-6, seconds_of_a_ghost = 5e-8;
constexpr int exchanges = 2;  // forces to the owners, residuals to the ghosts

double volume_of(const WholeFrame &whole)
{
  const auto &b = whole.box;
  if (whole.periodic)
    return std::abs(b[0] * (b[4] * b[8] - b[5] * b[7]) - b[1] * (b[3] * b[8] - b[5] * b[6]) +
                    b[2] * (b[3] * b[7] - b[4] * b[6]));
  double volume = 1.0;
  for (int d = 0; d < 3; ++d) {
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (std::size_t k = d; k < whole.coord.size(); k += 3) {
      low = std::min(low, whole.coord[k]);
      high = std::max(high, whole.coord[k]);
    }
    volume *= std::max(1.0, high - low);
  }
  return volume;
}

}  // namespace

StepEstimate estimate_step(std::int64_t natoms, double volume, double rcut, std::int64_t parameters,
                           int batch, int ranks)
{
  const double rate = runs_on_gpu() ? gpu_flops_per_second : flops_per_second;
  const double atom = (runs_on_gpu() ? 0.0 : seconds_of_an_atom) +
                      flops_of_a_weight * static_cast<double>(parameters) / rate;
  const double work = atom * static_cast<double>(natoms);
  const double side = std::cbrt(volume / ranks), outer = side + 2.0 * rcut;
  const double ghosts = (std::pow(outer / side, 3) - 1.0) * static_cast<double>(natoms) / ranks;
  const int neighbors = std::min(ranks - 1, 26);
  StepEstimate estimate;
  estimate.frames = work * ((batch + ranks - 1) / ranks);
  estimate.space =
      batch *
      (work / ranks + exchanges * (neighbors * seconds_of_a_message + ghosts * seconds_of_a_ghost));
  return estimate;
}

Distribution possible_distribution(Distribution asked, bool passes_messages)
{
  if (!passes_messages) return asked;
  if (asked == Distribution::space)
    throw Error("distribute space: the atoms of this model pass messages, so that a frame cannot "
                "be divided: use distribute frames, or auto");
  return Distribution::frames;
}

Distributor::Distributor(std::shared_ptr<const Communicator> comm, Distribution distribution,
                         int batch, std::int64_t parameters) :
    comm_(std::move(comm)),
    distribution_(distribution),
    batch_(std::max(batch, 1)),
    parameters_(parameters)
{
}

bool Distributor::by_frames(const WholeFrame &whole, double rcut)
{
  if (comm_->size() == 1 || whole.type.empty()) return false;
  if (distribution_ != Distribution::automatic) return distribution_ == Distribution::frames;
  const std::int64_t natoms = static_cast<std::int64_t>(whole.type.size());
  const StepEstimate t =
      estimate_step(natoms, volume_of(whole), rcut, parameters_, batch_, comm_->size());
  const bool frames = t.frames < t.space;
  if (chose_frames_ == frames) return frames;
  chose_frames_ = frames;
  std::ostringstream text;
  text.precision(3);
  text << "distribute auto: " << (frames ? "frames" : "space") << " for frames of " << natoms
       << " atoms, " << batch_ << " in a step, on " << comm_->size() << " ranks: estimated "
       << 1e3 * t.frames << " ms per step by frames, " << 1e3 * t.space << " ms by space";
  reason_ = text.str();
  return frames;
}

Frame Distributor::share(const WholeFrame &whole, double rcut)
{
  if (!by_frames(whole, rcut)) return scatter_frame(comm_, whole, rcut);
  Frame frame;
  guarded(*comm_, [&] { frame = scatter_frame(make_mpi_communicator(), whole, rcut); });
  frame.is_copy = true;
  return frame;
}

std::vector<int> working_ranks(const std::vector<const Frame *> &frames, int ranks,
                               std::int64_t turn)
{
  std::vector<int> rank(frames.size(), -1), copies;
  if (ranks == 1) return rank;
  for (std::size_t k = 0; k < frames.size(); ++k)
    if (frames[k]->is_copy) copies.push_back(static_cast<int>(k));
  std::stable_sort(copies.begin(), copies.end(),
                   [&](int a, int b) { return frames[a]->natoms > frames[b]->natoms; });
  std::vector<std::int64_t> atoms(ranks, 0);
  const int first = static_cast<int>(turn % ranks);
  for (const int k : copies) {
    int best = first;
    for (int r = 1; r < ranks; ++r)
      if (atoms[(first + r) % ranks] < atoms[best]) best = (first + r) % ranks;
    rank[k] = best;
    atoms[best] += frames[k]->natoms;
  }
  return rank;
}

BatchShares::BatchShares(const std::vector<const Frame *> &frames, const Communicator &comm,
                         std::int64_t turn) :
    shares_(frames)
{
  const std::vector<int> rank = working_ranks(frames, comm.size(), turn);
  elsewhere_.reserve(frames.size());
  for (std::size_t k = 0; k < frames.size(); ++k) {
    if (rank[k] < 0 || rank[k] == comm.rank()) continue;
    elsewhere_.push_back(frames[k]->without_atoms());
    shares_[k] = &elsewhere_.back();
  }
}

}  // namespace dptrain
