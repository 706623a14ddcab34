#include "fix_dptrain_options.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "atom.h"
#include "error.h"
#include "evaluation_keywords.h"
#include "utils.h"

using namespace LAMMPS_NS;

namespace {

constexpr int FIRST = 3;  // after ID, group, style
const char WHO[] = "Fix dptrain";

// Hands out the arguments one after the other.
class Arguments {
 public:
  Arguments(LAMMPS *lmp, int narg, char **arg) : lmp_(lmp), words_(arg, arg + narg), next_(FIRST) {}

  bool empty() const { return next_ >= static_cast<int>(words_.size()); }
  const std::string &keyword()
  {
    keyword_ = words_[next_++];
    return keyword_;
  }

  // `usage` shows what should follow the keyword
  const std::string &word(const std::string &usage)
  {
    if (empty())
      lmp_->error->all(FLERR, "Fix dptrain: keyword {} needs more values: {} {}", keyword_,
                       keyword_, usage);
    return words_[next_++];
  }

  std::int64_t number(const std::string &usage, std::int64_t smallest)
  {
    const std::string &text = word(usage);
    if (!utils::is_integer(text))
      lmp_->error->all(FLERR, next_ - 1,
                       fmt::format("Fix dptrain: {} needs a whole number, found {}: {} {}",
                                   keyword_, text, keyword_, usage));
    const std::int64_t value = utils::bnumeric(FLERR, text, false, lmp_);
    if (value < smallest)
      lmp_->error->all(FLERR, next_ - 1,
                       fmt::format("Fix dptrain: {} {} is not possible: the smallest number is {}",
                                   keyword_, text, smallest));
    return value;
  }

  int small_number(const std::string &usage, std::int64_t smallest)
  {
    const std::int64_t value = number(usage, smallest);
    if (value > MAXSMALLINT)
      lmp_->error->all(FLERR, next_ - 1,
                       fmt::format("Fix dptrain: {} {} is not possible: the largest number is {}",
                                   keyword_, value, MAXSMALLINT));
    return static_cast<int>(value);
  }

  std::string one_of(const std::vector<std::string> &allowed)
  {
    std::string list;
    for (const std::string &name : allowed) list += (list.empty() ? "" : "|") + name;
    const std::string &text = word(list);
    for (const std::string &name : allowed)
      if (text == name) return text;
    lmp_->error->all(
        FLERR, next_ - 1,
        fmt::format("Fix dptrain: {} {} is not available: {} {}", keyword_, text, keyword_, list));
  }

  LAMMPS *lammps() const { return lmp_; }
  int position() const { return next_ - 1; }

 private:
  LAMMPS *lmp_;
  std::vector<std::string> words_;
  int next_;
  std::string keyword_;
};

using Options = FixDPTrainOptions;

bool is_keyword(const std::string &word);

void read_model(Arguments &arguments, Options &options)
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

void read_reference(Arguments &arguments, Options &options)
{
  if (arguments.one_of({"pair", "run"}) == "run") {
    options.reference = Options::Source::run;
    return;
  }
  const std::string usage =
      "pair STYLE [arguments] coeff \"...\" [coeff \"...\"] [modify \"...\"] end";
  options.reference = Options::Source::pair;
  options.reference_style = arguments.word(usage);
  options.reference_args.clear();
  options.reference_coeffs.clear();
  options.reference_modify.clear();
  std::string word = arguments.word(usage);
  for (; word != "coeff" && word != "modify" && word != "end"; word = arguments.word(usage))
    options.reference_args.push_back(word);
  for (; word == "coeff" || word == "modify"; word = arguments.word(usage)) {
    auto &texts = word == "coeff" ? options.reference_coeffs : options.reference_modify;
    texts.push_back(arguments.word(usage));
  }
  if (word != "end")
    arguments.lammps()->error->all(
        FLERR, arguments.position(),
        fmt::format(
            "Fix dptrain: found {} where 'coeff', 'modify' or 'end' must stand: reference {}", word,
            usage));
}

void read_fmax(Arguments &arguments, Options &options)
{
  const std::string &text = arguments.word("F, the largest force a label may have");
  options.force_limit = utils::is_double(text) ? std::strtod(text.c_str(), nullptr) : 0.0;
  if (!(options.force_limit > 0.0))
    arguments.lammps()->error->all(
        FLERR, arguments.position(),
        fmt::format("Fix dptrain: fmax {} is not possible: give a positive force", text));
}

void read_ema(Arguments &arguments, Options &options)
{
  const std::string &text = arguments.word("DECAY, a number from 0 (no average) to below 1");
  options.ema = utils::is_double(text) ? std::strtod(text.c_str(), nullptr) : -1.0;
  if (!(*options.ema >= 0.0 && *options.ema < 1.0))
    arguments.lammps()->error->all(
        FLERR, arguments.position(),
        fmt::format("Fix dptrain: ema {} is not possible: give a number from 0 to below 1", text));
}

using Handler = std::function<void(Arguments &, Options &)>;

// The keywords in the order of the manual.
const std::vector<std::pair<std::string, Handler>> &handlers()
{
  static const std::vector<std::pair<std::string, Handler>> table = {
      {"input", [](Arguments &a, Options &o) { o.input = a.word("FILE"); }},
      {"model", read_model},
      {"precision",
       [](Arguments &a, Options &o) {
         o.precision = read_precision(a.lammps(), WHO, a.word("double|single|mixed"));
       }},
      {"knots",
       [](Arguments &a, Options &o) { o.knots = read_knots(a.lammps(), WHO, a.word("auto|K")); }},
      {"reference", read_reference},
      {"mode", [](Arguments &a, Options &) { a.one_of({"passive"}); }},
      {"every", [](Arguments &a, Options &o) { o.every = a.number("N", 1); }},
      {"follow",
       [](Arguments &a, Options &o) {
         o.follow_reference = a.one_of({"model", "reference"}) == "reference";
       }},
      {"train", [](Arguments &a, Options &o) { o.train = a.small_number("STEPS", 0); }},
      {"batch", [](Arguments &a, Options &o) { o.batch = a.small_number("FRAMES", 1); }},
      {"buffer", [](Arguments &a, Options &o) { o.buffer = a.number("FRAMES", 1); }},
      {"optimizer",
       [](Arguments &a, Options &o) {
         o.optimizer = a.one_of({"adam", "adamw", "soap"});
       }},
      {"ema", read_ema},
      {"stat", [](Arguments &a, Options &o) { o.stat = a.word("FILE"); }},
      {"save",
       [](Arguments &a, Options &o) {
         o.save_every = a.number("N FILE", 1);
         o.save = a.word("N FILE");
       }},
      {"resume", [](Arguments &a, Options &o) { o.resume = a.word("FILE"); }},
      {"dataset", [](Arguments &a, Options &o) { o.dataset = a.word("FOLDER"); }},
      {"warmup", [](Arguments &a, Options &o) { o.warmup = a.small_number("FRAMES", 1); }},
      {"seed", [](Arguments &a, Options &o) { o.seed = a.number("S", 1); }},
      {"disp",
       [](Arguments &a, Options &o) {
         o.disp_every = a.number("N FILE", 1);
         o.disp = a.word("N FILE");
       }},
      {"fmax", read_fmax}};
  return table;
}

bool is_keyword(const std::string &word)
{
  const auto &table = handlers();
  return std::any_of(table.begin(), table.end(),
                     [&](const auto &entry) { return entry.first == word; });
}

void check_together(LAMMPS *lmp, const Options &options)
{
  if (options.reference == Options::Source::none)
    lmp->error->all(FLERR, "Fix dptrain needs a reference: 'reference pair STYLE ... coeff \"...\" "
                           "end' or 'reference run'");
  if (!options.model.empty()) return;
  const char *keyword = options.precision ? "precision" : options.knots ? "knots" : nullptr;
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
  Arguments arguments(lmp, narg, arg);
  while (!arguments.empty()) {
    const std::string keyword = arguments.keyword();
    const Handler *handler = nullptr;
    std::string names;
    for (const auto &entry : handlers()) {
      if (entry.first == keyword) handler = &entry.second;
      names += " " + entry.first;
    }
    if (!handler)
      lmp->error->all(FLERR, arguments.position(),
                      fmt::format("Unknown fix dptrain keyword {}: allowed are{}", keyword, names));
    (*handler)(arguments, options);
  }
  check_together(lmp, options);
  return options;
}
