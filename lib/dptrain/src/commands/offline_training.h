#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands/checkpoint_files.h"
#include "commands/progress.h"
#include "data/batch_plan.h"
#include "data/frame_cache.h"
#include "dptrain/commands/commands.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "dptrain/session/checkpoint.h"
#include "dptrain/training/learning_curve.h"
#include "dptrain/training/trainer.h"
#include "session/health.h"
#include "training/report_mean.h"

namespace dptrain {

struct DataStatistics;

/// Frames of one data section in the order in which batches see them.
struct BatchSource {
  BatchSource(const std::shared_ptr<const Communicator> &comm, const DataConfig &config,
              Systems open, const InputFile &input, std::int64_t work_of_an_atom,
              std::uint64_t seed, std::size_t budget) :
      systems(std::move(open)),
      plan(config, systems, seed),
      cache(comm, systems,
            Distributor(comm, input.training.parallel.distribution,
                        frames_at_once(plan.frames_of_a_batch(), input.training.parallel),
                        work_of_an_atom),
            input.model.rcut, input.model.ntypes(), budget, config.min_pair_dist)
  {
  }
  Systems systems;
  BatchPlan plan;
  FrameCache cache;
};

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
                                            std::uint64_t order);
  void make_model();
  void make_trainer();
  void continue_trainer();
  void train();
  // offline_training_start.cpp: how the model comes about
  void check_output() const;
  void read_start();
  std::string with_model_of_start(const std::string &input) const;
  void check_start();
  /// As it was given: option and file that the training starts from, or empty.
  std::string start_option() const;
  ModelData new_model();
  DataStatistics count_data();
  void say_statistics(const DataStatistics &found, const ModelData &data);
  void fit_energy_bias();
  void estimate();

  std::vector<const Frame *> load(BatchSource &source);
  std::vector<const Frame *> load(BatchSource &source, const std::vector<FrameId> &ids);
  std::optional<UpdateReport> validate();
  void report(const UpdateReport &last);
  void save();
  State session_state() const;
  bool interrupted(bool here) const;
  void say(const std::string &line) const;
  void say_memory() const;
  void say_systems(const char *title, const BatchSource &source) const;

  std::shared_ptr<const Communicator> comm_;
  TrainOptions options_;
  Log log_;
  InputFile input_;
  std::optional<Checkpoint> restart_;  // until the trainer has taken it up
  std::optional<ModelData> start_;     // of the file that the training starts from
  std::unique_ptr<BatchSource> training_, validation_;
  std::shared_ptr<Model> model_;
  Health health_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<Progress> progress_;
  std::unique_ptr<CheckpointFiles> files_;  // rank 0
  std::unique_ptr<LearningCurve> curve_;    // rank 0
  ReportMean mean_;                         // since the last row, with disp_avg
  double shortest_ = 0.0;                   // the distance that the model was told
  std::int64_t saved_ = -1;                 // step of the last checkpoint
  TrainSummary summary_;
};

}  // namespace dptrain
