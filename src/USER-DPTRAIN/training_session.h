#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/communicator.h"
#include "dptrain/files.h"
#include "dptrain/statistics.h"
#include "dptrain/trainer.h"
#include "fix_dptrain_options.h"
#include "model_slot.h"

namespace LAMMPS_NS {

/// Numbers that live as long as the training, through `run` commands and `resume`.
struct SessionCounters {
  std::int64_t frames = 0, reference_calls = 0, discarded = 0;
  bool trained = false;  ///< a first training has ended
  std::int64_t label_step = -1;
  double label_energy = 0.0;  ///< of the last stored label, eV
  double train_seconds = 0.0, reference_seconds = 0.0;
};

/// The library's side of fix dptrain: from labelled frames to a model in the slot. Collects the warm-up frames, makes
/// the statistics and the model, holds the Trainer and the files of the run. Everything is collective; failures are
/// dptrain::Error, thrown on all ranks.
class TrainingSession {
 public:
  using Log = std::function<void(const std::string &)>;

  /// `default_frames` is the frames file where `save` names none. `composition` (such as "Si 64") says to which system
  /// a statistics file belongs. `log` is called on rank 0.
  TrainingSession(std::shared_ptr<const dptrain::Communicator> comm,
                  std::shared_ptr<ModelSlot> slot, const FixDPTrainOptions &options,
                  const std::string &default_frames, const std::string &composition, Log log);
  ~TrainingSession();

  /// Continues from a checkpoint and the frames beside it, and finishes the training of its last label; without a
  /// checkpoint with the frames alone. Throws if it is one of another model.
  void resume(const std::string &file);
  /// Trains the model that pair_coeff has put into the slot meanwhile, with the frames of `before`, types
  /// mapped by name. Throws if the model has not all elements of the frames.
  void take_frames(const TrainingSession &before);

  /// Stores a labelled frame, the same on all ranks; the last one of the warm-up makes the model.
  void add(const dptrain::WholeFrame &frame);
  /// The optimizer steps that the labels since the last call have earned; none during the warm-up.
  void train();
  /// Writes model and checkpoint, if there is something new to write.
  void save();

  /// Keyword and full path of the files that this session writes.
  std::vector<std::pair<std::string, std::string>> outputs() const;

  SessionCounters counters;
  const dptrain::UpdateReport &report() const { return report_; }
  std::int64_t steps() const;
  int generation() const { return generation_; }
  double memory_bytes() const
  {
    return memory_bytes_;
  }  ///< largest of all ranks, at the last label
  std::int64_t overflow() const
  {
    return overflow_;
  }  ///< atoms with more neighbours than sel keeps, all ranks

 private:
  std::shared_ptr<const dptrain::Communicator> comm_;
  std::shared_ptr<ModelSlot> slot_;
  FixDPTrainOptions options_;
  Log log_;
  dptrain::TrainingConfig config_;
  std::optional<dptrain::InputFile> input_;  // the file that says how to train
  std::string frames_path_, composition_;
  std::vector<std::string> type_map_;  // of the frames
  int generation_;
  std::unique_ptr<dptrain::Trainer> trainer_;
  std::vector<dptrain::Frame> waiting_;               // frames of the warm-up
  std::uint64_t data_hash_ = 0xcbf29ce484222325ULL;   // of these frames (FNV-1a)
  std::optional<dptrain::Statistics> statistics_;     // of the statistics file
  std::unique_ptr<dptrain::FramesFile> frames_file_;  // on rank 0
  std::unique_ptr<dptrain::LearningCurve> curve_;     // on rank 0
  bool resumed_ = false;
  std::int64_t earned_steps_ = 0, saved_steps_ = -1, saved_frames_ = -1;
  dptrain::UpdateReport report_;
  double memory_bytes_ = 0.0;
  std::int64_t overflow_ = 0;

  void say(const std::string &text) const;
  void read_settings();
  void configure(const dptrain::InputFile &input);
  void choose_optimizer(const dptrain::InputFile &input);
  void continue_settings(const std::string &path, const std::string &text);
  std::vector<std::array<int, 2>> excluded_pairs() const;
  std::string source() const;
  void read_statistics();
  void make_model();
  void keep(const dptrain::WholeFrame &frame);
  void open_frames_file(const std::vector<dptrain::WholeFrame> &frames, const std::string &source);
  std::vector<dptrain::WholeFrame> load_frames(const std::string &path, std::int64_t count,
                                               const std::vector<int> &types);
  void resume_frames(const std::string &path);
  void write(const std::function<void()> &work);
  void write_curve();
  void watch();
};

}  // namespace LAMMPS_NS
