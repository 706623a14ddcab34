#include "session/asking/cutout_requests.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "dptrain/base/error.h"

namespace dptrain {

namespace {

constexpr std::uint64_t center_draws = 0x63757473;  // apart from those that decide about audits

void check_model(const ModelInUse &slot)
{
  const std::string small_box =
      ": train it on a small box first, with 'mode active' and without cutout, and give the model "
      "that 'save' writes to pair_coeff, or its checkpoint to resume";
  if (!slot.model() || !slot.trained())
    throw Error(fmt::format(
        "cutout: the model moves the atoms from the first step on, and {} is not trained{}",
        slot.path(), small_box));
  if (!slot.has_bars())
    throw Error(
        fmt::format("cutout: {} has no error bars, by which the worst atoms would be known{}",
                    slot.path(), small_box));
  if (!slot.model()->is_local())
    throw Error(fmt::format(
        "cutout: the atoms of {} pass messages, so that a force depends on atoms far beyond the "
        "cutoff: use a model whose atoms see their neighbors alone, or leave cutout out",
        slot.path()));
}

}  // namespace

CutoutRequests::CutoutRequests(std::shared_ptr<const Communicator> comm,
                               std::shared_ptr<ModelInUse> slot, const LearningOptions &options,
                               const Messages &messages) :
    comm_(std::move(comm)),
    slot_(std::move(slot)),
    messages_(messages),
    most_(options.cutout.most),
    seed_(options.training.seed.value_or(1) ^ center_draws)
{
  check_model(*slot_);
  shape_ = cutout_shape(options.cutout, slot_->cutoff(), options.units);
}

// One of the two that are deepest in their wall; features do not tell.
int CutoutRequests::atom_of_closest_pair(const WholeFrame &whole) const
{
  const PairDistances &begin = slot_->model()->walls().begin;
  const Frame share = scatter_frame(comm_, whole, slot_->cutoff());
  double ratio = HUGE_VAL;
  std::int64_t atom = 0;
  for (int i = 0; i < share.nlocal; ++i)
    for (int k = share.first[i]; k < share.first[i + 1]; ++k) {
      const int j = share.neighbor[k];
      if (share.type[i] < 0 || share.type[j] < 0) continue;
      const double *p = &share.x[std::size_t(i) * 3], *q = &share.x[std::size_t(j) * 3];
      const double distance = std::hypot(q[0] - p[0], q[1] - p[1], q[2] - p[2]);
      const double here = distance / begin.at(share.type[i], share.type[j]);
      if (here < ratio) {
        ratio = here;
        atom = share.tag[i] - 1;
      }
    }
  double least = -ratio;
  comm_->all_reduce_max(&least, 1);
  std::int64_t found = ratio == -least ? atom : -1;
  comm_->all_reduce_max(&found, 1);
  return static_cast<int>(found);
}

int CutoutRequests::first_center(const LabelRequest &step, const WholeFrame &whole,
                                 const std::vector<double> &bars) const
{
  if (step.ask == Ask::wall) return atom_of_closest_pair(whole);
  if (step.ask != Ask::audit)
    return static_cast<int>(std::max_element(bars.begin(), bars.end()) - bars.begin());
  RandomEngine random = numbered_engine(seed_, static_cast<std::uint64_t>(step.frame.step));
  return static_cast<int>(random_index(random, bars.size()));
}

std::vector<LabelRequest> CutoutRequests::at(Trajectory &run, const LabelRequest &step,
                                             const ActiveLearning &learning,
                                             const BarMonitor &monitor)
{
  const WholeFrame whole = run.configuration();
  std::vector<double> bars = run.all_bars();
  for (double &bar : bars)
    if (std::isnan(bar)) bar = HUGE_VAL;
  const Cutter cutter(whole, shape_);
  const int first = first_center(step, whole, bars);
  Cutout cutout = cutter.around(first);
  is_whole_ = cutter.is_whole(cutout);
  if (is_whole_) {
    if (!std::exchange(told_, true))
      messages_.info(
          "cutout: a cut-out would be the whole box, which goes to the reference as it is");
    return {};
  }
  const bool several = step.ask != Ask::audit;
  const double least = several ? learning.threshold() : HUGE_VAL;
  const std::vector<double> force = run.forces();
  std::vector<LabelRequest> requests;
  for (const int center : cutter.centers(first, bars, least, most_)) {
    if (center != first) cutout = cutter.around(center);
    requests.push_back(request_for(std::move(cutout), step, bars, force, monitor));
    count(requests.back());
  }
  return requests;
}

// The features of the core are those in the run: the neighborhoods of its atoms are whole.
LabelRequest CutoutRequests::request_for(Cutout cutout, const LabelRequest &step,
                                         const std::vector<double> &bars,
                                         const std::vector<double> &force,
                                         const BarMonitor &monitor) const
{
  LabelRequest request;
  request.ask = step.ask;
  request.has_bars = true;
  request.energy = step.energy;
  request.frame = std::move(cutout.frame);
  request.atoms = std::move(cutout.atoms);
  request.force = forces_on(request, force);
  std::vector<double> own;
  for (std::size_t i = 0; i < request.atoms.size(); ++i) {
    own.push_back(bars[request.atoms[i]]);
    if (request.frame.label.force_weight[i] > 0.0)
      request.expected = std::max(request.expected, own.back());
  }
  request.set_bars(std::move(own), slot_->model()->bars());
  request.feature_sum =
      monitor.feature_sum(*comm_, scatter_frame(comm_, request.frame, slot_->cutoff()));
  return request;
}

void CutoutRequests::count(const LabelRequest &request)
{
  const auto atoms = static_cast<std::int64_t>(request.atoms.size());
  fewest_ = cutouts_ == 0 ? atoms : std::min(fewest_, atoms);
  largest_ = std::max(largest_, atoms);
  ++cutouts_;
  atoms_ += atoms;
  core_atoms_ += request.natoms();
}

std::string CutoutRequests::take_summary()
{
  if (cutouts_ == 0) return "";
  const double number = static_cast<double>(cutouts_);
  const std::string text =
      fmt::format("  cut-outs: {} of {} to {} atoms, in the mean {:.1f}, whose cores have {:.1f}",
                  cutouts_, fewest_, largest_, static_cast<double>(atoms_) / number,
                  static_cast<double>(core_atoms_) / number);
  cutouts_ = fewest_ = largest_ = atoms_ = core_atoms_ = 0;
  return text;
}

}  // namespace dptrain
