#include "session/learning/online_training.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

#include "base/elapsed.h"
#include "base/text.h"
#include "checkpoint/training_checkpoint.h"
#include "dptrain/base/error.h"
#include "dptrain/potential/model/stiffen_walls.h"
#include "dptrain/potential/native/deep_pot.h"
#include "dptrain/training/energy_bias_fit.h"
#include "optimizer/optimizer.h"
#include "session/learning/charge_search.h"

namespace dptrain {

namespace {

// Adds the seconds of its life to a counter.
class Stopwatch {
 public:
  explicit Stopwatch(double &seconds) : seconds_(seconds), before_(seconds) {}
  ~Stopwatch() { seconds_ = before_ + seconds_since(start_); }  // has what others added meanwhile
  Stopwatch(const Stopwatch &) = delete;
  Stopwatch &operator=(const Stopwatch &) = delete;

 private:
  double &seconds_, before_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

OnlineTraining::OnlineTraining(std::shared_ptr<const Communicator> comm,
                               std::shared_ptr<ModelInUse> slot, const LearningOptions &options,
                               const Messages &messages) :
    comm_(std::move(comm)),
    slot_(std::move(slot)),
    options_(options),
    messages_(messages),
    settings_(*comm_, options_, *slot_, messages_.info),
    frames_(comm_, slot_, options_, config(), state_.counters.frames, messages_),
    budget_(comm_, options_.training.steps),
    files_(comm_, slot_, options_, config(), messages_),
    bar_monitor_(comm_, slot_),
    health_(comm_, messages_.warning)
{
  if (!options_.selects) say(settings_.summary());
  if (options_.files.save.empty() && !options_.selects)
    messages_.warning("without 'save' the trained model is lost at the end: add save N FILE");
  check_charges();
  if (!slot_->model()) return;
  if (options_.active && !slot_->model()->features())
    throw Error(fmt::format(
        "mode active: {} does not tell the outputs of its last hidden layer, which error bars "
        "rest on: freeze the model with DeePMD-kit 3.2, or add 'mode passive'",
        slot_->path()));
  state_.counters.training.trained = true;
  make_trainer();
  state_.training_deferred = options_.active && !options_.selects;  // resume() knows better
  if (state_.training_deferred && options_.training.steps > 0 && options_.files.resume.empty())
    say("the model is trained from the first label on whose error is above the threshold");
  if (!config().rules.only.empty() || !config().rules.freeze.empty())
    say(fmt::format("trains {} of {} parameters", slot_->model()->parameters().num_trainable(),
                    slot_->model()->parameters().size()));
}

void OnlineTraining::make_trainer()
{
  trainer_ = std::make_unique<Trainer>(slot_->model(), comm_, config());
  frames_.train_with(*trainer_);
  const std::string blocks = long_sides(config().optimizer, slot_->model()->parameters().blocks());
  if (!blocks.empty()) say(blocks);
}

void OnlineTraining::check_charges() const
{
  if (options_.cutout.radius > 0.0 && slot_->has_charges())
    throw Error(fmt::format("cutout: the energy of the charges of {} is one of the whole box: "
                            "remove cutout, or the charges from its terms",
                            slot_->path()));
  const bool goes_on = slot_->model() || !options_.files.resume.empty();
  if (goes_on || !ChargeSearch::is_asked_for(slot_->input()->model)) return;
  const TrainingOptions &training = options_.training;
  if (training.charges.kind == NewCharges::Kind::none)
    throw Error(fmt::format("charges no: {} has charges that are searched (terms): remove one of "
                            "the two",
                            slot_->path()));
  if (training.steps == 0)
    throw Error(fmt::format("train 0: charges of {} are searched by training (terms): train more, "
                            "or give charges of kind fixed",
                            slot_->path()));
  if (training.warmup < ChargeSearch::fewest_frames)
    throw Error(fmt::format("warmup {}: {}", training.warmup, ChargeSearch::needs));
}

// Where they are asked for, or nothing says what acts at large distances.
bool OnlineTraining::tries_charges(const ModelConfig &model) const
{
  if (ChargeSearch::is_asked_for(model)) return true;
  return options_.training.charges.kind == NewCharges::Kind::search &&
         slot_->settings().total.value_or(0.0) == 0.0 && slot_->path() == new_model_name &&
         options_.training.steps > 0 && options_.cutout.radius == 0.0 && model.baseline.empty();
}

// Charges that are given, where those of the first frame do not add up to its total.
void OnlineTraining::tell_charges() const
{
  const auto charges = slot_->model()->charges();
  const std::vector<AnyEnergyTermConfig> terms = slot_->model()->data().config.terms;
  const bool has_net = std::any_of(terms.begin(), terms.end(),
                                   [](const auto &term) { return term->has_parameters(); });
  if (!charges || has_net || frames_.waiting().empty()) return;
  const auto &types = frames_.waiting().front().type_counts;
  std::vector<double> counts(charges->by_type.size(), 0.0);
  for (std::size_t type = 0; type < std::min(types.size(), counts.size()); ++type)
    counts[type] = static_cast<double>(types[type]);
  const std::vector<double> found = charges->in_frame(counts, charges->total.value_or(0.0));
  constexpr double small = 1e-3;
  if (std::abs(found[0] - charges->by_type[0]) < small) return;
  std::string text;
  for (std::size_t type = 0; type < found.size(); ++type)
    text += fmt::format(" {} {:.4g}", slot_->type_map()[type], found[type]);
  messages_.warning(fmt::format(
      "the charges that are given do not add up to the total charge: what is missing is divided "
      "among all atoms, which gives{}; give charges that add up if others are meant",
      text));
}

void OnlineTraining::make_model()
{
  ModelData data = frames_.make_model();
  if (tries_charges(data.config)) {
    const Stopwatch watch(state_.counters.training.seconds);
    const ChargeSearch search(comm_, config(), slot_->settings().precision, on_update_);
    std::vector<const Frame *> frames;
    for (const Frame &frame : frames_.waiting()) frames.push_back(&frame);
    if (!search.choose(data, frames, messages_.info) && ChargeSearch::is_asked_for(data.config))
      throw Error(fmt::format("{}: {}", slot_->path(), ChargeSearch::needs));
  }
  const double smallest = frames_.smallest_distance();
  slot_->set_model(*comm_, data);
  tell_charges();
  make_trainer();
  const std::vector<int> limits = data.config.descriptor->neighbor_limits();
  say(fmt::format("new model from {} frames: {}smallest distance {:.4g} Angstrom, {} parameters; "
                  "energies of separate atoms: {}",
                  state_.counters.frames.stored,
                  limits.empty() ? "" : fmt::format("sel {}, ", joined(limits)), smallest,
                  slot_->model()->parameters().size(), text_of_atom_energies(data)));
}

void OnlineTraining::add(const WholeFrame &frame)
{
  frames_.add(frame);
  if (!frame.held_out) {
    budget_.add_label();
    bar_monitor_.mark_stale();
  }
  if (!trainer_ && state_.counters.frames.stored >= options_.training.warmup) make_model();
  watch();
  or_save([&] { files_.add_to_dataset(frame); });
}

// Where something else fails, nothing that was learned is lost.
void OnlineTraining::or_save(const std::function<void()> &work)
{
  try {
    work();
  } catch (...) {
    save();
    throw;
  }
}

void OnlineTraining::train_for(double seconds)
{
  budget_.begin_slice(seconds);
  if (is_deferred()) return;
  {
    const Stopwatch watch(state_.counters.training.seconds);
    const std::int64_t before = steps();
    const bool is_open = !trainer_->energy_bias_is_fitted() && budget_.has_next();
    const auto known = is_open ? known_atom_energies(slot_->model()->data()) : AtomEnergies();
    while (budget_.has_next()) {
      const UpdateReport &report = state_.report = trainer_->update();
      budget_.step_done();
      slot_->set_trained();
      if (report.step == 1 || report.step % config().disp_freq == 0)
        or_save([&] { files_.write_curve(report); });
      if (options_.files.save_every > 0 && report.step % options_.files.save_every == 0) save();
      if (on_update_) or_save(on_update_);
    }
    if (is_open && known_atom_energies(slot_->model()->data()) != known)
      messages_.warning(atoms_are_fitted);
    if (steps() > before) {
      bar_monitor_.mark_stale();
      if (!options_.active) slot_->set_bars_known(false);  // that of other parameters
    }
    trainer_->show_average();  // for the run until the next label: raw again then
    state_.counters.training.trained = slot_->trained();  // not with train 0
  }
  if (!options_.active && slot_->bars_wanted()) refresh_bars();
  watch();
}

void OnlineTraining::refresh_bars()
{
  if (!trainer_) return;
  const Stopwatch watch(state_.counters.training.seconds);
  bar_monitor_.refresh(*trainer_, options_.active || slot_->bars_wanted());
}

HeldOutError OnlineTraining::held_out_error()
{
  const Stopwatch watch(state_.counters.training.seconds);
  return frames_.held_out_error();
}

void OnlineTraining::select(const WholeFrame &frame, const std::string &note)
{
  bar_monitor_.add(frames_.share(frame));
  files_.select(frame, note);
  ++state_.counters.frames.stored;
}

void OnlineTraining::watch()
{
  if (slot_->model()) health_.watch(*slot_->model());
  health_.watch_memory(memory(true));
  if (trainer_)
    health_.watch_scratch("frames stay in memory (set TMPDIR to a disk with room)",
                          trainer_->scratch_trouble());
}

MemoryLedger OnlineTraining::memory(bool with_model) const
{
  MemoryLedger ledger;
  if (with_model && slot_->model()) add_uses(ledger, slot_->model()->memory());
  if (trainer_) add_uses(ledger, trainer_->memory());
  frames_.add_memory(ledger);
  return ledger;
}

// What has changed where there is something new to save; times do not count.
State OnlineTraining::progress() const
{
  const SessionCounters &counters = state_.counters;
  State progress;
  progress.set("active", state_.active);
  if (slot_->model()) progress.set("energy_bias", slot_->model()->energy_bias());
  progress.set("energy_jumps", counters.answer.energy_jumps);
  progress.set("counts",
               std::vector<std::int64_t>{steps(), counters.frames.stored, counters.reference.calls,
                                         counters.reference.discarded, counters.answer.step});
  return progress;
}

std::string OnlineTraining::take_back()
{
  std::string done;
  for (const std::string &part : {frames_.take_back(), files_.take_back()})
    if (!part.empty()) done += (done.empty() ? "" : ", ") + part;
  if (!options_.files.dataset.empty())
    done += fmt::format("{}those in the data set {} stay there", done.empty() ? "" : "; ",
                        options_.files.dataset);
  return done;
}

void OnlineTraining::save()
{
  const bool learned = state_.counters.frames.stored > 0 || steps() > 0;
  if (!slot_->trained() || !files_.has_news(progress(), learned)) return;
  refresh_bars();
  stiffen_walls(*comm_, *slot_->model());
  state_.precision = slot_->settings().precision;
  state_.given_metric = bar_monitor_.given_metric;
  state_.earned_steps = budget_.owed();
  Checkpoint checkpoint = checkpoint_of(*comm_, *trainer_, *slot_->model());
  checkpoint.model.learning = state_.active;
  checkpoint.num_frames = state_.counters.frames.stored;
  checkpoint.session = pack(state_);
  files_.save(checkpoint, progress());
}

void OnlineTraining::resume(const std::string &file)
{
  std::string path = file;
  const std::optional<Checkpoint> found = files_.read(path);
  if (!found) return resume_frames(path);
  const Checkpoint &checkpoint = *found;
  state_ = unpack(checkpoint.session);
  budget_.restore(state_.earned_steps);
  bar_monitor_.given_metric = state_.given_metric;
  const Precision before = state_.precision, now = slot_->settings().precision;

  settings_.continue_from(path, checkpoint.training);
  frames_.divide();
  slot_->set_model(*comm_, checkpoint.model);
  slot_->model()->parameters().set(checkpoint.parameters);
  slot_->set_trained();
  make_trainer();
  const std::string source = frames_path_of(path);
  std::vector<WholeFrame> frames = frames_.load(source, checkpoint.num_frames);
  trainer_->set_state(checkpoint.trainer);
  // the table stood for the parameters of the run, where the steps of a label were complete
  if (budget_.owed() == 0) trainer_->show_average();
  restore_tables(*comm_, *slot_->model(), checkpoint, before == now);
  files_.continue_earlier();
  const std::int64_t at_checkpoint = state_.counters.frames.stored;
  budget_.earn(frames_.load_later(source, frames));
  state_.counters.reference.calls += state_.counters.frames.stored - at_checkpoint;
  say(fmt::format("resumed from {}: {} frames, {} optimizer steps", path,
                  state_.counters.frames.stored, steps()));
  if (before != now)
    say(fmt::format(
        "the steps before were done in precision {}, those from here on are done in precision {}",
        name_of(before), name_of(now)));
  train();  // what a checkpoint amid the training of a label has left
}

// A run that ended before its first checkpoint has left frames.
void OnlineTraining::resume_frames(const std::string &path)
{
  SessionCounters &counters = state_.counters;
  budget_.earn(frames_.go_on_with(path, -1));
  say(fmt::format("resumed with the {} frames of {}, there is no checkpoint",
                  counters.frames.stored, path));
  counters.reference.calls = counters.frames.stored;
  if (!trainer_ && counters.frames.stored >= options_.training.warmup) make_model();
  train();
}

void OnlineTraining::take_frames(const OnlineTraining &before)
{
  SessionCounters &counters = state_.counters;
  counters = before.state_.counters;
  counters.frames.held_out = 0;  // those that are kept are counted again
  counters.training.trained = slot_->model() != nullptr;
  files_.continue_earlier();
  if (counters.frames.stored == 0) return;
  const std::int64_t learned = frames_.go_on_with(before.frames_.path(), counters.frames.stored);
  if (!trainer_) budget_.earn(learned);
  if (!trainer_ && counters.frames.stored >= options_.training.warmup) make_model();
  watch();
}

}  // namespace dptrain
