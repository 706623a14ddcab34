#include "training_session.h"
#include "dptrain/parallel/broadcast.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "dptrain/base/error.h"
#include "dptrain/data/dataset_writer.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/io/atomic_file.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "dptrain/session/checkpoint.h"
#include "dptrain/training/learning_curve.h"
#include "fmt/format.h"
#include "platform.h"
#include "resume_check.h"

using namespace LAMMPS_NS;
using dptrain::guarded;

namespace {

constexpr double NEIGHBOR_MARGIN =
    1.5;  // the frames of a warm-up are few: others will have more neighbors
constexpr double SOAP_START_LR = 1e-2;    // where the input gives none; measured, see the manual
constexpr std::int64_t DISP_EVERY = 100;  // lines of lcurve.out, where neither fix nor input says

// Changes with each position, cell and type, but not with rounding: runs on other numbers of ranks differ by that.
std::uint64_t mix(std::uint64_t hash, const dptrain::WholeFrame &frame)
{
  const auto add = [&hash](std::int64_t value) {
    for (int shift = 0; shift < 64; shift += 8)
      hash = (hash ^ ((static_cast<std::uint64_t>(value) >> shift) & 0xFF)) * 0x100000001b3ULL;
  };
  constexpr double RESOLUTION = 1e4;  // per Angstrom
  for (const double component : frame.box) add(std::llround(component * RESOLUTION));
  for (const double component : frame.coord) add(std::llround(component * RESOLUTION));
  for (const int type : frame.type) add(type);
  return hash;
}

}  // namespace

TrainingSession::TrainingSession(std::shared_ptr<const dptrain::Communicator> comm,
                                 std::shared_ptr<ModelSlot> slot, const FixDPTrainOptions &options,
                                 const std::string &default_frames, const std::string &composition,
                                 Log log) :
    comm_(std::move(comm)),
    slot_(std::move(slot)),
    options_(options),
    log_(std::move(log)),
    frames_path_(options.save.empty() ? default_frames : options.save + ".frames"),
    composition_(composition),
    type_map_(slot_->type_map),
    generation_(slot_->generation)
{
  read_settings();
  if (comm_->rank() == 0 && options_.resume.empty() && !options_.dataset.empty() &&
      std::filesystem::exists(options_.dataset))
    log_(fmt::format("Fix dptrain: there is a data set {} already: frames are added to it",
                     options_.dataset));
  check_save_name();
  if (!slot_->model) return;
  const dptrain::LastHiddenLayer *layer = slot_->model->last_hidden_layer();
  if (options_.active && !layer)
    throw dptrain::Error(fmt::format(
        "mode active: {} does not tell the outputs of its last hidden layer, which uncertainties "
        "rest on: freeze the model with DeePMD-kit 3.2, or label with mode passive",
        slot_->path));
  counters.trained = true;
  if (layer) given_whitening_ = layer->whitening();
  trainer_ = std::make_unique<dptrain::Trainer>(slot_->model, comm_, config_);
  if (!config_.rules.only.empty() || !config_.rules.freeze.empty())
    say(fmt::format("Fix dptrain: trains {} of {} parameters",
                    slot_->model->parameters().num_trainable(), slot_->model->parameters().size()));
}

TrainingSession::~TrainingSession() = default;

void TrainingSession::say(const std::string &text) const
{
  if (comm_->rank() == 0) log_(text);
}

// A model is written in the format of the file's name, or not at all: before the run is the time to say so.
void TrainingSession::check_save_name() const
{
  if (options_.save.empty()) return;
  const dptrain::ModelData none;
  const dptrain::ModelData data = slot_->model ? slot_->model->data() : none;
  if (dptrain::is_pth(options_.save) && data.archive.empty())
    throw dptrain::Error(
        fmt::format("save {0}: a model that does not come from an (uncompressed) TorchScript "
                    "archive is written as "
                    ".dp: choose such a name, and convert the file with 'dptrain convert' later",
                    options_.save));
  if (!dptrain::is_pth(options_.save) && data.kind == dptrain::ModelKind::torchscript)
    throw dptrain::Error(
        fmt::format("save {}: {} is a TorchScript model, which is written as .pth: "
                    "choose a name that ends so",
                    options_.save, slot_->path));
}

std::int64_t TrainingSession::steps() const
{
  return trainer_ ? trainer_->steps() : 0;
}

// Settings of the training: fix keywords, else the fix's input file, else the input file of a new model, else defaults.
void TrainingSession::read_settings()
{
  input_ = slot_->input;
  if (!options_.input.empty()) {
    std::string text;
    guarded(*comm_, [&] {
      if (comm_->rank() == 0) text = dptrain::read_input_file(options_.input);
    });
    broadcast(*comm_, text);
    guarded(*comm_,
            [&] { input_ = dptrain::read_input_text(text, options_.input, slot_->from_archive); });
  }
  if (input_ && !input_->ignored.empty())
    say("Fix dptrain: keys of the input file that have no meaning here: " +
        joined(input_->ignored));
  dptrain::InputFile defaults;
  defaults.training.disp_freq = DISP_EVERY;
  configure(input_.value_or(defaults));
}

void TrainingSession::configure(const dptrain::InputFile &input)
{
  config_ = input.training;
  if (options_.batch) config_.batch_size = *options_.batch;
  if (options_.seed) config_.seed = *options_.seed;
  if (options_.disp_every) {
    config_.disp_freq = *options_.disp_every;
    config_.disp_file = options_.disp;
  }
  choose_optimizer(input);
  if (options_.ema) config_.ema_decay = *options_.ema;
  if (!options_.rules.empty()) config_.rules = options_.rules;
  config_.buffer_frames = options_.buffer;
  config_.weighted_replay = options_.active;
  config_.parallel = options_.parallel;
  divide_frames();
}

void TrainingSession::divide_frames()
{
  const bool passes_messages = slot_->model && !slot_->model->is_local();
  distributor_.emplace(
      comm_, dptrain::possible_distribution(config_.parallel.distribution, passes_messages),
      dptrain::frames_at_once(config_.batch_size, config_.parallel),
      slot_->model ? dptrain::weights_of_an_atom(slot_->model->data())
                   : dptrain::weights_of_an_atom(slot_->input->model));
}

// SOAP, unless keyword or input say otherwise; what the input does not give of it suits this program.
void TrainingSession::choose_optimizer(const dptrain::InputFile &input)
{
  const std::map<std::string, dptrain::OptimizerType> optimizers{
      {"adam", dptrain::OptimizerType::adam},
      {"adamw", dptrain::OptimizerType::adamw},
      {"soap", dptrain::OptimizerType::soap}};
  dptrain::OptimizerConfig &optimizer = config_.optimizer;
  if (!options_.optimizer.empty())
    optimizer.type = optimizers.at(options_.optimizer);
  else if (!input.optimizer_given)
    optimizer.type = dptrain::OptimizerType::soap;
  const bool is_double = slot_->settings.precision == dptrain::Precision::float64;
  if (!optimizer.precision) optimizer.precision = is_double ? "float64" : "float32";
  if (optimizer.type == dptrain::OptimizerType::soap && !input.start_lr_given)
    config_.schedule.start_lr = SOAP_START_LR;
}

std::vector<std::pair<std::string, std::string>> TrainingSession::outputs() const
{
  std::vector<std::pair<std::string, std::string>> result{{"disp", config_.disp_file}};
  if (!options_.save.empty()) result.emplace_back("save", options_.save);
  if (!options_.dataset.empty()) result.emplace_back("dataset", options_.dataset);
  for (auto &[keyword, path] : result) {
    std::error_code ignored;
    path = std::filesystem::absolute(path, ignored).lexically_normal().string();
  }
  return result;
}

// The frames that statistics are made of.
std::string TrainingSession::source() const
{
  return fmt::format("{}, {} frames with hash {:016x}", composition_, waiting_.size(), data_hash_);
}

// A file of an earlier run saves the computation, and gives the new model the same numbers.
void TrainingSession::read_statistics()
{
  std::string text;
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    std::ifstream file(options_.stat);
    if (!file.good()) return;
    text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (!file.good() && !file.eof())
      throw dptrain::Error("Statistics file " + options_.stat + " cannot be read");
  });
  broadcast(*comm_, text);
  if (text.empty()) return;
  const dptrain::ModelConfig &model = slot_->input->model;
  statistics_ = dptrain::Statistics::from_json(text, options_.stat, model.type_map,
                                               dptrain::statistics_settings(model));
  if (statistics_->source() != source())
    say(fmt::format("Fix dptrain: the statistics in {} are those of other frames ({}) than the "
                    "present ones ({}), and are used; remove the file to have them computed",
                    options_.stat, statistics_->source(), source()));
}

void TrainingSession::add(const dptrain::WholeFrame &frame)
{
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    if (!frames_file_) open_frames_file({}, "");
    frames_file_->append(frame);
  });
  keep(frame);
  ++counters.frames;
  if (!frame.held_out) earned_steps_ += options_.train;
  if (!trainer_ && counters.frames >= options_.warmup) make_model();
  watch();
  if (!options_.dataset.empty())
    write([&] { dptrain::append_to_dataset(options_.dataset, slot_->type_map, frame); });
}

// Writes a file that the training does not need, on rank 0. A failure stops the run, but nothing is lost.
void TrainingSession::write(const std::function<void()> &work)
{
  try {
    guarded(*comm_, [&] {
      if (comm_->rank() == 0) work();
    });
  } catch (const dptrain::Error &) {
    save();
    throw;
  }
}

// This rank's share; says how frames of this size are divided, where that was a choice.
dptrain::Frame TrainingSession::divide(const dptrain::WholeFrame &frame)
{
  dptrain::Frame share = distributor_->share(frame, slot_->cutoff);
  const std::string reason = distributor_->take_reason();
  if (!reason.empty()) say("Fix dptrain: " + reason);
  return share;
}

void TrainingSession::keep(const dptrain::WholeFrame &frame)
{
  dptrain::Frame share = divide(frame);
  counters.label_step = frame.step;
  counters.label_energy = frame.label.energy.value_or(0.0);
  if (frame.held_out) return hold_out(std::move(share));
  if (trainer_) {
    latest_place_ = trainer_->add(std::move(share));
    moments_current_ = false;
    return;
  }
  waiting_.push_back(std::move(share));
  data_hash_ = mix(data_hash_, frame);
}

void TrainingSession::make_model()
{
  dptrain::ModelConfig model = slot_->input->model;
  if (options_.seed) model.descriptor->seed = model.fitting_seed = options_.seed;
  if (!options_.stat.empty()) read_statistics();
  if (!statistics_) {
    statistics_.emplace(model.ntypes(), dptrain::statistics_settings(model));
    std::vector<const dptrain::Frame *> frames;
    for (const auto &frame : waiting_) frames.push_back(&frame);
    const dptrain::BatchShares shares(frames, *comm_);
    guarded(*comm_, [&] {
      for (const auto *share : shares.frames()) statistics_->add(share->domain());
    });
    statistics_->reduce(*comm_);
    statistics_->set_source(source());
    guarded(*comm_, [&] {
      if (comm_->rank() != 0 || options_.stat.empty()) return;
      dptrain::write_atomically(options_.stat, [&](const std::string &name) {
        std::ofstream file(name);
        file << statistics_->to_json(model.type_map) << std::flush;
        if (!file) throw dptrain::Error("Statistics file " + options_.stat + " cannot be written");
      });
    });
  }
  dptrain::ModelData data;
  guarded(*comm_, [&] {
    if (comm_->rank() == 0)
      data = dptrain::new_deep_pot(model, *statistics_, slot_->input->model_def_script,
                                   NEIGHBOR_MARGIN);
  });
  broadcast(*comm_, data);
  slot_->set_model(*comm_, data);
  trainer_ = std::make_unique<dptrain::Trainer>(slot_->model, comm_, config_);
  for (auto &frame : waiting_) latest_place_ = trainer_->add(std::move(frame));
  waiting_.clear();
  const std::vector<int> limits = data.config.descriptor->neighbor_limits();
  say(fmt::format("Fix dptrain: new model from {} frames: {}smallest distance {:.4g} Angstrom, {} "
                  "parameters",
                  counters.frames, limits.empty() ? "" : "sel " + text_of(limits) + ", ",
                  statistics_->min_distance(), slot_->model->parameters().size()));
}

void TrainingSession::train()
{
  if (!trainer_) return;
  const double start = platform::walltime(), seconds_before = counters.train_seconds;
  const std::int64_t before = steps();
  while (earned_steps_ > 0) {
    report_ = trainer_->update();
    --earned_steps_;
    slot_->trained = true;
    if (report_.step == 1 || report_.step % config_.disp_freq == 0) write_curve();
    if (options_.active) watch_targets(platform::walltime() - start);
    if (options_.save_every > 0 && report_.step % options_.save_every == 0) save();
  }
  if (steps() > before) {
    moments_current_ = false;
    if (!options_.active) slot_->uncertainty = false;  // that of other parameters
  }
  trainer_->show_average();           // for the MD until the next label: raw again then
  counters.trained = slot_->trained;  // not with train 0
  counters.train_seconds = seconds_before + platform::walltime() - start;  // has what save() adds
  if (!options_.active && slot_->uncertainty_wanted) refresh_uncertainty();
  watch();
}

void TrainingSession::write_curve()
{
  write([&] {
    if (!curve_)
      curve_ = std::make_unique<dptrain::LearningCurve>(config_.disp_file, config_.loss, false,
                                                        resumed_);
    curve_->write(report_);
  });
}

// What thermo output shows, made the same on all ranks.
void TrainingSession::watch()
{
  std::int64_t overflow = slot_->model ? slot_->model->neighbor_report().overflow : 0;
  comm_->all_reduce_sum(&overflow, 1);
  if (overflow > 0 && overflow_ == 0)
    say("WARNING: fix dptrain: atoms have more neighbors than the model's sel keeps: the nearest "
        "ones count. Train a new "
        "model with a larger sel if the density grows further");
  overflow_ = overflow;
  watch_memory();
}

// What has changed where there is something new to save; times do not count.
std::vector<double> TrainingSession::progress() const
{
  std::vector<double> numbers = active_state;
  for (const std::int64_t count : {steps(), counters.frames, counters.reference_calls,
                                   counters.discarded, counters.answer_step})
    numbers.push_back(static_cast<double>(count));
  numbers.push_back(counters.energy_jumps);
  return numbers;
}

// A model that was given and has learned nothing here must not take the place of a file, whose checkpoint knows more of it.
bool TrainingSession::nothing_new() const
{
  bool exists = false;
  if (counters.frames > 0 || steps() > 0) return false;
  if (comm_->rank() == 0) exists = std::filesystem::exists(options_.save);
  comm_->broadcast(&exists, sizeof(exists), 0);
  return exists;
}

void TrainingSession::save()
{
  if (options_.save.empty() || !slot_->trained || saved_ == progress() || nothing_new()) return;
  refresh_uncertainty();
  dptrain::Checkpoint checkpoint;
  checkpoint.trainer_state = trainer_->state();
  checkpoint.average = trainer_->averaged_parameters();
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    checkpoint.model = slot_->model->data();
    checkpoint.model.calibration = active_state;
    checkpoint.parameters = trainer_->raw_parameters();
    if (!checkpoint.average.empty()) checkpoint.model.parameters = checkpoint.average;
    checkpoint.auxiliary_state = slot_->model->auxiliary_state();
    checkpoint.num_frames = counters.frames;
    checkpoint.training = dptrain::training_text(config_);
    checkpoint.counters = pack(numbers(slot_->settings.precision));
    if (!resumed_ && saved_.empty()) keep_start_model();
    dptrain::write_checkpoint(options_.save + ".ckpt", checkpoint);
    dptrain::write_model_file(options_.save, checkpoint.model);
  });
  saved_ = progress();
}
