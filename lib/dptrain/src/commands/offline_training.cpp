#include "commands/offline_training.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <iomanip>
#include <sstream>
#include <utility>

#include "base/elapsed.h"
#include "checkpoint/training_checkpoint.h"
#include "commands/baseline_system.h"
#include "commands/data_model.h"
#include "commands/data_warnings.h"
#include "commands/held_out.h"
#include "commands/interrupt.h"
#include "commands/measured_bars.h"
#include "commands/separate_atoms.h"
#include "commands/spread_frames.h"
#include "dptrain/base/error.h"
#include "dptrain/base/memory_ledger.h"
#include "dptrain/checkpoint/checkpoint.h"
#include "dptrain/frames/distribution.h"
#include "dptrain/io/atomic_file.h"
#include "dptrain/parallel/broadcast.h"
#include "dptrain/parallel/memory_table.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/model/stiffen_walls.h"
#include "dptrain/potential/native/deep_pot.h"
#include "dptrain/training/energy_bias_fit.h"
#include "dptrain/training/learning_curve.h"
#include "dptrain/uncertainty/feature_moments.h"
#include "io/file.h"
#include "optimizer/optimizer.h"
#include "statistics/data/structure_cutoff.h"
#include "training/schedule.h"

namespace dptrain {

namespace {

constexpr double most_steps = 9e15;  // a double counts them one by one
// of the order of the validation frames, which does not follow that of the training frames
constexpr std::uint64_t validation_stream = 0x5851f42d4c957f2dULL;
constexpr std::int64_t bias_frames = 2000;   // enough for the energy bias
constexpr std::int64_t cutoff_frames = 10;   // enough for the cutoff
constexpr std::int64_t moment_frames = 256;  // enough to say what was learned
// of a training whose input does not say how many, whichever is more (bench/results/length.md)
constexpr std::int64_t default_steps = 10000, default_epochs = 50;
constexpr int tried_steps = 6;
constexpr double tried_seconds = 10.0, mib = 1024.0 * 1024.0, mib_per_gib = 1024.0;

/// The cutoff that follows from some of the frames.
StructureCutoff cutoff_of(const Systems &systems, const std::vector<std::string> &type_map)
{
  std::vector<WholeFrame> frames;
  for (const FrameId &id : spread_frames(systems, cutoff_frames))
    frames.push_back(systems[id.system]->read(id.frame));
  return cutoff_of_structures(frames, type_map);
}

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
  start_ = read_start_file(*comm_, options_);
  guarded(*comm_, [&] { input_ = input_of_start(text, options_, start_); });
  if (!input_.length_given && !input_.length_follows)
    throw Error(
        fmt::format("{}: training: give its length, as numb_steps or num_epoch", options_.input));
  if (input_.offline.training_data.systems.empty())
    throw Error(fmt::format(
        "{}: training/training_data/systems: is missing, or names no data set; name at least one",
        options_.input));
  TrainingConfig &training = input_.training;
  if (training.numb_steps == 0 && !start_.model)
    throw Error(
        fmt::format("{}: training/numb_steps: 0 leaves a model as it is and measures its error "
                    "bars: give the model, as --init-model FILE, or a number of steps",
                    options_.input));
  training.parallel = options_.parallel;
  training.parallel.distribution = possible_distribution(
      training.parallel.distribution, start_.model && start_.model->passes_messages);
  training.fit_energy_bias = false;  // comes from the statistics or from the model file
  if (!training.optimizer.precision && options_.precision != Precision::float64)
    training.optimizer.precision = "float32";
  if (Schedule(training.schedule, training.numb_steps).stays_constant())
    for (const auto &[term, prefactor] : training.loss.prefactors)
      if (prefactor.start != prefactor.limit)
        say(fmt::format("WARNING: {0}: loss/start_pref_{1} ({2:g}) counts all the time, and "
                        "limit_pref_{1} ({3:g}) never, because the learning rate stays: give "
                        "learning_rate/stop_lr_ratio or both prefactors the same number",
                        options_.input, term, prefactor.start, prefactor.limit));
  std::string ignored;
  for (const std::string &key : input_.ignored) ignored += (ignored.empty() ? "" : ", ") + key;
  if (!ignored.empty())
    say(fmt::format(
        "WARNING: {}: these keys have no meaning here (remove them, or let them be): {}",
        options_.input, ignored));
}

void OfflineTraining::check_output() const
{
  std::error_code missing;
  for (const auto &file :
       {options_.input, options_.restart, options_.init_model, options_.finetune})
    for (const auto &name : {file, file + ".dp"})
      if (!file.empty() && std::filesystem::equivalent(options_.output, name, missing))
        throw Error(
            fmt::format("--output {} is a file that this training reads: choose another name",
                        options_.output));
}

std::unique_ptr<BatchSource> OfflineTraining::open_section(const char *name,
                                                           const DataConfig &config,
                                                           std::uint64_t order, bool splits_atoms)
{
  const std::size_t budget = bytes_of_gib(options_.parallel.frame_memory);
  const DataOptions data{input_.model.type_map, config.set_prefix,
                         input_.training.loss.numb_generalized_coord,
                         start_.model ? start_.model->num_fparam : 0};
  std::unique_ptr<BatchSource> source;
  Systems held_out;
  std::vector<std::string> left_out, atoms;
  std::optional<StructureCutoff> cutoff;
  guarded(*comm_, [&] {
    Systems systems;
    try {
      systems =
          open_systems(config, data, [&](const std::string &line) { left_out.push_back(line); });
      if (input_.model.cutoff_source == CutoffSource::open)
        cutoff = cutoff_of(systems, input_.model.type_map);
      if (cutoff) choose_cutoff(input_.model, cutoff->rcut);
      // a baseline gives atoms that are far from each other no energy
      if (splits_atoms)
        systems = split_separate_atoms(systems, input_.model,
                                       [&](const std::string &line) { atoms.push_back(line); });
      if (baseline_) systems = less_baseline(systems, baseline_);
      if (&config == &input_.offline.training_data && !input_.offline.validation_data) {
        HeldOut parts = hold_out(systems, input_.offline.held_out.value_or(0.0));
        systems = std::move(parts.training);
        held_out = std::move(parts.held_out);
      }
    } catch (const Error &error) {
      throw Error(fmt::format("{}: training/{}: {}", options_.input, name, error.what()));
    }
    const std::int64_t work =
        start_.model ? weights_of_an_atom(*start_.model) : weights_of_an_atom(input_.model);
    source = std::make_unique<BatchSource>(comm_, config, std::move(systems), input_, work, order,
                                           budget);
    if (held_out.empty()) return;
    DataConfig others;
    others.batch_size = {BatchSize::Rule::fixed, source->plan.frames_of_a_batch(), {}};
    others.min_pair_dist = config.min_pair_dist;
    held_out_ = std::make_unique<BatchSource>(comm_, others, std::move(held_out), input_, work,
                                              order, budget);
  });
  for (const std::string &line : left_out) say("WARNING: " + line);
  for (const std::string &line : atoms) say(line);
  if (cutoff) say(text_of(*cutoff));
  return source;
}

void OfflineTraining::open_data()
{
  const OfflineConfig &offline = input_.offline;
  const std::uint64_t seed = input_.training.seed;
  if (!input_.model.baseline.empty()) {
    say(fmt::format("baseline: {}; the net learns what it lacks", name_of(input_.model.baseline)));
    baseline_ = options_.make_baseline(input_.model.baseline, input_.model.type_map);
  }
  splits_atoms_ = !start_.model;
  if (start_.restart && start_.restart->session.has("splits_atoms"))  // else it is of the fix
    splits_atoms_ = start_.restart->session.get<bool>("splits_atoms");
  training_ = open_section("training_data", offline.training_data, seed, splits_atoms_);
  for (const AnyEnergyTermConfig &term : input_.model.terms) {
    const std::string note = term->note(), warning = term->warning(input_.model);
    say(fmt::format("term beside the net: {}{}{}", term->text(), note.empty() ? "" : "; ", note));
    if (!warning.empty()) say("WARNING: " + warning);
  }
  say_systems("training", *training_);
  if (held_out_)
    say(fmt::format("held out: {} frames more, in blocks, which tell how good the potential is "
                    "(held_out)",
                    num_frames(held_out_->systems)));
  warn_of_labels("training", *training_);
  if (offline.validation_data) {
    validation_ =
        open_section("validation_data", *offline.validation_data, seed ^ validation_stream, false);
    say_systems("validation", *validation_);
    warn_of_labels("validation", *validation_);
  }
  set_length();
}

void OfflineTraining::set_length()
{
  const std::int64_t epoch = training_->plan.steps_per_epoch();
  if (const auto &number = input_.offline.num_epoch) {
    const double steps = std::ceil(*number * static_cast<double>(epoch));
    if (!(steps < most_steps))
      throw Error(fmt::format("{}: training/num_epoch: gives {} steps, more than can be counted; "
                              "give a smaller number",
                              options_.input, steps));
    input_.training.numb_steps = std::max<std::int64_t>(1, std::llround(steps));
    say(fmt::format("num_epoch gives {} steps", input_.training.numb_steps));
  } else if (!input_.length_given) {
    input_.training.numb_steps = std::max(default_steps, default_epochs * epoch);
    say(fmt::format("numb_steps is not given: {} steps{}", input_.training.numb_steps,
                    others() && HeldOutJudge::may_end(input_.training)
                        ? " at most; it ends when the error on frames that are not trained "
                          "on no longer falls"
                        : ""));
  }
}

void OfflineTraining::warn_of_labels(const char *title, const BatchSource &source) const
{
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    for (const auto &line :
         missing_labels(source.systems, input_.training.loss, input_.virial_given))
      say(fmt::format("WARNING: {} data: {}", title, line));
  });
}

void OfflineTraining::make_model()
{
  const auto tell = [this](const std::string &line) { say(line); };
  ModelData data = start_.model
                       ? std::move(*start_.model)
                       : DataModel(comm_, options_, input_, *training_, tell, health_).make();
  const bool is_new = start_.option.empty();
  start_.model.reset();
  guarded(*comm_, [&] {
    model_ = dptrain::make_model(std::move(data), start_.option);
    model_->set_precision(options_.precision);
    closest_ = PairDistances(static_cast<int>(model_->type_map().size()));
    if (start_.restart) model_->parameters().set(start_.restart->parameters);
  });
  // that of the statistics does not know what terms give
  if (!options_.finetune.empty() || (is_new && !input_.model.terms.empty())) fit_energy_bias();
}

void OfflineTraining::fit_energy_bias()
{
  // what was trained with these data has learned from the energies of atoms that it has
  const bool keeps = options_.finetune.empty();
  EnergyBiasFit fit(model_, comm_, input_.training.loss.enable_atom_ener_coeff, keeps);
  const std::vector<double> before = model_->energy_bias();
  const auto known = known_atom_energies(model_->data());
  for (const FrameId &id : spread_frames(training_->systems, bias_frames)) {
    const BatchShares shares(load(*training_, {id}), *comm_, fit.num_frames());
    for (const Frame *frame : shares.frames()) fit.add(*frame);
  }
  const std::int64_t frames = fit.num_frames();
  if (frames == 0 && trainer_) return;  // told before, or nobody asked
  if (frames == 0)
    return say("WARNING: the data have no energies: the energy bias stays; add energies to fit it");
  const double deviation = fit.apply();
  std::ostringstream text;
  text << "energy bias fitted to " << frames << " frames (eV):";
  const std::vector<double> after = model_->energy_bias();
  for (std::size_t type = 0; type < after.size(); ++type)
    text << " " << input_.model.type_map[type] << " " << before[type] << " -> " << after[type];
  text << "; what remains has a standard deviation of " << deviation << " eV per frame";
  say(text.str());
  if (known_atom_energies(model_->data()) != known) say(atoms_are_fitted);
}

void OfflineTraining::make_trainer()
{
  trainer_ = std::make_unique<Trainer>(model_, comm_, input_.training);
  judge_ = std::make_unique<HeldOutJudge>(
      *trainer_, model_, *training_, others(),
      [this](BatchSource &source, const std::vector<FrameId> &ids) { return load(source, ids); });
  const std::size_t all = model_->parameters().size(),
                    trained = model_->parameters().num_trainable();
  say(fmt::format("model: {} parameters{}", all,
                  trained < all ? fmt::format(", {} of them are trained", trained) : ""));
  const std::string blocks = long_sides(input_.training.optimizer, model_->parameters().blocks());
  if (!blocks.empty()) say(blocks);
  const bool is_new = start_.option.empty();
  if (start_.restart) continue_trainer();
  // the average that is a default has the parameters of a new model, which are random numbers, not in it
  if (!is_new || input_.average_given) trainer_->begin_average();
}

void OfflineTraining::continue_trainer()
{
  const State &session = start_.restart->session;
  if (!session.has("program") || session.at<std::string>("program") != program_train)
    throw Error(fmt::format("--restart {}: not a checkpoint of dptrain train (one of fix dptrain "
                            "goes on there, with resume; here, --init-model takes its parameters)",
                            options_.restart));
  trainer_->set_state(start_.restart->trainer);
  if (session.has("trained_bias"))
    model_->set_energy_bias(session.at<std::vector<double>>("trained_bias"));
  const auto go_to = [&](BatchPlan &plan, const char *name) {
    const auto position = session.get<std::optional<BatchPlan::Position>>(name);
    return position && plan.go_to(*position);
  };
  bool same = go_to(training_->plan, "training");
  if (same) session.get_to("means", mean_);
  if (validation_) same = go_to(validation_->plan, "validation") && same;
  if (same && session.has("early_stopping"))
    judge_->go_on_from(session.get<EarlyStopping>("early_stopping"));
  if (!same)
    say(fmt::format("WARNING: the data are others than before {} was written: their order starts "
                    "anew; check the systems of the input",
                    options_.restart));
  const bool same_precision = session.at<std::string>("precision") == name_of(options_.precision);
  if (!restore_tables(*comm_, *model_, *start_.restart, same_precision))
    say("restart: the precision is another one than before");
  start_.restart.reset();
  say(fmt::format("restart: goes on after step {}", trainer_->steps()));
  if (trainer_->steps() >= input_.training.numb_steps)
    say(fmt::format("numb_steps is {}: nothing is left to train", input_.training.numb_steps));
  else if (judge_->is_over())
    say("nothing is left to train: the error on frames that are not trained on no longer falls");
}

State OfflineTraining::session_state() const
{
  State state;
  state.set("program", program_train);
  state.set("precision", options_.precision);
  state.set("training", training_->plan.position());
  if (validation_) state.set("validation", validation_->plan.position());
  state.set("means", mean_);
  if (!judge_->found().empty()) state.set("early_stopping", judge_->found());
  if (!trained_bias_.empty()) state.set("trained_bias", trained_bias_);
  state.set("splits_atoms", splits_atoms_);
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
      say(fmt::format("WARNING: {} is that of an earlier training, which --restart would go on "
                      "with; this one replaces files of the same names: stop it now to keep them",
                      files_->path(*left.rbegin())));
    curve_ = std::make_unique<LearningCurve>(config.disp_file, config.loss, validation_ != nullptr,
                                             restarted);
  });
  const Interrupt interrupt;
  progress_ = std::make_unique<Progress>(comm_, config.loss, trainer_->steps(), config.numb_steps,
                                         log_, options_.draw);
  bool stop = false;
  while (!stop && !judge_->is_over() && trainer_->steps() < config.numb_steps) {
    const UpdateReport last = trainer_->update(load(*training_));
    if (input_.offline.disp_avg) mean_.add(last, 1.0);
    progress_->step(last.step);
    if (last.step == 1 || last.step % config.disp_freq == 0) report(last);
    stop = interrupted(interrupt.asked());
    judge_->step();
    if (stop || last.step % config.save_freq == 0) save();
  }
  progress_->end();
  summary_.interrupted = stop && !judge_->is_over() && trainer_->steps() < config.numb_steps;
  const std::vector<std::string> judgement = judge_->keep_best();
  for (const std::string &line : judgement) say(line);
  if (!judgement.empty()) saved_ = -1;  // its weights are others than those of the last step
  if (input_.offline.change_bias_after_training && !summary_.interrupted && trainer_->steps() > 0) {
    trainer_->show_average();
    trained_bias_ = model_->energy_bias();
    fit_energy_bias();
    saved_ = -1;
  }
  measure_bars();
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

/// Frames that are not trained on; none: there are none.
BatchSource *OfflineTraining::others() const
{
  return validation_ ? validation_.get() : held_out_.get();
}

// By errors on frames that were not learned.
void OfflineTraining::measure_bars()
{
  if (!model_->features()) return;
  trainer_->show_average();
  FeatureMoments moments(model_, comm_);
  std::int64_t number = 0;
  for (const FrameId &id : spread_frames(training_->systems, moment_frames)) {
    const BatchShares shares(load(*training_, {id}), *comm_, number++);
    guarded(*comm_, [&] {
      for (const Frame *frame : shares.frames()) moments.add(*frame);
    });
  }
  moments.apply();
  saved_ = -1;
  const auto comm = model_->is_local() ? comm_ : make_mpi_communicator();
  const ErrorBars bars = measured_bars(model_, comm, training_->systems,
                                       others() ? others()->systems : Systems(), !validation_);
  model_->set_bars(bars);
  for (const std::string &line : lines_about(bars, model_->type_map())) say(line);
}

void OfflineTraining::say_memory() const
{
  MemoryLedger ledger = model_->memory();
  add_uses(ledger, trainer_->memory());
  for (const auto *source : {training_.get(), validation_.get(), held_out_.get()})
    if (source) add_uses(ledger, source->cache.memory());
  std::istringstream table(memory_table(*comm_, ledger));
  for (std::string line; std::getline(table, line);) say(line);
}

void OfflineTraining::estimate()
{
  const std::int64_t steps =
      std::max<std::int64_t>(input_.training.numb_steps - trainer_->steps(), 0);
  double seconds = 0.0;
  int tried = 0;
  while (tried < tried_steps && seconds < tried_seconds) {
    const std::vector<const Frame *> frames = load(*training_);
    const auto start = std::chrono::steady_clock::now();
    trainer_->update(frames);
    // the first one makes tables and buffers
    seconds += tried++ == 0 ? 0.0 : seconds_since(start);
    comm_->broadcast(&seconds, sizeof(seconds), 0);
  }
  const double step = seconds / std::max(tried - 1, 1);
  const std::int64_t frames = num_frames(training_->systems);
  const double memory = peak_memory_mib(*comm_);
  const double all = training_->cache.bytes_of_a_frame() * static_cast<double>(frames) / mib;
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << "dry run: nothing was trained. " << steps
       << " steps of " << 1e3 * step << " ms take about "
       << duration_text(step * static_cast<double>(steps)) << "; a rank needs "
       << std::setprecision(0) << memory << " MiB now and about " << std::setprecision(1) << all
       << " MiB for all frames, of which it keeps "
       << std::min(all, mib_per_gib * options_.parallel.frame_memory) << " MiB";
  say(text.str());
}

/// The next batch.
std::vector<const Frame *> OfflineTraining::load(BatchSource &source)
{
  std::vector<const Frame *> frames;
  for (std::int64_t tries = 2 * source.plan.steps_per_epoch(); frames.empty(); --tries) {
    if (tries < 0)
      throw Error("min_pair_dist: all frames have atoms that are closer to each other; give a "
                  "smaller distance");
    frames = load(source, source.plan.next());
  }
  source.cache.prefetch(source.plan.peek());
  return frames;
}

/// Those of the frames that are not left out. Tables and walls of the model know their distances on every rank: what
/// it finds by itself would be known to its rank only.
std::vector<const Frame *> OfflineTraining::load(BatchSource &source,
                                                 const std::vector<FrameId> &ids)
{
  std::vector<const Frame *> frames = source.cache.load(ids);
  const std::string reason = source.cache.take_reason();
  if (!reason.empty()) say(reason);
  if (closest_.lower(source.cache.closest()))
    guarded(*comm_, [&] { model_->expect_distances(closest_); });
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
  health_.watch_scratch("frames are read again instead of kept (set TMPDIR to a disk with room)",
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
  stiffen_walls(*comm_, *model_);
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
  say(fmt::format("{} data: {} systems, {} frames", title, source.systems.size(),
                  num_frames(source.systems)));
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
