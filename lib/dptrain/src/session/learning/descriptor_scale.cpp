#include "session/learning/descriptor_scale.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "dptrain/frames/distribution.h"
#include "dptrain/parallel/broadcast.h"
#include "dptrain/potential/native/deep_pot.h"
#include "dptrain/uncertainty/feature_moments.h"
#include "potential/descriptor/descriptor_type.h"

namespace dptrain {

namespace {

// b -= W^T (scaler * mean)
void center_first_layers(ModelData &data, const std::vector<double> &scaler,
                         const std::vector<double> &means)
{
  const std::size_t size = scaler.size();
  const std::vector<ParameterBlock> blocks = parameter_index(data.config);
  const auto find = [&](std::size_t type, const char *name) {
    const std::string place =
        fmt::format("/model/fitting/nets/networks/{}/layers/0/@variables/{}", type, name);
    return std::find_if(blocks.begin(), blocks.end(),
                        [&](const ParameterBlock &block) { return block.name == place; });
  };
  for (std::size_t type = 0; type < data.config.type_map.size(); ++type) {
    const auto weights = find(type, "w"), bias = find(type, "b");
    const double *w = &data.parameters[weights->offset];
    double *b = &data.parameters[bias->offset];
    for (std::size_t d = 0; d < size; ++d)
      for (std::size_t n = 0; n < bias->size; ++n)
        b[n] -= w[d * bias->size + n] * scaler[d] * means[type * size + d];
  }
}

}  // namespace

void scale_descriptor(std::shared_ptr<const Communicator> comm, ModelData &data,
                      const std::function<std::vector<const Frame *>()> &frames)
{
  const DescriptorType &type = descriptor_type(data.config);
  if (!type.has_scaler()) return;
  const std::size_t size = data.config.descriptor->size(), ntypes = data.config.type_map.size();
  std::vector<double> &scaler = data.descriptor_constants.at("scaler");
  scaler.assign(size, 1.0);
  const BatchShares shares(frames(), *comm);
  FeatureMoments moments(make_deep_pot(data), comm);
  guarded(*comm, [&] {
    for (const Frame *share : shares.frames()) moments.add(*share);
  });
  const FeatureMoments::Sums sums = moments.reduce();

  const double centers =
      static_cast<double>(std::accumulate(sums.atoms.begin(), sums.atoms.end(), std::int64_t{0}));
  if (centers == 0.0) return;
  std::vector<double> means(size), deviations(size), of_types(ntypes * size);
  for (std::size_t d = 0; d < size; ++d) {
    double sum = 0.0, squares = 0.0;
    for (std::size_t t = 0; t < ntypes; ++t) {
      sum += sums.features[t * size + d];
      squares += sums.products[(t * size + d) * size + d];
    }
    means[d] = sum / centers;
    deviations[d] = std::sqrt(std::max(squares / centers - means[d] * means[d], 0.0));
    for (std::size_t t = 0; t < ntypes; ++t)
      of_types[t * size + d] =
          sums.atoms[t] > 0 ? sums.features[t * size + d] / static_cast<double>(sums.atoms[t])
                            : means[d];
  }
  scaler = type.scaler(data.config, means, deviations);
  center_first_layers(data, scaler, of_types);
}

}  // namespace dptrain
