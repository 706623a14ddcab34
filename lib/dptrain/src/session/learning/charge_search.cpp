#include "session/learning/charge_search.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"
#include "dptrain/base/error.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/training/trainer.h"
#include "potential/terms/charge_config.h"

namespace dptrain {

namespace {

// They find charges to a tenth; longer ones did no better in runs, but where a potential learns slowly it is only they that tell
// charges from none: bench/results/charges.md.
constexpr int short_training = 300, long_training = 600;
constexpr double gain =
    0.85;  // charges stay where they make the error smaller than this times it: they cost time
constexpr double digits = 1000.0;
constexpr std::size_t held_out_every = 4;
constexpr std::int64_t long_schedule = 100000;                      // steps: the rate stays
constexpr double short_average = 0.99;                              // of the steps of a trial
constexpr double half = 0.5, more = 1.25, least = 0.1, most = 1.5;  // scales

// Where the parabola through three points has its minimum; none: it has a maximum.
std::optional<double> minimum_of(const std::vector<std::pair<double, double>> &points)
{
  const auto &[x0, y0] = points[0];
  const auto &[x1, y1] = points[1];
  const auto &[x2, y2] = points[2];
  const double first = (y1 - y0) / (x1 - x0), second = (y2 - y1) / (x2 - x1);
  const double curvature = (second - first) / (x2 - x0);
  if (!(curvature > 0.0)) return std::nullopt;
  return 0.5 * (x0 + x1 - first / curvature);
}

}  // namespace

bool ChargeSearch::Result::is_open() const
{
  return !scale && std::any_of(trials.begin(), trials.end(), [&](const Trial &trial) {
    return trial.error < trials.front().error;
  });
}

ChargeSearch::Result ChargeSearch::search(const std::function<double(double)> &error_at)
{
  Result result;
  const auto try_scale = [&](double scale) {
    return result.trials.emplace_back(Trial{scale, error_at(scale)}).error;
  };
  const double without = try_scale(0.0), at_half = try_scale(half);
  std::vector<double> scales{0.0, half, 1.0};
  if (try_scale(1.0) < at_half) {
    try_scale(more);
    scales = {half, 1.0, more};
  }
  std::vector<std::pair<double, double>> points;
  Trial best = result.trials.front();
  for (const Trial &trial : result.trials) {
    if (trial.error < best.error) best = trial;
    if (std::find(scales.begin(), scales.end(), trial.scale) != scales.end())
      points.emplace_back(trial.scale * trial.scale, trial.error * trial.error);
  }
  if (!(best.error <= gain * without)) return result;
  const double scale =
      std::sqrt(std::max(0.0, minimum_of(points).value_or(best.scale * best.scale)));
  result.scale = std::round(std::clamp(scale, least, most) * digits) / digits;
  return result;
}

ChargeSearch::ChargeSearch(std::shared_ptr<const Communicator> comm, TrainingConfig config,
                           Precision precision, std::function<void()> on_update) :
    comm_(std::move(comm)),
    config_(std::move(config)),
    precision_(precision),
    on_update_(std::move(on_update))
{
  // the settings are those of a training that is longer
  config_.fit_energy_bias = true;  // of each trial, with its charges
  config_.numb_steps = std::max(config_.numb_steps, long_schedule);
  config_.schedule.warmup_steps = 0;
  config_.schedule.warmup_ratio.reset();
  config_.acc_freq = 1;
  config_.ema_decay = std::min(config_.ema_decay, short_average);
}

// Those from which charges can be learned, on all ranks.
std::vector<const Frame *> ChargeSearch::usable(const std::vector<const Frame *> &frames) const
{
  std::vector<double> unusable;
  for (const Frame *frame : frames)
    unusable.push_back(!frame->periodic || frame->charge.value_or(0.0) != 0.0 ||
                       (frame->nlocal > 0 && frame->label.force.empty()));
  comm_->all_reduce_sum(unusable.data(), unusable.size());
  std::vector<const Frame *> found;
  for (std::size_t k = 0; k < frames.size(); ++k)
    if (unusable[k] == 0.0) found.push_back(frames[k]);
  return found;
}

// The charges that the search begins with, by type, such that the atoms of the frames are neutral; empty: they have one sign.
std::vector<double> ChargeSearch::neutral(std::vector<double> numbers,
                                          const std::vector<const Frame *> &frames) const
{
  std::vector<double> counts(numbers.size(), 0.0);
  for (const Frame *frame : frames)
    for (int i = 0; i < frame->nlocal; ++i)
      if (frame->type[i] >= 0) counts[frame->type[i]] += frame->is_copy ? 1.0 / comm_->size() : 1.0;
  comm_->all_reduce_sum(counts.data(), counts.size());
  double positive = 0.0, negative = 0.0;
  for (std::size_t type = 0; type < numbers.size(); ++type)
    (numbers[type] > 0.0 ? positive : negative) += counts[type] * numbers[type];
  if (!(positive > 0.0 && negative < 0.0)) return {};
  const double ratio = std::sqrt(-negative / positive);
  for (double &number : numbers) number *= number > 0.0 ? ratio : 1.0 / ratio;
  return numbers;
}

// Of the forces on every fourth frame after a training on the others, eV/Angstrom.
double ChargeSearch::error_after_training(const ModelData &data,
                                          const std::vector<const Frame *> &frames, int steps) const
{
  std::shared_ptr<Model> model;
  guarded(*comm_, [&] {
    model = make_deep_pot(data);
    model->set_precision(precision_);
  });
  Trainer trainer(model, comm_, config_);
  std::vector<Frame> held_out;
  for (std::size_t k = 0; k < frames.size(); ++k) {
    Frame frame;
    guarded(*comm_, [&] { frame = frames[k]->copy(); });
    if (k % held_out_every != held_out_every / 2) {
      trainer.add(std::move(frame));
    } else {
      trainer.check(frame);
      held_out.push_back(std::move(frame));
    }
  }
  for (int step = 0; step < steps; ++step) {
    trainer.update();
    if (on_update_) on_update_();
  }
  trainer.show_average();
  std::vector<const Frame *> judged;
  for (const Frame &frame : held_out) judged.push_back(&frame);
  return trainer.errors(judged).rmse("f");
}

bool ChargeSearch::is_asked_for(const ModelConfig &config)
{
  return searched_charges(config) != nullptr;
}

bool ChargeSearch::choose(ModelData &data, const std::vector<const Frame *> &frames,
                          const Log &say) const
{
  const std::vector<std::string> elements = data.config.type_map;
  ChargeConfig charges;
  if (const ChargeConfig *asked = searched_charges(data.config)) charges = *asked;
  const std::vector<const Frame *> known = usable(frames);
  const std::vector<double> numbers = neutral(charges.start(elements), known);
  if (numbers.empty() || std::ssize(known) < fewest_frames) return false;
  const std::string units = charges.values.empty() ? "oxidation numbers" : "values";
  charges.kind = "fixed";
  charges.follow_cutoff(data.config.rcut);
  std::vector<const Frame *> some;
  const std::size_t number = std::min<std::size_t>(known.size(), most_frames);
  for (std::size_t k = 0; k < number; ++k) some.push_back(known[k * known.size() / number]);
  const auto with_charges = [&](double scale) {
    ModelData changed = data;
    std::vector<AnyEnergyTermConfig> &terms = changed.config.terms;
    for (std::size_t type = 0; type < elements.size(); ++type)
      charges.values[elements[type]] = scale * numbers[type];
    if (!is_asked_for(changed.config)) terms.push_back(ChargeConfig().clone());
    const auto place = std::find_if(terms.begin(), terms.end(),
                                    [](const auto &term) { return term->is_searched(); });
    if (scale > 0.0)
      *place = charges.clone();
    else
      terms.erase(place);
    return changed;
  };
  int steps = short_training;
  const auto error_at = [&](double scale) {
    return error_after_training(with_charges(scale), some, steps);
  };
  Result found = search(error_at);
  if (found.is_open()) {
    steps = long_training;
    found = search(error_at);
  }
  std::string errors;
  for (const Trial &trial : found.trials)
    if (trial.scale > 0.0)
      errors += fmt::format("{}{:.3g} with {:g}", errors.empty() ? "" : ", ",
                            trial.error / found.trials.front().error, trial.scale);
  data = with_charges(found.scale.value_or(0.0));
  charges.sigma.reset();  // is not shown
  say(fmt::format(
      "{}: after {} steps of training the errors of forces that were not learned are {} times the "
      "{}, in terms of those without charges",
      found.scale ? charges.text() : "no charges", steps, errors, units));
  return true;
}

}  // namespace dptrain
