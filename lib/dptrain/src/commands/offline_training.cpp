// The course of a training from data sets.

#include "commands/offline_training.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "commands/data_warnings.h"
#include "commands/interrupt.h"
#include "dptrain/base/error.h"
#include "dptrain/base/memory_ledger.h"
#include "dptrain/io/atomic_file.h"
#include "dptrain/parallel/broadcast.h"
#include "dptrain/parallel/memory_table.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/session/checkpoint.h"
#include "dptrain/training/learning_curve.h"
#include "io/file.h"
#include "session/training_checkpoint.h"

namespace dptrain {

namespace {

constexpr double most_steps = 9e15;  // a double counts them one by one
// of the order of the validation frames, which does not follow that of the training frames
constexpr std::uint64_t validation_stream = 0x5851f42d4c957f2dULL;

}  // namespace

OfflineTraining::OfflineTraining(std::shared_ptr<const Communicator> comm, TrainOptions options,
                                 Log log) :
    comm_(std::move(comm)),
    options_(std::move(options)),
    log_(std::move(log)),
    health_(comm_, [this](const std::string &text) { say("WARNING: " + text); })
{
}

TrainSummary OfflineTraining::run()
{
  read_settings();
  open_data();
  make_model();
  make_trainer();
  if (options_.dry_run)
    estimate();
  else
    train();
  return summary_;
}

void OfflineTraining::read_settings()
{
  std::string text;
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    check_output();
    text = read_input_file(options_.input);
  });
  broadcast(*comm_, text);
  read_start();
  guarded(*comm_, [&] {
    const bool from_archive = start_ && !start_->archive.empty();
    input_ = read_input_text(from_archive ? text : with_model_of_start(text), options_.input,
                             from_archive);
    check_start();
  });
  if (!input_.length_given)
    throw Error(options_.input + ": training: give its length, as numb_steps or num_epoch");
  if (input_.offline.training_data.systems.empty())
    throw Error(options_.input +
                ": training/training_data/systems: is missing, or names no data set");
  TrainingConfig &training = input_.training;
  training.parallel = options_.parallel;
  training.parallel.distribution =
      possible_distribution(training.parallel.distribution, start_ && start_->passes_messages);
  training.fit_energy_bias = false;  // comes from the statistics or from the model file
  if (!training.optimizer.precision && options_.precision != Precision::float64)
    training.optimizer.precision = "float32";
  std::string ignored;
  for (const std::string &key : input_.ignored) ignored += (ignored.empty() ? "" : ", ") + key;
  if (!ignored.empty())
    say("WARNING: " + options_.input + ": these keys have no meaning here: " + ignored);
}

std::unique_ptr<BatchSource>
OfflineTraining::open_section(const char *name, const DataConfig &config, std::uint64_t order)
{
  const std::size_t budget = bytes_of_gib(options_.parallel.frame_memory);
  const DataOptions data{input_.model.type_map, config.set_prefix,
                         input_.training.loss.numb_generalized_coord,
                         start_ ? start_->num_fparam : 0};
  std::unique_ptr<BatchSource> source;
  std::vector<std::string> left_out;
  guarded(*comm_, [&] {
    Systems systems;
    try {
      systems =
          open_systems(config, data, [&](const std::string &line) { left_out.push_back(line); });
    } catch (const Error &error) {
      throw Error(options_.input + ": training/" + name + ": " + error.what());
    }
    const std::int64_t work =
        start_ ? weights_of_an_atom(*start_) : weights_of_an_atom(input_.model);
    source = std::make_unique<BatchSource>(comm_, config, std::move(systems), input_, work, order,
                                           budget);
  });
  for (const std::string &line : left_out) say("WARNING: " + line);
  return source;
}

void OfflineTraining::open_data()
{
  const OfflineConfig &offline = input_.offline;
  const std::uint64_t seed = input_.training.seed;
  training_ = open_section("training_data", offline.training_data, seed);
  say_systems("training", *training_);
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    for (const auto &line : missing_labels(training_->systems, input_.training.loss))
      say("WARNING: training data: " + line);
  });
  if (offline.validation_data) {
    validation_ =
        open_section("validation_data", *offline.validation_data, seed ^ validation_stream);
    say_systems("validation", *validation_);
  }
  if (!offline.num_epoch) return;
  const double steps =
      std::ceil(*offline.num_epoch * static_cast<double>(training_->plan.steps_per_epoch()));
  if (!(steps < most_steps))
    throw Error(options_.input + ": training/num_epoch: gives " + std::to_string(steps) +
                " steps, more than can be counted");
  input_.training.numb_steps = std::max<std::int64_t>(1, std::llround(steps));
  say("num_epoch gives " + std::to_string(input_.training.numb_steps) + " steps");
}

void OfflineTraining::make_model()
{
  ModelData data = start_ ? std::move(*start_) : new_model();
  start_.reset();
  guarded(*comm_, [&] {
    model_ = dptrain::make_model(std::move(data), start_option());
    model_->set_precision(options_.precision);
    if (restart_) model_->parameters().set(restart_->parameters);
  });
  if (!options_.finetune.empty()) fit_energy_bias();
}

void OfflineTraining::make_trainer()
{
  trainer_ = std::make_unique<Trainer>(model_, comm_, input_.training);
  const std::size_t all = model_->parameters().size(),
                    trained = model_->parameters().num_trainable();
  say("model: " + std::to_string(all) + " parameters" +
      (trained < all ? ", " + std::to_string(trained) + " of them are trained" : ""));
  if (restart_) continue_trainer();
  trainer_->begin_average();
}

void OfflineTraining::continue_trainer()
{
  const State &session = restart_->session;
  if (!session.has("program") || session.text("program") != program_train)
    throw Error("--restart " + options_.restart +
                ": not a checkpoint of dptrain train (one of fix dptrain goes on there, with "
                "resume; here, --init-model takes its parameters)");
  trainer_->set_state(restart_->trainer);
  mean_.set_state(session.group("means"));
  bool same = training_->plan.set_state(session.group("training"));
  if (validation_) same = validation_->plan.set_state(session.group("validation")) && same;
  if (!same)
    say("WARNING: the data are others than before " + options_.restart +
        " was written: their order starts anew");
  const bool same_precision = session.text("precision") == name_of(options_.precision);
  if (!restore_tables(*comm_, *model_, *restart_, same_precision))
    say("restart: the precision is another one than before");
  restart_.reset();
  say("restart: goes on after step " + std::to_string(trainer_->steps()));
  if (trainer_->steps() >= input_.training.numb_steps)
    say("numb_steps is " + std::to_string(input_.training.numb_steps) +
        ": nothing is left to train");
}

State OfflineTraining::session_state() const
{
  State state;
  state.set_text("program", program_train);
  state.set_text("precision", name_of(options_.precision));
  state.set_group("training", training_->plan.state());
  state.set_group("validation", validation_ ? validation_->plan.state() : State());
  state.set_group("means", mean_.state());
  return state;
}

void OfflineTraining::train()
{
  const TrainingConfig &config = input_.training;
  const bool restarted = !options_.restart.empty();
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    if (!options_.output.empty())
      write_atomically(options_.output, [&](const std::string &name) {
        write_file(name, resolved_input_text(input_));
      });
    files_ = std::make_unique<CheckpointFiles>(
        input_.offline, kept_checkpoints(input_.offline, config.numb_steps, config.save_freq));
    const auto left = files_->left();
    if (restarted)
      files_->take_over(trainer_->steps());
    else if (!left.empty())
      say("WARNING: " + files_->path(*left.rbegin()) +
          " is that of an earlier training, which --restart would go on with; this one replaces "
          "files of the same names");
    curve_ = std::make_unique<LearningCurve>(config.disp_file, config.loss, validation_ != nullptr,
                                             restarted);
  });
  const Interrupt interrupt;
  progress_ = std::make_unique<Progress>(comm_, config.loss, trainer_->steps(), config.numb_steps,
                                         log_, options_.draw);
  bool stop = false;
  while (!stop && trainer_->steps() < config.numb_steps) {
    const UpdateReport last = trainer_->update(load(*training_));
    if (input_.offline.disp_avg) mean_.add(last, 1.0);
    progress_->step(last.step);
    if (last.step == 1 || last.step % config.disp_freq == 0) report(last);
    stop = interrupted(interrupt.asked());
    if (stop || last.step % config.save_freq == 0) save();
  }
  progress_->end();
  summary_.interrupted = stop && trainer_->steps() < config.numb_steps;
  if (input_.offline.change_bias_after_training && !summary_.interrupted) {
    trainer_->show_average();
    fit_energy_bias();
    saved_ = -1;
  }
  save();
  summary_.steps = trainer_->steps();
  summary_.seconds = progress_->seconds();
  std::ostringstream text;
  text << (summary_.interrupted ? "interrupted by a signal after step " : "finished after step ")
       << summary_.steps << " in " << summary_.seconds << " s";
  if (comm_->rank() == 0) text << "; checkpoint " << files_->path(summary_.steps);
  if (summary_.interrupted && comm_->rank() == 0)
    text << "; it goes on with --restart " << files_->newest();
  say(text.str());
  say_memory();
}

void OfflineTraining::say_memory() const
{
  MemoryLedger ledger = model_->memory();
  add_uses(ledger, trainer_->memory());
  for (const auto *source : {training_.get(), validation_.get()})
    if (source) add_uses(ledger, source->cache.memory());
  std::istringstream table(memory_table(*comm_, ledger));
  for (std::string line; std::getline(table, line);) say(line);
}

/// The next batch.
std::vector<const Frame *> OfflineTraining::load(BatchSource &source)
{
  std::vector<const Frame *> frames;
  for (std::int64_t tries = 2 * source.plan.steps_per_epoch(); frames.empty(); --tries) {
    if (tries < 0)
      throw Error("min_pair_dist: all frames have atoms that are closer to each other");
    frames = load(source, source.plan.next());
  }
  source.cache.prefetch(source.plan.peek());
  return frames;
}

/// Those of the frames that are not left out. The model's table reaches to their shortest distance on every rank: one that
/// it finds by itself would be known to its rank only.
std::vector<const Frame *> OfflineTraining::load(BatchSource &source,
                                                 const std::vector<FrameId> &ids)
{
  std::vector<const Frame *> frames = source.cache.load(ids);
  const std::string reason = source.cache.take_reason();
  if (!reason.empty()) say(reason);
  const double shortest = source.cache.shortest_distance();
  if (std::isfinite(shortest) && (shortest_ == 0.0 || shortest < shortest_)) {
    shortest_ = shortest;
    guarded(*comm_, [&] { model_->expect_distance(shortest); });
  }
  return frames;
}

std::optional<UpdateReport> OfflineTraining::validate()
{
  if (!validation_) return std::nullopt;
  trainer_->show_average();
  ReportMean mean;
  for (int k = 0; k < input_.offline.validation_data->numb_btch; ++k) {
    const std::vector<const Frame *> frames = load(*validation_);
    double natoms = 0.0;
    for (const Frame *frame : frames) natoms += static_cast<double>(frame->natoms);
    mean.add(trainer_->errors(frames), natoms);
  }
  return mean.mean();
}

void OfflineTraining::report(const UpdateReport &last)
{
  health_.watch(*model_);
  health_.watch_scratch("frames are read again instead of kept",
                        training_->cache.scratch_trouble());
  if (!input_.offline.disp_training) return;
  const UpdateReport training = mean_.empty() ? last : mean_.mean();
  mean_ = ReportMean();
  const std::optional<UpdateReport> validation = validate();
  guarded(*comm_, [&] {
    if (comm_->rank() == 0) curve_->write(training, validation);
  });
  progress_->line(training, validation, input_.offline.time_training);
}

void OfflineTraining::save()
{
  if (saved_ == trainer_->steps()) return;
  saved_ = trainer_->steps();
  trainer_->show_average();
  Checkpoint checkpoint = checkpoint_of(*comm_, *trainer_, *model_);
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    checkpoint.session = session_state();
    write_checkpoint(files_->path(saved_), checkpoint);
    files_->wrote(saved_);
  });
}

// A signal need not have reached every rank yet.
bool OfflineTraining::interrupted(bool here) const
{
  std::int64_t anywhere = here ? 1 : 0;
  comm_->all_reduce_max(&anywhere, 1);
  return anywhere != 0;
}

void OfflineTraining::say(const std::string &line) const
{
  if (comm_->rank() == 0) log_(line);
}

void OfflineTraining::say_systems(const char *title, const BatchSource &source) const
{
  std::int64_t frames = 0;
  for (const auto &system : source.systems) frames += system->num_frames();
  say(std::string(title) + " data: " + std::to_string(source.systems.size()) + " systems, " +
      std::to_string(frames) + " frames");
  for (std::size_t k = 0; k < source.systems.size(); ++k) {
    const DataSystem &system = *source.systems[k];
    std::ostringstream text;
    text.precision(4);
    text << "  " << system.name() << ": " << system.num_frames() << " frames, " << system.natoms(0)
         << " atoms, batch " << source.plan.batch_sizes()[k] << ", probability "
         << source.plan.probabilities()[k];
    say(text.str());
  }
}

TrainSummary run_training(std::shared_ptr<const Communicator> comm, const TrainOptions &options,
                          const Log &log)
{
  return OfflineTraining(std::move(comm), options, log).run();
}

}  // namespace dptrain
