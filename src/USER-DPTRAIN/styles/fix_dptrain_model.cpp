/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

// Which model fix dptrain trains.

#include <memory>
#include <optional>
#include <string>

#include "adapter/style_names.h"
#include "comm.h"
#include "error.h"
#include "force.h"
#include "nested/baseline_words.h"
#include "styles/fix_dptrain_data.h"
#include "universe.h"
#include "utils.h"

using namespace LAMMPS_NS;

// Finds the model to train: that of the pair style, or one of its own with the keyword model.
void FixDPTrain::attach()
{
  const FixDPTrainOptions &options = data_->options;
  if (options.model.empty()) return attach_to_pair();
  if (data_->slot) return;
  start_kernels(lmp, FIX_STYLE, options.device);
  const std::string path = find_model(lmp, FIX_STYLE, options.model);
  ModelSettings settings;
  settings.precision = options.precision.value_or(settings.precision);
  settings.knots = options.knots.value_or(settings.knots);
  settings.native = options.native.value_or(settings.native);
  settings.fparam = options.fparam;
  data_->slot = std::make_shared<ModelInUse>(settings);
  data_->slot->set_owner(id);
  collective(lmp, FIX_STYLE, [&] { data_->slot->load(*data_->comm, path, options.elements); });
  complete_model(*data_->slot);
  tell_of_model(lmp, FIX_STYLE, *data_->slot);
  if (data_->slot->has_null())
    error->all(
        FLERR,
        "Fix dptrain: model {}: each atom type needs an element to train, NULL is not possible",
        path);
}

void FixDPTrain::attach_to_pair()
{
  data_->pair = PairDPTrain::find(lmp);
  if (data_->slot && (!data_->pair || data_->pair->slot() != data_->slot))
    error->all(FLERR,
               "Fix dptrain {}: the pair style whose model it trains is gone or was given again: "
               "unfix {} before, and define it again after, the pair_style command",
               id, id);
  if (!data_->pair)
    error->all(FLERR,
               "Fix dptrain: pair style {} has no model to train: use pair_style dptrain (once, in "
               "a hybrid style), or name the model with 'model FILE El1 El2 ...'",
               force->pair_style);
  if (utils::strmatch(force->pair_style, "^hybrid/scaled"))
    error->all(FLERR,
               "Fix dptrain: pair style {} multiplies the forces of the model, which the reference "
               "could not replace: use hybrid/overlay, or run without dptrain in it and name the "
               "model with 'model FILE El1 El2 ...'",
               force->pair_style);
  const std::shared_ptr<ModelInUse> &slot = data_->pair->slot();
  if (data_->options.reference.source == ReferenceOptions::Source::run &&
      !data_->options.learning.selects)
    error->all(
        FLERR,
        "Fix dptrain: with pair_style dptrain 'reference run' would train the model on itself: use "
        "'reference pair', or run with another pair style and give 'model FILE El1 El2 ...'");
  if (!slot->owner().empty() && slot->owner() != id)
    error->all(
        FLERR,
        "Fix dptrain {}: the model of {} is trained by fix {} already: use one fix per model", id,
        slot->path(), slot->owner());
  if (slot->has_null())
    error->all(
        FLERR,
        "Fix dptrain: pair_coeff gives NULL for an atom type: each type needs an element to train");
  slot->set_owner(id);
  data_->slot = slot;
}

bool FixDPTrain::trains_pair_style() const
{
  return data_->options.model.empty();
}

void FixDPTrain::complete_model(ModelInUse &slot)
{
  const Data &d = *data_;
  const bool is_known =
      d.session && d.slot.get() == &slot && d.session->generation() == slot.generation();
  if (is_known) return;
  if (d.options.baseline) {
    dptrain::Baseline baseline = baseline_of(lmp, *d.options.baseline, slot.elements());
    baseline.charges = charges_of(lmp, slot.elements());
    collective(lmp, FIX_STYLE, [&] { slot.set_baseline({baseline}); });
  }
  collective(lmp, FIX_STYLE, [&] { slot.set_charges(d.options.learning.training.charges); });
  choose_cutoff(slot);
}

// Where the input leaves it open: that of a checkpoint, or by the present atoms. Partitions that
// learn together take the largest of theirs.
void FixDPTrain::choose_cutoff(ModelInUse &slot)
{
  const Data &d = *data_;
  const std::string resume = d.session ? "" : d.options.learning.files.resume;
  std::string text;
  if (slot.follows_structure()) {
    std::optional<double> resumed;
    if (!resume.empty())
      collective(lmp, FIX_STYLE, [&] { resumed = dptrain::resumed_cutoff(*d.comm, resume); });
    use_host_atoms();
    if (resumed)
      collective(lmp, FIX_STYLE, [&] { slot.choose_cutoff(*resumed); });
    else if (slot.cutoff_is_open())
      text = cutoff_by_atoms(lmp, FIX_STYLE, slot);
  }
  if (d.options.share && !d.session) {
    const double own = slot.input() ? slot.input()->model.rcut : 0.0;
    double largest = own;
    collective(lmp, FIX_STYLE, [&] {  // which has a timeout, for partitions that do not come
      dptrain::make_mpi_communicator(&universe->uworld)->all_reduce_max(&largest, 1);
    });
    if (slot.follows_structure() && largest > own) {
      collective(lmp, FIX_STYLE, [&] { slot.choose_cutoff(largest); });
      text = fmt::format("cutoff {:g} Angstrom, the largest of the partitions", largest);
    }
  }
  if (comm->me != 0 || text.empty()) return;
  utils::logmesg(lmp, "Fix dptrain: {}\n", text);
  if (trains_pair_style() && !slot.warning().empty())
    error->warning(FLERR, "Fix dptrain: {}", slot.warning());
}
