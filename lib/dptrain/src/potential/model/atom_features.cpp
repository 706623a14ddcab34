#include "dptrain/potential/model/atom_features.h"

#include <fmt/format.h>

#include "dptrain/base/error.h"

namespace dptrain {

void AtomFeatures::set_metric(FeatureMetric metric)
{
  const std::size_t centers = ntypes_ * number_, matrices = centers * number_;
  if (metric.matrices.size() != matrices || metric.center.size() != centers)
    throw Error(fmt::format("The error bars of this model need {} and {} numbers, found {} and "
                            "{}: they are those of another model; copy or train the model again",
                            matrices, centers, metric.matrices.size(), metric.center.size()));
  metric_ = std::move(metric);
  ++version_;
}

}  // namespace dptrain
