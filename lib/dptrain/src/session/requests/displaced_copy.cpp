#include "session/requests/displaced_copy.h"

#include <array>

#include "base/random.h"

namespace dptrain {

namespace {

constexpr std::uint64_t draws = 0x70726570;  // apart from those that decide about audits

constexpr double usual_displacement = 0.05;  // Angstrom

// Row vectors times the lower triangle of a deformation: a box in LAMMPS' orientation keeps it.
using Deformation = std::array<double, 6>;  // xx yx yy zx zy zz

void deform(double *row, const Deformation &d)
{
  const double x = row[0], y = row[1], z = row[2];
  row[0] = x * d[0] + y * d[1] + z * d[3];
  row[1] = y * d[2] + z * d[4];
  row[2] = z * d[5];
}

// An orthogonal cell stays one: a code that was started with such a cell may not know others.
Deformation random_deformation(RandomEngine &random, double strain, bool orthogonal)
{
  Deformation d{1.0, 0.0, 1.0, 0.0, 0.0, 1.0};
  for (double &entry : d)
    if (entry == 1.0 || !orthogonal) entry += strain * (2.0 * random_uniform(random) - 1.0);
  return d;
}

bool is_orthogonal(const std::array<double, 9> &box)
{
  for (const int k : {1, 2, 3, 5, 6, 7})
    if (box[k] != 0.0) return false;
  return true;
}

}  // namespace

WholeFrame displaced_copy(const WholeFrame &start, const PrepareOptions &options, int k,
                          std::uint64_t seed)
{
  WholeFrame copy = start;
  copy.label = {};
  copy.baseline.reset();
  RandomEngine random = numbered_engine(seed ^ draws, static_cast<std::uint64_t>(k));
  const double part =
      options.copies > 1 ? static_cast<double>(k) / static_cast<double>(options.copies - 1) : 1.0;
  if (copy.periodic) {
    const Deformation deformation =
        random_deformation(random, options.strain * part, is_orthogonal(copy.box));
    for (int row = 0; row < 3; ++row) deform(&copy.box[3 * row], deformation);
    for (std::size_t i = 0; i < copy.coord.size(); i += 3) deform(&copy.coord[i], deformation);
  }
  const double width = options.displace.value_or(usual_displacement) * part;
  for (double &component : copy.coord) component += width * random_normal(random);
  return copy;
}

}  // namespace dptrain
