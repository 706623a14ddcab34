#include "session/recovery/trouble_watch.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"

namespace dptrain {

namespace {

constexpr std::int64_t lag = 100;           // steps
constexpr double boltzmann = 8.617333e-5;   // eV/K
constexpr double hotter = 2.0, more = 2.0;  // factors of temperature and volume
constexpr double heat = 2000.0;             // K; a run that begins cold is not in trouble
constexpr double closer = 0.7;              // of the smallest distance of all

double temperature(double kinetic_energy)
{
  return kinetic_energy / (1.5 * boltzmann);
}

}  // namespace

void TroubleWatch::begin()
{
  recent_.clear();
  known_.reset();
}

void TroubleWatch::learn(const RunCondition &condition)
{
  const double before = known_ ? known_->kinetic_energy : 0.0;
  known_ = condition;
  known_->kinetic_energy = std::max(before, condition.kinetic_energy);
  add_label(condition);
}

void TroubleWatch::add(std::int64_t step, const RunCondition &now, bool certain)
{
  if (now.kinetic_energy == 0.0) return;  // not known
  if (!known_ || certain) return learn(now);
  recent_.push_back({step, now});
  for (; recent_.front().step <= step - lag; recent_.pop_front()) learn(recent_.front().condition);
}

void TroubleWatch::add_label(const RunCondition &now)
{
  if (now.closest > 0.0 && !(closest_ > 0.0 && closest_ <= now.closest)) closest_ = now.closest;
}

void TroubleWatch::go_back(std::int64_t state)
{
  while (!recent_.empty() && recent_.back().step > state) recent_.pop_back();
}

std::string TroubleWatch::look(const RunCondition &now, const UnitFactors &units) const
{
  if (now.closest > 0.0 && now.closest < closer * closest_)
    return fmt::format("atoms are {:.4g} apart, and were {:.4g} at least",
                       now.closest * units.length, closest_ * units.length);
  if (!known_) return "";
  const double hot = temperature(now.kinetic_energy), known = temperature(known_->kinetic_energy);
  if (known > 0.0 && hot > std::max(hotter * known, known + heat))
    return fmt::format("the temperature is {:.4g} K, and was {:.4g} K", hot, known);
  const double volume = units.length * units.length * units.length, was = known_->volume;
  if (was > 0.0 && (now.volume > more * was || now.volume < was / more))
    return fmt::format("the volume is {:.4g}, and was {:.4g}", now.volume * volume, was * volume);
  return "";
}

}  // namespace dptrain
