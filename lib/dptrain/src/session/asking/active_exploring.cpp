// ActiveMode, part: short runs after a run, hotter and in other cells, that look for what the model does not know.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>

#include "dptrain/base/error.h"
#include "dptrain/session/frame_run.h"
#include "session/asking/active_mode.h"
#include "session/asking/langevin_walk.h"

namespace dptrain {

namespace {

constexpr double boltzmann = 8.617333262e-5;  // eV/K
constexpr double hotter = 1.5;                // times the temperature of the run
constexpr double newest = 0.05;               // weight of the newest value in its mean
// Parts of the strain of the options: crystals and liquids resist compression more than they do expansion.
constexpr std::array<double, 3> strains{0.0, 1.0, -2.0 / 3.0};
constexpr std::int64_t most_calls =
    10;  // in a short run: one that needs more goes where nothing else will
constexpr std::int64_t settling_labels =
    10;  // whose optimizer steps are done in addition at the end

WholeFrame scaled(WholeFrame frame, double factor)
{
  for (double &component : frame.box) component *= factor;
  for (double &component : frame.coord) component *= factor;
  return frame;
}

}  // namespace

// Of few atoms it fluctuates.
void ActiveMode::keep_temperature(const Trajectory &run)
{
  if (options_.explore.steps == 0 || run.step() % options_.every != 0) return;
  if (looks_++ == 0) kinetic_energy_ = 0.0;
  kinetic_energy_ +=
      (run.condition().kinetic_energy - kinetic_energy_) * std::max(1.0 / looks_, newest);
}

// eV; 0: not known.
double ActiveMode::kt_of_run() const
{
  return looks_ > 0 ? 2.0 / 3.0 * kinetic_energy_ : 0.0;
}

/// While it lives steps are none of the run: what is known of the latest step of the run comes back at its end, also after an error.
class ActiveMode::Excursion {
 public:
  explicit Excursion(ActiveMode &mode) :
      mode_(mode),
      answer_(mode.training_.counters().answer),
      jumps_(mode.jumps_),
      latest_(mode.latest_),
      answered_step_(mode.answered_step_),
      found_error_(mode.found_error())
  {
    set(true);
  }
  ~Excursion()
  {
    set(false);
    mode_.training_.counters().answer = answer_;
    mode_.jumps_ = jumps_;
    mode_.latest_ = std::move(latest_);
    mode_.answered_step_ = answered_step_;
    mode_.learning_->set_found_error(found_error_);
  }
  Excursion(const Excursion &) = delete;
  Excursion &operator=(const Excursion &) = delete;

 private:
  void set(bool on)
  {
    mode_.is_exploring_ = on;
    mode_.healing_.go_elsewhere(on);
    mode_.book_->go_elsewhere(on);
  }
  ActiveMode &mode_;
  AnswerState answer_;
  EnergyJumps jumps_;
  StepView latest_;
  std::int64_t answered_step_;
  double found_error_;
};

// Then the run goes on from its last step with the model as it is now.
void ActiveMode::explore(Trajectory &run)
{
  if (log_.calls() == 0)
    return messages_.info("nothing is explored: the reference was not asked in this run");
  if (!run.has_bars() || decisions_.is_early())
    return messages_.info("nothing is explored: the model is new, and its errors are not known");
  const std::optional<double> &given = options_.explore.temperature;
  const double of_run = kt_of_run(), kt = given ? boltzmann * *given : hotter * of_run;
  if (!(kt > 0.0))
    return messages_.warning("explore: the atoms have no temperature: nothing is explored; give "
                             "one, as in 'explore 1000 temperature 1000'");
  if (kt < of_run)
    messages_.warning(fmt::format(
        "explore: the temperature of {:.4g} K is below the {:.4g} K of the run: what is colder "
        "tells nothing new; give a higher one, in K, or leave it out",
        kt / boltzmann, of_run / boltzmann));
  while (book_->num_left() > 0 && !book_->outlives_program()) learning_->wait_for_answer();
  const std::int64_t before = log_.calls(), steps = training_.steps();
  const double energy = total_energy(*comm_, run);
  {
    const Excursion excursion(*this);
    explore_from(run.configuration(), kt);
    if (log_.calls() > before) settle();
  }
  log_.explored(log_.calls() - before);
  if (training_.steps() == steps || !latest_.model_moves) return;
  run.evaluate_again();
  run.follow_model();
  AnswerState &answer = training_.counters().answer;
  const double after = total_energy(*comm_, run);
  jumps_.learned(energy, after);
  answer.energy_jumps = jumps_.sum();
  if (answer.step == run.step()) answer.energy = after;
}

void ActiveMode::explore_from(const WholeFrame &start, double kt)
{
  const std::int64_t before = log_.calls();
  FrameRun trial(slot_, comm_);
  std::int64_t step = start.step;
  messages_.info(fmt::format(
      "exploring: lines up to the next message are of short runs that begin at step {}", step));
  std::string volumes;
  for (std::size_t k = 0; k < (start.periodic ? strains.size() : 1); ++k) {
    const double factor = 1.0 + options_.explore.strain * strains[k];
    volumes += fmt::format("{}{:.3g}", k == 0 ? "" : ", ", std::pow(factor, 3));
    WholeFrame first = scaled(start, factor);
    first.step = step;
    step = walk(trial, first, kt, k);
  }
  volumes =
      start.periodic ? fmt::format(", with volumes of {} times that of the run", volumes) : "";
  messages_.info(fmt::format("explored from step {}, at {:.0f} K{}: {} reference calls", start.step,
                             kt / boltzmann, volumes, log_.calls() - before));
}

// Returns the step of its last configuration.
std::int64_t ActiveMode::walk(FrameRun &trial, const WholeFrame &first, double kt, std::uint64_t k)
{
  const std::uint64_t seed =
      options_.training.seed.value_or(1) + (k << 32) + static_cast<std::uint64_t>(first.step);
  LangevinWalk walk(first, kt, seed);
  const std::int64_t before = log_.calls();
  jumps_.begin();
  for (int n = 0; n <= options_.explore.steps && log_.calls() < before + most_calls; ++n) {
    if (!walk.is_finite()) break;
    try {
      trial.show(walk.frame());
    } catch (const Error &error) {
      messages_.info(fmt::format("explore: step {}: {}; this short run ends here",
                                 walk.frame().step, error.what()));
      break;
    }
    step(trial);
    walk.step(trial.values().force);
  }
  return walk.frame().step;
}

// The latest labels are of another kind than those before: the parameters need some steps on all of them until both are described. These
// steps follow the forces, and leave the energy with an offset.
void ActiveMode::settle()
{
  if (training_.is_deferred()) return;
  const std::int64_t before = training_.steps();
  training_.earn(settling_labels);
  learning_->train_pending();
  if (training_.steps() > before) training_.fit_energy_bias();
}

}  // namespace dptrain
