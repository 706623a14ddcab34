#include "potential/terms/wall_term.h"

#include <algorithm>

#include "kernels/workers.h"
#include "potential/terms/nuclei.h"

namespace dptrain {

namespace {

std::vector<kernels::Wall> walls_of(const ModelData &data)
{
  const std::vector<std::string> &elements = data.config.type_map;
  std::vector<kernels::Wall> walls;
  for (const std::string &a : elements)
    for (const std::string &b : elements) {
      const Nuclei nuclei = nuclei_of(a, b);
      kernels::Wall wall;
      wall.begin = data.walls.begin.values().at(walls.size());
      wall.charges = data.walls.strength.at(walls.size()) * nuclei.charges;
      wall.screening = nuclei.screening;
      walls.push_back(wall);
    }
  return walls;
}

}  // namespace

template <class Real>
WallTerm<Real>::WallTerm(const ModelData &data) :
    PairTerm<Real>(data.config.ntypes(), data.config.rcut, data.walls.begin.values()),
    begin_(data.walls.begin)
{
  walls_.copy_from(walls_of(data));
}

template <class Real> void WallTerm<Real>::begin_sweep()
{
  host_closest_.assign(kernels::workers(), {});
  closest_.copy_from(host_closest_);
}

template <class Real>
void WallTerm<Real>::add_pairs(int type, const kernels::Edges<Real> &edges,
                               const Real *reach_squared, double *energies,
                               const kernels::PairSlopes &slopes)
{
  kernels::add_walls(edges, type, walls_.data() + this->row(type), reach_squared, energies, slopes,
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
