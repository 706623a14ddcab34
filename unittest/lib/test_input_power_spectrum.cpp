// The section model/descriptor of type power_spectrum, and the defaults that an input with it has in all other sections.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "dptrain/potential/descriptor/power_spectrum_config.h"
#include "support/input.h"

namespace dptrain::test {

namespace {

/// An input with no more than the kind of the descriptor.
const json shortest =
    json::parse(R"({"model": {"type_map": ["O", "H"], "descriptor": {"type": "power_spectrum"}}})");

json changed(const std::string &place, const json &value)
{
  json document = shortest;
  document[json::json_pointer(place)] = value;
  return document;
}

InputFile read_in_a_run(const json &document)
{
  return read_input_text(document.dump(), "input.json", {false, nullptr, true});
}

std::string message(const std::string &key, const json &value)
{
  return message_of([&] { read(changed("/model/descriptor/" + key, value)); });
}

}  // namespace

TEST(InputPowerSpectrum, NeedsNoKeyButTheType)
{
  const InputFile input = read(shortest);
  const PowerSpectrumConfig &descriptor = power_spectrum(input.model);
  EXPECT_EQ(input.model.cutoff_source, CutoffSource::open);
  EXPECT_TRUE(descriptor.exclude_types.empty());
  EXPECT_EQ(descriptor.precision, "float64");
  EXPECT_TRUE(descriptor.trainable);
  EXPECT_FALSE(descriptor.seed);
  EXPECT_TRUE(descriptor.neighbor_limits().empty());
  EXPECT_TRUE(input.ignored.empty());
  // first coefficients, and a product of each with the first ones for each degree
  EXPECT_EQ(descriptor.size(),
            descriptor.n_max + descriptor.n_max * descriptor.axis_neuron * (descriptor.l_max + 1));
}

TEST(InputPowerSpectrum, ReadsEveryKey)
{
  const InputFile input = read(changed("/model/descriptor", json::parse(R"({
    "type": "power_spectrum", "rcut": 5.0, "rcut_smth": 0, "n_max": 7, "axis_neuron": 3, "l_max": 6,
    "n_basis": 9, "exclude_types": [[0, 1]], "precision": "single", "trainable": false, "seed": 5})")));
  const PowerSpectrumConfig &descriptor = power_spectrum(input.model);
  EXPECT_EQ(input.model.rcut, 5.0);
  EXPECT_EQ(descriptor.rcut_smth, 0.0);
  EXPECT_EQ(descriptor.n_max, 7);
  EXPECT_EQ(descriptor.axis_neuron, 3);
  EXPECT_EQ(descriptor.l_max, 6);
  EXPECT_EQ(descriptor.n_basis, 9);
  EXPECT_EQ(descriptor.exclude_types, (std::vector<std::array<int, 2>>{{0, 1}}));
  EXPECT_EQ(descriptor.precision, "float32");
  EXPECT_FALSE(descriptor.trainable);
  EXPECT_EQ(descriptor.seed, 5u);
  EXPECT_EQ(descriptor.size(), 7 * (1 + 7 * 3));
}

TEST(InputPowerSpectrum, LeavesTheCutoffToTheStructure)
{
  for (const json &document : {shortest, changed("/model/descriptor/rcut", "auto")}) {
    ModelConfig model = read(document).model;
    EXPECT_EQ(model.cutoff_source, CutoffSource::open);
    EXPECT_EQ(json::parse(model.descriptor->keys(model))["rcut"], "auto");
    choose_cutoff(model, 6.0);
    EXPECT_EQ(model.rcut, 6.0);
    EXPECT_EQ(power_spectrum(model).n_basis, 24);
    EXPECT_DOUBLE_EQ(power_spectrum(model).rcut_smth, 2.0);
    EXPECT_EQ(json::parse(model.descriptor->keys(model))["rcut"], 6.0);
    choose_cutoff(model, 7.5);  // that of a checkpoint
    EXPECT_EQ(power_spectrum(model).n_basis, 30);
    EXPECT_DOUBLE_EQ(power_spectrum(model).rcut_smth, 2.5);
  }
}

TEST(InputPowerSpectrum, KeepsWhatIsGivenBesideAChosenCutoff)
{
  json document = changed("/model/descriptor/rcut_smth", 5.5);
  document["model"]["descriptor"]["n_basis"] = 10;
  ModelConfig model = read(document).model;
  choose_cutoff(model, 6.0);
  EXPECT_EQ(power_spectrum(model).rcut_smth, 5.5);
  EXPECT_EQ(power_spectrum(model).n_basis, 10);
  expect_in("rcut_smth is 5.5 Angstrom, and the cutoff",
            message_of([&] { choose_cutoff(model, 5.5); }));
}

TEST(InputPowerSpectrum, ResolvesAQuarterOfAnAngstrom)
{
  for (const auto &[rcut, expected] : {std::pair{4.5, 18}, {5.0, 20}, {9.0, 32}}) {
    const InputFile input = read(changed("/model/descriptor/rcut", rcut));
    EXPECT_EQ(power_spectrum(input.model).n_basis, expected) << rcut;
  }
}

TEST(InputPowerSpectrum, WritesWhatItReads)
{
  for (const json &document : {shortest, changed("/model/descriptor/n_max", 3),
                               changed("/model/descriptor/exclude_types", {{0, 0}})}) {
    const ModelConfig model = read(document).model;
    const std::string keys = model.descriptor->keys(model);
    const ModelConfig again = read(changed("/model/descriptor", json::parse(keys))).model;
    EXPECT_EQ(again.descriptor->keys(again), keys);
  }
}

TEST(InputPowerSpectrum, ChecksRanges)
{
  for (const auto &[key, value, allowed] :
       std::vector<std::tuple<std::string, json, std::string>>{{"l_max", 7, "6"},
                                                               {"l_max", -1, "0"},
                                                               {"n_max", 0, "1"},
                                                               {"n_max", 257, "256"},
                                                               {"n_basis", 0, "1"},
                                                               {"n_basis", 33, "32"},
                                                               {"axis_neuron", 0, "1"},
                                                               {"axis_neuron", 17, "16"}}) {
    const std::string text = message(key, value);
    expect_in("model/descriptor/" + key, text);
    expect_in(allowed, text);
    expect_in("found " + value.dump(), text);
  }
  const auto with_cutoff = [](const json &smth) {
    json document = changed("/model/descriptor/rcut", 6.0);
    document["model"]["descriptor"]["rcut_smth"] = smth;
    return message_of([&] { read(document); });
  };
  expect_in("smaller than rcut; found rcut_smth = 6.5, rcut = 6.0", with_cutoff(6.5));
  expect_in("smaller than rcut", with_cutoff(6.0));
  expect_in("at least 0", with_cutoff(-0.1));
  expect_in("at least 0", message("rcut_smth", -0.1));
  expect_in("a positive length", message("rcut", 0));
  expect_in("found type 2", message("exclude_types", {{0, 2}}));
  expect_in("\"l_max\"", message("lmax", 2));
  expect_in("unknown key", message("activation_function", "tanh"));
}

TEST(InputPowerSpectrum, NeedsNoAxisNeuronBesideFewFunctions)
{
  EXPECT_EQ(power_spectrum(read(changed("/model/descriptor/n_max", 2)).model).axis_neuron, 2);
}

TEST(InputPowerSpectrum, IgnoresSelAndSaysSo)
{
  for (const json &sel : {json(46), json("auto:2"), json({1, 2, 3})}) {
    const InputFile input = read(changed("/model/descriptor/sel", sel));
    EXPECT_EQ(input.ignored, std::vector<std::string>{"model/descriptor/sel"});
    EXPECT_EQ(input.model.descriptor->keys(input.model),
              read(shortest).model.descriptor->keys(input.model));
  }
}

TEST(InputPowerSpectrum, HasDefaultsOfItsOwnInOtherSections)
{
  const InputFile train = read(shortest), run = read_in_a_run(shortest);
  for (const InputFile *input : {&train, &run}) {
    EXPECT_EQ(input->training.optimizer.type, OptimizerType::soap);
    EXPECT_FALSE(input->optimizer_given);
    EXPECT_FALSE(input->start_lr_given);
    EXPECT_EQ(input->model.fitting_neuron, run.model.fitting_neuron);
  }
  // no schedule, but an average: a session does not know its length, a training from data sets ends when it should
  for (const InputFile *input : {&train, &run}) {
    EXPECT_EQ(input->training.schedule.stop_lr_ratio, 1.0);
    EXPECT_GT(input->training.ema_decay, 0.0);
    EXPECT_FALSE(input->length_given);
    for (const char *term : {"e", "f", "v"}) {
      EXPECT_GT(input->training.loss.prefactor(term).start, 0.0) << term;
      EXPECT_EQ(input->training.loss.prefactor(term).start,
                input->training.loss.prefactor(term).limit);
    }
    EXPECT_FALSE(input->virial_given);  // nobody asked for virials: nobody is warned
  }
  EXPECT_TRUE(train.length_follows);
  EXPECT_EQ(train.offline.held_out, 0.1);
  EXPECT_TRUE(read(changed("/loss", {{"start_pref_v", 1}})).virial_given);
}

TEST(InputPowerSpectrum, InputsWinOverItsDefaults)
{
  InputFile input = read(changed("/learning_rate", {{"start_lr", 0.002}}));
  EXPECT_EQ(input.training.schedule.start_lr, 0.002);
  EXPECT_EQ(input.training.schedule.stop_lr_ratio, 1.0);
  // a section of another type has the defaults of that type
  input = read(changed("/optimizer", {{"type", "Adam"}}));
  EXPECT_EQ(input.training.optimizer.type, OptimizerType::adam);
  EXPECT_EQ(complete(input.training.optimizer).beta2, 0.999);
  input = read(changed("/learning_rate", {{"type", "exp"}, {"start_lr", 0.005}}));
  EXPECT_EQ(input.training.schedule.type, ScheduleType::exponential);
  EXPECT_EQ(input.training.schedule.stop_lr, 5e-8);
  EXPECT_EQ(read_in_a_run(changed("/training", {{"enable_ema", false}})).training.ema_decay, 0.0);
  EXPECT_EQ(read(changed("/model/fitting_net", {{"neuron", {8, 8}}})).model.fitting_neuron,
            (std::vector<int>{8, 8}));
  EXPECT_EQ(read(changed("/loss", {{"start_pref_f", 7}})).training.loss.prefactor("f").start, 7.0);
  // and inputs with other descriptors are what they were
  EXPECT_EQ(read_in_a_run(json::parse(smallest)).training.optimizer.type, OptimizerType::adam);
}

// A default never stands beside a key that means the same or excludes it.
TEST(InputPowerSpectrum, DefaultsGiveWayToAnyFormOfAKey)
{
  for (const bool in_a_run : {false, true}) {
    const auto with = [&](const std::string &place, const json &value) {
      return read_input_text(changed(place, value).dump(), "input.json",
                             {false, nullptr, in_a_run});
    };
    EXPECT_EQ(with("/training", {{"numb_epoch", 3}}).offline.num_epoch, 3.0);
    EXPECT_EQ(with("/training", {{"stop_batch", 70}}).training.numb_steps, 70);
    EXPECT_EQ(with("/model/fitting_net", {{"n_neuron", {5}}}).model.fitting_neuron,
              std::vector<int>{5});
    ScheduleConfig schedule = with("/learning_rate", {{"stop_lr_ratio", 0.1}}).training.schedule;
    EXPECT_EQ(schedule.stop_lr_ratio, 0.1);
    EXPECT_FALSE(schedule.stop_lr);
    EXPECT_EQ(with("/learning_rate", {{"stop_lr", 1e-4}}).training.schedule.type,
              with("/training", {{"seed", 1}}).training.schedule.type);
    schedule = with("/learning_rate", {{"start_lr", 1e-3}, {"stop_lr", 1e-6}, {"decay_steps", 10}})
                   .training.schedule;
    EXPECT_EQ(schedule.type, ScheduleType::exponential);
    EXPECT_EQ(schedule.stop_lr, 1e-6);
    // the rate of SOAP is not one for Adam
    EXPECT_LT(with("/optimizer", {{"type", "Adam"}}).training.schedule.start_lr, 2e-3);
    EXPECT_LT(with("/training", {{"opt_type", "Adam"}}).training.schedule.start_lr, 2e-3);
    EXPECT_EQ(with("/learning_rate", {{"start_lr", 1e-6}}).training.schedule.start_lr, 1e-6);
    // the layout of DeePMD-kit 1
    EXPECT_EQ(with("/training", {{"systems", {"a"}}}).offline.training_data.systems,
              std::vector<std::string>{"a"});
    // all written out it is the same, and stays the same
    for (const InputFile &input :
         {with("/learning_rate", {{"type", "exp"}, {"stop_lr_ratio", 0.1}}),
          with("/training", {{"held_out", 0.0}})}) {
      const std::string resolved = resolved_input_text(input);
      for (const bool again : {false, true})
        EXPECT_EQ(
            resolved_input_text(read_input_text(resolved, "out.json", {false, nullptr, again})),
            resolved);
    }
  }
}

TEST(InputPowerSpectrum, IsTheModelWithoutAnInput)
{
  const InputFile made = default_input({"O", "H"}), run = read_in_a_run(shortest);
  EXPECT_EQ(made.model.type_map, (std::vector<std::string>{"O", "H"}));
  EXPECT_EQ(made.model.descriptor->keys(made.model), run.model.descriptor->keys(run.model));
  EXPECT_EQ(made.training.schedule.start_lr, run.training.schedule.start_lr);
  EXPECT_EQ(made.training.ema_decay, run.training.ema_decay);
}

}  // namespace dptrain::test
