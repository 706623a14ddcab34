// What fix dptrain does before a run: finds its model, its reference and its files.

#include <algorithm>

#include "atom.h"
#include "comm.h"
#include "error.h"
#include "fix_dptrain_data.h"
#include "force.h"
#include "modify.h"
#include "reference_difference.h"
#include "reference_pair.h"
#include "reference_run.h"
#include "reference_socket.h"
#include "reference_values.h"
#include "utils.h"

using namespace LAMMPS_NS;
using namespace FixConst;

void FixDPTrain::make_reference()
{
  const FixDPTrainOptions &options = data_->options;
  comm_reverse = 3;
  if (options.selects()) return;
  const auto fold = [this](double *values) {
    data_->fold = values;
    comm->reverse_comm(this, 3);
  };
  if (options.reference.source == ReferenceOptions::Source::run)
    data_->reference = std::make_unique<ReferenceRun>(lmp, id);
  else if (options.reference.source == ReferenceOptions::Source::values)
    data_->reference =
        std::make_unique<ReferenceValues>(lmp, id, options.reference.values, options.active);
  else if (options.reference.source == ReferenceOptions::Source::socket)
    data_->reference = std::make_unique<ReferenceSocket>(
        lmp, options.reference.socket, id, [this]() -> const ModelSlot & { return *data_->slot; });
  else
    data_->reference = std::make_unique<ReferencePair>(lmp, options.reference.pair, fold);
  if (!options.subtract) return;
  auto difference = std::make_unique<ReferenceDifference>(lmp, std::move(data_->reference),
                                                          *options.subtract, fold);
  data_->baseline = &difference->baseline();
  data_->reference = std::move(difference);
}

// What the labels do not have must come from somewhere else in a run with the model.
void FixDPTrain::check_parts()
{
  const ReferenceOptions &reference = data_->options.reference;
  if (reference.source == ReferenceOptions::Source::values && reference.values.virial.empty() &&
      data_->pair && comm->me == 0)
    error->warning(FLERR,
                   "Fix dptrain: 'reference values' without virial: the pressure of steps at which "
                   "the reference moves the atoms is that of the model");
  if (!data_->baseline || !data_->pair || comm->me != 0) return;
  const auto warn = [this](const std::string &what) {
    error->warning(
        FLERR,
        "Fix dptrain: the labels are without the baseline of 'subtract', but the run has "
        "no {}: use pair_style hybrid/overlay with dptrain and the baseline",
        what);
  };
  for (const std::string &style : data_->baseline->style_names())
    if (!utils::strmatch(force->pair_style, "^hybrid/overlay") || !force->pair_match(style, 1, 1))
      warn("pair style " + style + " beside dptrain");
  if (data_->baseline->has_kspace() && !force->kspace) warn("kspace style");
}

// Finds the model to train: that of the pair style, or one of its own with the keyword model.
void FixDPTrain::attach()
{
  const FixDPTrainOptions &options = data_->options;
  if (options.model.empty()) return attach_to_pair();
  if (data_->slot) return;
  start_kernels(lmp, "Fix dptrain", options.device);
  std::string path = utils::get_potential_file_path(options.model);
  if (path.empty()) path = options.model;
  data_->slot = std::make_shared<ModelSlot>();
  data_->slot->owner = id;
  ModelSettings &settings = data_->slot->settings;
  settings.precision = options.precision.value_or(settings.precision);
  settings.knots = options.knots.value_or(settings.knots);
  settings.native = options.native.value_or(settings.native);
  settings.fparam = options.fparam;
  collective(lmp, "Fix dptrain", [&] { data_->slot->load(*data_->comm, path, options.elements); });
  if (comm->me == 0 && !data_->slot->note.empty())
    utils::logmesg(lmp, "Fix dptrain: {}\n", data_->slot->note);
  if (data_->slot->has_null())
    error->all(
        FLERR,
        "Fix dptrain: model {}: each atom type needs an element to train, NULL is not possible",
        path);
}

void FixDPTrain::attach_to_pair()
{
  data_->pair = dynamic_cast<PairDPTrain *>(force->pair_match("dptrain", 1));
  if (data_->slot && (!data_->pair || data_->pair->slot() != data_->slot))
    error->all(FLERR,
               "Fix dptrain {}: the pair style whose model it trains is gone or was given again: "
               "unfix {} before, "
               "and define it again after, the pair_style command",
               id, id);
  if (!data_->pair)
    error->all(FLERR,
               "Fix dptrain: pair style {} has no model to train: use pair_style dptrain (once, in "
               "a hybrid style), "
               "or name the model with 'model FILE El1 El2 ...'",
               force->pair_style);
  if (utils::strmatch(force->pair_style, "^hybrid/scaled"))
    error->all(FLERR,
               "Fix dptrain: pair style {} multiplies the forces of the model, which the reference "
               "could not replace: use hybrid/overlay, or run without dptrain in it and name the "
               "model with 'model FILE El1 El2 ...'",
               force->pair_style);
  const std::shared_ptr<ModelSlot> &slot = data_->pair->slot();
  if (data_->options.reference.source == ReferenceOptions::Source::run && !data_->options.selects())
    error->all(
        FLERR,
        "Fix dptrain: with pair_style dptrain 'reference run' would train the model on itself: use "
        "'reference pair', or run with another pair style and give 'model FILE El1 El2 ...'");
  if (!slot->owner.empty() && slot->owner != id)
    error->all(FLERR,
               "Fix dptrain {}: the model of {} is trained by fix {} already: one fix per model",
               id, slot->path, slot->owner);
  if (slot->has_null())
    error->all(
        FLERR,
        "Fix dptrain: pair_coeff gives NULL for an atom type: each type needs an element to train");
  slot->owner = id;
  data_->slot = slot;
}

void FixDPTrain::start_session()
{
  Data &d = *data_;
  if (d.session && d.session->generation() == d.slot->generation) return;
  std::vector<bigint> counts(d.slot->type_map.size(), 0);
  for (int i = 0; i < atom->nlocal; ++i) ++counts[d.slot->model_type[atom->type[i]]];
  MPI_Allreduce(MPI_IN_PLACE, counts.data(), static_cast<int>(counts.size()), MPI_LMP_BIGINT,
                MPI_SUM, world);
  std::string composition;
  for (std::size_t t = 0; t < counts.size(); ++t)
    composition += fmt::format("{}{} {}", t == 0 ? "" : " ", d.slot->type_map[t], counts[t]);

  const auto log = [this](const std::string &text) { utils::logmesg(lmp, text + "\n"); };
  collective(lmp, "Fix dptrain", [&] {
    FixDPTrainOptions options = d.options;
    options.target /= d.units.force();
    auto session = std::make_unique<TrainingSession>(
        d.comm, d.slot, options, fmt::format("dptrain.{}.frames", id), composition, log);
    check_files(*session);
    if (d.session)
      session->take_frames(*d.session);
    else if (!d.options.resume.empty())
      session->resume(d.options.resume);
    d.session = std::move(session);
  });
  if (comm->me == 0 && d.options.save.empty() && !d.options.selects())
    error->warning(FLERR,
                   "Fix dptrain: without 'save N FILE' the trained model is lost at the end");
  if (comm->me == 0 && d.restarted[3] > d.session->steps())
    error->warning(FLERR,
                   "Fix dptrain: the restart file was written after {} optimizer steps, the "
                   "training stands at {}: "
                   "continue it with 'resume FILE.ckpt'",
                   static_cast<bigint>(d.restarted[3]), d.session->steps());
}

// Two fixes may train at the same time, but not into the same files.
void FixDPTrain::check_files(const TrainingSession &session) const
{
  for (const Fix *other : modify->get_fix_by_style("dptrain")) {
    const auto *fix = dynamic_cast<const FixDPTrain *>(other);
    if (!fix || fix == this || !fix->data_->session) continue;
    for (const auto &[keyword, path] : session.outputs())
      for (const auto &[other_keyword, other_path] : fix->data_->session->outputs())
        if (path == other_path)
          throw dptrain::Error(fmt::format(
              "{} of fix {} and {} of fix {} are the same file {}: each fix needs files of its own",
              other_keyword, other->id, keyword, id, path));
  }
}

// `reference run` takes the forces as it finds them.
void FixDPTrain::check_order()
{
  if (data_->options.reference.source != ReferenceOptions::Source::run || comm->me != 0 ||
      data_->options.selects())
    return;
  for (int k = 0; k < modify->nfix && modify->fix[k] != this; ++k)
    if (modify->fmask[k] & POST_FORCE)
      error->warning(
          FLERR,
          "Fix dptrain: forces that fix {} adds become part of the labels: define fix {} before it",
          modify->fix[k]->id, id);
}
