/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/model_deviation.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "adapter/style_names.h"
#include "atom.h"
#include "error.h"
#include "update.h"

using namespace LAMMPS_NS;

void ModelDeviationOutput::open(const DeviationOptions &options, bool append)
{
  dptrain::guarded(*comm_, [&] {
    if (comm_->rank() == 0 && !file_)
      file_ = std::make_unique<dptrain::ModelDeviationFile>(options.path, options.atomic, append);
  });
}

// Values of the atoms of all ranks in order of their ids.
void ModelDeviationOutput::gather_by_id(const std::vector<double> &atoms,
                                        dptrain::ModelDeviationRow &row) const
{
  const std::vector<std::int64_t> counts =
      comm_->all_gather(static_cast<std::int64_t>(atoms.size()));
  std::vector<std::size_t> parts;  // two numbers per atom
  for (const std::int64_t count : counts) parts.push_back(2 * static_cast<std::size_t>(count));
  std::vector<double> all(std::accumulate(parts.begin(), parts.end(), std::size_t{0}));
  auto next = all.begin() + static_cast<std::ptrdiff_t>(std::accumulate(
                                parts.begin(), parts.begin() + comm_->rank(), std::size_t{0}));
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    *next++ = static_cast<double>(lmp_->atom->tag[i]);
    *next++ = atoms[i];
  }
  comm_->all_gather(all.data(), parts);

  std::vector<std::pair<double, double>> pairs;  // id, value
  for (std::size_t k = 0; k < all.size(); k += 2) pairs.emplace_back(all[k], all[k + 1]);
  std::sort(pairs.begin(), pairs.end());
  for (const auto &[id, value] : pairs) {
    row.ids.push_back(static_cast<std::int64_t>(id));
    row.atoms.push_back(value);
  }
}

void ModelDeviationOutput::write(const DeviationOptions &options, const std::vector<double> &atoms,
                                 const dptrain::DeviationRange &virial)
{
  dptrain::ModelDeviationRow row;
  row.step = lmp_->update->ntimestep;
  row.virial = virial;
  row.force = dptrain::range_of_atoms(*comm_, atoms.data(), atoms.size());
  if (options.atomic) gather_by_id(atoms, row);
  std::size_t without_column = 0;
  dptrain::guarded(*comm_, [&] {
    if (comm_->rank() == 0) without_column = file_->write(row);
  });
  if (without_column == 0 || warned_) return;
  warned_ = true;
  lmp_->error->warning(
      FLERR,
      "{}: {} of the atoms have no column in {}, whose columns are the atoms of its first row: "
      "they count in the other columns; begin a new file to have them all",
      PAIR_STYLE, without_column, options.path);
}

std::vector<double> LAMMPS_NS::shown_force_deviation(const DeviationOptions &options,
                                                     const UnitFactors &units,
                                                     const std::vector<const double *> &forces,
                                                     int nlocal)
{
  std::optional<double> level = options.relative;
  if (level) *level /= units.force();
  std::vector<double> atoms = dptrain::force_deviation(forces, nlocal, level);
  if (!level)
    for (double &value : atoms) value *= units.force();
  return atoms;
}

dptrain::DeviationRange
LAMMPS_NS::shown_virial_deviation(const DeviationOptions &options, const UnitFactors &units,
                                  const dptrain::Communicator &comm,
                                  std::vector<std::array<double, 9>> virials, bigint natoms)
{
  comm.all_reduce_sum(virials[0].data(), 9 * virials.size());
  for (auto &virial : virials)
    for (double &component : virial) component *= units.energy / static_cast<double>(natoms);
  return dptrain::virial_deviation(virials, options.relative_v);
}
