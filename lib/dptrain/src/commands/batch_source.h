#pragma once

#include <memory>
#include <utility>

#include "data/batch_plan.h"
#include "data/frame_cache.h"
#include "dptrain/input/config.h"
#include "potential/terms/charge_config.h"

namespace dptrain {

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
            input.model.cutoff(), input.model.ntypes(), budget, config.min_pair_dist,
            total_charge(input.model), charges_of(input.model) != nullptr)
  {
  }
  Systems systems;
  BatchPlan plan;
  FrameCache cache;
};

}  // namespace dptrain
