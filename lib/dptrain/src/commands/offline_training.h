#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands/batch_source.h"
#include "commands/checkpoint_files.h"
#include "commands/held_out_judge.h"
#include "commands/progress.h"
#include "commands/start_file.h"
#include "dptrain/commands/commands.h"
#include "dptrain/training/learning_curve.h"
#include "dptrain/training/trainer.h"
#include "session/learning/health.h"
#include "training/report_mean.h"

namespace dptrain {

/// A training from data sets: `dptrain train`. Data -> model -> trainer -> steps with rows of the learning curve and
/// checkpoints. Collective; failures are Errors on all ranks.
class OfflineTraining {
 public:
  OfflineTraining(std::shared_ptr<const Communicator> comm, TrainOptions options, Log log);
  TrainSummary run();

 private:
  // in this order
  void read_settings();
  void open_data();
  std::unique_ptr<BatchSource> open_section(const char *name, const DataConfig &config,
                                            std::uint64_t order, bool splits_atoms);
  void set_length();
  void make_model();
  void make_trainer();
  void continue_trainer();
  void train();
  void check_output() const;
  void fit_energy_bias();
  void estimate();
  void measure_bars();

  std::vector<const Frame *> load(BatchSource &source);
  std::vector<const Frame *> load(BatchSource &source, const std::vector<FrameId> &ids);
  std::optional<UpdateReport> validate();
  BatchSource *others() const;
  void report(const UpdateReport &last);
  void save();
  State session_state() const;
  bool interrupted(bool here) const;
  void say(const std::string &line) const;
  void say_memory() const;
  void say_systems(const char *title, const BatchSource &source) const;
  void warn_of_labels(const char *title, const BatchSource &source) const;

  std::shared_ptr<const Communicator> comm_;
  TrainOptions options_;
  Log log_;
  InputFile input_;
  EvaluateBaseline baseline_;  // of the potential; empty: it has none
  StartFile start_;            // its parts until the model or the trainer has taken them up
  // held out: of the training data, where there are no validation data
  std::unique_ptr<BatchSource> training_, validation_, held_out_;
  std::shared_ptr<Model> model_;
  Health health_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<HeldOutJudge> judge_;
  std::unique_ptr<Progress> progress_;
  std::unique_ptr<CheckpointFiles> files_;  // rank 0
  std::unique_ptr<LearningCurve> curve_;    // rank 0
  ReportMean mean_;                         // since the last row, with disp_avg
  PairDistances closest_;                   // what the model was told
  std::int64_t saved_ = -1;                 // step of the last checkpoint
  // of the steps, where the model has another one now (change_bias_after_training); a longer training goes on with it
  std::vector<double> trained_bias_;
  TrainSummary summary_;
  bool splits_atoms_ = false;  // energies of single atoms in the data are those of the model
};

}  // namespace dptrain
