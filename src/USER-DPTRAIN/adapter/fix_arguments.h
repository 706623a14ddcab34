/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "error.h"
#include "lmptype.h"
#include "pointers.h"
#include "utils.h"

namespace LAMMPS_NS {

/// Hands out the arguments of `fix ID all dptrain ...` one after the other. Errors name the
/// keyword, what was found and what is allowed.
class FixArguments {
 public:
  FixArguments(LAMMPS *lmp, int narg, char **arg) : lmp_(lmp), words_(arg, arg + narg), next_(FIRST)
  {
  }

  bool empty() const { return next_ >= static_cast<int>(words_.size()); }
  const std::string &keyword()
  {
    keyword_ = words_[next_++];
    return keyword_;
  }
  const std::string &current() const { return keyword_; }

  /// The next word, which stays; empty where there is none.
  std::string peek() const { return empty() ? "" : words_[next_]; }

  /// `usage` shows what should follow the keyword.
  const std::string &word(const std::string &usage)
  {
    if (empty())
      utils::missing_cmd_args(FLERR, fmt::format("fix dptrain {} {}", keyword_, usage),
                              lmp_->error);
    return words_[next_++];
  }

  /// Ends the run with the message `text` about the next word.
  void fail(const std::string &text)
  {
    lmp_->error->all(FLERR, next_, fmt::format("Fix dptrain: {}", text));
  }

  /// A whole number that is not negative; of anything else real() makes an error.
  int whole_number(const std::string &usage)
  {
    return static_cast<int>(real(usage, utils::is_integer(peek()) ? 0.0 : HUGE_VAL, MAXSMALLINT));
  }

  /// A real number in [smallest, largest].
  double real(const std::string &usage, double smallest, double largest = HUGE_VAL)
  {
    const std::string &text = word(usage);
    const double value = utils::is_double(text) ? std::strtod(text.c_str(), nullptr) : NAN;
    if (!(value >= smallest && value <= largest))
      lmp_->error->all(FLERR, next_ - 1,
                       fmt::format("Fix dptrain: {} {} is not possible: use {} {}", keyword_, text,
                                   keyword_, usage));
    return value;
  }

  std::string one_of(const std::vector<std::string> &allowed)
  {
    const std::string list = utils::join_words(allowed, "|");
    const std::string &text = word(list);
    for (const std::string &name : allowed)
      if (text == name) return text;
    lmp_->error->all(FLERR, next_ - 1,
                     fmt::format("Fix dptrain: {} {} is not possible: use {} {}", keyword_, text,
                                 keyword_, list));
  }

  /// One option of a block `KEYWORD KIND ... end`.
  struct BlockOption {
    std::string name;
    std::function<void()> read;
    bool repeated = false;  ///< each further one is added
  };
  /// Reads options up to the word `end`. Throws dptrain::Error where one is unknown or given
  /// twice. label: of the block in messages, "reference socket".
  void read_block(const std::string &label, const std::vector<BlockOption> &options);

  LAMMPS *lammps() const { return lmp_; }
  int position() const { return next_ - 1; }

 private:
  static constexpr int FIRST = 3;  // after ID, group, style
  LAMMPS *lmp_;
  std::vector<std::string> words_;
  int next_;
  std::string keyword_;
};

}  // namespace LAMMPS_NS
