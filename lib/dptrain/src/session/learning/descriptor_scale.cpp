#include "session/learning/descriptor_scale.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "dptrain/frames/distribution.h"
#include "dptrain/parallel/broadcast.h"
#include "dptrain/potential/native/deep_pot.h"
#include "potential/descriptor/descriptor_type.h"

namespace dptrain {

namespace {

// Of the numbers of the descriptor without a scaler.
struct Sums {
  std::vector<double> numbers;        // [ntypes][size]
  std::vector<double> squares;        // [size]
  std::vector<std::int64_t> centers;  // [ntypes]
};

void add(Model &model, const Frame &frame, Sums &sums)
{
  const std::size_t size = sums.squares.size(), ntypes = sums.centers.size();
  std::vector<double> covariance(ntypes * size * size, 0.0), force(3 * frame.type.size(), 0.0);
  ForwardOutput out;
  out.force = force.data();
  out.feature_sum = sums.numbers.data();
  out.feature_covariance = covariance.data();
  const Domain domain = frame.weighted_domain();
  model.forward(domain, out);
  for (std::size_t t = 0; t < ntypes; ++t)
    for (std::size_t d = 0; d < size; ++d) sums.squares[d] += covariance[(t * size + d) * size + d];
  for (int k = 0; k < domain.num_centers; ++k) {
    const int type = frame.type[domain.centers[k]];
    if (type >= 0 && model.has_energy(type)) ++sums.centers[type];
  }
}

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

bool has_scaler(const ModelConfig &config)
{
  return descriptor_type(config).has_scaler();
}

void scale_descriptor(const Communicator &comm, ModelData &data,
                      const std::vector<const Frame *> &frames)
{
  const std::size_t size = data.config.descriptor->size(), ntypes = data.config.type_map.size();
  std::vector<double> &scaler = data.descriptor_constants.at("scaler");
  scaler.assign(size, 1.0);
  Sums sums{std::vector<double>(ntypes * size, 0.0), std::vector<double>(size, 0.0),
            std::vector<std::int64_t>(ntypes, 0)};
  const BatchShares shares(frames, comm);
  guarded(comm, [&] {
    const std::shared_ptr<Model> model = make_deep_pot(data);
    for (const Frame *share : shares.frames()) add(*model, *share, sums);
  });
  comm.all_reduce_sum(sums.numbers.data(), sums.numbers.size());
  comm.all_reduce_sum(sums.squares.data(), sums.squares.size());
  comm.all_reduce_sum(sums.centers.data(), sums.centers.size());

  std::int64_t centers = 0;
  for (const std::int64_t number : sums.centers) centers += number;
  if (centers == 0) return;
  std::vector<double> means(size), deviations(size), of_types(ntypes * size);
  for (std::size_t d = 0; d < size; ++d) {
    double sum = 0.0;
    for (std::size_t t = 0; t < ntypes; ++t) sum += sums.numbers[t * size + d];
    means[d] = sum / centers;
    deviations[d] = std::sqrt(std::max(sums.squares[d] / centers - means[d] * means[d], 0.0));
    for (std::size_t t = 0; t < ntypes; ++t)
      of_types[t * size + d] =
          sums.centers[t] > 0 ? sums.numbers[t * size + d] / sums.centers[t] : means[d];
  }
  scaler = descriptor_type(data.config).scaler(data.config, means, deviations);
  center_first_layers(data, scaler, of_types);
}

}  // namespace dptrain
