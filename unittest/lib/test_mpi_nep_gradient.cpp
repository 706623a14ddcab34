// The gradient of the loss by all parameters of potentials of GPUMD beside the autograd of torchnep
// (tools/make_reference_nep_gradients.py), on as many ranks as there are.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "dptrain/frames/whole_frame.h"
#include "dptrain/potential/descriptor/nep_config.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/training/trainer.h"
#include "io/file.h"
#include "support/small_training.h"
#include "support/world.h"

namespace dptrain::test {
namespace {

using nlohmann::json;

const std::string folder = DPTRAIN_TEST_DATA "/nep/";

json read(const std::string &name)
{
  return json::parse(read_file(folder + name));
}

/// A frame of reference.json, whose labels are zero.
WholeFrame frame_of(const json &values, const std::vector<std::string> &type_map)
{
  WholeFrame frame;
  std::size_t k = 0;
  for (const auto &row : values["cell"])
    for (const double x : row) frame.box[k++] = x;
  for (const auto &row : values["positions"])
    for (const double x : row) frame.coord.push_back(x);
  for (const std::string name : values["symbols"])
    frame.type.push_back(
        static_cast<int>(std::find(type_map.begin(), type_map.end(), name) - type_map.begin()));
  frame.label.energy = 0.0;
  frame.label.force.assign(frame.coord.size(), 0.0);
  frame.label.virial.emplace().fill(0.0);
  return frame;
}

/// torchnep's gradient in the places of a block.
std::vector<double> expected_of(const ParameterBlock &block, const json &gradient, int ntypes)
{
  std::vector<double> values;
  for (const auto &[prefix, name] :
       {std::pair("c_radial", "c_param_2"), {"c_angular", "c_param_3"}}) {
    const std::size_t place = block.name.rfind(prefix);
    if (place == std::string::npos) continue;
    const int center = std::stoi(block.name.substr(place + std::string(prefix).size()));
    const json &c = gradient[name][static_cast<std::size_t>(center)];
    for (std::size_t n = 0; n < static_cast<std::size_t>(block.shape[0]); ++n)
      for (int b = 0; b < ntypes; ++b)
        for (const double value : c[static_cast<std::size_t>(b)][n]) values.push_back(value);
    return values;
  }
  const std::string nets = "/networks/";
  const std::size_t place = block.name.find(nets) + nets.size();
  const std::string net = fmt::format("fitting_nets.{}.", std::stoi(block.name.substr(place)));
  const bool hidden = block.name.find("/layers/0/") != std::string::npos;
  if (hidden && block.name.ends_with("/w"))
    for (const auto &row : gradient[net + "w0"])
      for (const double value : row) values.push_back(value);
  else if (hidden)  // tanh(W q - b0)
    for (const double value : gradient[net + "b0"]) values.push_back(-value);
  else if (block.name.ends_with("/w"))
    for (const double value : gradient[net + "w1"]) values.push_back(value);
  return values;  // none of the bias of the output, of which torchnep has one for all elements
}

class NepGradient : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(, NepGradient, testing::Values("nep4_two", "nep4_five", "nep4_all"),
                         [](const auto &info) { return info.param; });

}  // namespace

TEST_P(NepGradient, IsThatOfTorchnep)
{
  const json reference = read("gradients.json")[GetParam()];
  const std::shared_ptr<Model> model = load_model(folder + GetParam() + ".txt");
  TrainingConfig config = small_training(1);
  config.loss.prefactors["e"] = {2.0, 2.0};
  config.loss.prefactors["v"] = {0.5, 0.5};
  config.fit_energy_bias = false;
  const auto comm = world();
  Trainer trainer(model, comm, config);
  trainer.add(scatter_frame(comm, frame_of(read("reference.json")[GetParam()], model->type_map()),
                            model->cutoff()));
  std::vector<double> gradient(model->parameters().size());
  const double loss = reference["loss"];
  EXPECT_NEAR(trainer.loss_gradient({0}, gradient).loss, loss, 1e-10 * loss);
  double largest = 0.0, bias = 0.0;
  for (const double component : gradient) largest = std::max(largest, std::abs(component));
  const int ntypes = static_cast<int>(model->type_map().size());
  for (const ParameterBlock &block : model->parameters().blocks()) {
    const std::vector<double> expected = expected_of(block, reference["gradient"], ntypes);
    if (expected.empty()) bias += gradient[block.offset];
    // constants of torchnep have 15 decimals
    for (std::size_t k = 0; k < expected.size(); ++k)
      EXPECT_NEAR(gradient[block.offset + k], expected[k], 1e-9 * largest)
          << block.name << ' ' << k;
  }
  EXPECT_NEAR(bias, -reference["gradient"]["b1"].get<double>(), 1e-9 * largest);
}

}  // namespace dptrain::test
