#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/base/memory_ledger.h"
#include "dptrain/data/frames_file.h"
#include "dptrain/frames/distribution.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/parallel/memory_table.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/statistics/statistics.h"
#include "dptrain/training/learning_curve.h"
#include "dptrain/training/trainer.h"
#include "fix_dptrain_options.h"
#include "model_slot.h"

namespace LAMMPS_NS {

/// Numbers that live as long as the training, through `run` commands and `resume`.
struct SessionCounters {
  std::int64_t frames = 0, reference_calls = 0, discarded = 0;
  std::int64_t held_out = 0;  ///< of the frames
  bool trained = false;       ///< a first training has ended
  std::int64_t label_step = -1;
  double label_energy = 0.0;  ///< of the last stored label, eV
  double train_seconds = 0.0, reference_seconds = 0.0;

  // mode active
  std::int64_t answer_step = -1;  ///< of the latest answer that the run went on from
  double answer_energy = 0.0;     ///< of the model at this step, as the run went on, eV
  bool reference_moved = false;   ///< from this step on
  double energy_jumps = 0.0;      ///< sum, eV
};

/// The library's side of fix dptrain: from labeled frames to a model in the slot. Collects the warm-up frames, makes
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

  /// Stores a labeled frame, the same on all ranks; the last one of the warm-up makes the model.
  void add(const dptrain::WholeFrame &frame);
  /// The optimizer steps that the labels since the last call have earned; none during the warm-up. They end where the force
  /// errors of the latest frame and of the batches are below `target` of the options, or its time is over.
  void train();
  /// Distance of a configuration with these features of its atoms (summed over all ranks) from the nearest one behind the
  /// uncertainty that has as many atoms: 0 for the same, about 1 for an independent one of the same kind; infinite if there
  /// is none.
  double distance(const std::vector<double> &feature_sum, std::int64_t natoms) const;
  /// Configurations like this one are duplicates from now on, until the next refresh_uncertainty().
  void remember(std::vector<double> feature_sum, std::int64_t natoms);
  /// Whether the uncertainties still rest on the frames of a model that was given.
  bool has_given_uncertainty() const { return !given_whitening_.empty(); }
  /// Errors of the latest held-out frames with the model of the MD; NaN without any.
  dptrain::UpdateReport held_out_errors();
  /// Adds a configuration without labels to the data set of the options and to selected.extxyz beside it, and lets the
  /// uncertainties know it, such that configurations like it are not selected again. Collective.
  void select(const dptrain::WholeFrame &frame, const std::string &note);
  /// Makes the uncertainties of the model those of its present parameters and frames.
  void refresh_uncertainty();
  /// The largest uncertainty of an atom that nine in ten of the stored frames do not exceed; 0: there are none.
  double known_score() const { return known_score_; }
  /// Writes model and checkpoint, if there is something new to write.
  void save();

  /// Keyword and full path of the files that this session writes.
  std::vector<std::pair<std::string, std::string>> outputs() const;

  SessionCounters counters;
  std::vector<double> active_state;  ///< of the ActiveLearning that goes with it, for checkpoints
  const dptrain::UpdateReport &report() const { return report_; }
  std::int64_t steps() const;
  int generation() const { return generation_; }
  /// Memory of this rank by purpose: of the model and of its training.
  dptrain::MemoryLedger memory() const;
  /// The memory of all ranks as a table. Collective.
  std::string memory_table() const { return dptrain::memory_table(*comm_, memory()); }
  /// The largest of all ranks at the last label, in bytes, for a purpose; nullptr: of model and training together.
  double largest(const char *purpose) const;
  /// Of the training on this rank, without the model.
  std::size_t trainer_bytes() const
  {
    return trainer_ ? dptrain::total_bytes(trainer_->memory()) : 0;
  }
  std::int64_t memory_shortages() const { return shortages_; }  ///< so far, over all ranks
  std::int64_t overflow() const
  {
    return overflow_;
  }  ///< atoms with more neighbors than sel keeps, all ranks

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
  std::optional<dptrain::Distributor> distributor_;
  std::unique_ptr<dptrain::Trainer> trainer_;
  std::vector<dptrain::Frame> waiting_;               // frames of the warm-up
  std::uint64_t data_hash_ = 0xcbf29ce484222325ULL;   // of these frames (FNV-1a)
  std::optional<dptrain::Statistics> statistics_;     // of the statistics file
  std::unique_ptr<dptrain::FramesFile> frames_file_;  // on rank 0
  std::unique_ptr<dptrain::LearningCurve> curve_;     // on rank 0
  bool resumed_ = false, moments_current_ = false;
  std::int64_t earned_steps_ = 0;
  std::vector<double> saved_;  // progress() of the latest checkpoint
  dptrain::UpdateReport report_;
  dptrain::MemoryLedger largest_memory_;
  double largest_total_ = 0.0;  // bytes, of model and training
  std::int64_t shortages_ = 0;
  bool scratch_told_ = false;  // why frames cannot wait on the disk
  std::int64_t overflow_ = 0;
  std::int64_t latest_place_ = 0;  // of the latest label in the trainer's buffer
  double buffer_error_ = 0.0;      // mean square force error of the latest batches
  std::vector<dptrain::Frame> held_out_;
  struct Seen {
    std::vector<double> feature_sum;
    std::int64_t natoms;
  };
  std::vector<Seen> seen_;  // frames behind the uncertainty
  double known_score_ = 0.0;
  // matrices of the uncertainty that came with a given model: its frames stand for those that are missing here
  std::vector<double> given_whitening_;

  void say(const std::string &text) const;
  void read_settings();
  void configure(const dptrain::InputFile &input);
  void divide_frames();
  void check_save_name() const;
  void choose_optimizer(const dptrain::InputFile &input);
  void continue_settings(const std::string &path, const std::string &text);
  std::string source() const;
  void read_statistics();
  void make_model();
  void keep(const dptrain::WholeFrame &frame);
  dptrain::Frame divide(const dptrain::WholeFrame &frame);
  void open_frames_file(const std::vector<dptrain::WholeFrame> &frames, const std::string &source);
  void keep_start_model();
  std::vector<dptrain::WholeFrame> load_frames(const std::string &path, std::int64_t count,
                                               const std::vector<int> &types);
  void load_later_frames(const std::string &path, std::vector<dptrain::WholeFrame> &frames);
  void resume_frames(const std::string &path);
  void write(const std::function<void()> &work);
  std::vector<double> progress() const;
  std::int64_t num_learned(const std::vector<dptrain::WholeFrame> &frames) const;
  std::vector<std::int64_t> typical_frames(std::int64_t most) const;
  void find_known_score();
  bool nothing_new() const;
  void watch_targets(double seconds);
  void hold_out(dptrain::Frame frame);
  struct SessionNumbers numbers(dptrain::Precision &precision);
  void write_curve();
  void watch();
  void watch_memory();
};

}  // namespace LAMMPS_NS
