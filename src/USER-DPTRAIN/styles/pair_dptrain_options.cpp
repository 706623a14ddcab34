/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/pair_dptrain_options.h"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>

#include "adapter/style_names.h"
#include "error.h"
#include "styles/evaluation_keywords.h"
#include "utils.h"

using namespace LAMMPS_NS;

namespace {

constexpr bigint DEFAULT_EVERY = 100;  // DeePMD-kit's

// Hands out the words one after the other.
class Words {
 public:
  Words(LAMMPS *lmp, int narg, char **arg) : lmp_(lmp), words_(arg, arg + narg) {}
  bool empty() const { return next_ >= words_.size(); }
  const std::string &keyword()
  {
    keyword_ = words_[next_++];
    return keyword_;
  }
  const std::string &value()
  {
    need_value();
    return words_[next_++];
  }
  void need_value() const
  {
    if (empty()) utils::missing_cmd_args(FLERR, "pair_style dptrain " + keyword_, lmp_->error);
  }
  [[noreturn]] void fail(const std::string &what)
  {
    lmp_->error->all(FLERR, "{}: {}", PAIR_STYLE, what);
  }
  bigint steps()
  {
    const std::string text = value();
    const bigint number = utils::is_integer(text) ? utils::bnumeric(FLERR, text, false, lmp_) : 0;
    if (number < 1)
      fail(fmt::format("{} {} is not possible: give a number of steps from 1; without out_freq, "
                       "out_file and model_devi no file of model deviations is written",
                       keyword_, text));
    return number;
  }
  double level()
  {
    const std::string text = value();
    const double number = utils::is_double(text) ? std::strtod(text.c_str(), nullptr) : NAN;
    if (!(number > 0.0 && number <= std::numeric_limits<double>::max()))
      fail(fmt::format("{} {} is not possible: give a positive number", keyword_, text));
    return number;
  }
  bool yes_or_no()
  {
    const std::string &text = value();
    if (text == "yes") return true;
    if (text != "no") fail(fmt::format("{} {} is not possible: give yes or no", keyword_, text));
    return false;
  }
  dptrain::WallSettings wall()
  {
    using Choice = dptrain::WallSettings::Choice;
    const std::string text = value();
    if (text == "yes") return {Choice::yes, 0.0};
    if (text == "no") return {Choice::no, 0.0};
    const double distance = utils::is_double(text) ? std::strtod(text.c_str(), nullptr) : NAN;
    if (!(distance > 0.0 && distance <= std::numeric_limits<double>::max()))
      fail(fmt::format("wall {} is not possible: give yes, no or a distance", text));
    return {Choice::at, distance / unit_factors(lmp_, PAIR_STYLE).length};
  }
  /// auto, no, or ewald or pppm and its accuracy.
  std::string kspace()
  {
    const std::string style = value();
    if (style == "auto" || style == "no") return style;
    if (style != "ewald" && style != "pppm")
      fail(fmt::format("kspace {} is not possible: give auto, no, ewald ACCURACY or pppm ACCURACY",
                       style));
    const double accuracy = level();
    if (accuracy >= 1.0)
      fail(fmt::format("kspace {} {} is not possible: give an accuracy below 1, such as 1e-4",
                       style, accuracy));
    return fmt::format("{} {:g}", style, accuracy);
  }
  double number()
  {
    const std::string &text = value();
    const double number = utils::is_double(text) ? std::strtod(text.c_str(), nullptr) : NAN;
    if (!std::isfinite(number))
      fail(fmt::format("{} {} is not possible: give a number", keyword_, text));
    return number;
  }
  /// The word that comes, which is not taken.
  const std::string &next() const { return words_[next_]; }
  /// All numbers that follow, one at least.
  std::vector<double> numbers()
  {
    need_value();
    std::vector<double> found;
    while (!empty() && utils::is_double(words_[next_]))
      found.push_back(std::strtod(words_[next_++].c_str(), nullptr));
    if (found.empty())
      fail(fmt::format("keyword {} needs a number or several, found {}", keyword_, words_[next_]));
    return found;
  }
  LAMMPS *lammps() const { return lmp_; }

 private:
  LAMMPS *lmp_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
  std::string keyword_;
};

struct Given {
  PairDPTrainOptions options;
  std::string file_keyword;  ///< one that shapes model_devi.out, but does not ask for it
};

bool is_pair_keyword(const std::string &word);

void read_committee(Words &words, Given &given)
{
  std::vector<std::string> &files = given.options.deviation.files;
  files.clear();
  while (true) {
    const std::string file = words.empty() ? "" : words.value();
    if (file == "end") break;
    if (file.empty() || is_pair_keyword(file))
      words.fail(fmt::format("committee without end{}: give committee FILE2 [FILE3 ...] end",
                             file.empty() ? "" : fmt::format(" before the keyword {}", file)));
    files.push_back(file);
  }
  if (files.empty())
    words.fail("committee has no members: give committee FILE2 [FILE3 ...] end, files of models "
               "beside that of pair_coeff");
}

void read_watch(Words &words, Given &given)
{
  WatchOptions &watch = given.options.watch = {};
  const std::string text = words.value();
  watch.every = text == "no"              ? 0
                : utils::is_integer(text) ? utils::bnumeric(FLERR, text, false, words.lammps())
                                          : -1;
  if (watch.every < 0 || (watch.every == 0 && text != "no"))
    words.fail(fmt::format("watch {} is not possible: give the number of steps between two looks, "
                           "1 or more, or no",
                           text));
  while (watch.every > 0 && !words.empty()) {
    if (words.next() == "dump") {
      words.keyword();
      watch.folder = words.value();
      if (watch.folder == "stop" || watch.folder == "dump")
        words.fail(
            fmt::format("watch ... dump {} is not possible: give a folder behind dump, as in "
                        "'watch {} dump FOLDER stop'",
                        watch.folder, watch.every));
    } else if (words.next() == "stop") {
      words.keyword();
      watch.stops = true;
    } else {
      break;
    }
  }
}

using PairHandler = std::function<void(Words &, Given &)>;

// The keywords in the order of the manual.
const std::vector<std::pair<std::string, PairHandler>> &handlers()
{
  static const std::vector<std::pair<std::string, PairHandler>> table = {
      {"precision",
       [](Words &w, Given &g) {
         g.options.settings.precision = read_precision(w.lammps(), PAIR_STYLE, w.value());
       }},
      {"knots",
       [](Words &w, Given &g) {
         g.options.settings.knots = read_knots(w.lammps(), PAIR_STYLE, w.value());
       }},
      {"chunk",
       [](Words &w, Given &g) {
         g.options.settings.chunk = read_chunk(w.lammps(), PAIR_STYLE, w.value());
       }},
      {"device",
       [](Words &w, Given &g) {
         g.options.device = read_device(w.lammps(), PAIR_STYLE, w.value());
       }},
      {"native", [](Words &w, Given &g) { g.options.settings.native = w.yes_or_no(); }},
      {"wall", [](Words &w, Given &g) { g.options.settings.wall = w.wall(); }},
      {"watch", read_watch},
      {"kspace", [](Words &w, Given &g) { g.options.kspace = w.kspace(); }},
      {"total", [](Words &w, Given &g) { g.options.settings.total = w.number(); }},
      {"fparam", [](Words &w, Given &g) { g.options.settings.fparam = w.numbers(); }},
      {"committee", read_committee},
      {"out_freq", [](Words &w, Given &g) { g.options.deviation.every = w.steps(); }},
      {"out_file",
       [](Words &w, Given &g) {
         DeviationOptions &deviation = g.options.deviation;
         deviation.path = w.value();
         if (deviation.every == 0) deviation.every = DEFAULT_EVERY;
       }},
      {"model_devi",
       [](Words &w, Given &g) {
         g.options.deviation.every = w.steps();
         g.options.deviation.path = w.value();
       }},
      {"atomic",
       [](Words &, Given &g) {
         g.options.deviation.atomic = true;
         g.file_keyword = "atomic";
       }},
      {"relative",
       [](Words &w, Given &g) {
         g.options.deviation.relative = w.level();
         g.file_keyword = "relative";
       }},
      {"relative_v", [](Words &w, Given &g) {
         g.options.deviation.relative_v = w.level();
         g.file_keyword = "relative_v";
       }}};
  return table;
}

bool is_pair_keyword(const std::string &word)
{
  for (const auto &entry : handlers())
    if (entry.first == word) return true;
  return false;
}

void check_together(Words &words, const Given &given)
{
  const DeviationOptions &deviation = given.options.deviation;
  if (deviation.files.empty() && (deviation.relative || deviation.relative_v))
    words.fail("relative deviations are those of a committee: give its members too, committee "
               "FILE2 [FILE3 ...] end");
  if (deviation.every == 0 && !given.file_keyword.empty())
    words.fail(fmt::format("{} is about a file of model deviations, and none is asked for: give "
                           "out_freq N or out_file FILE too",
                           given.file_keyword));
}

[[noreturn]] void refuse(LAMMPS *lmp, const std::string &keyword, const std::string &allowed)
{
  // as in pair_style deepmd
  if (utils::strmatch(keyword, "\\.dp$") || utils::strmatch(keyword, "\\.pth$") ||
      utils::strmatch(keyword, "\\.pb$"))
    lmp->error->all(FLERR,
                    "Unknown pair style dptrain keyword {}: give the model in pair_coeff, with the "
                    "elements of the atom types: pair_coeff * * {} El1 El2 ...",
                    keyword, keyword);
  lmp->error->all(FLERR, "Unknown pair style dptrain keyword {}: allowed are {}", keyword, allowed);
}

}  // namespace

PairDPTrainOptions LAMMPS_NS::parse_pair_dptrain(LAMMPS *lmp, int narg, char **arg)
{
  Words words(lmp, narg, arg);
  Given given;
  while (!words.empty()) {
    const std::string keyword = words.keyword();
    const PairHandler *handler = nullptr;
    std::string allowed;
    for (const auto &[name, entry] : handlers()) {
      allowed += (allowed.empty() ? "" : ", ") + name;
      if (name == keyword) handler = &entry;
    }
    if (!handler) refuse(lmp, keyword, allowed);
    (*handler)(words, given);
  }
  check_together(words, given);
  return given.options;
}
