// Loss, gradient and Adam steps of DeePMD-kit, on as many ranks as there are: the cases of unittest/reference/train_*
// and, where DPTRAIN_SHARED names a folder, those of its cases/train_*.

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "dptrain/data/dataset_writer.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/training/trainer.h"
#include "io/file.h"
#include "support/npy_array.h"

namespace dptrain::test {

namespace {

namespace fs = std::filesystem;

// Tolerances relative to the largest magnitude. DeePMD-kit itself, with the atoms in another order, differs from these
// numbers by up to 5e-13 (expected.json, noise_floor).
constexpr double LOSS_TOLERANCE = 1e-10, GRADIENT_TOLERANCE = 1e-10, PARAMETER_TOLERANCE = 1e-9;
// Ranks add in another order.
constexpr double RANKS_TOLERANCE = 1e-12;

std::vector<std::string> cases()
{
  std::vector<std::string> roots{DPTRAIN_TEST_DATA}, found;
  if (const char *shared = std::getenv("DPTRAIN_SHARED"))
    roots.push_back(std::string(shared) + "/cases");
  for (const auto &root : roots)
    if (fs::exists(root))
      for (const auto &entry : fs::directory_iterator(root))
        if (entry.path().filename().string().rfind("train_", 0) == 0 &&
            fs::exists(entry.path() / "grad.npy"))
          found.push_back(entry.path().string());
  std::sort(found.begin(), found.end());
  return found;
}

double largest(const std::vector<double> &v)
{
  double most = 0.0;
  for (double x : v) most = std::max(most, std::abs(x));
  return most;
}

double difference(const std::vector<double> &a, const std::vector<double> &b)
{
  EXPECT_EQ(a.size(), b.size());
  double most = 0.0;
  for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k)
    most = std::max(most, std::abs(a[k] - b[k]));
  return most;
}

/// A case on the ranks of `comm`: fixed prefactors, constant learning rate, all frames in one batch.
struct Case {
  Case(const std::string &folder, std::shared_ptr<const Communicator> comm,
       const std::string &terms = "efv") :
      dir(folder),
      expected(nlohmann::json::parse(read_file(folder + "/expected.json"))),
      model(load_model(folder + "/model.dp"))
  {
    TrainingConfig config;
    for (const std::string term : {"e", "f", "v"}) {
      const bool is_on = terms.find(term) != std::string::npos;
      const double pref = is_on ? expected.at("pref_" + term).get<double>() : 0.0;
      config.loss.prefactors[term] = {pref, pref};
    }
    config.schedule.start_lr = expected.at("lr");
    config.schedule.decay_rate = 1.0;
    config.fit_energy_bias = false;
    const auto frames = read_npy_system(folder + "/system", model->type_map());
    config.batch_size = static_cast<int>(frames.size());
    trainer = std::make_unique<Trainer>(model, comm, config);
    for (const auto &frame : frames) {
      batch.push_back(static_cast<std::int64_t>(batch.size()));
      trainer->add(scatter_frame(comm, frame, model->cutoff()));
    }
  }
  std::vector<double> array(const std::string &name) const
  {
    return read_npy(dir + "/" + name + ".npy").values;
  }

  std::string dir;
  nlohmann::json expected;
  std::shared_ptr<Model> model;
  std::unique_ptr<Trainer> trainer;
  std::vector<std::int64_t> batch;
};

class TrainCase : public ::testing::TestWithParam<std::string> {
 protected:
  static std::shared_ptr<const Communicator> world()
  {
    const MPI_Comm comm = MPI_COMM_WORLD;
    return make_mpi_communicator(&comm);
  }
};

}  // namespace

TEST_P(TrainCase, LossAndGradient)
{
  for (const std::string terms : {"efv", "e", "f", "v"}) {
    Case c(GetParam(), world(), terms);
    const bool all = terms == "efv";
    const auto &initial = c.expected.at("initial");
    const double loss = initial.at(all ? "loss" : "loss_" + terms);
    std::vector<double> gradient;
    const UpdateReport report = c.trainer->loss_gradient(c.batch, gradient);
    const std::vector<double> reference = c.array(all ? "grad" : "grad_" + terms);
    const double error = difference(gradient, reference) / largest(reference);
    EXPECT_NEAR(report.loss, loss, LOSS_TOLERANCE * loss) << terms;
    EXPECT_LT(error, GRADIENT_TOLERANCE) << terms;
    if (all && world()->rank() == 0)
      std::printf("%s: loss %.1e gradient %.1e\n", fs::path(c.dir).filename().c_str(),
                  std::abs(report.loss / loss - 1.0), error);
    if (all && initial.contains("rmse_f")) {
      EXPECT_NEAR(report.rmse("e"), initial.at("rmse_e").get<double>(),
                  1e-11);  // of energies of -3e4 eV
      EXPECT_NEAR(report.rmse("f"), initial.at("rmse_f").get<double>(), 1e-10);
      EXPECT_NEAR(report.rmse("v"), initial.at("rmse_v").get<double>(), 1e-10);
    }
  }
}

TEST_P(TrainCase, AdamSteps)
{
  Case c(GetParam(), world());
  EXPECT_EQ(difference(c.model->parameters().values(), c.array("params_0")), 0.0);
  const auto &losses = c.expected.at("adam").at("loss");
  for (int step = 0; step < 20; ++step) {
    const double expected = losses[step];
    EXPECT_NEAR(c.trainer->update().loss, expected, LOSS_TOLERANCE * expected) << "step " << step;
    if (step == 0) {
      EXPECT_LT(difference(c.model->parameters().values(), c.array("params_1")),
                PARAMETER_TOLERANCE);
    }
  }
  EXPECT_EQ(c.trainer->steps(), 20);
  const double error = difference(c.model->parameters().values(), c.array("params_20"));
  EXPECT_LT(error, PARAMETER_TOLERANCE);
  if (world()->rank() == 0)
    std::printf("%s: parameters after 20 steps %.1e\n", fs::path(c.dir).filename().c_str(), error);
}

TEST_P(TrainCase, AsManyRanksAsOne)
{
  Case one(GetParam(), make_mpi_communicator()), all(GetParam(), world());
  std::vector<double> expected, gradient;
  const UpdateReport a = one.trainer->loss_gradient(one.batch, expected);
  const UpdateReport b = all.trainer->loss_gradient(all.batch, gradient);
  EXPECT_NEAR(a.loss, b.loss, RANKS_TOLERANCE * a.loss);
  EXPECT_LT(difference(gradient, expected), RANKS_TOLERANCE * largest(expected));
  for (int step = 0; step < 3; ++step) {
    one.trainer->update();
    all.trainer->update();
  }
  EXPECT_LT(difference(one.model->parameters().values(), all.model->parameters().values()),
            RANKS_TOLERANCE);
  // and all ranks hold the same bits
  std::vector<double> copy = all.model->parameters().values();
  world()->broadcast(copy.data(), copy.size() * sizeof(double), 0);
  EXPECT_EQ(copy, all.model->parameters().values());
}

TEST_P(TrainCase, ChunksDoNotMatter)
{
  Case whole(GetParam(), world()), pieces(GetParam(), world());
  pieces.model->set_chunk(3);
  std::vector<double> expected, gradient;
  const UpdateReport a = whole.trainer->loss_gradient(whole.batch, expected);
  const UpdateReport b = pieces.trainer->loss_gradient(pieces.batch, gradient);
  EXPECT_NEAR(a.loss, b.loss, RANKS_TOLERANCE * a.loss);
  EXPECT_LT(difference(gradient, expected), RANKS_TOLERANCE * largest(expected));
}

INSTANTIATE_TEST_SUITE_P(Deepmd, TrainCase, ::testing::ValuesIn(cases()), [](const auto &info) {
  const fs::path path = info.param;
  const bool own = info.param.rfind(DPTRAIN_TEST_DATA, 0) == 0;
  return (own ? "" : "shared_") + path.filename().string();
});

}  // namespace dptrain::test
