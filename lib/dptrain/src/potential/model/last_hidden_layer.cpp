#include "dptrain/potential/model/last_hidden_layer.h"

#include <fmt/format.h>
#include <string>
#include <utility>

#include "base/advice.h"
#include "dptrain/base/error.h"

namespace dptrain {

void LastHiddenLayer::set_whitening(std::vector<double> matrices)
{
  const std::size_t needed = ntypes_ * h_ * h_;
  if (matrices.size() != needed)
    throw Error(fmt::format("The uncertainty of this model needs {} numbers, found {}: they are "
                            "those of another model; copy or train the model again",
                            needed, matrices.size()));
  whitening_ = std::move(matrices);
  ++version_;
}

void LastHiddenLayer::set_weight_samples(std::vector<double> changes)
{
  const std::size_t one = ntypes_ * h_;
  if (changes.size() % one != 0)
    throw internal_error(fmt::format(
        "Samples of the last layer need {} numbers each, found {} numbers", one, changes.size()));
  weight_samples_ = std::move(changes);
  ++version_;
}

}  // namespace dptrain
