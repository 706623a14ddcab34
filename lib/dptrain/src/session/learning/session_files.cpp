#include "session/learning/session_files.h"

#include <filesystem>
#include <fmt/format.h>

#include "dptrain/base/error.h"
#include "dptrain/data/dataset_writer.h"
#include "dptrain/parallel/broadcast.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/files/model_format.h"
#include "io/file.h"
#include "session/learning/session_state.h"

namespace dptrain {

namespace fs = std::filesystem;

namespace {

const char *const earlier_ending = ".before";

}  // namespace

SessionFiles::SessionFiles(std::shared_ptr<const Communicator> comm,
                           std::shared_ptr<const ModelInUse> slot, const LearningOptions &options,
                           const TrainingConfig &config, const Messages &messages) :
    comm_(std::move(comm)),
    slot_(std::move(slot)),
    options_(options),
    config_(config),
    messages_(messages)
{
  if (comm_->rank() == 0 && options_.files.resume.empty() && !options_.files.dataset.empty() &&
      fs::exists(options_.files.dataset))
    messages_.warning(fmt::format("there is a data set {} already: frames are added to it; give "
                                  "another name if it is not of an earlier run like this one",
                                  options_.files.dataset));
  if (!options_.files.save.empty()) {
    ModelData data;
    if (slot_->model())
      data = slot_->model()->data();
    else if (slot_->input())
      data.config = slot_->input()->model;
    const WallSettings::Choice wall = slot_->settings().wall.choice;
    if (wall == WallSettings::Choice::yes || wall == WallSettings::Choice::at)
      data.walls = Walls(data.config.ntypes(), data.config.rcut);
    const std::string reason = format_to_write(options_.files.save).cannot_write(data);
    if (!reason.empty()) throw Error(fmt::format("save {}: {}", options_.files.save, reason));
  }
  std::vector<std::pair<std::string, std::string>> files{{"disp", config_.disp_file}};
  if (!options_.files.save.empty()) files.emplace_back("save", options_.files.save);
  if (!options_.training.stat.empty()) files.emplace_back("stat", options_.training.stat);
  on_rank_zero([&] {
    for (const auto &[keyword, path] : files) {
      const fs::path folder = fs::path(path).parent_path();
      if (!folder.empty() && !fs::is_directory(folder))
        throw Error(fmt::format("{} {}: there is no folder {}: make it, or choose another name",
                                keyword, path, folder.string()));
    }
  });
}

void SessionFiles::on_rank_zero(const std::function<void()> &work) const
{
  guarded(*comm_, [&] {
    if (comm_->rank() == 0) work();
  });
}

std::vector<std::pair<std::string, std::string>> SessionFiles::outputs() const
{
  std::vector<std::pair<std::string, std::string>> result{{"disp", config_.disp_file}};
  if (!options_.files.save.empty()) result.emplace_back("save", options_.files.save);
  if (!options_.files.dataset.empty()) result.emplace_back("dataset", options_.files.dataset);
  for (auto &[keyword, path] : result) {
    std::error_code ignored;
    path = fs::absolute(path, ignored).lexically_normal().string();
  }
  return result;
}

std::optional<Checkpoint> SessionFiles::read(std::string &path) const
{
  const std::string frames = frames_path_of(path);
  Checkpoint checkpoint;
  on_rank_zero([&] {
    path = resume_path(path);
    if (path != frames) checkpoint = read_checkpoint(path);
  });
  broadcast(*comm_, path);
  if (path == frames) return std::nullopt;
  broadcast(*comm_, checkpoint);
  guarded(*comm_, [&] { check_same_model(path, checkpoint.model, *slot_); });
  return checkpoint;
}

void SessionFiles::write_curve(const UpdateReport &report)
{
  on_rank_zero([&] {
    if (!curve_)
      curve_ = std::make_unique<LearningCurve>(config_.disp_file, config_.loss, false, continues_);
    curve_->write(report);
  });
}

void SessionFiles::add_to_dataset(const WholeFrame &frame) const
{
  if (options_.files.dataset.empty()) return;
  on_rank_zero([&] {
    WholeFrame whole = frame;
    if (frame.baseline) add(whole.label, *frame.baseline, 1.0);  // a label as the reference gave it
    append_to_dataset(options_.files.dataset, slot_->type_map(), whole);
  });
}

void SessionFiles::select(const WholeFrame &frame, const std::string &note) const
{
  on_rank_zero([&] {
    append_to_dataset(options_.files.dataset, slot_->type_map(), frame);
    append_to_extxyz(options_.files.dataset + "/selected.extxyz", slot_->type_map(), frame, note);
  });
}

// Some of the progress is that of a run, and the ranks may be those of several runs.
bool SessionFiles::has_news(const State &progress, bool learned) const
{
  if (options_.files.save.empty()) return false;
  bool saved = saved_ == progress;
  comm_->broadcast(&saved, sizeof(saved), 0);
  if (saved || learned) return !saved;
  bool exists = comm_->rank() == 0 && fs::exists(options_.files.save);
  comm_->broadcast(&exists, sizeof(exists), 0);
  return !exists;
}

// Nobody needs them any more.
SessionFiles::~SessionFiles()
{
  std::error_code ignored;
  for (const std::string &path : before_) fs::remove(path + earlier_ending, ignored);
}

std::string SessionFiles::take_back()
{
  if (saved_.empty()) return "";
  const std::string &model = options_.files.save;
  std::string done;
  on_rank_zero([&] {
    const std::string ending = put_aside({model, model + ".ckpt"});
    done = fmt::format("{} and its checkpoint, which were saved with them, as {}{}", model, model,
                       ending);
    if (!before_.empty()) done += ", and those of before are back";
    for (const std::string &path : before_) fs::rename(path + earlier_ending, path);
    before_.clear();
  });
  broadcast(*comm_, done);
  return done;
}

void SessionFiles::save(const Checkpoint &checkpoint, const State &progress)
{
  on_rank_zero([&] {
    std::error_code none;
    // the model that the training began with stays, also where its file is the one to save to
    if (!continues_ && saved_.empty() && fs::equivalent(slot_->path(), options_.files.save, none))
      messages_.info(fmt::format("the model {} that the training began with is kept as {}{}",
                                 options_.files.save, options_.files.save,
                                 put_aside({options_.files.save})));
    if (saved_.empty() && continues_)
      for (const std::string &path : {options_.files.save, options_.files.save + ".ckpt"}) {
        std::error_code ignored;
        fs::remove(path + earlier_ending, ignored);
        fs::create_hard_link(path, path + earlier_ending, ignored);
        if (ignored) fs::copy_file(path, path + earlier_ending, ignored);
        if (!ignored) before_.push_back(path);
      }
    write_checkpoint(options_.files.save + ".ckpt", checkpoint);
    write_model_file(options_.files.save, checkpoint.model);
  });
  saved_ = progress;
}

}  // namespace dptrain
