/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/fix_dptrain_options.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "adapter/fix_arguments.h"
#include "adapter/style_names.h"
#include "atom.h"
#include "error.h"
#include "styles/evaluation_keywords.h"
#include "universe.h"
#include "utils.h"

using namespace LAMMPS_NS;

namespace {

constexpr double SMALLEST = std::numeric_limits<double>::min();

using Options = FixDPTrainOptions;

bool is_keyword(const std::string &word);

void read_model(FixArguments &arguments, Options &options)
{
  const int ntypes = arguments.lammps()->atom->ntypes;
  const std::string usage =
      fmt::format("FILE and one element for each of the {} atom types", ntypes);
  options.model = arguments.word(usage);
  options.elements.clear();
  for (int type = 0; type < ntypes; ++type) {
    options.elements.push_back(arguments.word(usage));
    if (is_keyword(options.elements.back()))
      arguments.lammps()->error->all(
          FLERR, arguments.position(),
          fmt::format("Fix dptrain: model needs {}, found the keyword {} in place of element {}",
                      usage, options.elements.back(), type + 1));
  }
}

void read_threshold(FixArguments &arguments, Options &options)
{
  if (arguments.peek() == "auto") {
    arguments.word("");
    options.learning.threshold = 0.0;
  } else {
    options.learning.threshold = arguments.real("F|auto, a positive force", SMALLEST);
  }
}

void read_distribution(FixArguments &arguments, Options &options)
{
  const std::string name = arguments.one_of({"auto", "frames", "space"});
  options.learning.parallel.distribution = name == "frames"  ? dptrain::Distribution::frames
                                           : name == "space" ? dptrain::Distribution::space
                                                             : dptrain::Distribution::automatic;
}

void read_compression(FixArguments &arguments, Options &options)
{
  dptrain::ParallelConfig &parallel = options.learning.parallel;
  const std::string name = arguments.one_of({"none", "bf16", "powersgd"});
  parallel.compression = name == "bf16"       ? dptrain::Compression::bfloat16
                         : name == "powersgd" ? dptrain::Compression::power_sgd
                                              : dptrain::Compression::none;
  if (name == "powersgd")
    parallel.compression_rank = arguments.small_number("powersgd RANK, a number of columns", 1);
}

void read_timeout(FixArguments &arguments, Options &options)
{
  const double seconds = arguments.real("S, a time in seconds of 1 or more, 0 for none", 0.0);
  if (seconds > 0.0 && seconds < 1.0)
    arguments.lammps()->error->all(
        FLERR,
        "Fix dptrain: timeout {} is not possible: use a time of 1 second or more, or 0 for none",
        seconds);
  options.timeout = seconds;
}

void read_fparam(FixArguments &arguments, Options &options)
{
  const char *usage = "V1 [V2 ...], numbers";
  options.fparam = {arguments.real(usage, -HUGE_VAL)};
  while (utils::is_double(arguments.peek()))
    options.fparam.push_back(arguments.real(usage, -HUGE_VAL));
}

// STEPS, or which parameters are trained.
void read_train(FixArguments &arguments, Options &options)
{
  const std::string what = arguments.peek();
  if (what != "only" && what != "freeze" && what != "rate") {
    options.learning.train =
        arguments.small_number("STEPS, or only|freeze PATTERN, or rate PATTERN FACTOR", 0);
    return;
  }
  arguments.word("");
  const std::string usage = fmt::format("{} PATTERN, a part of names of parameters", what);
  if (is_keyword(arguments.peek()))
    arguments.fail(fmt::format("train {}: found the keyword {}", usage, arguments.peek()));
  const std::string pattern = arguments.word(usage);
  if (what == "only") options.learning.rules.only.push_back(pattern);
  if (what == "freeze") options.learning.rules.freeze.push_back(pattern);
  if (what == "rate")
    options.learning.rules.rates.emplace_back(
        pattern, arguments.real("rate PATTERN FACTOR, a number of 0 or more", 0.0));
}

// R [core C] [vacuum V] [most K]
void read_cutout(FixArguments &arguments, Options &options)
{
  const char *const usage = "R [core C] [vacuum V] [most K], three distances and a number";
  dptrain::CutoutOptions &cutout = options.learning.cutout;
  cutout.radius = arguments.real(usage, SMALLEST);
  for (;;) {
    const std::string word = arguments.peek();
    if (word == "core" || word == "vacuum") {
      arguments.word(usage);
      (word == "core" ? cutout.core : cutout.vacuum) = arguments.real(usage, SMALLEST);
    } else if (word == "most") {
      arguments.word(usage);
      cutout.most = arguments.small_number(usage, 1);
    } else {
      return;
    }
  }
}

// N [displace A] [strain S]
void read_prepare(FixArguments &arguments, Options &options)
{
  const char *const usage =
      "N [displace A] [strain S], a number, a distance and a part of a length";
  dptrain::PrepareOptions &prepare = options.learning.prepare;
  prepare.copies = arguments.small_number(usage, 0);
  for (std::string word = arguments.peek(); word == "displace" || word == "strain";
       word = arguments.peek()) {
    arguments.word(usage);
    const double number = arguments.real(usage, -HUGE_VAL);  // the library knows the bounds
    if (word == "displace")
      prepare.displace = number;
    else
      prepare.strain = number;
  }
}

using Handler = std::function<void(FixArguments &, Options &)>;
using Handlers = std::vector<std::pair<std::string, Handler>>;

// The keywords of mode active alone.
const Handlers &active_handlers()
{
  static const Handlers table = {
      {"threshold", read_threshold},
      {"limit",
       [](FixArguments &a, Options &o) {
         o.learning.limit = a.real("F repeat|stop, a positive force", SMALLEST);
         o.learning.limit_stops = a.one_of({"repeat", "stop"}) == "stop";
       }},
      {"rewind", [](FixArguments &a, Options &o) { o.learning.rewind = a.small_number("N", 0); }},
      {"guard",
       [](FixArguments &a, Options &o) {
         const std::string usage = "INNER OUTER, two distances, the smaller one first";
         o.guard_inner = a.real(usage, SMALLEST);
         o.guard_outer = a.real(usage, std::nextafter(o.guard_inner, HUGE_VAL));
       }},
      {"prepare", read_prepare},
      {"cutout", read_cutout},
      {"audit", [](FixArguments &a, Options &o) { o.learning.audit = a.number("N", 0); }},
      {"asynchronous",
       [](FixArguments &a, Options &o) { o.learning.asynchronous = a.small_number("N", 0); }},
      {"share",
       [](FixArguments &a, Options &o) {
         o.share = a.one_of({"yes", "no"}) == "yes";
       }},
      {"train_share",
       [](FixArguments &a, Options &o) {
         o.learning.train_share =
             a.real("F, a part of the time above 0 and up to 1", SMALLEST, 1.0);
       }},
      {"holdout", [](FixArguments &a, Options &o) { o.learning.holdout = a.small_number("N", 0); }},
      {"duplicate",
       [](FixArguments &a, Options &o) {
         o.learning.duplicate = a.real("D, a distance of 0 or more", 0.0);
       }},
      {"target", [](FixArguments &a,
                    Options &o) { o.learning.target = a.real("F, a positive force", SMALLEST); }},
      {"train_seconds", [](FixArguments &a, Options &o) {
         o.learning.train_seconds = a.real("S, a positive time", SMALLEST);
       }}};
  return table;
}

// The others, in the order of the manual.
const Handlers &general_handlers()
{
  static const Handlers table = {
      {"input", [](FixArguments &a, Options &o) { o.learning.input = a.word("FILE"); }},
      {"model", read_model},
      {"precision",
       [](FixArguments &a, Options &o) {
         o.precision = read_precision(a.lammps(), FIX_STYLE, a.word("double|single|mixed"));
       }},
      {"knots", [](FixArguments &a,
                   Options &o) { o.knots = read_knots(a.lammps(), FIX_STYLE, a.word("auto|K")); }},
      {"native",
       [](FixArguments &a, Options &o) {
         o.native = a.one_of({"yes", "no"}) == "yes";
       }},
      {"fparam", read_fparam},
      {"device",
       [](FixArguments &a, Options &o) {
         o.device = read_device(a.lammps(), FIX_STYLE, a.word("auto|cpu|cuda:K"));
       }},
      {"reference", [](FixArguments &a, Options &o) { o.reference = read_reference(a); }},
      {"subtract",
       [](FixArguments &a, Options &o) {
         a.one_of({"pair"});
         o.subtract = read_pair_options(a);
       }},
      {"mode",
       [](FixArguments &a, Options &o) {
         o.learning.active = a.one_of({"passive", "active"}) == "active";
       }},
      {"every", [](FixArguments &a, Options &o) { o.learning.every = a.number("N", 1); }},
      {"follow",
       [](FixArguments &a, Options &o) {
         o.learning.follow_reference = a.one_of({"model", "reference"}) == "reference";
       }},
      {"train", read_train},
      {"batch",
       [](FixArguments &a, Options &o) { o.learning.batch = a.small_number("FRAMES", 1); }},
      {"buffer", [](FixArguments &a, Options &o) { o.learning.buffer = a.number("FRAMES", 1); }},
      {"optimizer",
       [](FixArguments &a, Options &o) {
         o.learning.optimizer = a.one_of({"adam", "adamw", "soap"});
       }},
      {"ema",
       [](FixArguments &a, Options &o) {
         o.learning.ema = a.real("DECAY, a number from 0 (no average) to below 1", 0.0,
                                 std::nextafter(1.0, 0.0));
       }},
      {"stat", [](FixArguments &a, Options &o) { o.learning.stat = a.word("FILE"); }},
      {"save",
       [](FixArguments &a, Options &o) {
         o.learning.save_every = a.number("N FILE", 1);
         o.learning.save = a.word("N FILE");
       }},
      {"resume", [](FixArguments &a, Options &o) { o.learning.resume = a.word("FILE"); }},
      {"dataset", [](FixArguments &a, Options &o) { o.learning.dataset = a.word("FOLDER"); }},
      {"warmup",
       [](FixArguments &a, Options &o) { o.learning.warmup = a.small_number("FRAMES", 1); }},
      {"seed", [](FixArguments &a, Options &o) { o.learning.seed = a.number("S", 1); }},
      {"disp",
       [](FixArguments &a, Options &o) {
         o.learning.disp_every = a.number("N FILE", 1);
         o.learning.disp = a.word("N FILE");
       }},
      {"distribute", read_distribution},
      {"compress", read_compression},
      {"micro_batch",
       [](FixArguments &a, Options &o) {
         o.learning.parallel.micro_batch = a.small_number("FRAMES", 0);
       }},
      {"frame_memory",
       [](FixArguments &a, Options &o) {
         o.learning.parallel.frame_memory = a.real("GIB, an amount of memory of 0 or more", 0.0);
       }},
      {"timeout", read_timeout},
      {"memory",
       [](FixArguments &a, Options &o) {
         o.memory_report = a.one_of({"yes", "no"}) == "yes";
       }},
      {"fmax", [](FixArguments &a, Options &o) {
         o.learning.force_limit =
             a.real("F, the largest force a label may have, a positive force", SMALLEST);
       }}};
  return table;
}

// Of a keyword; null: there is none of this name.
const Handler *find_handler(const std::string &keyword)
{
  for (const Handlers *table : {&general_handlers(), &active_handlers()})
    for (const auto &[name, handler] : *table)
      if (name == keyword) return &handler;
  return nullptr;
}

bool is_keyword(const std::string &word)
{
  return find_handler(word) != nullptr;
}

std::string all_keywords()
{
  std::string names;
  for (const Handlers *table : {&general_handlers(), &active_handlers()})
    for (const auto &entry : *table) names += " " + entry.first;
  return names;
}

// `given`: the keywords of the input.
void check_active(LAMMPS *lmp, const Options &options, const std::vector<std::string> &given)
{
  if (options.learning.active) return;
  for (const auto &entry : active_handlers())
    if (std::count(given.begin(), given.end(), entry.first) > 0)
      lmp->error->all(FLERR,
                      "Fix dptrain: the keyword {0} needs 'mode active': add that, or remove {0}",
                      entry.first);
}

// Who can compute a part of the box.
void check_cutout(LAMMPS *lmp, const Options &options)
{
  if (options.learning.cutout.radius == 0.0) return;
  using Source = ReferenceOptions::Source;
  const ReferenceOptions &reference = options.reference;
  const std::string whole = reference.source == Source::run      ? "'reference run' computes"
                            : reference.source == Source::values ? "'reference values' computes"
                            : !reference.pair.kspace.empty()
                                ? "'reference pair' with kspace computes"
                            : options.subtract ? "'subtract' computes"
                                               : "";
  if (!whole.empty())
    lmp->error->all(
        FLERR,
        "Fix dptrain: cutout: {} the whole box only: use 'reference pair' without kspace, or "
        "another program as the reference, without 'subtract'; or leave cutout out",
        whole);
  if (options.learning.follow_reference)
    lmp->error->all(
        FLERR, "Fix dptrain: 'cutout' and 'follow reference' contradict each other: who knows a "
               "cut-out alone cannot move the atoms of the whole box; remove one of the two");
}

// Who can compute configurations that the run is not in.
void check_prepare(LAMMPS *lmp, const Options &options)
{
  if (options.learning.prepare.copies == 0) return;
  using Source = ReferenceOptions::Source;
  const Source source = options.reference.source;
  if (source != Source::socket && source != Source::spool)
    lmp->error->all(
        FLERR,
        "Fix dptrain: prepare: the reference must be another program (socket or spool), which "
        "computes any configuration: this one labels those of the run, remove prepare");
  if (options.subtract)
    lmp->error->all(FLERR, "Fix dptrain: prepare: 'subtract' computes the atoms of the run only: "
                           "remove one of the two");
}

void check_together(LAMMPS *lmp, const Options &options)
{
  if (options.reference.source == ReferenceOptions::Source::none)
    lmp->error->all(FLERR, "Fix dptrain needs a reference: 'reference pair STYLE ... coeff \"...\" "
                           "end', 'reference socket ADDRESS end', 'reference spool FOLDER end', "
                           "'reference values ... end' or 'reference run'");
  if (options.learning.active && !options.model.empty())
    lmp->error->all(FLERR, "Fix dptrain: 'mode active' needs the uncertainty of the model that the "
                           "run uses: remove 'model' and make pair_style dptrain (alone or in a "
                           "hybrid style) the pair style of the run");
  if (options.share && lmp->universe->nworlds == 1)
    lmp->error->all(FLERR, "Fix dptrain: 'share yes' is for several partitions that train one "
                           "model: start LAMMPS with '-partition 1 1 ...', or remove it");
  if (options.share && options.learning.selects)
    lmp->error->all(FLERR, "Fix dptrain: 'share yes' needs a reference that labels: 'reference "
                           "run' with 'mode active' only selects");
  if (options.learning.selects && options.learning.dataset.empty())
    lmp->error->all(FLERR, "Fix dptrain: 'mode active' with 'reference run' selects "
                           "configurations, and needs 'dataset FOLDER' for them");
  if (options.learning.selects && options.learning.rewind > 0)
    lmp->error->all(FLERR,
                    "Fix dptrain: rewind {} is not possible with 'reference run', which selects "
                    "configurations and moves nothing: remove rewind",
                    options.learning.rewind);
  if (!options.model.empty()) return;
  const bool device = options.device.kind != dptrain::DeviceRequest::Kind::automatic;
  const char *keyword = options.precision         ? "precision"
                        : options.knots           ? "knots"
                        : options.native          ? "native"
                        : !options.fparam.empty() ? "fparam"
                        : device                  ? "device"
                                                  : nullptr;
  if (keyword)
    lmp->error->all(FLERR,
                    "Fix dptrain: without 'model FILE El1 El2 ...' the fix trains the model of the "
                    "pair style, whose {0} holds for the run and for the training: remove {0} here "
                    "and use 'pair_style dptrain {0} ...'",
                    keyword);
}

}  // namespace

FixDPTrainOptions LAMMPS_NS::parse_fix_dptrain(LAMMPS *lmp, int narg, char **arg)
{
  FixDPTrainOptions options;
  FixArguments arguments(lmp, narg, arg);
  std::vector<std::string> given;
  while (!arguments.empty()) {
    const std::string keyword = arguments.keyword();
    given.push_back(keyword);
    const Handler *handler = find_handler(keyword);
    if (!handler)
      lmp->error->all(
          FLERR, arguments.position(),
          fmt::format("Unknown fix dptrain keyword {}: allowed are{}", keyword, all_keywords()));
    (*handler)(arguments, options);
  }
  dptrain::LearningOptions &learning = options.learning;
  learning.selects = learning.active && options.reference.source == ReferenceOptions::Source::run;
  learning.runs_model = options.model.empty();
  learning.failure_stops = options.reference.socket.stop || options.reference.spool.stop;
  if (std::count(given.begin(), given.end(), "every") == 0 && learning.selects) learning.every = 1;
  check_together(lmp, options);
  check_active(lmp, options, given);
  check_cutout(lmp, options);
  check_prepare(lmp, options);
  return options;
}
