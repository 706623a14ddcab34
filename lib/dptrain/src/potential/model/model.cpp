#include "dptrain/potential/model/model.h"

#include <fmt/format.h>
#include <string>
#include <utility>

#include "base/advice.h"
#include "base/process_memory.h"
#include "base/torch_memory.h"
#include "dptrain/base/error.h"
#include "kernels/memory.h"

namespace dptrain {

Model::Model(ModelData &&data, std::vector<ParameterBlock> blocks, std::vector<char> has_energy) :
    data_(std::move(data)),
    has_energy_(std::move(has_energy)),
    parameters_(std::move(blocks), std::exchange(data_.parameters, {}))
{
}

void Model::add_features(int number, bool centered)
{
  const std::string damage = data_.bars.damage(type_map().size());
  if (!damage.empty())
    throw Error(
        fmt::format("the error bars of the model are damaged: {}; copy the file again", damage));
  features_.emplace(type_map().size(), number, centered);
  if (!data_.metric.empty()) features_->set_metric(std::exchange(data_.metric, {}));
}

ModelData Model::data() const
{
  ModelData data = data_;
  data.parameters = parameters_.values();
  if (features_) data.metric = features_->metric();
  return data;
}

void Model::gradient(Tape &tape, const GradientSeed *seeds, double *gradient)
{
  if (!kernels::separate_memory()) return gradient_in_kernels(tape, seeds, gradient);
  kernels::Array<double> found;
  gradient_in_kernels(tape, seeds, found.resize(parameters_.size()));
  found.copy_to(gradient);
}

void Model::gradient_in_kernels(Tape &tape, const GradientSeed *seeds, double *gradient)
{
  if (tape.version() != parameters_.version())
    throw internal_error(
        "Pass B needs the model and the parameters of pass A: they are others now");
  pass_b(tape, seeds, gradient);
}

void Model::give_memory_back(const std::string &cause)
{
  release_workspace();
  release_torch_caches();
  return_free_memory();
  ++shortages_.number;
  shortages_.latest = cause;
}

}  // namespace dptrain
