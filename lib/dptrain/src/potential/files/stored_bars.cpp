#include "potential/files/stored_bars.h"

#include <vector>

#include "io/hdf5_state.h"

namespace dptrain {

namespace {

const std::string metric_group = "/dptrain_metric", bars_group = "/dptrain_bars";

// Calls visit(index) for the upper triangles of matrices of H rows, one after the other.
template <class Visit> void for_triangles(std::size_t numbers, std::size_t rows, const Visit &visit)
{
  for (std::size_t begin = 0; rows > 0 && begin < numbers; begin += rows * rows)
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t column = row; column < rows; ++column) visit(begin + row * rows + column);
}

}  // namespace

void write_bars(Hdf5File &file, const std::string &group, const ModelData &data)
{
  const FeatureMetric &metric = data.metric;
  if (metric.empty()) return;
  std::vector<double> packed;
  for_triangles(metric.matrices.size(), metric.matrices.size() / metric.center.size(),
                [&](std::size_t k) { packed.push_back(metric.matrices[k]); });
  file.make_group(group + metric_group);
  file.write_array(group + metric_group + "/center", metric.center);
  file.write_array(group + metric_group + "/matrices", packed.data(),
                   {static_cast<std::int64_t>(packed.size())}, true);
  State own;
  own.set("bars", data.bars);
  if (!data.learning.empty()) own.set("learning", data.learning);
  write_state(file, group + bars_group, own);
}

void read_bars(const Hdf5File &file, const std::string &group, ModelData &data)
{
  if (!file.has(group + metric_group)) return;
  FeatureMetric &metric = data.metric;
  metric.center = file.read_array(group + metric_group + "/center").values;
  const std::vector<double> packed = file.read_array(group + metric_group + "/matrices").values;
  // H (H + 1) / 2 numbers for each type, of which the centers have H
  const std::size_t centers = metric.center.size();
  const std::size_t rows = centers == 0 ? 0 : 2 * packed.size() / centers - 1;
  if (rows == 0 || centers % rows != 0 || packed.size() * 2 != centers * (rows + 1))
    file.fail("damaged: the metric of the error bars has another size than it should have; copy "
              "the file again");
  metric.matrices.assign(centers * rows, 0.0);
  auto value = packed.begin();
  for_triangles(metric.matrices.size(), rows,
                [&](std::size_t k) { metric.matrices[k] = *value++; });
  const State own = read_state(file, group + bars_group);
  own.get_to("bars", data.bars);
  if (own.has("learning")) own.get_to("learning", data.learning);
}

}  // namespace dptrain
