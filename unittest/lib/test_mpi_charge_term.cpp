// Charges on as many ranks as there are: energies, forces, virials and gradients are those of one rank.
#include <gtest/gtest.h>

#include <cmath>

#include "dptrain/frames/whole_frame.h"
#include "dptrain/potential/native/deep_pot.h"
#include "dptrain/session/frame_run.h"
#include "dptrain/training/trainer.h"
#include "input/model_keys.h"
#include "support/power_spectrum_model.h"
#include "support/random_frame.h"
#include "support/small_training.h"
#include "support/world.h"

namespace dptrain::test {
namespace {

constexpr double RCUT = 3.2;
// Sums in another order, relative to the largest number.
constexpr double TOLERANCE = 1e-10;

std::shared_ptr<Model> salt_model(const std::string &kind)
{
  ModelConfig config;
  config.type_map = {"Na", "Cl"};
  config.rcut = RCUT;
  PowerSpectrumConfig settings;
  settings.n_max = 3;
  settings.axis_neuron = 2;
  settings.l_max = 2;
  settings.n_basis = 6;
  config.descriptor = settings.clone();
  config.fitting_neuron = {8, 8};
  const nlohmann::json model{{"type_map", {"Na", "Cl"}},
                             {"terms", {{{"type", "charges"}, {"kind", kind}}}}};
  JsonReader reader(model, "input.json", "model");
  read_type_keys(reader, config);
  ModelData data = power_spectrum_model(2, settings, RCUT);
  data.config = config;
  RandomEngine engine(7);
  data.parameters.clear();
  for (const auto &block : parameter_index(config))
    for (std::size_t k = 0; k < block.size; ++k)
      data.parameters.push_back(0.3 * random_normal(engine));
  return make_deep_pot(data);
}

WholeFrame salt_frame(unsigned seed, int natoms)
{
  return random_frame(seed, natoms, skewed_box(7.0), true, 1.2);
}

class MpiChargeTerm : public testing::TestWithParam<const char *> {};

TEST_P(MpiChargeTerm, AFrameHasTheSameValuesOnAnyNumberOfRanks)
{
  const auto model = salt_model(GetParam());
  Evaluator evaluator(model);
  for (const int natoms : {3, 40}) {
    const WholeFrame frame = salt_frame(4, natoms);
    const FrameValues together = evaluate_frame(world(), evaluator, frame, false);
    const FrameValues alone = evaluate_frame(make_mpi_communicator(), evaluator, frame, false);
    EXPECT_NEAR(together.energy, alone.energy, TOLERANCE * std::abs(alone.energy));
    double largest = 0.0;
    for (const double f : alone.force) largest = std::max(largest, std::abs(f));
    for (std::size_t k = 0; k < alone.force.size(); ++k)
      EXPECT_NEAR(together.force[k], alone.force[k], TOLERANCE * largest);
    for (std::size_t k = 0; k < alone.atom_energy.size(); ++k)
      EXPECT_NEAR(together.atom_energy[k], alone.atom_energy[k], TOLERANCE * 10.0);
    for (int k = 0; k < 9; ++k) EXPECT_NEAR(together.virial[k], alone.virial[k], TOLERANCE * 100.0);
  }
}

TEST_P(MpiChargeTerm, TrainingIsThatOfOneRank)
{
  TrainingConfig config = small_training(1000);
  config.fit_energy_bias = false;
  config.loss.prefactors["v"] = {0.1, 0.1};
  const auto trained = [&](const std::shared_ptr<const Communicator> &comm) {
    const auto model = salt_model(GetParam());
    Trainer trainer(model, comm, config);
    std::vector<Frame> frames;
    for (const unsigned seed : {1, 2, 3})
      frames.push_back(scatter_frame(comm, salt_frame(seed, 24), RCUT));
    std::vector<const Frame *> all;
    for (const Frame &frame : frames) all.push_back(&frame);
    for (int step = 0; step < 5; ++step) trainer.update(all);
    return model->parameters().values();
  };
  const auto together = trained(world()), alone = trained(make_mpi_communicator());
  for (std::size_t k = 0; k < alone.size(); ++k)
    EXPECT_NEAR(together[k], alone[k], 1e-8 * std::max(1.0, std::abs(alone[k]))) << k;
}

INSTANTIATE_TEST_SUITE_P(Kinds, MpiChargeTerm, testing::Values("search", "environment"));

}  // namespace
}  // namespace dptrain::test
