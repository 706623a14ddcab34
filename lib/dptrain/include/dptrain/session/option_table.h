#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dptrain/session/learning_options.h"

// One table of all options of a learning session. From it come: the keywords of fix dptrain and the options of the Python
// session, what they may be, what partitions that train one model must have in common, and the tables of the manual.

namespace dptrain {

/// One number or word of an option. Numbers are in the units of LearningOptions::units.
struct OptionValue {
  std::string
      key;  ///< its name where each value has one of its own (Python); empty: there it has none
  std::vector<std::string> symbols;  ///< what stands for it: N, or the words that it may be
  bool optional = false;             ///< read where it is one of `symbols`
  bool repeated = false;             ///< each further one is added
  bool is_text = false;              ///< a name of a file or such
  bool is_list = false;              ///< of words, up to the next option
  std::int64_t largest = 0;          ///< of a whole number
  std::function<std::string(const UnitFactors &)>
      allowed{};  ///< what it may be: "a positive force"
  std::function<bool(LearningOptions &, const std::string &word)> set{};  ///< false: not possible
  std::function<std::string(const LearningOptions &)> text{};  ///< as a user writes it; empty: none

  bool has_symbol(const std::string &word) const
  {
    return std::find(symbols.begin(), symbols.end(), word) != symbols.end();
  }
};

/// Values with a word before them, in any order, after the other values of an option: *core* C.
struct OptionPart {
  std::string name;
  std::vector<OptionValue> values;
};

struct Option {
  enum Flags {
    active = 1,  ///< of mode active alone
    own = 2,     ///< may differ between partitions that train one model
    engine =
        4,  ///< needs what a simulation program has (ranks, several clients, states to go back to): not in Python
    begins_with_part = 8,  ///< values may be left out where a part follows
    one_of_these = 16,     ///< its values or one part
  };
  std::string name;
  std::vector<OptionValue> values;
  std::vector<OptionPart> parts;
  int flags = 0;
  std::string meaning;
  std::string unit{};     ///< for the manual
  std::string initial{};  ///< default, where it is not that of LearningOptions
  std::string syntax{};   ///< in the manual, where it does not follow from the values
  std::string section{};  ///< of the manual

  /// It has no values here.
  bool read_by_engine() const { return values.empty(); }
  /// Null: none of its parts has this name.
  const OptionPart *part(const std::string &word) const;
  /// f(name of its part or "", value) for all values.
  template <class F> void for_each(const F &f) const
  {
    for (const OptionValue &value : values) f(std::string(), value);
    for (const OptionPart &one : parts)
      for (const OptionValue &value : one.values) f(one.name, value);
  }
  /// What messages call a value behind this word: "cutout ... core".
  std::string label(const std::string &part) const;
  /// Such as "R [core C] [vacuum V] [most K]".
  std::string usage() const;
};

/// In the order of the manual.
const std::vector<Option> &option_table();
/// Null: there is none.
const Option *find_option(const std::string &name);
/// Throws Error: `kind`, such as "keyword", `name` is unknown, which one may have been meant, and all that there are.
/// The hint is left out where the names have little in common.
[[noreturn]] void refuse_option(const std::string &kind, const std::string &name,
                                const std::vector<std::string> &known);

/// Sets values of options as a user gives them.
class OptionReader {
 public:
  explicit OptionReader(LearningOptions &options) : options_(options) {}

  /// label: what messages call the value. Throws Error where the word is not possible, or the value is given twice.
  void set(const Option &option, const OptionValue &value, const std::string &label,
           const std::string &word);
  /// Notes an option that the engine reads. Throws Error where it is given twice.
  void note(const Option &option);
  bool given(const std::string &name) const { return given_.count(name) > 0; }
  /// Throws Error where an option needs mode active.
  void finish() const;

 private:
  LearningOptions &options_;
  struct Given {
    std::string label, word;
  };
  std::map<std::string, std::map<const OptionValue *, Given>> given_;  // by option
};

/// Options by the names that their values have in Python; true: the name of a file or such.
std::map<std::string, bool> session_options();
/// Sets them, by these names. Throws Error as OptionReader does.
void set_options(LearningOptions &options, const std::map<std::string, std::string> &words);

/// Throws Error where a value is not possible.
void check_ranges(const LearningOptions &options);

/// A line for each option that must be the same in partitions that train one model: each decides about work that all ranks do
/// together.
std::string common_options(const LearningOptions &options);

/// A row of the manual: section, syntax, default, unit, meaning.
using OptionRow = std::vector<std::string>;
std::vector<OptionRow> option_rows();

}  // namespace dptrain
