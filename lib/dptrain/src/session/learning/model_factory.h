#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "dptrain/frames/frame.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/input/config.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/session/learning_options.h"
#include "dptrain/statistics/statistics.h"

namespace dptrain {

/// A new model from an input and the statistics of frames; `frames` gives some of these, and is called where the model depends on
/// them. The same on all ranks. Collective.
ModelData new_model(std::shared_ptr<const Communicator> comm, const ModelConfig &config,
                    const Statistics &statistics, const std::string &model_def_script,
                    const std::function<std::vector<const Frame *>()> &frames);

/// Makes the model of an online session: from its first frames, or from the statistics file of an earlier one. Collective.
class ModelFactory {
 public:
  /// `input`: of the new model.
  ModelFactory(std::shared_ptr<const Communicator> comm, const TrainingOptions &options,
               const InputFile &input);

  /// Takes note of a frame that the model will be made from.
  void note(const WholeFrame &frame);
  /// The model of the input, with what has been found out since: its cutoff, energies of separate atoms.
  void set_config(const ModelConfig &config);
  /// The model of these frames, all that were noted. `said` gets a line about a statistics file of other frames.
  ModelData make(const std::vector<Frame> &frames, std::string &said);
  const Statistics &statistics() const { return statistics_; }

 private:
  std::string source() const;
  bool read_statistics(std::string &said);
  void collect_statistics(const std::vector<Frame> &frames);

  std::shared_ptr<const Communicator> comm_;
  const TrainingOptions &options_;
  ModelConfig config_;
  std::string model_def_script_;
  std::string composition_;  // of the first frame, such as "Si 64"
  std::int64_t noted_ = 0;
  std::uint64_t data_hash_ = hash_start;  // of these frames
  Statistics statistics_;
};

}  // namespace dptrain
