// Steps on frames that the caller holds, on as many ranks as there are: gradients that are limited and added up, errors
// without a step, the fit of the energy bias.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/native/deep_pot.h"
#include "dptrain/training/energy_bias_fit.h"
#include "dptrain/training/trainer.h"
#include "support/random_frame.h"
#include "support/scratch.h"
#include "support/small_training.h"
#include "support/tiny_model.h"
#include "support/toy_model.h"
#include "support/world.h"
#include "training/step_gradient.h"

namespace dptrain::test {

namespace {

constexpr double RCUT = 3.0;

std::vector<WholeFrame> whole_frames()
{
  return {random_frame(1, 30, skewed_box(6.0), true, 1.0),
          random_frame(2, 11, cubic_box(5.0), true, 1.0),
          random_frame(3, 17, skewed_box(4.0), true, 0.8)};
}

TrainingConfig configuration()
{
  TrainingConfig config = small_training(1000);
  config.fit_energy_bias = false;
  return config;
}

/// A trainer without buffer, and its frames.
struct Training {
  explicit Training(const TrainingConfig &config = configuration(),
                    const std::vector<WholeFrame> &whole = whole_frames()) :
      comm(world()), model(std::make_shared<ToyModel>(RCUT)), trainer(model, comm, config)
  {
    for (const auto &frame : whole) {
      frames.push_back(scatter_frame(comm, frame, RCUT));
      trainer.check(frames.back());
    }
    for (const Frame &frame : frames) all.push_back(&frame);
  }
  std::shared_ptr<const Communicator> comm;
  std::shared_ptr<ToyModel> model;
  Trainer trainer;
  std::vector<Frame> frames;
  std::vector<const Frame *> all;
};

/// The gradient of a batch with the present parameters, by a trainer of its own.
std::vector<double> gradient_of(const Training &t, const std::vector<int> &frames)
{
  const auto model = std::make_shared<ToyModel>(RCUT);
  model->parameters().set(t.model->parameters().values());
  Trainer other(model, t.comm, configuration());
  std::vector<std::int64_t> places;
  for (int k : frames) {
    places.push_back(other.num_frames());
    other.add(scatter_frame(t.comm, whole_frames()[k], RCUT));
  }
  std::vector<double> gradient;
  other.loss_gradient(places, gradient);
  return gradient;
}

double length(const std::vector<double> &v)
{
  return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
}

/// torch.optim.Adam with its defaults.
struct Adam {
  void step(std::vector<double> &x, const std::vector<double> &g, double lr)
  {
    m.resize(x.size(), 0.0);
    v.resize(x.size(), 0.0);
    ++steps;
    for (std::size_t k = 0; k < x.size(); ++k) {
      m[k] = 0.9 * m[k] + 0.1 * g[k];
      v[k] = 0.999 * v[k] + 0.001 * g[k] * g[k];
      const double root = std::sqrt(v[k] / (1.0 - std::pow(0.999, steps)));
      x[k] -= lr * m[k] / (1.0 - std::pow(0.9, steps)) / (root + 1e-8);
    }
  }
  std::vector<double> m, v;
  int steps = 0;
};

/// The loss of a whole frame with the prefactors of LabelsMayDifferWithinABatch, by its definition.
double defined_loss(ToyModel &model, const WholeFrame &whole)
{
  const Frame frame = scatter_frame(make_mpi_communicator(), whole, RCUT);
  const Label &label = whole.label;
  std::vector<double> force(3 * frame.nall()), energy(frame.nlocal);
  ForwardOutput out;
  out.force = force.data();
  out.atom_energy = energy.data();
  model.forward(frame.domain(), out);
  frame.halo->reduce(force.data(), 3);
  const double n = frame.nlocal;
  const std::vector<double> weight =
      label.force_weight.empty() ? std::vector<double>(frame.nlocal, 1.0) : label.force_weight;
  const double weights = std::accumulate(weight.begin(), weight.end(), 0.0);
  double sum = 0.0, total = 0.0, generalized[2] = {0.0, 0.0};
  for (int i = 0; i < frame.nlocal; ++i) {
    total += label.atom_ener_coeff.empty() ? energy[i] : label.atom_ener_coeff[i] * energy[i];
    if (!label.atom_energy.empty()) sum += 3.0 * std::pow(energy[i] - label.atom_energy[i], 2) / n;
    for (int k = 3 * i; k < 3 * i + 3 && !label.force.empty(); ++k) {
      const double error = force[k] - label.force[k];
      const double square = weight[i] * error * error / (3.0 * weights);
      sum += 30.0 * square;
      if (!label.atom_pref.empty()) sum += 4.0 * label.atom_pref[i] * square;
      for (int q = 0; q < 2; ++q) generalized[q] += label.drdq[2 * k + q] * error;
    }
  }
  sum += 0.5 * (std::pow(generalized[0], 2) + std::pow(generalized[1], 2)) / 2.0;
  if (label.energy) sum += 0.7 * std::pow(total - *label.energy, 2) / n;
  for (int k = 0; k < 9; ++k)
    sum += 0.2 * std::pow(out.virial[k] - (*label.virial)[k], 2) / (9 * n);
  return sum;
}

void expect_near(const std::vector<double> &a, const std::vector<double> &b, double tolerance)
{
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], tolerance) << k;
}

}  // namespace

TEST(GivenFrames, StepIsThatOfTheBuffer)
{
  Training given;
  const auto model = std::make_shared<ToyModel>(RCUT);
  Trainer buffered(model, given.comm, configuration());
  for (const auto &frame : whole_frames()) buffered.add(scatter_frame(given.comm, frame, RCUT));
  EXPECT_EQ(given.model->expected, model->expected);
  for (int k = 0; k < 5; ++k) {
    const UpdateReport a = given.trainer.update(given.all), b = buffered.update();
    EXPECT_NEAR(a.loss, b.loss, 1e-13 * b.loss);  // the frames stand in another order
    EXPECT_EQ(a.step, k + 1);
  }
  expect_near(given.model->parameters().values(), model->parameters().values(), 1e-13);
  EXPECT_EQ(given.trainer.num_frames(), 0);
}

TEST(GivenFrames, ErrorsAreThoseOfAStepAndChangeNothing)
{
  TrainingConfig config = configuration();
  config.schedule.decay_rate = 0.5;
  config.schedule.decay_steps = 1;
  config.loss.prefactors.at("f").start = 60.0;
  Training t(config);
  const std::vector<double> before = t.model->parameters().values();
  const State state = t.trainer.state();
  const UpdateReport errors = t.trainer.errors({t.all[1]});
  EXPECT_EQ(t.model->parameters().values(), before);
  EXPECT_EQ(t.trainer.state(), state);
  const UpdateReport step = t.trainer.update({t.all[1]});
  EXPECT_EQ(errors.loss, step.loss);
  EXPECT_EQ(errors.learning_rate, step.learning_rate);
  for (const char *term : {"e", "f", "v"}) EXPECT_EQ(errors.rmse(term), step.rmse(term));
  // the prefactors stay those of the step, whose parameters have changed
  const UpdateReport after = t.trainer.errors({t.all[1]});
  EXPECT_EQ(after.learning_rate, 1e-3);
  EXPECT_EQ(after.step, 1);
  EXPECT_NE(after.loss, errors.loss);
  EXPECT_NEAR(after.loss,
              11 * (0.7 * std::pow(after.rmse("e"), 2) + 0.2 * std::pow(after.rmse("v"), 2)) +
                  60.0 * std::pow(after.rmse("f"), 2),
              1e-12 * after.loss);
}

TEST(GivenFrames, LongGradientsAreShortened)
{
  Training t;
  TrainingConfig config = configuration();
  const double norm = length(gradient_of(t, {0, 1, 2}));
  config.gradient_max_norm = 0.3 * norm;
  Training limited(config);
  Adam adam;
  std::vector<double> x = t.model->parameters().values();
  for (int step = 0; step < 4; ++step) {
    // batches of different length: shortening all alike would change nothing in Adam
    const std::vector<int> batch = step % 2 == 0 ? std::vector<int>{0, 1, 2} : std::vector<int>{2};
    std::vector<double> g = gradient_of(limited, batch);
    const double factor = std::min(1.0, config.gradient_max_norm / (length(g) + 1e-6));
    for (double &value : g) value *= factor;
    adam.step(x, g, 1e-3);
    std::vector<const Frame *> frames;
    for (int k : batch) frames.push_back(limited.all[k]);
    limited.trainer.update(frames);
    expect_near(limited.model->parameters().values(), x, 1e-13);
  }
}

TEST(GivenFrames, BlocksThatAreNotTrainedDoNotCountForTheLength)
{
  const auto comm = world();
  const std::vector<ParameterBlock> index{{"a", {2}, 0, 2, true}, {"b", {3}, 2, 3, false}};
  for (const double max_norm : {0.0, 1.0}) {
    const auto parts = equal_parts(5, comm->size());
    StepGradient gradient(make_gradient_sum(comm, {}, parts, index), comm, parts, index, max_norm);
    gradient.batch().copy_from({3.0 / comm->size(), 4.0 / comm->size(), 5.0, 6.0, 7.0});
    const double squares = 25.0 + (25 + 36 + 49.0) * comm->size() * comm->size();
    EXPECT_NEAR(gradient.reduce(), max_norm > 0.0 ? 25.0 : squares, 1e-12 * squares);
    std::vector<double> step(5);
    kernels::copy_out(step.data(), gradient.take(), 5 * sizeof(double));
    const double factor = max_norm > 0.0 ? 1.0 / (5.0 + 1e-6) : 1.0;
    if (comm->rank() == 0) {
      EXPECT_NEAR(step[0], 3.0 * factor, 1e-15);
    }
  }
}

TEST(GivenFrames, GradientsOfSeveralBatchesMakeAStep)
{
  TrainingConfig config = configuration();
  config.acc_freq = 3;
  config.gradient_max_norm = 50.0;
  config.schedule.decay_rate = 0.5;
  config.schedule.decay_steps = 2;
  Training t(config);
  Adam adam;
  std::vector<double> x = t.model->parameters().values();
  for (int round = 0; round < 2; ++round) {
    std::vector<double> sum(x.size(), 0.0);
    for (int k = 0; k < 3; ++k) {
      EXPECT_EQ(t.model->parameters().values()[0], x[0]);
      const std::vector<double> g = gradient_of(t, {k});
      for (std::size_t n = 0; n < sum.size(); ++n) sum[n] += g[n];
      const UpdateReport report = t.trainer.update({t.all[k]});
      EXPECT_EQ(report.step, 3 * round + k + 1);
    }
    const double norm = length(sum);
    EXPECT_GT(norm, 50.0);
    for (double &value : sum) value *= 50.0 / (norm + 1e-6);
    adam.step(x, sum, 1e-3 * std::pow(0.5, (3 * round + 2) / 2));
    expect_near(t.model->parameters().values(), x, 1e-13);
    x = t.model->parameters().values();
  }
}

TEST(GivenFrames, AStepInTheMakingIsPartOfTheState)
{
  for (const double decay : {0.0, 0.9}) {
    TrainingConfig config = configuration();
    config.acc_freq = 3;
    config.ema_decay = decay;
    Training whole(config), resumed(config);
    for (int k = 0; k < 5; ++k) {
      resumed.model->parameters().set(whole.model->parameters().values());
      resumed.trainer.set_state(whole.trainer.state());
      EXPECT_EQ(resumed.trainer.state(), whole.trainer.state());
      for (auto *t : {&whole, &resumed}) t->trainer.update({t->all[k % 3]});
      EXPECT_EQ(whole.model->parameters().values(), resumed.model->parameters().values());
    }
  }
}

// Frames of a batch that have different labels, one of them with fewer atoms than there may be ranks: the loss is the mean
// over the frames of the terms that each has, by the definition on one rank; the gradient is that of the loss.
TEST(GivenFrames, LabelsMayDifferWithinABatch)
{
  std::vector<WholeFrame> whole = whole_frames();
  whole.push_back(random_frame(4, 3, cubic_box(3.0), false, 1.0));
  Numbers random(8);
  const auto numbers = [&](std::size_t n) {
    std::vector<double> values(n);
    for (double &value : values) value = random(-1.0, 1.0);
    return values;
  };
  for (int k : {0, 1, 3}) whole[k].label.atom_energy = numbers(whole[k].type.size());
  for (int k : {0, 2, 3}) whole[k].label.atom_pref = numbers(whole[k].type.size());
  for (int k : {0, 1, 3}) whole[k].label.atom_ener_coeff = numbers(whole[k].type.size());
  for (int k : {0, 1, 2, 3}) whole[k].label.drdq = numbers(whole[k].type.size() * 3 * 2);
  for (int k : {1, 3})  // cut-outs, one of them with a single force that counts
    for (std::size_t i = 0; i < whole[k].type.size(); ++i)
      whole[k].label.force_weight.push_back(
          i == 1 || (k == 1 && i % 2 == 0) ? 0.5 + random(0.0, 1.0) : 0.0);
  whole[1].label.energy.reset();
  whole[2].label.force.clear();
  TrainingConfig config = configuration();
  config.loss.prefactors["ae"] = {3.0, 3.0};
  config.loss.prefactors["pf"] = {4.0, 4.0};
  config.loss.prefactors["gf"] = {0.5, 0.5};
  config.loss.numb_generalized_coord = 2;
  config.loss.enable_atom_ener_coeff = true;
  Training t(config, whole);
  t.model->set_energy_bias({0.3, -0.2});

  double expected = 0.0;
  for (const WholeFrame &frame : whole) expected += defined_loss(*t.model, frame) / 4.0;
  EXPECT_NEAR(t.trainer.errors(t.all).loss, expected, 1e-12 * expected);

  Trainer other(t.model, t.comm, config);
  for (const WholeFrame &frame : whole) other.add(scatter_frame(t.comm, frame, RCUT));
  std::vector<double> gradient;
  EXPECT_NEAR(other.loss_gradient({0, 1, 2, 3}, gradient).loss, expected, 1e-12 * expected);
  const std::vector<double> x = t.model->parameters().values();
  for (std::size_t k = 0; k < x.size(); ++k) {
    const auto at = [&](double step) {
      std::vector<double> moved = x;
      moved[k] += step;
      t.model->parameters().set(moved);
      return t.trainer.errors(t.all).loss;
    };
    // h^2 truncation and rounding of the difference: about 1e-9 relative to the largest component
    EXPECT_NEAR(gradient[k], (at(1e-5) - at(-1e-5)) / 2e-5, 1e-8 * length(gradient)) << k;
  }
}

TEST(GivenFrames, TypesAreCountedWhereTheyAreNot)
{
  Training counted, not_counted;
  for (auto *t : {&counted, &not_counted}) t->model->set_energy_bias({-93.5, -187.0});
  EXPECT_EQ(counted.frames[0].type_counts[0] + counted.frames[0].type_counts[1], 30);
  for (Frame &frame : not_counted.frames) frame.type_counts.clear();
  EXPECT_EQ(counted.trainer.errors(counted.all).loss,
            not_counted.trainer.errors(not_counted.all).loss);
  const std::vector<std::int64_t> expected = counted.frames[0].type_counts;
  not_counted.trainer.check(not_counted.frames[0]);
  EXPECT_EQ(not_counted.frames[0].type_counts, expected);
}

TEST(GivenFrames, MistakesAreNamed)
{
  Training t;
  expect_in("no frames", message_of([&] { t.trainer.update({}); }));
  expect_in("no frames", message_of([&] { t.trainer.errors({}); }));
  t.frames[1].drop_neighbors();
  expect_in("neighbor rows", message_of([&] { t.trainer.update(t.all); }));
  expect_in("neighbor rows", message_of([&] { t.trainer.errors(t.all); }));
  EXPECT_EQ(t.trainer.steps(), 0);
}

TEST(GivenFrames, BrokenLabelsOfAtomsAreRefusedOnAllRanks)
{
  Training t(configuration(), {});
  WholeFrame good = whole_frames()[0];
  good.label.atom_energy.assign(30, 0.1);
  good.label.atom_pref.assign(30, 1.0);
  good.label.force_weight.assign(30, 1.0);
  good.label.atom_ener_coeff.assign(30, 1.0);
  good.label.drdq.assign(180, 0.5);
  const bool last = t.comm->rank() == t.comm->size() - 1;
  const std::pair<const char *, std::vector<double> Label::*> labels[] = {
      {"force", &Label::force},         {"atom_ener ", &Label::atom_energy},
      {"atom_pref", &Label::atom_pref}, {"atom_ener_coeff", &Label::atom_ener_coeff},
      {"drdq", &Label::drdq},           {"force_weight", &Label::force_weight}};
  for (const auto &[name, values] : labels) {
    const auto refused = [&, member = values](const auto &change) {
      Frame frame = scatter_frame(t.comm, good, RCUT);
      if (last) change(frame.label.*member);
      return message_of([&] { t.trainer.check(frame); });
    };
    expect_in(name, refused([](auto &v) { v[0] = std::numeric_limits<double>::infinity(); }));
    expect_in(name, refused([](auto &v) { v.pop_back(); }));
    if (t.comm->size() > 1) {
      expect_in("others do not", refused([](auto &v) { v.clear(); }));
    }
  }
  const auto message_for = [&](double weight) {
    WholeFrame bad = good;
    bad.label.force_weight.assign(30, 0.0);
    bad.label.force_weight[7] = weight;
    Frame frame = scatter_frame(t.comm, bad, RCUT);
    return message_of([&] { t.trainer.check(frame); });
  };
  expect_in("a weight must be 0 or more", message_for(-1.0));
  expect_in("at least one force must count", message_for(0.0));
  Frame single = scatter_frame(t.comm, whole_frames()[0], RCUT);
  for (int i = 0; i < single.nlocal; ++i)
    single.label.force_weight.push_back(single.tag[i] == 8 ? 1.0 : 0.0);
  t.trainer.check(single);
  // the number of generalized coordinates is that of the loss
  TrainingConfig config = configuration();
  config.loss.prefactors["gf"] = {1.0, 1.0};
  config.loss.numb_generalized_coord = 3;
  Training other(config, {good});
  expect_in("numb_generalized_coord = 3", message_of([&] { other.trainer.update(other.all); }));
  // atomic energies alone are a label
  Frame frame = scatter_frame(t.comm, good, RCUT);
  frame.label = {};
  frame.label.atom_energy.assign(frame.nlocal, 0.1);
  t.trainer.check(frame);
}

TEST(EnergyBiasFit, FindsTheBiasBehindCoefficients)
{
  const auto comm = world();
  Numbers random(5);
  std::vector<WholeFrame> whole = whole_frames();
  whole.push_back(random_frame(4, 9, cubic_box(5.0), true, 1.0));
  ToyModel truth(RCUT);
  truth.set_energy_bias({-93.5, -187.0});
  for (std::size_t k = 0; k < whole.size(); ++k) {
    std::vector<double> &coefficients = whole[k].label.atom_ener_coeff;
    // the last frame has none: they are 1
    for (std::size_t i = 0; i < whole[k].type.size() && k != 3; ++i)
      coefficients.push_back(random(-1.0, 1.0));
    const Frame frame = scatter_frame(make_mpi_communicator(), whole[k], RCUT);
    std::vector<double> force(3 * frame.nall()), energy(frame.nlocal);
    ForwardOutput out;
    out.force = force.data();
    out.atom_energy = energy.data();
    truth.forward(frame.domain(), out);
    whole[k].label.energy = 0.0;
    for (int i = 0; i < frame.nlocal; ++i)
      *whole[k].label.energy += k == 3 ? energy[i] : coefficients[i] * energy[i];
  }
  const auto model = std::make_shared<ToyModel>(RCUT);
  EnergyBiasFit fit(model, comm, true);
  for (const auto &frame : whole) fit.add(scatter_frame(comm, frame, RCUT));
  whole[0].label.energy.reset();
  fit.add(scatter_frame(comm, whole[0], RCUT));
  EXPECT_EQ(fit.num_frames(), 4);
  // rounding of 2e3 eV times the condition of the counts
  EXPECT_NEAR(fit.apply(), 0.0, 1e-10);
  EXPECT_NEAR(model->energy_bias()[0], -93.5, 1e-10);
  EXPECT_NEAR(model->energy_bias()[1], -187.0, 1e-10);
}

/// Frames of two types whose energies are those of a model plus `offset` eV for each atom, fitted with that model.
std::shared_ptr<Model> fitted_to_offset(const ModelData &data, double offset, bool keeps)
{
  const auto comm = world();
  const std::shared_ptr<Model> model = make_deep_pot(data);
  EnergyBiasFit fit(model, comm, false, keeps);
  for (const int natoms : {4, 6, 9}) {
    WholeFrame whole = random_frame(natoms, natoms, cubic_box(6.0), true, 1.0);
    whole.label.energy = 0.0;
    Frame frame = scatter_frame(comm, whole, data.config.rcut);
    std::vector<double> force(3 * frame.nall()), energy(frame.nlocal);
    ForwardOutput out;
    out.force = force.data();
    out.atom_energy = energy.data();
    model->forward(frame.domain(), out);
    double sum = 0.0;
    for (const double e : energy) sum += e + offset;
    comm->all_reduce_sum(&sum, 1);
    frame.label.energy = sum;
    fit.add(frame);
  }
  fit.apply();
  return model;
}

TEST(EnergyBiasFit, KeepsKnownEnergiesOfSeparateAtoms)
{
  ModelConfig config = tiny_config();
  se_e2_a(config).set_davg_zero = true;  // an atom alone has no descriptor
  config.atom_ener = {-3.0, std::nullopt};
  ModelData data = tiny_model(config);
  data.out_bias = {0.0, -2.0};
  data.bias_atom_e = {-3.0, 0.0};
  EXPECT_EQ(known_atom_energies(data), AtomEnergies({-3.0, std::nullopt}));
  EXPECT_EQ(text_of_atom_energies(data), "A -3 eV, B fitted");
  // DeePMD-kit's files may have a mean
  ModelData with_mean = data;
  with_mean.descriptor_constants["davg"][0] = 0.1;
  EXPECT_EQ(known_atom_energies(with_mean), AtomEnergies(2));

  // half an eV may be an error of the net: the open type takes what it can
  const auto near = fitted_to_offset(data, 0.5, false);
  EXPECT_EQ(near->energy_bias()[0], 0.0);
  EXPECT_GT(std::abs(near->energy_bias()[1] + 2.0), 0.1);
  // ten are another reference, unless the net has learned nothing yet
  const auto far = fitted_to_offset(data, 10.0, false);
  EXPECT_NEAR(far->energy_bias()[0], 10.0, 1e-9);  // rounding
  EXPECT_NEAR(far->energy_bias()[1], 8.0, 1e-9);
  EXPECT_EQ(known_atom_energies(far->data()), AtomEnergies(2));
  EXPECT_EQ(fitted_to_offset(data, 10.0, true)->energy_bias()[0], 0.0);
}

TEST(EnergyBiasFit, ExcludedTypesHaveNoEnergyThatIsKnown)
{
  ModelConfig config = tiny_config();
  se_e2_a(config).set_davg_zero = true;  // an atom alone has no descriptor
  config.atom_ener = {-3.0, -1.0};
  config.atom_exclude_types = {0};
  ModelData data = tiny_model(config);
  data.out_bias = {0.0, 0.0};
  data.bias_atom_e = {-3.0, -1.0};
  EXPECT_EQ(known_atom_energies(data), AtomEnergies({std::nullopt, -1.0}));
}

TEST(EnergyBiasFit, ReturnsTheDeviationThatRemains)
{
  // frames of one composition: the mean is fitted, the deviations from it are left
  const auto comm = world();
  const auto model = std::make_shared<ToyModel>(RCUT);
  EnergyBiasFit fit(model, comm);
  WholeFrame whole = random_frame(1, 12, cubic_box(6.0), true, 1.0);
  for (const double energy : {1.0, 2.0, 6.0}) {
    whole.label.energy = energy;
    fit.add(scatter_frame(comm, whole, RCUT));
  }
  EXPECT_NEAR(fit.apply(), std::sqrt((4.0 + 1.0 + 9.0) / 3.0), 1e-12);
  EXPECT_EQ(fit.num_frames(), 0);
  // the change of the smallest norm goes along the counts
  const Frame frame = scatter_frame(comm, whole, RCUT);
  const std::vector<double> bias = model->energy_bias();
  EXPECT_NEAR(bias[0] * frame.type_counts[1], bias[1] * frame.type_counts[0], 1e-12);
}

}  // namespace dptrain::test
