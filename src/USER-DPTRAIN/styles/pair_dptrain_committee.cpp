/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

// The part of pair style dptrain that is about model deviations.
#include <algorithm>

#include "adapter/dptrain_adapter.h"
#include "adapter/style_names.h"
#include "atom.h"
#include "comm.h"
#include "error.h"
#include "styles/pair_dptrain_data.h"

using namespace LAMMPS_NS;

void PairDPTrain::load_committee()
{
  std::vector<std::string> files;
  for (const std::string &file : data_->deviation_options.files)
    files.push_back(find_model(lmp, PAIR_STYLE, file));
  collective(lmp, PAIR_STYLE, [&] { data_->committee.load(*data_->comm, files, *data_->slot); });
  if (comm->me != 0) return;
  for (const std::string &file : data_->committee.repeated(*data_->slot))
    error->warning(FLERR,
                   "Pair style dptrain: {} of the committee has the same parameters as a model "
                   "before it: the models seem to agree more than they do; remove it",
                   file);
}

std::vector<const double *> PairDPTrain::committee_forces()
{
  return local(lmp, PAIR_STYLE, [this] {
    return data_->committee.forces([this](double *values) { fold(values, 3); });
  });
}

bool PairDPTrain::has_committee() const
{
  return !data_->committee.empty();
}

const double *PairDPTrain::committee_deviation()
{
  const dptrain::Committee &committee = data_->committee;
  if (!committee.shown()) return nullptr;
  if (committee.nlocal() != atom->nlocal)
    error->one(FLERR, "Pair style dptrain: atoms have come or gone since the forces were computed, "
                      "and the deviation of the committee is not that of the present ones: ask for "
                      "it after the next step");
  DeviationOptions absolute = data_->deviation_options;
  absolute.relative.reset();
  data_->deviation =
      shown_force_deviation(absolute, data_->units, committee_forces(), committee.nlocal());
  return data_->deviation.data();
}

void PairDPTrain::write_deviation()
{
  const DeviationOptions &options = data_->deviation_options;
  if (!has_committee()) {  // error bars are those of forces only
    const double *own = bars();
    std::vector<double> expected(atom->nlocal, 0.0);
    if (own) std::copy_n(own, atom->nlocal, expected.begin());
    for (double &value : expected) value *= bar_unit();
    collective(lmp, PAIR_STYLE, [&] { data_->output.write(options, expected, {}); });
    return;
  }
  const std::vector<double> atoms =
      shown_force_deviation(options, data_->units, committee_forces(), data_->committee.nlocal());
  collective(lmp, PAIR_STYLE, [&] {
    data_->output.write(options, atoms,
                        shown_virial_deviation(options, data_->units, *data_->comm,
                                               data_->committee.virials(), atom->natoms));
  });
}
