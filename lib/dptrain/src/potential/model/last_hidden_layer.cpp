#include "dptrain/potential/model/last_hidden_layer.h"

#include <fmt/format.h>
#include <utility>

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

}  // namespace dptrain
