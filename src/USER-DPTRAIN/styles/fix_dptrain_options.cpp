/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/fix_dptrain_options.h"

#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "adapter/dptrain_adapter.h"
#include "adapter/fix_arguments.h"
#include "adapter/style_names.h"
#include "atom.h"
#include "dptrain/base/error.h"
#include "dptrain/session/option_table.h"
#include "error.h"
#include "styles/evaluation_keywords.h"
#include "universe.h"
#include "utils.h"

using namespace LAMMPS_NS;

namespace {

using Options = FixDPTrainOptions;

// A name, which is none of a keyword. what: it stands for.
std::string read_text(FixArguments &arguments, const std::string &what, const std::string &usage)
{
  if (dptrain::find_option(arguments.peek()))
    arguments.fail(fmt::format("{} {}: found the keyword {} in place of {}", arguments.current(),
                               usage, arguments.peek(), what));
  return arguments.word(usage);
}

void read_model(FixArguments &arguments, Options &options)
{
  const int ntypes = arguments.lammps()->atom->ntypes;
  const std::string usage =
      fmt::format("FILE and one element for each of the {} atom types", ntypes);
  options.model = arguments.word(usage);
  options.elements.clear();
  for (int type = 0; type < ntypes; ++type)
    options.elements.push_back(read_text(arguments, fmt::format("element {}", type + 1), usage));
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

using Handler = std::function<void(FixArguments &, Options &)>;

// What the engine reads of the table of options, which is the library's.
const std::map<std::string, Handler> &engine_handlers()
{
  static const std::map<std::string, Handler> table = {
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
      {"baseline",
       [](FixArguments &a, Options &o) {
         a.one_of({"pair"});
         o.baseline = read_pair_options(a);
       }},
      {"atoms",
       [](FixArguments &a, Options &o) {
         o.atoms = a.one_of({"yes", "no"}) == "yes";
       }},
      {"share",
       [](FixArguments &a, Options &o) {
         o.share = a.one_of({"yes", "no"}) == "yes";
       }},
      {"timeout", read_timeout},
      {"memory", [](FixArguments &a, Options &o) {
         o.memory_report = a.one_of({"yes", "no"}) == "yes";
       }}};
  return table;
}

// The values of an option of the library.
void read_values(FixArguments &arguments, const dptrain::Option &option,
                 dptrain::OptionReader &reader)
{
  const std::string usage = option.usage();
  const auto read = [&](const std::string &part, const dptrain::OptionValue &value) {
    std::string word = value.repeated && value.is_text
                           ? read_text(arguments, value.symbols[0], usage)
                           : arguments.word(usage);
    while (value.is_list && !value.has_symbol(word) && !arguments.peek().empty() &&
           !dptrain::find_option(arguments.peek()))
      word += " " + arguments.word(usage);
    reader.set(option, value, option.label(part), word);
  };
  const bool has_values =
      !(option.flags & dptrain::Option::begins_with_part) || !option.part(arguments.peek());
  if (has_values)
    for (const dptrain::OptionValue &value : option.values)
      if (!value.optional || value.has_symbol(arguments.peek())) read("", value);
  if (has_values && option.flags & dptrain::Option::one_of_these) return;
  while (const dptrain::OptionPart *part = option.part(arguments.peek())) {
    arguments.word(usage);
    for (const dptrain::OptionValue &value : part->values) read(part->name, value);
  }
}

void read_option(FixArguments &arguments, Options &options, dptrain::OptionReader &reader)
{
  const std::string keyword = arguments.keyword();
  if (keyword == "%")
    throw dptrain::Error(
        "there is a blank before %: write number and % as one word, as in 'accuracy 5%'");
  const dptrain::Option *option = dptrain::find_option(keyword);
  if (!option) {
    std::vector<std::string> names;
    for (const dptrain::Option &known : dptrain::option_table()) names.push_back(known.name);
    dptrain::refuse_option("keyword", keyword, names);
  }
  if (!option->read_by_engine()) return read_values(arguments, *option, reader);
  reader.note(*option);
  engine_handlers().at(keyword)(arguments, options);
}

// Who can compute a part of the box.
void check_cutout(LAMMPS *lmp, const Options &options)
{
  if (options.learning.cutout.radius == 0.0) return;
  using Source = ReferenceOptions::Source;
  const ReferenceOptions &reference = options.reference;
  const std::string whole =
      reference.source == Source::run      ? "'reference run' computes"
      : reference.source == Source::values ? "'reference values' computes"
      : !reference.pair.kspace.empty()     ? "'reference pair' with kspace computes"
      : options.baseline && !options.baseline->kspace.empty() ? "'baseline' with kspace computes"
                                                              : "";
  if (!whole.empty())
    lmp->error->all(
        FLERR,
        "Fix dptrain: cutout: {} the whole box only: use 'reference pair' without kspace, or "
        "another program as the reference, and a baseline without kspace; or leave cutout out",
        whole);
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
}

void check_explore(LAMMPS *lmp, const Options &options)
{
  if (options.learning.explore.steps == 0) return;
  using Source = ReferenceOptions::Source;
  const Source source = options.reference.source;
  if (source == Source::run || source == Source::values)
    lmp->error->all(FLERR,
                    "Fix dptrain: explore: '{}' labels the configurations of the run only: remove "
                    "explore, or use 'reference pair', 'reference socket' or 'reference spool'",
                    source == Source::run ? "reference run" : "reference values");
}

// Who can compute a separate atom.
void check_atoms(LAMMPS *lmp, const Options &options)
{
  if (!options.atoms) return;
  if (options.share)
    lmp->error->all(FLERR,
                    "Fix dptrain: atoms: partitions that share a potential do not ask for separate "
                    "atoms: remove 'atoms yes', and give the energies as fitting_net/atom_ener in "
                    "an input.json");
  using Source = ReferenceOptions::Source;
  const ReferenceOptions &reference = options.reference;
  const std::string none = reference.source == Source::run      ? "'reference run'"
                           : reference.source == Source::values ? "'reference values'"
                           : !reference.pair.kspace.empty()     ? "'reference pair' with kspace"
                                                                : "";
  if (!none.empty())
    lmp->error->all(
        FLERR,
        "Fix dptrain: atoms: {} computes the atoms of the box only: remove 'atoms yes', "
        "or give the energies of separate atoms as fitting_net/atom_ener in an "
        "input.json",
        none);
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
  if (options.learning.selects && options.learning.files.dataset.empty())
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
  dptrain::LearningOptions &learning = options.learning;
  learning.units = unit_factors(lmp, FIX_STYLE);
  FixArguments arguments(lmp, narg, arg);
  dptrain::OptionReader reader(learning);
  try {
    while (!arguments.empty()) read_option(arguments, options, reader);
  } catch (const dptrain::Error &error) {
    lmp->error->all(FLERR, arguments.position(), fmt::format("Fix dptrain: {}", error.what()));
  }
  const bool has_model =
      options.model.empty() && options.reference.source != ReferenceOptions::Source::run;
  if (!reader.given("mode")) learning.active = has_model;
  learning.selects = learning.active && options.reference.source == ReferenceOptions::Source::run;
  learning.runs_model = options.model.empty();
  learning.failure_stops = options.reference.socket.stop || options.reference.spool.stop;
  if (learning.selects && !reader.given("every")) learning.every = 1;
  try {
    reader.finish();
    check_together(lmp, options);
    check_cutout(lmp, options);
    check_prepare(lmp, options);
    check_explore(lmp, options);
    check_atoms(lmp, options);
    dptrain::check(learning);
  } catch (const dptrain::Error &error) {
    lmp->error->all(FLERR, "Fix dptrain: {}", error.what());
  }
  return options;
}
