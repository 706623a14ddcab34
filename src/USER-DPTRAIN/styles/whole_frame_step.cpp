/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/whole_frame_step.h"

#include <algorithm>
#include <vector>

#include "atom.h"
#include "comm.h"
#include "dptrain/frames/whole_frame.h"

using namespace LAMMPS_NS;

namespace {

// What each atom gets, one after the other in a row of numbers: force, and what any rank asks for.
// (One without atoms may have null pointers.) Collective.
struct Columns {
  Columns(const dptrain::Communicator &comm, const dptrain::ForwardOutput &out)
  {
    std::int64_t asked[3] = {out.atom_energy != nullptr, out.bar != nullptr,
                             out.atom_virial != nullptr};
    comm.all_reduce_max(asked, 3);
    has_energy = asked[0] != 0;
    has_bar = asked[1] != 0;
    has_virial = asked[2] != 0;
    bar = energy + (has_energy ? 1 : 0);
    virial = bar + (has_bar ? 1 : 0);
    width = virial + (has_virial ? 9 : 0);
  }
  bool has_energy, has_bar, has_virial;
  int energy = 3, bar, virial, width;
};

// Rows of all atoms in order of their tags, and the sums of `out`.
std::vector<double> evaluate(const dptrain::WholeFrame &whole, double cutoff,
                             dptrain::Evaluator &evaluator, const Columns &columns,
                             dptrain::ForwardOutput &out)
{
  const dptrain::Frame frame =
      dptrain::scatter_frame(dptrain::make_mpi_communicator(), whole, cutoff);
  const std::size_t nall = frame.nall(), nlocal = frame.nlocal;
  std::vector<double> force(3 * nall, 0.0), energy(nlocal, 0.0), bar(nlocal, 0.0);
  std::vector<double> virial(columns.has_virial ? 9 * nall : 0, 0.0);
  dptrain::ForwardOutput whole_out = out;
  whole_out.force = force.data();
  if (columns.has_energy) whole_out.atom_energy = energy.data();
  if (columns.has_bar) whole_out.bar = bar.data();
  if (columns.has_virial) whole_out.atom_virial = virial.data();
  evaluator.step(frame.domain(), whole_out);
  frame.halo->reduce(force.data(), 3);
  if (columns.has_virial) frame.halo->reduce(virial.data(), 9);
  out.energy = whole_out.energy;
  out.network_energy = whole_out.network_energy;
  out.virial = whole_out.virial;

  std::vector<double> rows(nlocal * columns.width);
  for (std::size_t i = 0; i < nlocal; ++i) {
    double *row = &rows[static_cast<std::size_t>(frame.tag[i] - 1) * columns.width];
    std::copy_n(&force[3 * i], 3, row);
    if (columns.has_energy) row[columns.energy] = energy[i];
    if (columns.has_bar) row[columns.bar] = bar[i];
    if (columns.has_virial) std::copy_n(&virial[9 * i], 9, row + columns.virial);
  }
  return rows;
}

}  // namespace

void LAMMPS_NS::whole_frame_step(LAMMPS *lmp, const dptrain::Communicator &comm,
                                 const ModelInUse &slot, const Exclusions &exclusions,
                                 const UnitFactors &units, dptrain::Evaluator &evaluator,
                                 dptrain::ForwardOutput &out)
{
  const Atom *atom = lmp->atom;
  std::vector<tagint> tags;
  const dptrain::WholeFrame whole = gather_atoms(lmp, exclusions.model_type(), slot.cutoff(), units,
                                                 &tags, exclusions.hidden_groups());
  const Columns columns(comm, out);
  std::vector<double> rows(tags.size() * columns.width);
  dptrain::guarded(comm, [&] {
    if (comm.rank() == 0) rows = evaluate(whole, slot.cutoff(), evaluator, columns, out);
  });
  comm.broadcast(rows.data(), rows.size() * sizeof(double), 0);
  for (int i = 0; i < atom->nlocal; ++i) {
    const auto place = std::lower_bound(tags.begin(), tags.end(), atom->tag[i]) - tags.begin();
    const double *row = &rows[static_cast<std::size_t>(place) * columns.width];
    for (int k = 0; k < 3; ++k) out.force[3 * i + k] += row[k];
    if (out.atom_energy) out.atom_energy[i] = row[columns.energy];
    if (out.bar) out.bar[i] = row[columns.bar];
    if (out.atom_virial)
      for (int k = 0; k < 9; ++k) out.atom_virial[9 * i + k] += row[columns.virial + k];
  }
}
