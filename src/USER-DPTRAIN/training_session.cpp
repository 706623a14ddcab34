#include "training_session.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "dptrain/error.h"
#include "fmt/format.h"
#include "model_broadcast.h"
#include "resume_check.h"

using namespace LAMMPS_NS;
using dptrain::guarded;

namespace {

constexpr std::int64_t DISP_EVERY = 100;  // lines of lcurve.out, where neither fix nor input says
constexpr double ADAMW_WEIGHT_DECAY = 1e-3;  // DeePMD-kit's default of adamw

double seconds()
{
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool exists(const std::string &path)
{
  return std::ifstream(path).good();
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
    generation_(slot_->generation)
{
  configure();
  if (slot_->model) {
    counters.trained = true;
    trainer_ = std::make_unique<dptrain::Trainer>(slot_->model, comm_, config_);
  } else if (!options_.stat.empty()) {
    read_statistics();
  }
}

TrainingSession::~TrainingSession() = default;

void TrainingSession::say(const std::string &text) const
{
  if (comm_->rank() == 0) log_(text);
}

std::int64_t TrainingSession::steps() const
{
  return trainer_ ? trainer_->steps() : 0;
}

// Settings of the training: fix keywords, else the fix's input file, else the input file of a new model, else defaults.
void TrainingSession::configure()
{
  const bool has_input = !options_.input.empty() || slot_->input;
  if (slot_->input) config_ = slot_->input->training;
  if (!options_.input.empty()) {
    dptrain::InputFile input;
    guarded(*comm_, [&] {
      if (comm_->rank() == 0) input = dptrain::read_input(options_.input);
    });
    broadcast(*comm_, input);
    config_ = input.training;
  }
  if (!has_input) config_.disp_freq = DISP_EVERY;
  if (options_.batch) config_.batch_size = *options_.batch;
  if (options_.seed) config_.seed = *options_.seed;
  if (options_.disp_every) {
    config_.disp_freq = *options_.disp_every;
    config_.disp_file = options_.disp;
  }
  const bool adamw = options_.optimizer == "adamw";
  if (adamw && config_.optimizer.type != dptrain::OptimizerType::adamw)
    config_.optimizer.weight_decay = ADAMW_WEIGHT_DECAY;
  if (!options_.optimizer.empty())
    config_.optimizer.type = adamw ? dptrain::OptimizerType::adamw : dptrain::OptimizerType::adam;
  config_.buffer_frames = options_.buffer;
}

// A file of earlier runs of the same system saves the collection; one of another system is an error.
void TrainingSession::read_statistics()
{
  std::string text;
  guarded(*comm_, [&] {
    if (comm_->rank() != 0 || !exists(options_.stat)) return;
    std::ifstream file(options_.stat);
    text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (!file.good() && !file.eof())
      throw dptrain::Error("Statistics file " + options_.stat + " cannot be read");
  });
  broadcast(*comm_, text);
  if (text.empty()) return;
  const dptrain::ModelConfig &model = slot_->input->model;
  statistics_ = dptrain::Statistics::from_json(text, options_.stat, model.type_map, model.rcut,
                                               model.rcut_smth, composition_, model.env_protection,
                                               model.sel);
}

void TrainingSession::add(const dptrain::WholeFrame &frame)
{
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    if (!frames_file_) open_frames_file({}, "");
    frames_file_->append(frame);
    if (!options_.dataset.empty())
      dptrain::append_to_dataset(options_.dataset, slot_->type_map, frame);
  });
  keep(frame);
  ++counters.frames;
  earned_steps_ += options_.train;
  if (!trainer_ && counters.frames >= options_.warmup) make_model();
  watch();
}

void TrainingSession::keep(const dptrain::WholeFrame &frame)
{
  dptrain::Frame share = dptrain::scatter_frame(comm_, frame, slot_->cutoff);
  if (trainer_)
    trainer_->add(std::move(share));
  else
    waiting_.push_back(std::move(share));
}

// Rank 0. An existing file that this session does not continue holds labels that somebody paid for.
void TrainingSession::open_frames_file(const std::vector<dptrain::WholeFrame> &frames,
                                       const std::string &source)
{
  const bool same = source == frames_path_;
  if (!same && exists(frames_path_)) {
    std::string old = frames_path_ + ".old";
    for (int k = 2; exists(old); ++k) old = fmt::format("{}.old{}", frames_path_, k);
    if (std::rename(frames_path_.c_str(), old.c_str()) != 0)
      throw dptrain::Error(
          fmt::format("The frames file {} of an earlier run cannot be renamed to {}: check the "
                      "permissions of its folder",
                      frames_path_, old));
    log_(fmt::format("Fix dptrain: the frames of an earlier run in {} are kept as {}", frames_path_,
                     old));
  }
  frames_file_ = std::make_unique<dptrain::FramesFile>(frames_path_, same ? frames.size() : 0);
  if (!same)
    for (const auto &frame : frames) frames_file_->append(frame);
}

void TrainingSession::make_model()
{
  dptrain::ModelConfig model = slot_->input->model;
  if (options_.seed) model.seed = model.fitting_seed = options_.seed;
  if (!statistics_) {
    statistics_.emplace(model.ntypes(), model.rcut, model.rcut_smth, model.env_protection,
                        model.sel);
    // rows of excluded pairs count as zero, whichever list excludes them (as in DeePMD-kit)
    auto excluded = model.exclude_types;
    excluded.insert(excluded.end(), model.pair_exclude_types.begin(),
                    model.pair_exclude_types.end());
    guarded(*comm_, [&] {
      for (const auto &frame : waiting_) statistics_->add(frame.domain(), excluded);
    });
    statistics_->reduce(*comm_);
    guarded(*comm_, [&] {
      if (comm_->rank() != 0 || options_.stat.empty()) return;
      dptrain::write_atomically(options_.stat, [&](const std::string &name) {
        std::ofstream file(name);
        file << statistics_->to_json(model.type_map, composition_) << std::flush;
        if (!file) throw dptrain::Error("Statistics file " + options_.stat + " cannot be written");
      });
    });
  }
  dptrain::ModelData data;
  guarded(*comm_, [&] {
    if (comm_->rank() == 0)
      data = dptrain::new_deep_pot(model, *statistics_, slot_->input->model_def_script);
  });
  broadcast(*comm_, data);
  slot_->set_model(*comm_, data);
  trainer_ = std::make_unique<dptrain::Trainer>(slot_->model, comm_, config_);
  for (auto &frame : waiting_) trainer_->add(std::move(frame));
  waiting_.clear();
  say(fmt::format("Fix dptrain: new model from {} frames: sel {}, smallest distance {:.4g} "
                  "Angstrom, {} parameters",
                  counters.frames, text_of(data.config.sel), statistics_->min_distance(),
                  slot_->model->parameters().size()));
}

void TrainingSession::train()
{
  if (!trainer_) return;
  const double start = seconds();
  const bool trains = earned_steps_ > 0;
  while (earned_steps_ > 0) {
    report_ = trainer_->update();
    --earned_steps_;
    if (report_.step == 1 || report_.step % config_.disp_freq == 0) write_curve();
    if (options_.save_every > 0 && report_.step % options_.save_every == 0) save();
  }
  if (trains) counters.trained = true;
  counters.train_seconds += seconds() - start;
  watch();
}

void TrainingSession::write_curve()
{
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    if (!curve_)
      curve_ = std::make_unique<dptrain::LearningCurve>(config_.disp_file, config_.loss, resumed_);
    curve_->write(report_);
  });
}

// What thermo output shows, made the same on all ranks.
void TrainingSession::watch()
{
  std::int64_t overflow = slot_->model ? slot_->model->overflow_count() : 0;
  comm_->all_reduce_sum(&overflow, 1);
  if (overflow > 0 && overflow_ == 0)
    say("WARNING: fix dptrain: atoms have more neighbors than the model's sel keeps: the nearest "
        "ones count. Train a new "
        "model with a larger sel if the density grows further");
  overflow_ = overflow;
  double bytes = slot_->model ? static_cast<double>(slot_->model->memory_bytes()) : 0.0;
  if (trainer_) bytes += static_cast<double>(trainer_->memory_bytes());
  comm_->all_reduce_max(&bytes, 1);
  memory_bytes_ = bytes;
}

void TrainingSession::save()
{
  if (options_.save.empty() || !trainer_) return;
  if (saved_steps_ == steps() && saved_frames_ == counters.frames) return;
  dptrain::Checkpoint checkpoint;
  checkpoint.trainer_state = trainer_->state();
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    checkpoint.model = dptrain::model_data(*slot_->model);
    checkpoint.parameters = slot_->model->parameters();
    checkpoint.auxiliary_state = slot_->model->auxiliary_state();
    checkpoint.num_frames = counters.frames;
    checkpoint.counters = pack_counters(counters, report_, earned_steps_);
    dptrain::write_checkpoint(options_.save + ".ckpt", checkpoint);
    slot_->model->save(options_.save);
  });
  saved_steps_ = steps();
  saved_frames_ = counters.frames;
}

// Frames are read where rank 0 sees them and shared; old ones that the buffer has dropped are left out, such that each
// of the others comes to the place that it had.
std::vector<dptrain::WholeFrame> TrainingSession::load_frames(const std::string &path,
                                                              std::int64_t count)
{
  std::vector<dptrain::WholeFrame> frames;
  guarded(*comm_, [&] {
    if (comm_->rank() == 0) frames = dptrain::FramesFile::read(path, count);
  });
  frames.resize(count);
  const std::int64_t buffer = options_.buffer;
  const std::int64_t first = buffer > 0 && count > buffer ? (count - buffer) / buffer * buffer : 0;
  for (std::int64_t k = first; k < count; ++k) {
    dptrain::WholeFrame frame = frames[k];
    broadcast(*comm_, frame);
    keep(frame);
  }
  return frames;
}

void TrainingSession::resume(const std::string &file)
{
  std::string path = file;
  dptrain::Checkpoint checkpoint;
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    path = checkpoint_path(file);
    checkpoint = dptrain::read_checkpoint(path);
  });
  broadcast(*comm_, path);
  broadcast(*comm_, checkpoint);
  guarded(*comm_, [&] { check_same_model(path, checkpoint.model.config, *slot_); });

  slot_->set_model(*comm_, checkpoint.model);
  slot_->model->set_parameters(checkpoint.parameters);
  slot_->model->set_auxiliary_state(checkpoint.auxiliary_state);
  trainer_ = std::make_unique<dptrain::Trainer>(slot_->model, comm_, config_);
  const std::string source = frames_path_of(path);
  const std::vector<dptrain::WholeFrame> frames = load_frames(source, checkpoint.num_frames);
  trainer_->set_state(checkpoint.trainer_state);
  unpack_counters(checkpoint.counters, counters, report_, earned_steps_);
  counters.frames = checkpoint.num_frames;
  resumed_ = true;
  guarded(*comm_, [&] {
    if (comm_->rank() == 0) open_frames_file(frames, source);
  });
  watch();
  say(fmt::format("Fix dptrain: resumed from {}: {} frames, {} optimizer steps", path,
                  counters.frames, steps()));
}

void TrainingSession::take_frames(const TrainingSession &before)
{
  counters = before.counters;
  counters.trained = slot_->model != nullptr;
  counters.frames = 0;
  resumed_ = true;
  if (before.counters.frames == 0) return;
  const auto frames = load_frames(before.frames_path_, before.counters.frames);
  counters.frames = before.counters.frames;
  guarded(*comm_, [&] {
    if (comm_->rank() == 0) open_frames_file(frames, frames_path_);
  });
  if (!trainer_ && counters.frames >= options_.warmup) {
    make_model();
    earned_steps_ = options_.train * counters.frames;
  }
  watch();
}
