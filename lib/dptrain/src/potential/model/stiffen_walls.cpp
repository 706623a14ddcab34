#include "dptrain/potential/model/stiffen_walls.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "dptrain/parallel/broadcast.h"

namespace dptrain {

namespace {

constexpr double first = 0.9, last = 0.5, step = 0.02;  // of the distance at which a wall begins
constexpr double most_strength = 1024.0;
constexpr double close = 0.5, least_energy = 20.0;  // Angstrom, eV: below 0.9 of a beginning

/// Two atoms at some distances from each other, as domains.
class Dimers {
 public:
  Dimers(int a, int b, const std::vector<double> &distances) : types_{a, b}
  {
    for (const double r : distances) x_.insert(x_.end(), {0.0, 0.0, 0.0, r, 0.0, 0.0});
  }
  /// Energies beside those of the atoms, eV, in this order.
  std::vector<double> energies(Model &model) const
  {
    const std::size_t n = x_.size() / 6;
    std::vector<Domain> domains(n);
    std::vector<ForwardOutput> out(n);
    std::vector<double> force(x_.size());
    for (std::size_t k = 0; k < n; ++k) {
      Domain &domain = domains[k];
      domain.nlocal = domain.nall = domain.num_centers = 2;
      domain.x = &x_[6 * k];
      domain.type = types_;
      domain.centers = both_;
      domain.num_neighbors = ones_;
      domain.neighbors = rows_;
      out[k].force = &force[6 * k];
    }
    model.forward(domains.data(), static_cast<int>(n), out.data(), false);
    std::vector<double> energies;
    for (const ForwardOutput &o : out) energies.push_back(o.network_energy);
    return energies;
  }

 private:
  int types_[2];
  std::vector<double> x_;
  static constexpr int both_[2] = {0, 1}, ones_[2] = {1, 1};
  static constexpr const int *rows_[2] = {both_ + 1, both_};
};

bool rises(const std::vector<double> &energies)
{
  for (std::size_t k = 1; k < energies.size(); ++k)
    if (!(energies[k] > energies[k - 1])) return false;
  return true;
}

std::vector<double> distances_inside(double begin)
{
  std::vector<double> distances;
  for (double part = first; part > last; part -= step) distances.push_back(part * begin);
  return distances;
}

}  // namespace

void stiffen_walls(const Communicator &comm, Model &model)
{
  if (model.walls().empty()) return;
  Walls walls = model.walls();
  guarded(comm, [&] {
    if (comm.rank() != 0) return;
    walls.strength.assign(walls.strength.size(), 1.0);
    model.set_walls(walls);
    const int ntypes = walls.begin.ntypes();
    for (int a = 0; a < ntypes; ++a)
      for (int b = 0; b <= a; ++b) {
        const double begin = walls.begin.at(a, b);
        const Dimers inside(a, b, distances_inside(begin)), ends(a, b, {begin, close});
        const auto set = [&](double strength) {
          walls.strength[a * ntypes + b] = walls.strength[b * ntypes + a] = strength;
          model.set_walls(walls);
        };
        const auto is_high = [&] {
          if (close >= first * begin) return true;
          const std::vector<double> energies = ends.energies(model);
          return energies[1] - energies[0] >= least_energy;
        };
        std::vector<double> energies = inside.energies(model);
        for (double strength = 2.0; strength <= most_strength && !(rises(energies) && is_high());
             strength *= 2.0) {
          set(strength);
          const std::vector<double> before = std::exchange(energies, inside.energies(model));
          if (energies != before) continue;
          set(1.0);  // a pair that is excluded has no wall
          break;
        }
      }
  });
  broadcast(comm, walls.strength);
  model.set_walls(walls);
}

}  // namespace dptrain
