#include "potential/native/wall_term.h"

#include <algorithm>
#include <cmath>

#include "dptrain/base/elements.h"
#include "kernels/workers.h"

namespace dptrain {

namespace {

constexpr double squared_charge = 14.3996454784;  // e^2 / (4 pi epsilon_0), eV Angstrom
constexpr double screening_length = 0.46850, screening_power = 0.23;

// What has no nucleus repels like a light atom.
int charge_of(const std::string &element)
{
  const int number = atomic_number(element);
  return element_symbol(number).empty() ? 10 : number;
}

std::vector<kernels::Wall> walls_of(const ModelData &data)
{
  const std::vector<std::string> &elements = data.config.type_map;
  std::vector<kernels::Wall> walls;
  for (const std::string &a : elements)
    for (const std::string &b : elements) {
      const double za = charge_of(a), zb = charge_of(b);
      kernels::Wall wall;
      wall.begin = data.walls.begin.values().at(walls.size());
      wall.charges = data.walls.strength.at(walls.size()) * za * zb * squared_charge;
      wall.screening =
          (std::pow(za, screening_power) + std::pow(zb, screening_power)) / screening_length;
      walls.push_back(wall);
    }
  return walls;
}

}  // namespace

template <class Real>
WallTerm<Real>::WallTerm(const ModelData &data) :
    ntypes_(data.config.ntypes()), begin_(data.walls.begin)
{
  const std::vector<kernels::Wall> walls = walls_of(data);
  std::vector<Real> squared;
  for (const kernels::Wall &wall : walls)
    squared.push_back(static_cast<Real>(wall.begin * wall.begin));
  walls_.copy_from(walls);
  begin_squared_.copy_from(squared);
}

template <class Real> void WallTerm<Real>::begin_sweep()
{
  host_closest_.assign(kernels::workers(), {});
  closest_.copy_from(host_closest_);
}

template <class Real>
void WallTerm<Real>::add(int type, const kernels::Edges<Real> &edges, double *energies,
                         const kernels::ForceSums &sums)
{
  const long row = static_cast<long>(type) * ntypes_;
  kernels::add_walls(edges, type, walls_.data() + row, begin_squared_.data() + row, energies, sums,
                     closest_.data());
}

template <class Real> void WallTerm<Real>::end_sweep(NeighborReport &report)
{
  closest_.copy_to(host_closest_.data());
  kernels::Closeness closest;
  for (const kernels::Closeness &one : host_closest_)
    closest.code = std::min(closest.code, one.code);
  report.wall = {};
  if (closest.code == kernels::Closeness::none) return;
  WallContact &contact = report.wall;
  contact.ratio = closest.ratio();
  contact.types[0] = closest.center();
  contact.types[1] = closest.neighbor();
  contact.distance = contact.ratio * begin_.at(closest.center(), closest.neighbor());
}

template class WallTerm<double>;
template class WallTerm<float>;

}  // namespace dptrain
