#pragma once

#include <memory>

#include "commands/batch_source.h"
#include "dptrain/commands/commands.h"
#include "dptrain/potential/model/model_data.h"
#include "session/learning/health.h"
#include "statistics/data/data_statistics.h"

namespace dptrain {

/// Makes the new model of a training from its data: from their statistics, and charges from short trainings on them, where the settings ask for that. Collective; throws Error on all ranks.
class DataModel {
 public:
  /// `say` gets lines of text, on all ranks; `health` learns which warnings were given here.
  DataModel(std::shared_ptr<const Communicator> comm, const TrainOptions &options,
            const InputFile &input, BatchSource &training, Log say, Health &health);
  ModelData make();

 private:
  DataStatistics count_data() const;
  void tell(const DataStatistics &found, const ModelData &data) const;
  void search_charges(ModelData &data);

  const std::shared_ptr<const Communicator> comm_;
  const TrainOptions &options_;
  const InputFile &input_;
  BatchSource &training_;
  Log say_;
  Health &health_;
};

}  // namespace dptrain
