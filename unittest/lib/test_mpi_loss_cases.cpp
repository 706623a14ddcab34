// Loss, errors, gradient and rows of lcurve.out of all forms of DeePMD-kit's loss, on as many ranks as there are:
// unittest/reference/loss_terms, and the variants of cases/train_a where DPTRAIN_SHARED names a folder that has it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "dptrain/data/data_set.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/training/learning_curve.h"
#include "dptrain/training/trainer.h"
#include "io/file.h"
#include "support/npy_array.h"
#include "support/random_frame.h"
#include "support/scratch.h"
#include "support/world.h"

namespace dptrain::test {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Relative to the largest magnitude; DeePMD-kit's own noise is some 1e-13. Ranks add in another order.
constexpr double DEEPMD_TOLERANCE = 1e-10, RANKS_TOLERANCE = 1e-12;

/// The settings of a section `loss`.
LossConfig loss_config(const json &section)
{
  LossConfig c;
  for (auto &[term, prefactor] : c.prefactors)
    prefactor = {section.value("start_pref_" + term, 0.0),
                 section.value("limit_pref_" + term, 0.0)};
  c.numb_generalized_coord = section.value("numb_generalized_coord", 0);
  if (section.value("loss_func", "mse") == "mae") c.function = LossFunction::mae;
  if (section.value("use_huber", false)) c.function = LossFunction::huber;
  if (section.contains("huber_delta")) {
    const json &delta = section.at("huber_delta");
    for (int k = 0; k < 3; ++k)
      c.huber_delta[k] = delta.is_array() ? delta.at(k).get<double>() : delta.get<double>();
  }
  c.f_use_norm = section.value("f_use_norm", false);
  c.intensive_ener_virial = section.value("intensive_ener_virial", false);
  if (section.contains("relative_f")) c.relative_f = section.at("relative_f").get<double>();
  c.enable_atom_ener_coeff = section.value("enable_atom_ener_coeff", false);
  c.use_default_pf = section.value("use_default_pf", false);
  return c;
}

/// All frames of a case as one batch, with one form of the loss.
struct Case {
  Case(const std::string &folder, const json &section, const std::vector<std::string> &left_out,
       std::shared_ptr<const Communicator> comm) :
      model(load_model(folder + "/model.dp"))
  {
    TrainingConfig config;
    config.loss = loss_config(section);
    config.fit_energy_bias = false;
    config.schedule.start_lr = 1e-3;
    trainer = std::make_unique<Trainer>(model, comm, config);
    const auto system = open_system(
        folder + "/system", {model->type_map(), "set", section.value("numb_generalized_coord", 0)});
    for (std::int64_t k = 0; k < system->num_frames(); ++k) {
      WholeFrame whole = system->read(k);
      for (const std::string &name : left_out) leave_out(name, whole.label);
      frames.push_back(scatter_frame(comm, whole, model->cutoff()));
      trainer->check(frames.back());
    }
    for (const Frame &frame : frames) all.push_back(&frame);
  }
  static void leave_out(const std::string &name, Label &label)
  {
    if (name == "energy") label.energy.reset();
    if (name == "force") label.force.clear();
    if (name == "atom_ener") label.atom_energy.clear();
    if (name == "atom_pref") label.atom_pref.clear();
    if (name == "atom_ener_coeff") label.atom_ener_coeff.clear();
    if (name == "drdq") label.drdq.clear();
  }
  UpdateReport gradient(std::vector<double> &values)
  {
    for (Frame &frame : frames) trainer->add(std::move(frame));
    std::vector<std::int64_t> places;
    for (std::size_t k = 0; k < all.size(); ++k) places.push_back(static_cast<std::int64_t>(k));
    return trainer->loss_gradient(places, values);
  }

  std::shared_ptr<Model> model;
  std::unique_ptr<Trainer> trainer;
  std::vector<Frame> frames;
  std::vector<const Frame *> all;
};

double largest(const std::vector<double> &v)
{
  double most = 0.0;
  for (double x : v) most = std::max(most, std::abs(x));
  return most;
}

void expect_near(const std::vector<double> &found, const std::vector<double> &expected,
                 double tolerance)
{
  ASSERT_EQ(found.size(), expected.size());
  double most = 0.0;
  for (std::size_t k = 0; k < found.size(); ++k)
    most = std::max(most, std::abs(found[k] - expected[k]));
  EXPECT_LE(most, tolerance * largest(expected));
}

const std::string own_case = std::string(DPTRAIN_TEST_DATA) + "/loss_terms";

json variants()
{
  return json::parse(read_file(own_case + "/expected.json")).at("variants");
}

std::vector<std::string> names()
{
  std::vector<std::string> names;
  const json all = variants();
  for (const auto &item : all.items()) names.push_back(item.key());
  return names;
}

class LossCase : public ::testing::TestWithParam<std::string> {
 protected:
  const json variant_ = variants().at(GetParam());
  const std::vector<std::string> left_out_ = variant_.at("left_out");
  Case make(std::shared_ptr<const Communicator> comm)
  {
    return Case(own_case, variant_.at("loss_section"), left_out_, comm);
  }
};

/// An error by DeePMD-kit's name: rmse_e, mae_e, ...
double error_of(const UpdateReport &report, const std::string &name)
{
  const std::string term = name.substr(name.find('_') + 1);
  return name.compare(0, 3, "mae") == 0 ? report.mae(term) : report.rmse(term);
}

}  // namespace

TEST_P(LossCase, IsDeepmds)
{
  Case c = make(world());
  const double loss = variant_.at("loss");
  const UpdateReport errors = c.trainer->errors(c.all);
  std::vector<double> gradient;
  const UpdateReport report = c.gradient(gradient);
  EXPECT_NEAR(report.loss, loss, DEEPMD_TOLERANCE * loss);
  EXPECT_NEAR(errors.loss, loss, DEEPMD_TOLERANCE * loss);
  expect_near(gradient, read_npy(own_case + "/grad_" + GetParam() + ".npy").values,
              DEEPMD_TOLERANCE);
  for (const auto &[name, value] : variant_.at("errors").items()) {
    if (name == "rmse") continue;
    const double found = error_of(report, name);
    if (value.is_null())
      EXPECT_TRUE(std::isnan(found)) << name;
    else
      EXPECT_NEAR(found, value.get<double>(), DEEPMD_TOLERANCE) << name;
  }
}

TEST_P(LossCase, RowIsThatOfDeepmdsCurve)
{
  // a switched off term has its columns, without label it shows nan; without forces DeePMD-kit's row is the same
  Case c = make(world());
  const UpdateReport report = c.trainer->update(c.all);
  const Scratch scratch;
  for (const bool validation : {false, true}) {
    const std::string path = scratch / (validation ? "both" : "one");
    LearningCurve curve(path, c.trainer->config().loss, validation, false);
    curve.write(report, report);
    std::string expected;
    for (const auto &line : variant_.at(validation ? "lcurve_validation" : "lcurve"))
      expected += (expected.empty() ? "" : "\n") + line.get<std::string>();
    EXPECT_EQ(read_file(path), expected);
  }
}

TEST_P(LossCase, AsManyRanksAsOne)
{
  Case one = make(make_mpi_communicator()), many = make(world());
  std::vector<double> expected, gradient;
  const UpdateReport a = one.gradient(expected), b = many.gradient(gradient);
  EXPECT_NEAR(a.loss, b.loss, RANKS_TOLERANCE * a.loss);
  expect_near(gradient, expected, RANKS_TOLERANCE);
  for (const TermErrors &errors : a.terms)
    for (const std::string kind : {"rmse_", "mae_"}) {
      const std::string name = kind + errors.term;
      const double expected_error = error_of(a, name), error = error_of(b, name);
      EXPECT_EQ(std::isnan(expected_error), std::isnan(error)) << name;
      if (!std::isnan(expected_error)) {
        EXPECT_NEAR(error, expected_error, RANKS_TOLERANCE * std::abs(expected_error)) << name;
      }
    }
}

TEST_P(LossCase, GradientIsThatOfTheLoss)
{
  Case c = make(world());
  std::vector<double> gradient;
  c.gradient(gradient);
  const std::vector<double> start = c.model->parameters().values();
  std::vector<const Frame *> frames;
  for (std::int64_t k = 0; k < c.trainer->num_frames(); ++k) frames.push_back(&c.trainer->frame(k));
  Numbers random(17);
  for (int direction = 0; direction < 3; ++direction) {
    std::vector<double> d(start.size());
    double slope = 0.0, squares = 0.0;
    for (std::size_t k = 0; k < d.size(); ++k) {
      d[k] = random(-1.0, 1.0);
      slope += gradient[k] * d[k];
      squares += gradient[k] * gradient[k];
    }
    const auto at = [&](double step) {
      std::vector<double> moved = start;
      for (std::size_t k = 0; k < d.size(); ++k) moved[k] += step * d[k];
      c.model->parameters().set(moved);
      return c.trainer->errors(frames).loss;
    };
    const double h = 1e-5;
    const auto difference = [&](double step) { return (at(step) - at(-step)) / (2 * step); };
    // without the h^2 of central differences; rounding of the loss and of Huber's and absolute corners is left
    const double found = (4.0 * difference(h) - difference(2 * h)) / 3.0;
    EXPECT_NEAR(found, slope, 1e-6 * std::sqrt(squares));
  }
}

INSTANTIATE_TEST_SUITE_P(Deepmd, LossCase, ::testing::ValuesIn(names()),
                         [](const auto &info) { return info.param; });

// The forms that come with cases/train_a, whose gradients were made with an exact 1/N for 192 atoms.
TEST(LossVariants, OfSharedCase)
{
  const char *shared = std::getenv("DPTRAIN_SHARED");
  const std::string folder = std::string(shared ? shared : "") + "/cases/train_a";
  if (!shared || !fs::exists(folder)) GTEST_SKIP() << "there is no such folder";
  const json expected = json::parse(read_file(folder + "/expected.json"));
  json section;
  for (const std::string term : {"e", "f", "v"})
    section["start_pref_" + term] = section["limit_pref_" + term] = expected.at("pref_" + term);
  for (const auto &[name, variant] : expected.at("variants").items()) {
    SCOPED_TRACE(name);
    json with = section;
    with.update(variant.at("options"));
    Case c(folder, with, {}, world());
    std::vector<double> gradient;
    const double loss = variant.at("loss"), norm = variant.at("grad_norm");
    EXPECT_NEAR(c.gradient(gradient).loss, loss, DEEPMD_TOLERANCE * loss);
    double squares = 0.0;
    for (double g : gradient) squares += g * g;
    EXPECT_NEAR(std::sqrt(squares), norm, DEEPMD_TOLERANCE * norm);
    const std::string file = folder + "/grad_variant_" + name + ".npy";
    if (fs::exists(file)) expect_near(gradient, read_npy(file).values, DEEPMD_TOLERANCE);
  }
}

}  // namespace dptrain::test
