#include "session/learning/online_training.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <numeric>

#include "base/text.h"
#include "checkpoint/training_checkpoint.h"
#include "dptrain/base/error.h"
#include "dptrain/data/dataset_writer.h"
#include "dptrain/parallel/broadcast.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/files/model_format.h"
#include "io/file.h"
#include "optimizer/optimizer.h"
#include "training/loss/loss_term.h"

namespace dptrain {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t held_out_frames = 16;  // the latest ones are looked at
constexpr std::int64_t target_every = 10;    // optimizer steps between two looks at the errors
constexpr double batch_memory = 0.95;        // of the mean error of batches

std::vector<int> identity(std::size_t size)
{
  std::vector<int> types(size);
  std::iota(types.begin(), types.end(), 0);
  return types;
}

// Adds the seconds of its life to a counter.
class Stopwatch {
 public:
  explicit Stopwatch(double &seconds) : seconds_(seconds), before_(seconds) {}
  ~Stopwatch() { seconds_ = before_ + elapsed(); }  // has what other stopwatches added meanwhile
  Stopwatch(const Stopwatch &) = delete;
  Stopwatch &operator=(const Stopwatch &) = delete;
  double elapsed() const
  {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  double &seconds_, before_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

OnlineTraining::OnlineTraining(std::shared_ptr<const Communicator> comm,
                               std::shared_ptr<ModelSlot> slot, const LearningOptions &options,
                               const Messages &messages) :
    comm_(std::move(comm)),
    slot_(std::move(slot)),
    options_(options),
    messages_(messages),
    settings_(*comm_, options_, *slot_, messages_.info),
    store_(comm_, options.frames_path(), options.save.empty() ? "" : options.save + ".ckpt",
           messages_.info),
    uncertainty_(comm_, slot_),
    health_(comm_, messages_.warning),
    type_map_(slot_->type_map)
{
  divide_frames();
  if (comm_->rank() == 0 && options_.resume.empty() && !options_.dataset.empty() &&
      fs::exists(options_.dataset))
    messages_.warning(fmt::format("there is a data set {} already: frames are added to it; give "
                                  "another name if it is not of an earlier run like this one",
                                  options_.dataset));
  check_save_name();
  check_folders();
  if (!options_.selects) say(settings_.summary());
  if (options_.save.empty() && !options_.selects)
    messages_.warning("without 'save' the trained model is lost at the end: add save N FILE");
  if (!slot_->model) {
    factory_.emplace(comm_, options_, *slot_->input);
    return;
  }
  if (options_.active && !slot_->model->last_hidden_layer())
    throw Error(fmt::format(
        "mode active: {} does not tell the outputs of its last hidden layer, which uncertainties "
        "rest on: freeze the model with DeePMD-kit 3.2, or label with mode passive",
        slot_->path));
  state_.counters.trained = true;
  make_trainer();
  state_.training_deferred = options_.active && !options_.selects;  // resume() knows better
  if (state_.training_deferred && options_.train > 0 && options_.resume.empty())
    say("the model is trained from the first label on whose error is above the threshold");
  if (!config().rules.only.empty() || !config().rules.freeze.empty())
    say(fmt::format("trains {} of {} parameters", slot_->model->parameters().num_trainable(),
                    slot_->model->parameters().size()));
}

void OnlineTraining::say(const std::string &text) const
{
  messages_.info(text);
}

// A model is written in the format of the file's name, or not at all: before the run is the time to say so.
void OnlineTraining::check_save_name() const
{
  if (options_.save.empty()) return;
  const ModelData none;
  const ModelData data = slot_->model ? slot_->model->data() : none;
  const std::string reason = format_to_write(options_.save).cannot_write(data);
  if (!reason.empty()) throw Error(fmt::format("save {}: {}", options_.save, reason));
}

// A folder that is missing is noticed before a label was paid for.
void OnlineTraining::check_folders() const
{
  std::vector<std::pair<std::string, std::string>> files{{"disp", config().disp_file}};
  if (!options_.save.empty()) files.emplace_back("save", options_.save);
  if (!options_.stat.empty()) files.emplace_back("stat", options_.stat);
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    for (const auto &[keyword, path] : files) {
      const fs::path folder = fs::path(path).parent_path();
      if (!folder.empty() && !fs::is_directory(folder))
        throw Error(fmt::format("{} {}: there is no folder {}: make it, or choose another name",
                                keyword, path, folder.string()));
    }
  });
}

// Of the first label: what the loss asks for and it does not have.
void OnlineTraining::check_label(const Label &label) const
{
  for (const auto &term : make_loss_terms(config().loss))
    if (term->traits().prefactor.is_on() && !term->has_label(label))
      messages_.warning(
          fmt::format("the labels have no {}, which the loss asks for (pref_{}): they are not "
                      "learned; set it to 0, or use a reference that has them",
                      term->traits().label, term->traits().name));
}

void OnlineTraining::divide_frames()
{
  const bool passes_messages = slot_->model && !slot_->model->is_local();
  const ParallelConfig &parallel = config().parallel;
  distributor_.emplace(comm_, possible_distribution(parallel.distribution, passes_messages),
                       frames_at_once(config().batch_size, parallel),
                       slot_->model ? weights_of_an_atom(slot_->model->data())
                                    : weights_of_an_atom(slot_->input->model));
}

// This rank's share; says how frames of this size are divided, where that was a choice.
Frame OnlineTraining::divide(const WholeFrame &frame)
{
  Frame share = distributor_->share(frame, slot_->cutoff);
  const std::string reason = distributor_->take_reason();
  if (!reason.empty()) say(reason);
  return share;
}

void OnlineTraining::make_trainer()
{
  trainer_ = std::make_unique<Trainer>(slot_->model, comm_, config());
  const std::string blocks = long_sides(config().optimizer, slot_->model->parameters().blocks());
  if (!blocks.empty()) say(blocks);
}

std::vector<std::pair<std::string, std::string>> OnlineTraining::outputs() const
{
  std::vector<std::pair<std::string, std::string>> result{{"disp", config().disp_file}};
  if (!options_.save.empty()) result.emplace_back("save", options_.save);
  if (!options_.dataset.empty()) result.emplace_back("dataset", options_.dataset);
  for (auto &[keyword, path] : result) {
    std::error_code ignored;
    path = fs::absolute(path, ignored).lexically_normal().string();
  }
  return result;
}

void OnlineTraining::add(const WholeFrame &frame)
{
  SessionCounters &counters = state_.counters;
  if (counters.frames == 0 && frame.label.force_weight.empty()) check_label(frame.label);
  store_.append(frame);
  keep(frame);
  ++counters.frames;
  if (!frame.held_out) {
    state_.earned_steps += options_.train;
    ++owed_labels_;
    has_unseen_ = true;
  }
  if (!trainer_ && counters.frames >= options_.warmup) make_model();
  watch();
  if (!options_.dataset.empty())
    write([&] { append_to_dataset(options_.dataset, slot_->type_map, frame); });
}

// Writes a file that the training does not need, on rank 0. A failure stops the run, but nothing is lost.
void OnlineTraining::write(const std::function<void()> &work)
{
  try {
    guarded(*comm_, [&] {
      if (comm_->rank() == 0) work();
    });
  } catch (const Error &) {
    save();
    throw;
  }
}

void OnlineTraining::keep(const WholeFrame &frame)
{
  Frame share = divide(frame);
  state_.counters.label_step = frame.step;
  state_.counters.label_energy = frame.label.energy.value_or(0.0);
  if (frame.held_out) return hold_out(std::move(share));
  if (trainer_) {
    latest_place_ = trainer_->add(std::move(share));
    uncertainty_.mark_stale();
    return;
  }
  waiting_.push_back(std::move(share));
  factory_->note(frame);
}

void OnlineTraining::make_model()
{
  std::string about_statistics;
  const ModelData data = factory_->make(waiting_, about_statistics);
  if (!about_statistics.empty()) say(about_statistics);
  const double shortest = factory_->statistics().min_distance();
  slot_->set_model(*comm_, data);
  make_trainer();
  factory_.reset();
  for (Frame &frame : waiting_) latest_place_ = trainer_->add(std::move(frame));
  waiting_.clear();
  const std::vector<int> limits = data.config.descriptor->neighbor_limits();
  say(fmt::format("new model from {} frames: {}smallest distance {:.4g} Angstrom, {} parameters",
                  state_.counters.frames,
                  limits.empty() ? "" : fmt::format("sel {}, ", joined(limits)), shortest,
                  slot_->model->parameters().size()));
}

void OnlineTraining::train_for(double seconds)
{
  has_unseen_ = false;
  if (is_deferred()) return;
  {
    const Stopwatch watch(state_.counters.train_seconds);
    const std::int64_t before = steps();
    const double label_seconds = label_seconds_;
    while (state_.earned_steps > 0 && !is_over(watch.elapsed(), seconds)) {
      state_.report = trainer_->update();
      const std::int64_t step = state_.report.step;
      --state_.earned_steps;
      slot_->trained = true;
      label_seconds_ = label_seconds + watch.elapsed();
      if (step == 1 || step % config().disp_freq == 0) write_curve();
      if (options_.active) watch_targets();
      if (options_.save_every > 0 && step % options_.save_every == 0) save();
      after_update();
    }
    if (state_.earned_steps == 0) {
      label_seconds_ = 0.0;
      owed_labels_ = 0;
    }
    if (steps() > before) {
      uncertainty_.mark_stale();
      if (!options_.active) slot_->uncertainty = false;  // that of other parameters
    }
    trainer_->show_average();                  // for the run until the next label: raw again then
    state_.counters.trained = slot_->trained;  // not with train 0
  }
  if (!options_.active && slot_->uncertainty_wanted) refresh_uncertainty();
  watch();
}

// Whether a time is over, by the clock of rank 0.
bool OnlineTraining::is_over(double seconds, double limit) const
{
  if (!std::isfinite(limit)) return false;
  bool over = seconds >= limit;
  comm_->broadcast(&over, sizeof(over), 0);
  return over;
}

void OnlineTraining::after_update()
{
  if (!on_update_) return;
  try {
    on_update_();
  } catch (...) {
    save();
    throw;
  }
}

void OnlineTraining::write_curve()
{
  write([&] {
    if (!curve_)
      curve_ = std::make_unique<LearningCurve>(config().disp_file, config().loss, false, resumed_);
    curve_->write(state_.report);
  });
}

// Ends the training of a label where the latest frame and the batches have reached the target, or where its time is over.
void OnlineTraining::watch_targets()
{
  double &mean = state_.buffer_error;
  const double error = state_.report.rmse("f"), square = error * error;
  if (std::isfinite(square))
    mean = mean > 0.0 ? batch_memory * mean + (1.0 - batch_memory) * square : square;
  if (state_.earned_steps % target_every != 0) return;
  const double most = options_.train_seconds * std::max(owed_labels_, 1);
  if (options_.train_seconds > 0.0 && is_over(label_seconds_, most)) state_.earned_steps = 0;
  if (options_.target <= 0.0 || std::sqrt(mean) > options_.target) return;
  if (latest_error() <= options_.target) state_.earned_steps = 0;
}

double OnlineTraining::latest_error()
{
  return trainer_->stored_errors({latest_place_}).rmse("f");
}

void OnlineTraining::refresh_uncertainty()
{
  if (!trainer_) return;
  const Stopwatch watch(state_.counters.train_seconds);
  uncertainty_.refresh(*trainer_, options_.active);
}

void OnlineTraining::select(const WholeFrame &frame, const std::string &note)
{
  uncertainty_.add(divide(frame));
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    append_to_dataset(options_.dataset, slot_->type_map, frame);
    append_to_extxyz(options_.dataset + "/selected.extxyz", slot_->type_map, frame, note);
  });
  ++state_.counters.frames;
}

void OnlineTraining::hold_out(Frame frame)
{
  if (trainer_) trainer_->check(frame);
  ++state_.counters.held_out;
  held_out_.push_back(std::move(frame));
  if (held_out_.size() > held_out_frames) held_out_.erase(held_out_.begin());
}

UpdateReport OnlineTraining::held_out_errors()
{
  std::vector<const Frame *> frames;
  for (const Frame &frame : held_out_) frames.push_back(&frame);
  if (!trainer_ || frames.empty()) return {};
  const Stopwatch watch(state_.counters.train_seconds);
  return trainer_->errors(frames);
}

void OnlineTraining::watch()
{
  if (slot_->model) health_.watch(*slot_->model);
  health_.watch_memory(memory(true));
  if (trainer_)
    health_.watch_scratch("frames stay in memory (set TMPDIR to a disk with room)",
                          trainer_->scratch_trouble());
}

MemoryLedger OnlineTraining::memory(bool with_model) const
{
  MemoryLedger ledger;
  if (with_model && slot_->model) add_uses(ledger, slot_->model->memory());
  if (trainer_) add_uses(ledger, trainer_->memory());
  for (const auto *frames : {&waiting_, &held_out_})  // those that the trainer does not have
    for (const Frame &frame : *frames) add_frame(ledger, frame);
  return ledger;
}

// What has changed where there is something new to save; times do not count.
std::vector<double> OnlineTraining::progress() const
{
  const SessionCounters &counters = state_.counters;
  std::vector<double> numbers = state_.active;
  for (const std::int64_t count : {steps(), counters.frames, counters.reference_calls,
                                   counters.discarded, counters.answer_step})
    numbers.push_back(static_cast<double>(count));
  numbers.push_back(counters.energy_jumps);
  return numbers;
}

// A model that was given and has learned nothing here must not take the place of a file, whose checkpoint knows more of it.
bool OnlineTraining::nothing_new() const
{
  bool exists = false;
  if (state_.counters.frames > 0 || steps() > 0) return false;
  if (comm_->rank() == 0) exists = fs::exists(options_.save);
  comm_->broadcast(&exists, sizeof(exists), 0);
  return exists;
}

void OnlineTraining::save()
{
  if (options_.save.empty() || !slot_->trained) return;
  bool nothing = saved_ == progress();
  comm_->broadcast(&nothing, sizeof(nothing),
                   0);  // some of it is of a run, the ranks may be of several
  if (nothing || nothing_new()) return;
  refresh_uncertainty();
  Checkpoint checkpoint = checkpoint_of(*comm_, *trainer_, *slot_->model);
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    state_.precision = slot_->settings.precision;
    state_.given_whitening = uncertainty_.given_whitening;
    checkpoint.model.calibration = state_.active;
    checkpoint.num_frames = state_.counters.frames;
    checkpoint.session = pack(state_);
    if (!resumed_ && saved_.empty()) keep_start_model();
    write_checkpoint(options_.save + ".ckpt", checkpoint);
    write_model_file(options_.save, checkpoint.model);
  });
  saved_ = progress();
}

// Rank 0. The model that the training began with stays, also where its file is the one to save to.
void OnlineTraining::keep_start_model()
{
  std::error_code none;
  if (!fs::equivalent(slot_->path, options_.save, none)) return;
  const std::string old = put_aside({options_.save});
  say(fmt::format("the model {} that the training began with is kept as {}{}", options_.save,
                  options_.save, old));
}

// Old frames that the buffer has dropped are left out, such that each of the others comes to the place that it had.
std::vector<WholeFrame> OnlineTraining::load_frames(const std::string &path, std::int64_t count,
                                                    const std::vector<int> &types)
{
  std::vector<WholeFrame> frames = store_.read(path, count, types, slot_->path, slot_->type_map);
  const std::int64_t buffer = options_.buffer, learned = num_learned(frames);
  std::int64_t dropped = buffer > 0 && learned > buffer ? (learned - buffer) / buffer * buffer : 0;
  for (const WholeFrame &stored : frames) {
    WholeFrame frame = stored;
    broadcast(*comm_, frame);
    if (frame.held_out || --dropped < 0) keep(frame);
  }
  state_.counters.frames = static_cast<std::int64_t>(frames.size());
  return frames;
}

// Those that are not for validation, of frames that rank 0 holds.
std::int64_t OnlineTraining::num_learned(const std::vector<WholeFrame> &frames) const
{
  std::int64_t number = std::count_if(frames.begin(), frames.end(),
                                      [](const WholeFrame &frame) { return !frame.held_out; });
  comm_->broadcast(&number, sizeof(number), 0);
  return number;
}

void OnlineTraining::resume(const std::string &file)
{
  std::string path = file;
  Checkpoint checkpoint;
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    path = resume_path(file);
    if (path != frames_path_of(file)) checkpoint = read_checkpoint(path);
  });
  broadcast(*comm_, path);
  if (path == frames_path_of(file)) return resume_frames(path);
  broadcast(*comm_, checkpoint);
  guarded(*comm_, [&] { check_same_model(path, checkpoint.model, *slot_); });
  state_ = unpack(checkpoint.session);
  uncertainty_.given_whitening = state_.given_whitening;
  const Precision before = state_.precision, now = slot_->settings.precision;

  settings_.continue_from(path, checkpoint.training);
  divide_frames();
  factory_.reset();
  slot_->set_model(*comm_, checkpoint.model);
  slot_->model->parameters().set(checkpoint.parameters);
  slot_->trained = true;
  make_trainer();
  const std::string source = frames_path_of(path);
  std::vector<WholeFrame> frames =
      load_frames(source, checkpoint.num_frames, identity(type_map_.size()));
  trainer_->set_state(checkpoint.trainer);
  // the table stood for the parameters of the run, where the steps of a label were complete
  if (state_.earned_steps == 0) trainer_->show_average();
  restore_tables(*comm_, *slot_->model, checkpoint, before == now);
  resumed_ = true;
  load_later_frames(source, frames);
  store_.begin(frames, source);
  say(fmt::format("resumed from {}: {} frames, {} optimizer steps", path, state_.counters.frames,
                  steps()));
  if (before != now)
    say(fmt::format(
        "the steps before were done in precision {}, those from here on are done in precision {}",
        name_of(before), name_of(now)));
  train();  // what a checkpoint amid the training of a label has left
}

// Labels that came after the checkpoint, before the program ended: they are learned now.
void OnlineTraining::load_later_frames(const std::string &path, std::vector<WholeFrame> &frames)
{
  std::vector<WholeFrame> all =
      store_.read(path, -1, identity(type_map_.size()), slot_->path, slot_->type_map);
  for (std::size_t k = frames.size(); k < all.size(); ++k) {
    WholeFrame frame = std::move(all[k]);
    broadcast(*comm_, frame);
    keep(frame);
    ++state_.counters.frames;
    ++state_.counters.reference_calls;
    if (!frame.held_out) state_.earned_steps += options_.train;
    frames.push_back(std::move(frame));
  }
}

// A run that ended before its first checkpoint has left frames.
void OnlineTraining::resume_frames(const std::string &path)
{
  const auto frames = load_frames(path, -1, identity(type_map_.size()));
  store_.begin(frames, path);
  say(fmt::format("resumed with the {} frames of {}, there is no checkpoint",
                  state_.counters.frames, path));
  state_.earned_steps = options_.train * num_learned(frames);
  state_.counters.reference_calls = state_.counters.frames;
  if (!trainer_ && state_.counters.frames >= options_.warmup) make_model();
  train();
}

std::vector<int> OnlineTraining::types_of(const OnlineTraining &other) const
{
  std::vector<int> types;
  for (const std::string &name : other.type_map_) {
    const auto found = std::find(type_map_.begin(), type_map_.end(), name);
    types.push_back(found == type_map_.end() ? -1 : static_cast<int>(found - type_map_.begin()));
  }
  return types;
}

void OnlineTraining::take_frames(const OnlineTraining &before)
{
  SessionCounters &counters = state_.counters;
  counters = before.state_.counters;
  counters.held_out = 0;  // those that are kept are counted again
  counters.trained = slot_->model != nullptr;
  resumed_ = true;
  if (counters.frames == 0) return;
  const std::vector<int> types = types_of(before);
  const auto frames = load_frames(before.store_.path(), counters.frames, types);
  // numbers of types in the file are those of its model: for another one it is written again
  const bool same = types == identity(types.size());
  store_.begin(frames, same ? store_.path() : "");
  if (!trainer_) state_.earned_steps = options_.train * num_learned(frames);
  if (!trainer_ && counters.frames >= options_.warmup) make_model();
  watch();
}

}  // namespace dptrain
