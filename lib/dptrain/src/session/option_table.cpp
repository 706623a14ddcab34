#include "dptrain/session/option_table.h"

#include <sstream>

#include "session/option_values.h"

namespace dptrain {

namespace {

using namespace option_values;
using T = TrainingOptions;
using F = FileOptions;

// Members of parts of the options.
template <class V> auto training(V T::*member)
{
  return in(&O::training, member);
}
template <class V> auto files(V F::*member)
{
  return in(&O::files, member);
}
template <class V> auto parallel(V ParallelConfig::*member)
{
  return in(&O::training, in(&T::parallel, member));
}

constexpr Dimension force = Dimension::force, length = Dimension::length;
constexpr int active = Option::active, own = Option::own, many = Option::engine;

// An option that the engine reads.
Option engine(const char *name, const char *syntax, const char *initial, const char *unit,
              const char *meaning, int flags = 0)
{
  return {name, {}, {}, flags, meaning, unit, initial, syntax};
}

// One of a list of patterns of parameters' names.
OptionValue pattern(std::vector<std::string> ParameterRules::*list)
{
  OptionValue value{"", {"PATTERN"}};
  value.repeated = value.is_text = true;
  value.allowed = [](const UnitFactors &) { return std::string("a part of names of parameters"); };
  value.set = [=](O &o, const std::string &word) {
    (o.training.rules.*list).push_back(word);
    return !word.empty();
  };
  value.text = [=](const O &o) { return joined(o.training.rules.*list); };
  return value;
}

// A force, or a percentage.
OptionValue accuracy()
{
  const auto value = [](auto &o) -> auto &
  {
    return o.accuracy.value;
  };
  const OptionValue absolute = number("", "A", value, {positive, "", Dimension::force}),
                    percentage = number("", "A", value, {{0.0, 100.0, true, true}});
  OptionValue either{"accuracy", {"A"}};
  either.allowed = [=](const UnitFactors &units) {
    return absolute.allowed(units) +
           ", or a part of the forces above 0 and below 100 %, such as 5%";
  };
  either.set = [=](O &o, const std::string &word) {
    o.accuracy.is_relative = word.ends_with('%');
    if (!o.accuracy.is_relative) return absolute.set(o, word);
    const bool is_possible = percentage.set(o, word.substr(0, word.size() - 1));
    o.accuracy.value /= 100.0;
    return is_possible;
  };
  either.text = [=](const O &o) {
    return o.accuracy.is_relative ? fmt::format("{:.12g}%", 100.0 * o.accuracy.value)
                                  : absolute.text(o);
  };
  return either;
}

// Charges of a new model: a word, or elements and their charges.
OptionValue charges()
{
  using Kind = NewCharges::Kind;
  const auto kind =
      choice("charges", in(training(&T::charges), &NewCharges::kind),
             {{"auto", Kind::search}, {"no", Kind::none}, {"environment", Kind::environment}});
  OptionValue value = kind;
  value.is_list = true;
  value.allowed = [](const UnitFactors &) {
    return std::string("auto, no, environment, or the charge of each element, such as Na 1 Cl -1");
  };
  value.set = [=](O &o, const std::string &text) {
    if (kind.set(o, text)) return true;
    NewCharges given{Kind::fixed, {}};
    std::istringstream words(text);
    for (std::string element, number; words >> element;) {
      const std::optional<double> charge = words >> number ? real_of(number) : std::nullopt;
      if (!charge || !given.values.emplace(element, *charge).second) return false;
    }
    o.training.charges = given;
    return !given.values.empty();
  };
  value.text = [=](const O &o) {
    std::string text = kind.text(o);
    for (const auto &[element, charge] : o.training.charges.values)
      text += fmt::format("{}{} {:.12g}", text.empty() ? "" : " ", element, charge);
    return text;
  };
  return value;
}

OptionPart rate()
{
  OptionValue name = pattern(&ParameterRules::only);
  name.set = [](O &o, const std::string &word) {
    o.training.rules.rates.emplace_back(word, 1.0);
    return !word.empty();
  };
  name.text = [](const O &o) {
    std::string text;
    for (const auto &[pattern, factor] : o.training.rules.rates)
      text += fmt::format("{}{} {:.12g}", text.empty() ? "" : " ", pattern, factor);
    return text;
  };
  OptionValue factor =
      number("", "FACTOR", [](auto &o) -> auto & { return o.training.rules.rates.back().second; },
             {not_negative});
  factor.repeated = true;
  factor.text = [](const O &) { return std::string(); };  // is in that of the pattern
  return {"rate", {name, factor}};
}

// The rank of powersgd, which is a way to compress.
OptionPart powersgd()
{
  const auto rank = parallel(&ParallelConfig::compression_rank);
  OptionValue value = number("", "RANK", rank, {at_least_1});
  value.set = [set = value.set](O &o, const std::string &word) {
    o.training.parallel.compression = Compression::power_sgd;
    return set(o, word);
  };
  value.text = [text = value.text](const O &o) {
    return o.training.parallel.compression == Compression::power_sgd ? text(o) : "";
  };
  return {"powersgd", {value}};
}

// Tables are read best with a line or two for each option.
// clang-format off

std::vector<Option> of_labels()
{
  return {
    engine("reference", "SOURCE", "", "", "where labels come from, see below; the only one that is required"),
    engine("baseline", "*pair* PAIR *end*", "none", "", "force field that a new potential adds to its net, and carries in its file"),
    engine("atoms", "*yes* or *no*", "no", "", "whether a new potential has the energies of separate atoms of the reference"),
    {"fmax", {number("fmax", "F", &O::force_limit, {positive, "none", force})}, {}, 0,
     "labels with a larger force component are not learned", "force"},
    {"label_check", {choice("label_check", &O::label_check,
                            {{"stop", LabelCheckMode::stop}, {"warn", LabelCheckMode::warn}, {"no", LabelCheckMode::no}})}, {}, 0,
     "where labels are proved wrong the run ends and takes them back, or a warning tells; labels in doubt are not learned"},
    {"dataset", {text("dataset", "FOLDER", files(&F::dataset))}, {}, 0,
     "data set to which each labeled frame is added", "", "none"},
  };
}

std::vector<Option> of_asking()
{
  constexpr Range coverages{0.5, 0.99};
  return {
    {"mode", {choice("mode", &O::active, {{"passive", false}, {"active", true}})}, {}, 0,
     "label every N steps, or where the model does not know enough", "", "active; passive with *model* or *reference run*"},
    {"every", {number("every", "N", &O::every, {at_least_1})}, {}, own,
     "time steps between two labels (*passive*), or two looks at the threshold (*active*); 1 for a selection", "steps"},
    {"follow", {choice("follow", &O::follow_reference, {{"model", false}, {"reference", true}})}, {}, own,
     "whose forces move the atoms at a labeled step"},
    {"accuracy", {accuracy()}, {}, active,
     "root mean square error of the forces that is wanted: a force, or a part of their root mean square", "force or %"},
    {"limit", {number("limit", "F", &O::limit, {positive, "auto", force}),
               optional(choice("at_limit", &O::limit_stops, {{"repeat", false}, {"stop", true}}))}, {}, active,
     "error bar of an atom above which the model does not move the atoms: the step is done again, or the run ends",
     "force", "three thresholds, repeat"},
    {"audit", {number("audit", "N", &O::audit, {not_negative})}, {}, active | own,
     "mean number of steps between two random labels, 0 for none", "steps"},
    {"coverage", {number("coverage", "P", &O::coverage, {coverages})}, {}, 0,
     "part of the force errors that the error bars of the model cover, from 0.5 to 0.99"},
    {"holdout", {number("holdout", "N", &O::holdout, {not_negative})}, {}, active,
     "one of N labels is held out for validation, 0 for none", "labels"},
    {"duplicate", {number("duplicate", "D", &O::duplicate, {not_negative})}, {}, active,
     "configurations closer than this to a stored one, in feature space, are not stored"},
  };
}

std::vector<Option> of_training()
{
  return {
    engine("model", "FILE El1 El2 ...", "none", "",
           "model, checkpoint or *input.json* to train, or *new*, where the run has another pair style"),
    engine("precision", "*double*, *single* or *mixed*", "double", "", "arithmetic of the training; with *model* alone"),
    engine("knots", "*auto* or K", "auto", "", "knots of a table of *se_e2_a*; with *model* alone"),
    engine("device", "*auto*, *cpu* or *cuda:K*", "auto", "", "what each rank trains on; with *model* alone"),
    engine("native", "*yes* or *no*", "yes", "", "form of a *.pth* with descriptor *se_e2_a*; with *model* alone"),
    engine("fparam", "V1 V2 ...", "none", "", "frame parameters of a TorchScript model; with *model* alone"),
    {"input", {text("input", "FILE", training(&T::input))}, {}, 0,
     "*input.json* with the settings of the training", "", "none"},
    {"warmup", {number("warmup", "FRAMES", training(&T::warmup), {at_least_1})}, {}, 0,
     "labels that a new model is made from", "frames"},
    {"stat", {text("stat", "FILE", training(&T::stat))}, {}, 0,
     "statistics of a new model: read if it fits, otherwise computed and written", "", "none"},
    {"charges", {charges()}, {}, 0,
     "charges of a new model: those of its elements that make it better (of *new* alone), none, those that a net tells from the "
     "surroundings, or these", "e", "", "*auto*, *no*, *environment* or El1 Q1 El2 Q2 ..."},
    {"seed", {number("seed", "S", training(&T::seed), {not_negative})}, {}, 0,
     "seed of the initial weights and of the order of the frames", "", "1"},
    {"train", {number("train", "STEPS", training(&T::steps), {not_negative})},
     {{"only", {pattern(&ParameterRules::only)}}, {"freeze", {pattern(&ParameterRules::freeze)}}, rate()}, Option::begins_with_part,
     "optimizer steps for each new label; which parameters they change, and how fast", "steps", "100, all, at one rate"},
    {"batch", {number("batch", "FRAMES", training(&T::batch), {at_least_1})}, {}, 0,
     "frames in an optimizer step", "frames", "1"},
    {"buffer", {number("buffer", "FRAMES", training(&T::buffer), {at_least_1, "all"})}, {}, 0,
     "largest number to train with; the oldest ones are dropped", "frames"},
    {"optimizer", {choice("optimizer", training(&T::optimizer), {{"soap", OptimizerType::soap}, {"adam", OptimizerType::adam},
                                                       {"adamw", OptimizerType::adamw}})}, {}, 0,
     "how a gradient becomes a step", "", "soap"},
    {"ema", {number("ema", "DECAY", training(&T::ema), {zero_to_below_1})}, {}, 0,
     "decay per optimizer step of the average of the weights that the run uses; 0: no average", "", "0.98, others 0"},
  };
}

std::vector<Option> of_going_on()
{
  const auto prepare = [](auto member) { return in(&O::prepare, member); };
  const auto explore = [](auto member) { return in(&O::explore, member); };
  const auto cutout = [](auto member) { return in(&O::cutout, member); };
  constexpr Range up_to_1_angstrom{0.0, 1.0};
  constexpr Range up_to_30_percent{0.0, 0.3};
  constexpr Range small{0.0, 0.05};  // the empty space at open boundaries has no more to spare
  return {
    {"asynchronous", {number("asynchronous", "N", &O::asynchronous, {not_negative})}, {}, active | many,
     "configurations that may be with the reference while the run goes on; 0: the run waits for each"},
    {"train_share", {number("train_share", "F", &O::train_share, {above_0_to_1})}, {}, active | many,
     "part of the time that the training beside such a run takes, above 0 and up to 1"},
    {"prepare", {number("prepare", "N", prepare(&PrepareOptions::copies), {not_negative})},
     {{"displace", {number("prepare_displace", "A", prepare(&PrepareOptions::displace), {up_to_1_angstrom, "", length})}},
      {"strain", {number("prepare_strain", "S", prepare(&PrepareOptions::strain), {small})}}}, active,
     "displaced copies of the first configuration that are labeled before the run begins"},
    {"explore", {number("explore", "N", explore(&ExploreOptions::steps), {not_negative})},
     {{"temperature", {number("explore_temperature", "T", explore(&ExploreOptions::temperature), {positive})}},
      {"strain", {number("explore_strain", "S", explore(&ExploreOptions::strain), {up_to_30_percent})}}}, active,
     "steps of each of three short runs of the model after a run, hotter and in other cells, whose unknown configurations are labeled", "steps"},
    {"cutout", {number("cutout", "R", cutout(&CutoutOptions::radius), {positive, "none", length})},
     {{"core", {number("cutout_core", "C", cutout(&CutoutOptions::core), {positive, "auto", length})}},
      {"vacuum", {number("cutout_vacuum", "V", cutout(&CutoutOptions::vacuum), {positive, "auto", length})}},
      {"most", {number("cutout_most", "K", cutout(&CutoutOptions::most), {at_least_1})}}}, active,
     "radius of the surroundings of the worst atoms that the reference gets in place of the box", "distance"},
    {"rewind", {number("rewind", "N", &O::rewind, {not_negative})}, {}, active | many,
     "largest number of rollbacks of an unstable run to a trusted state"},
    engine("share", "*yes* or *no*", "no", "", "the partitions of this job train one model together", active),
  };
}

std::vector<Option> of_ranks()
{
  return {
    {"distribute", {choice("distribute", parallel(&ParallelConfig::distribution),
                           {{"auto", Distribution::automatic}, {"frames", Distribution::frames}, {"space", Distribution::space}})},
     {}, many, "how labeled frames are divided over the ranks"},
    {"compress", {choice("compress", parallel(&ParallelConfig::compression),
                         {{"none", Compression::none}, {"bf16", Compression::bfloat16}})}, {powersgd()},
     many | Option::begins_with_part | Option::one_of_these,
     "what of a gradient travels between ranks", "", "", "*none*, *bf16* or *powersgd* RANK"},
    {"micro_batch", {number("micro_batch", "FRAMES", parallel(&ParallelConfig::micro_batch), {not_negative, "all"})}, {}, 0,
     "those of a batch that are in work at once", "frames"},
    {"frame_memory", {number("frame_memory", "GIB", parallel(&ParallelConfig::frame_memory), {not_negative})}, {}, own,
     "memory of each rank for frames; further ones wait on its scratch disk", "GiB"},
    engine("timeout", "S", "1800", "s",
           "wall time that a rank waits for others before it ends the job; 1 or more, 0: any time"),
    engine("memory", "*yes* or *no*", "yes", "", "print a table of the memory at the end of each run"),
  };
}

std::vector<Option> of_files()
{
  return {
    {"save", {number("save_every", "N", files(&F::save_every), {not_negative}), text("save", "FILE", files(&F::save))}, {}, 0,
     "model FILE is written every N optimizer steps (0: at the end of a run only), with FILE.ckpt and FILE.frames beside it",
     "steps", "none"},
    {"resume", {text("resume", "FILE", files(&F::resume))}, {}, 0,
     "checkpoint of an earlier run: FILE.ckpt, or FILE of its *save*", "", "none"},
    {"disp", {number("disp_every", "N", files(&F::disp_every), {at_least_1}), text("disp", "FILE", files(&F::disp))}, {}, 0,
     "a line of the learning curve FILE is written every N optimizer steps", "steps", "100 lcurve.out"},
  };
}

// clang-format on

}  // namespace

const std::vector<Option> &option_table()
{
  static const std::vector<Option> table = [] {
    std::vector<Option> all;
    for (const auto &[section, options] :
         {std::pair("labels", of_labels()), std::pair("asking", of_asking()),
          std::pair("training", of_training()), std::pair("going-on", of_going_on()),
          std::pair("ranks", of_ranks()), std::pair("files", of_files())})
      for (const Option &option : options) all.emplace_back(option).section = section;
    return all;
  }();
  return table;
}

}  // namespace dptrain
