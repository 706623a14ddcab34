/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/reference_outputs.h"

#include "adapter/fix_arguments.h"
#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "dptrain/base/error.h"
#include "error.h"
#include "fix.h"
#include "force.h"
#include "modify.h"
#include "update.h"

using namespace LAMMPS_NS;
using namespace FixConst;

ValuesOptions LAMMPS_NS::read_values_options(FixArguments &a)
{
  ValuesOptions o;
  const auto source = [&a] { return a.word("SOURCE, such as c_ID, f_ID or v_NAME"); };
  const auto read_virial = [&](bool pressure) {
    if (!o.virial.empty())
      throw dptrain::Error("reference values: virial and pressure are two forms of one value: "
                           "remove one of them");
    o.virial = source();
    o.pressure = pressure;
  };
  a.read_block("reference values", {{"energy", [&] { o.energy = source(); }},
                                    {"forces",
                                     [&] {
                                       while (a.peek().size() > 1 && a.peek()[1] == '_')
                                         o.forces.push_back(source());
                                     }},
                                    {"virial", [&] { read_virial(false); }},
                                    {"pressure", [&] { read_virial(true); }}});
  if (o.energy.empty() || (o.forces.size() != 1 && o.forces.size() != 3))
    throw dptrain::Error(
        "labels need an energy and forces (one source with three columns, or three "
        "sources): reference values energy SRC forces SRC [SRC SRC] [virial SRC | "
        "pressure SRC] end");
  return o;
}

ReferenceOutputs::ReferenceOutputs(LAMMPS *lmp, const std::string &fix_id,
                                   const ValuesOptions &options, bool every_step) :
    Pointers(lmp),
    fix_id_(fix_id),
    energy_(lmp, "energy", options.energy),
    pressure_(options.pressure),
    every_step_(every_step),
    source_(lmp, [this] { return values(); })
{
  for (const std::string &text : options.forces) forces_.emplace_back(lmp, "forces", text);
  if (!options.virial.empty())
    virial_ = std::make_unique<ValueSource>(lmp, pressure_ ? "pressure" : "virial", options.virial);
}

void ReferenceOutputs::init()
{
  energy_.check_scalar();
  check_time(energy_);
  for (const ValueSource &source : forces_) {
    if (forces_.size() == 1)
      source.check_vectors();
    else
      source.check_column();
    check_time(source);
  }
  if (!virial_) return;
  virial_->check_six();
  check_time(*virial_);
}

// Values that a fix makes after this one has been called are those of the step before.
void ReferenceOutputs::check_time(const ValueSource &source) const
{
  if (every_step_) source.check_every_step();
  const Fix *fix = source.fix();
  if (!fix || comm->me != 0) return;
  bool before = true;
  for (int k = 0; k < modify->nfix; ++k) {
    if (modify->fix[k]->id == fix_id_) before = false;
    if (modify->fix[k] != fix) continue;
    const bool later = modify->fmask[k] & POST_FORCE && !before;
    if (later || modify->fmask[k] & END_OF_STEP)
      error->warning(FLERR,
                     "Fix dptrain: values that fix {} makes {} would be those of the step before: "
                     "use what is made at the step itself",
                     fix->id,
                     later ? fmt::format("after fix {} is called (define it before)", fix_id_)
                           : "at the end of a step");
  }
}

// Which computes a variable needs is known when it has been evaluated: all are told.
void ReferenceOutputs::announce(bigint step)
{
  modify->addstep_compute_all(step);
}

ReferenceValues ReferenceOutputs::values()
{
  modify->clearstep_compute();
  ReferenceValues label;
  label.energy = energy_.scalar();
  // of at least one atom, for the addresses of its columns
  force_.resize(3 * static_cast<std::size_t>(atom->nlocal) + 3);
  if (forces_.size() == 1) {
    forces_[0].vectors(force_.data());
  } else {
    for (int k = 0; k < 3; ++k) forces_[k].column(force_.data() + k);
  }
  label.force = force_.data();
  label.has_virial = has_virial();
  if (virial_) label.virial = virial_->six();
  if (pressure_)
    for (double &component : label.virial)
      component *= domain->xprd * domain->yprd * domain->zprd / force->nktv2p;
  modify->addstep_compute(update->ntimestep + 1);  // where the reference drives the run
  return label;
}

double ReferenceOutputs::memory_usage() const
{
  return static_cast<double>(force_.capacity() * sizeof(double));
}
