#include "session/asking/langevin_walk.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dptrain {

namespace {

// Root mean square of a component of an atom's move in a step, Angstrom. With the frequency w of a bond it is w dt times the bond's
// thermal amplitude, and w dt has to stay well below 2: the stiffest bonds, those of hydrogen, have amplitudes of 0.03 Angstrom.
constexpr double move = 0.01;
constexpr double longest_move = 0.1;  // Angstrom, of a component: a hole is not crossed in one step
constexpr double friction = 0.02;     // part of the velocity that a step replaces

}  // namespace

LangevinWalk::LangevinWalk(WholeFrame start, double kt, std::uint64_t seed) :
    frame_(std::move(start)), kt_(kt), random_(seed), velocity_(frame_.coord.size())
{
  for (double &component : velocity_) component = std::sqrt(kt_) * random_normal(random_);
}

// The second half of a kick and the first half of the next one are at the same place: one whole kick.
void LangevinWalk::step(const std::vector<double> &force)
{
  const double width = std::sqrt(kt_), dt = move / width;
  const double kept = std::exp(-friction), noise = width * std::sqrt(1.0 - kept * kept);
  for (std::size_t k = 0; k < velocity_.size(); ++k) {
    double &v = velocity_[k];
    v += dt * force[k];
    double way = 0.5 * dt * v;
    v = kept * v + noise * random_normal(random_);
    way += 0.5 * dt * v;
    frame_.coord[k] += std::clamp(way, -longest_move, longest_move);
  }
  ++frame_.step;
}

bool LangevinWalk::is_finite() const
{
  return std::all_of(frame_.coord.begin(), frame_.coord.end(),
                     [](double x) { return std::isfinite(x); });
}

}  // namespace dptrain
