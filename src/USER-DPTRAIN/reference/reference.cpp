/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/reference.h"

#include <utility>

#include "comm.h"
#include "domain.h"
#include "error.h"

using namespace LAMMPS_NS;

void LAMMPS_NS::warn_of_missing_virial(LAMMPS *lmp)
{
  if (lmp->domain->box_change && lmp->comm->me == 0)
    lmp->error->warning(
        FLERR, "Fix dptrain: with 'virial no' the pressure does not know of the reference: where "
               "that moves the atoms, what changes the box acts on the pressure of the model; keep "
               "the box as it is, or let the reference compute the virial");
}

dptrain::Label LAMMPS_NS::label_of(LAMMPS *lmp, const ReferenceValues &values)
{
  const UnitFactors units = unit_factors(lmp, "Fix dptrain");
  dptrain::Label label;
  label.energy = values.energy / units.energy;
  label.force = gather_by_tag(lmp, values.force, 3);
  for (double &component : label.force) component /= units.force();
  if (!values.has_virial) return label;
  const auto &w = values.virial;
  label.virial = {w[0], w[3], w[4], w[3], w[1], w[5], w[4], w[5], w[2]};
  for (double &component : *label.virial) component /= units.energy;
  return label;
}

std::int64_t PresentSource::submit(const dptrain::WholeFrame &)
{
  dptrain::LabelAnswer &answer = answers_[++submitted_];
  answer.request = submitted_;
  answer.label = label_of(lmp_, evaluate_());
  return submitted_;
}

std::vector<dptrain::LabelAnswer> PresentSource::poll()
{
  std::vector<dptrain::LabelAnswer> answers;
  for (auto &[request, answer] : std::exchange(answers_, {})) answers.push_back(std::move(answer));
  return answers;
}
