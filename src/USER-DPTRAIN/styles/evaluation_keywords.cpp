/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/evaluation_keywords.h"

#include "adapter/dptrain_adapter.h"

#include "error.h"
#include "utils.h"

using namespace LAMMPS_NS;

namespace {

constexpr int FEWEST_KNOTS = 8, MOST_KNOTS = 262144;

// 0 if the text is not a whole number within these bounds.
int read_integer(const std::string &text, int least, int most)
{
  constexpr std::size_t DIGITS = 10;  // more do not fit
  if (!utils::is_integer(text) || text.size() > DIGITS) return 0;
  const long long value = std::stoll(text);
  return value < least || value > most ? 0 : static_cast<int>(value);
}

}  // namespace

dptrain::Precision LAMMPS_NS::read_precision(LAMMPS *lmp, const std::string &who,
                                             const std::string &value)
{
  return collective(lmp, who, [&] { return dptrain::precision_of(value); });
}

int LAMMPS_NS::read_knots(LAMMPS *lmp, const std::string &who, const std::string &value)
{
  if (value == "auto") return 0;
  const int knots = read_integer(value, FEWEST_KNOTS, MOST_KNOTS);
  if (knots == 0)
    lmp->error->all(
        FLERR, "{}: knots {} is not possible: allowed are auto and whole numbers from {} to {}",
        who, value, FEWEST_KNOTS, MOST_KNOTS);
  return knots;
}

dptrain::DeviceRequest LAMMPS_NS::read_device(LAMMPS *lmp, const std::string &who,
                                              const std::string &value)
{
  return collective(lmp, who, [&] { return dptrain::read_device(value); });
}

int LAMMPS_NS::read_chunk(LAMMPS *lmp, const std::string &who, const std::string &value)
{
  if (value == "auto") return 0;
  const int chunk = read_integer(value, 1, MAXSMALLINT);
  if (chunk == 0)
    lmp->error->all(FLERR, "{}: chunk {} is not possible: give auto or a number of atoms from 1",
                    who, value);
  return chunk;
}
