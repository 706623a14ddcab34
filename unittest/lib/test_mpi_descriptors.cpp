// What models of any descriptor and any terms can do: they are made from an input, run and trained on any number of ranks, written
// and read, learned in a session. With the power spectrum, with a descriptor that is not in the library, and with a term beside the
// net that is not: an entry in the list of kinds is all that it takes.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "dptrain/checkpoint/checkpoint.h"
#include "dptrain/frames/distribution.h"
#include "dptrain/frames/halo.h"
#include "dptrain/parallel/broadcast.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/native/deep_pot.h"
#include "dptrain/session/frame_run.h"
#include "dptrain/session/run/learning_session.h"
#include "dptrain/training/trainer.h"
#include "io/file.h"
#include "potential/native/deep_pot.h"
#include "support/both_passes.h"
#include "support/energy_derivatives.h"
#include "support/exponential_term.h"
#include "support/gaussian_descriptor.h"
#include "support/random_frame.h"
#include "support/scratch.h"
#include "support/seeded_sum.h"
#include "support/small_training.h"
#include "support/tiny_model.h"
#include "support/world.h"

namespace dptrain::test {

namespace {

using nlohmann::json;

constexpr double RCUT = 3.2, REACH = 3.7;  // of descriptors, of the term

std::vector<WholeFrame> frames()
{
  return {random_frame(1, 24, skewed_box(5.5), true, 1.0),
          random_frame(2, 11, cubic_box(5.0), true, 1.0),
          random_frame(3, 17, skewed_box(4.8), true, 1.0)};
}

Cluster cluster()
{
  return Cluster(20, 2, 4.5);
}

/// Springs to the origin, without images.
class SpringSource final : public LabelSource {
 public:
  std::int64_t submit(const WholeFrame &frame) override
  {
    LabelAnswer answer;
    answer.request = ++submitted_;
    answer.label.energy = 0.0;
    for (const double x : frame.coord) {
      *answer.label.energy += 0.005 * x * x;
      answer.label.force.push_back(-0.01 * x);
    }
    answers_.push_back(answer);
    return submitted_;
  }
  std::vector<LabelAnswer> poll() override { return std::exchange(answers_, {}); }
  void cancel(std::int64_t) override {}
  std::int64_t in_flight() const override { return static_cast<std::int64_t>(answers_.size()); }

 private:
  std::int64_t submitted_ = 0;
  std::vector<LabelAnswer> answers_;
};

InputFile read(const json &document)
{
  return read_input_text(document.dump(2), "input.json");
}

class Descriptors : public testing::TestWithParam<std::string> {
 protected:
  static json input(const std::string &name = GetParam())
  {
    if (!find_descriptor_type("gaussians")) add_descriptor_type(std::make_unique<GaussianType>());
    json document = json::parse(R"({"model": {
      "type_map": ["A", "B"], "fitting_net": {"neuron": [8, 8], "seed": 4}}})");
    const char *power_spectrum =
        R"({"type": "power_spectrum", "rcut": 3.2, "rcut_smth": 1.0, "n_max": 4, "axis_neuron": 2,
            "l_max": 2, "n_basis": 5, "seed": 3})";
    // all products of three and four coefficients, and cutoffs of each element with the largest degree
    const std::map<std::string, const char *> others{
        {"gaussians", R"({"type": "gaussians", "rcut": 3.2, "eta": [0.05, 0.2, 0.5], "seed": 3})"},
        {"nep",
         R"({"type": "nep", "rcut_radial": 3.2, "rcut_angular": 2.9, "n_max_radial": 2,
             "n_max_angular": 1, "basis_size_radial": 3, "basis_size_angular": 4, "l_max": 4,
             "l_max_4body": 2, "l_max_5body": 1, "has_112": true, "has_123": true,
             "has_233": true, "has_134": true, "seed": 3})"},
        {"nep_of_elements",
         R"({"type": "nep", "rcut_radial": [3.2, 2.8], "rcut_angular": [3.0, 2.5],
             "n_max_radial": 1, "n_max_angular": 2, "basis_size_radial": 4,
             "basis_size_angular": 2, "l_max": 8, "seed": 3})"}};
    const auto other = others.find(name);
    if (name == "nep") document["model"]["fitting_net"]["resnet_dt"] = true;  // which it has not
    document["model"]["descriptor"] =
        json::parse(other == others.end() ? power_spectrum : other->second);
    if (!find_energy_term_type("exponentials"))
      add_energy_term_type(std::make_unique<ExponentialType>());
    if (name == "with_term")
      document["model"]["terms"] = {{{"type", "exponentials"}, {"reach", REACH}}};
    return document;
  }
  static ModelConfig config() { return read(input()).model; }
  /// A new model as a program makes it: from the statistics of its data.
  static ModelData new_model(const ModelConfig &model)
  {
    const auto comm = make_mpi_communicator();
    Statistics statistics(model.ntypes(), statistics_settings(model));
    for (const auto &frame : frames())
      statistics.add(scatter_frame(comm, frame, model.cutoff()).domain());
    statistics.reduce(*comm);
    ModelData data = new_deep_pot(model, statistics, input()["model"].dump());
    data.walls = {};  // they begin at the cutoff, as no frame has been learned
    return data;
  }
};

INSTANTIATE_TEST_SUITE_P(, Descriptors,
                         testing::Values("gaussians", "power_spectrum", "with_term", "nep",
                                         "nep_of_elements"),
                         [](const auto &info) { return info.param; });

class OtherDescriptor : public Descriptors {};
INSTANTIATE_TEST_SUITE_P(, OtherDescriptor, testing::Values("gaussians"),
                         [](const auto &info) { return info.param; });

}  // namespace

TEST_P(OtherDescriptor, IsReadFromAnInput)
{
  const ModelConfig model = config();
  EXPECT_EQ(model.rcut, RCUT);
  const auto *own = dynamic_cast<const GaussianConfig *>(model.descriptor.get());
  ASSERT_TRUE(own);
  EXPECT_EQ(own->eta, (std::vector<double>{0.05, 0.2, 0.5}));
  EXPECT_EQ(own->seed, 3u);
  json document = input();
  document["model"]["descriptor"]["etas"] = 1;
  expect_in("\"eta\"", message_of([&] { read(document); }));
  document["model"]["descriptor"]["type"] = "gaussian";
  expect_in("\"power_spectrum\", \"se_e2_a\", \"nep\", \"gaussians\"",
            message_of([&] { read(document); }));
  // all written out it is the same
  const std::string resolved = resolved_input_text(read(input()));
  EXPECT_EQ(resolved_input_text(read_input_text(resolved, "out.json")), resolved);
  expect_in("\"trainable\": true", resolved);
  expect_in("descriptor is gaussians there and se_e2_a here",
            model_differences(model, tiny_config()));
  ModelConfig other = model;
  dynamic_cast<GaussianConfig &>(*other.descriptor.get()).eta[1] = 0.25;
  EXPECT_EQ(model_differences(model, other), "eta is 0.05 0.2 0.5 there and 0.05 0.25 0.5 here");
  EXPECT_EQ(model_differences(model, model), "");
}

TEST_P(OtherDescriptor, NewModelsHaveItsParametersAndConstants)
{
  const ModelData data = new_model(config());
  const auto blocks = parameter_index(data.config);
  EXPECT_EQ(blocks[0].name, "/model/descriptor/@variables/c");
  EXPECT_EQ(blocks[0].size, 12u);
  EXPECT_EQ(blocks[1].offset, 12u);
  EXPECT_EQ(blocks[1].shape, (std::vector<std::int64_t>{3, 8}));  // inputs of the fitting net
  const double scale = data.descriptor_constants.at("scale").at(0);
  EXPECT_GT(scale, 0.01);
  EXPECT_LT(scale, 0.5);
  EXPECT_EQ(new_model(config()).parameters, data.parameters);
}

TEST_P(Descriptors, ForcesAndVirialAreDerivativesOfTheEnergy)
{
  DeepPot model(new_model(config()));
  expect_energy_derivatives(model, cluster(), 1e-8, 1e-7);
}

// S = c E + sum_k r_k . F_k + C : W by each parameter.
TEST_P(Descriptors, ParameterGradientIsTheDerivative)
{
  ModelConfig settings = config();
  settings.pair_exclude_types = {{0, 0}};
  settings.atom_ener = {-0.4, std::nullopt};
  DeepPot model(new_model(settings));
  model.set_chunk(7);
  const Cluster atoms = cluster();
  const Domain domain = atoms.domain();
  const SeededSum sum(domain);
  const GradientSeed *seed = &sum.seed();
  const std::vector<double> found = gradient_of(model, &domain, 1, seed);
  const std::vector<double> x = model.parameters().values();
  // h^2 times third derivatives, and rounding of sums of order one divided by h
  for (std::size_t k = 0; k < x.size(); ++k)
    EXPECT_NEAR(found[k], sum.difference(model, x, k), 2e-8 * (1.0 + std::abs(found[k]))) << k;
  // without what pass A has kept, and as a device finds neighbors
  model.parameters().set(x);
  model.engine().set_keep_limit(0);
  EXPECT_EQ(gradient_of(model, &domain, 1, seed), found);
  if (kernels::separate_memory()) return;
  model.engine().use_device_algorithms(true);
  const std::vector<double> searched = gradient_of(model, &domain, 1, seed);
  for (std::size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(searched[k], found[k], 1e-12) << k;
}

TEST_P(Descriptors, SingleIsCloseToDouble)
{
  DeepPot model(new_model(config()));
  const Cluster atoms = cluster();
  const Result expected = evaluate(model, atoms.domain());
  model.set_precision(Precision::single);
  const Result found = evaluate(model, atoms.domain());
  EXPECT_NEAR(found.energy, expected.energy, 1e-5 * std::abs(expected.energy));
  EXPECT_NE(found.energy, expected.energy);
  for (std::size_t k = 0; k < atoms.x.size(); ++k)
    EXPECT_NEAR(found.force[k], expected.force[k], 1e-5);  // forces of order 0.1
}

// Labels of a model of the same form: there is something to find. On all ranks together and on each alone the steps are equal.
TEST_P(Descriptors, IsTrained)
{
  ModelConfig target = config();
  target.descriptor->seed = 77;
  target.fitting_seed = 78;
  const auto alone = make_mpi_communicator(), all = world();
  const auto reference = make_deep_pot(new_model(target));
  std::vector<WholeFrame> labeled = frames();
  for (WholeFrame &whole : labeled) {
    const Frame frame = scatter_frame(alone, whole, reference->cutoff());
    const Domain domain = frame.domain();
    Result r = evaluate(*reference, domain);
    frame.halo->reduce(r.force.data(), 3);
    whole.label.energy = r.energy;
    r.force.resize(whole.coord.size());
    whole.label.force = r.force;
    whole.label.virial = r.virial;
  }
  const auto training = [&](const std::shared_ptr<const Communicator> &comm) {
    const std::shared_ptr<Model> model = make_model(new_model(config()), "");
    TrainingConfig settings = small_training(3);
    settings.schedule.start_lr = 0.01;
    auto trainer = std::make_unique<Trainer>(model, comm, settings);
    for (const WholeFrame &frame : labeled)
      trainer->add(scatter_frame(comm, frame, model->cutoff()));
    return trainer;
  };
  const auto one = training(alone), many = training(all);
  const double first = many->update().loss;
  EXPECT_NEAR(one->update().loss, first, 1e-12 * first);
  double last = first;
  for (int step = 1; step < 100; ++step) {
    last = many->update().loss;
    if (step > 10) continue;
    EXPECT_NEAR(one->update().loss, last, 1e-9 * first) << step;  // rounding that grows
  }
  EXPECT_LT(last, 0.1 * first);
}

TEST_P(Descriptors, ItsModelFilesAndCheckpointsGiveTheSameModel)
{
  const Scratch scratch;
  ModelData data = new_model(config());
  const Cluster atoms = cluster();
  const double energy = evaluate(*make_model(data, ""), atoms.domain()).energy;
  write_model_file(scratch / "model.dp", data);
  const ModelData copy = read_model_file(scratch / "model.dp");
  EXPECT_EQ(copy.parameters, data.parameters);
  EXPECT_EQ(copy.descriptor_constants, data.descriptor_constants);
  EXPECT_EQ(model_differences(copy, data), "");
  EXPECT_EQ(evaluate(*make_model(copy, ""), atoms.domain()).energy, energy);
  EXPECT_EQ(copy.model_def_script, data.model_def_script);

  Checkpoint checkpoint;
  checkpoint.model = data;
  checkpoint.parameters = data.parameters;
  write_checkpoint(scratch / "checkpoint.dp", checkpoint);
  EXPECT_EQ(evaluate(*load_model(scratch / "checkpoint.dp"), atoms.domain()).energy, energy);

  // weights that are stored in float32
  data.config.descriptor->precision = data.config.fitting_precision = "float32";
  write_model_file(scratch / "single.dp", data);
  const ModelData single = read_model_file(scratch / "single.dp");
  EXPECT_EQ(single.config.descriptor->precision, "float32");
  for (std::size_t k = 0; k < data.parameters.size(); ++k)
    EXPECT_EQ(single.parameters[k], static_cast<double>(static_cast<float>(data.parameters[k])));
}

// A session makes a model of it from labels, saves it, and another one goes on.
TEST_P(Descriptors, IsLearnedInASession)
{
  const auto comm = make_mpi_communicator();
  const Scratch scratch;
  write_file(scratch / "input.json", input().dump());
  const auto slot = std::make_shared<ModelInUse>();
  slot->load(*comm, scratch / "input.json", {"A", "B"});
  LearningOptions options;
  options.active = false;
  options.every = 1;
  options.training.warmup = 2;
  options.training.steps = 4;
  options.files.save = scratch / "x.dp";
  options.files.disp = scratch / "lcurve.out";
  options.files.disp_every = 1;
  const Messages quiet = no_messages();
  const auto learn = [&](std::int64_t first, std::int64_t last) {
    SpringSource source;
    LearningSession session(comm, slot, options, quiet, &source);
    session.start();
    FrameRun run(slot);
    session.begin_run(first);
    for (std::int64_t step = first; step < last; ++step) {
      WholeFrame frame = frames()[0];
      frame.step = step;
      frame.coord[0] += 0.01 * static_cast<double>(step);
      run.show(frame);
      session.step(run);
    }
    session.end_run(last - 1, "run");
    return session.report();
  };
  EXPECT_EQ(learn(0, 4).steps, 16);
  EXPECT_EQ(read_model_file(options.files.save).config.descriptor->type(),
            read(input()).model.descriptor->type());
  options.files.resume = options.files.save;
  slot->load(*comm, options.files.save, {"A", "B"});
  const LearningReport report = learn(4, 6);
  EXPECT_EQ(report.steps, 24);
  EXPECT_EQ(report.frames, 6);
}

// The ranks that share a frame see what one of them sees alone; rounding of sums differs.
TEST_P(Descriptors, RanksShareAFrame)
{
  const auto comm = world();
  const auto slot = std::make_shared<ModelInUse>();
  slot->set_model(*comm, new_model(config()));
  slot->set_trained();
  FrameRun together(slot, comm), alone(slot);
  WholeFrame frame = frames()[0];
  together.show(frame);
  alone.show(frame);
  const FrameValues &found = together.values(), &expected = alone.values();
  EXPECT_NEAR(found.energy, expected.energy, 1e-10);
  ASSERT_EQ(found.force.size(), expected.force.size());
  for (std::size_t k = 0; k < found.force.size(); ++k)
    EXPECT_NEAR(found.force[k], expected.force[k], 1e-10);
  for (std::size_t i = 0; i < found.atom_energy.size(); ++i)
    EXPECT_NEAR(found.atom_energy[i], expected.atom_energy[i], 1e-10);
  for (int k = 0; k < 9; ++k) EXPECT_NEAR(found.virial[k], expected.virial[k], 1e-9);
  EXPECT_NEAR(total_energy(*comm, together), expected.energy, 1e-10);
  ASSERT_EQ(together.has_bars(), alone.has_bars());
  if (!together.has_bars()) return;
  const std::vector<double> features = total_features(*comm, together);
  for (std::size_t k = 0; k < features.size(); ++k)
    EXPECT_NEAR(features[k], expected.feature_sum[k], 1e-10);
}

TEST_P(Descriptors, IsSentToAllRanks)
{
  const auto comm = world();
  const ModelData expected = new_model(config());
  ModelData sent = comm->rank() == 0 ? expected : ModelData();
  if (comm->rank() != 0) sent.config = tiny_config();  // of another kind before
  broadcast(*comm, sent);
  EXPECT_EQ(model_differences(sent.config, expected.config), "");
  EXPECT_EQ(sent.config.descriptor->seed, 3u);
  EXPECT_EQ(sent.parameters, expected.parameters);
  EXPECT_EQ(sent.descriptor_constants, expected.descriptor_constants);
}

}  // namespace dptrain::test
