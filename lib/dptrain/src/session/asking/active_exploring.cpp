// ActiveMode, part: short runs after a run, hotter and in other cells, that look for what the model does not know.

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <fmt/format.h>

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
    5;  // whose optimizer steps are done in addition at the end

WholeFrame scaled(WholeFrame frame, double factor)
{
  if (!frame.periodic) return frame;
  for (double &component : frame.box) component *= factor;
  for (double &component : frame.coord) component *= factor;
  return frame;
}

}  // namespace

// Of few atoms it fluctuates.
void ActiveMode::keep_temperature(const Trajectory &run)
{
  if (options_.explore.steps == 0 || run.step() % options_.every != 0) return;
  const double now = run.condition().kinetic_energy;
  kinetic_energy_ += (now - kinetic_energy_) * (kinetic_energy_ == 0.0 ? 1.0 : newest);
}

// eV; 0: not known.
double ActiveMode::exploring_kt() const
{
  if (options_.explore.temperature) return boltzmann * *options_.explore.temperature;
  return hotter * 2.0 / 3.0 * kinetic_energy_;
}

void ActiveMode::explore(Trajectory &run)
{
  SessionCounters &counters = training_.counters();
  const std::int64_t calls = counters.reference.calls;
  if (options_.explore.steps == 0 || calls == log_.calls_before() || !slot_->has_bars() ||
      decisions_.is_early())
    return;
  const double kt = exploring_kt();
  if (!(kt > 0.0))
    return messages_.warning("explore: the atoms have no temperature, or it is not known: nothing "
                             "is explored; give one, as in 'explore 700 temperature 1000'");
  const AnswerState answer = counters.answer;
  const double jumps = jumps_.sum();
  is_exploring_ = true;
  const WholeFrame start = run.configuration();
  FrameRun trial(slot_, comm_);
  std::int64_t step = run.step();
  std::string volumes;
  for (std::size_t k = 0; k < strains.size(); ++k) {
    const double factor = start.periodic ? 1.0 + options_.explore.strain * strains[k] : 1.0;
    volumes += fmt::format("{}{:.3g}", k == 0 ? "" : ", ", std::pow(factor, 3));
    WholeFrame first = scaled(start, factor);
    first.step = step;
    step = walk(trial, first, kt, k);
  }
  if (counters.reference.calls > calls) settle();
  is_exploring_ = false;
  counters.answer = answer;
  jumps_.set_sum(jumps);
  messages_.info(fmt::format("explored from step {}, at {:.0f} K, with volumes of {} times that of "
                             "the run: {} reference calls",
                             run.step(), kt / boltzmann, volumes,
                             counters.reference.calls - calls));
}

// Returns the step of its last configuration.
std::int64_t ActiveMode::walk(FrameRun &trial, const WholeFrame &first, double kt, std::uint64_t k)
{
  const std::uint64_t seed =
      options_.training.seed.value_or(1) + (k << 32) + static_cast<std::uint64_t>(first.step);
  LangevinWalk walk(first, kt, seed);
  const std::int64_t &calls = training_.counters().reference.calls, before = calls;
  jumps_.begin();
  for (int n = 0; n <= options_.explore.steps && calls < before + most_calls; ++n) {
    if (!walk.is_finite()) break;
    try {
      guarded(*comm_, [&] { trial.show(walk.frame()); });
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

// The latest labels are of another kind than those before: the parameters need some steps on all of them until both are described.
void ActiveMode::settle()
{
  training_.earn(settling_labels);
  learning_->train_pending();
}

}  // namespace dptrain
