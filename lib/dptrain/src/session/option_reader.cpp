#include "dptrain/session/option_table.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/nearest_name.h"
#include "base/text.h"
#include "dptrain/base/error.h"

namespace dptrain {

namespace {

bool is_word(const std::string &symbol)
{
  return symbol[0] >= 'a';
}

std::string text_of(const Option &option, const LearningOptions &o)
{
  std::string text = option.name;
  option.for_each([&](const std::string &part, const OptionValue &value) {
    const std::string word = value.text(o);
    if (!word.empty()) text += fmt::format("{}{} {}", part.empty() ? "" : " ", part, word);
  });
  return text;
}

// `show` is how a word that must be given as it is looks.
template <class Show> std::string syntax(const Option &option, const Show &show)
{
  std::string text;
  const auto add = [&](const OptionValue &value) {
    std::vector<std::string> shown;
    for (const std::string &symbol : value.symbols) shown.push_back(show(symbol));
    const std::string symbols = alternatives(shown);
    text += (text.empty() || text.back() == '[' ? "" : " ") +
            (value.optional ? "[" + symbols + "]" : symbols);
  };
  for (const OptionValue &value : option.values) add(value);
  for (const OptionPart &part : option.parts) {
    text += fmt::format(" [{}", show(part.name));
    for (const OptionValue &value : part.values) add(value);
    text += "]";
  }
  return text;
}

[[noreturn]] void refuse(const std::string &label, const std::string &word,
                         const std::string &allowed)
{
  throw Error(fmt::format("{} {} is not possible: use {}", label, word, allowed));
}

// What may be given in place of a word that is not possible.
std::string allowed_for(const Option &option, const OptionValue &value, const std::string &word,
                        const UnitFactors &units)
{
  if (option.flags & Option::one_of_these) return option.usage();
  const bool is_long = word.find_first_not_of("0123456789") == std::string::npos &&
                       word.size() >= std::to_string(value.largest).size();
  return fmt::format("{}{}{}", value.allowed(units),
                     value.largest > 0 && is_long ? fmt::format(", {} at most", value.largest) : "",
                     option.values.size() > 1 && !option.values.back().optional
                         ? fmt::format(", in '{} {}'", option.name, option.usage())
                         : "");
}

}  // namespace

const OptionPart *Option::part(const std::string &word) const
{
  for (const OptionPart &known : parts)
    if (known.name == word) return &known;
  return nullptr;
}

std::string Option::label(const std::string &part) const
{
  return part.empty() ? name : fmt::format("{} ... {}", name, part);
}

std::string Option::usage() const
{
  if (syntax.empty())
    return dptrain::syntax(*this, [](const std::string &symbol) { return symbol; });
  std::string plain = syntax;
  std::erase(plain, '*');
  return plain;
}

const Option *find_option(const std::string &name)
{
  for (const Option &option : option_table())
    if (option.name == name) return &option;
  return nullptr;
}

void refuse_option(const std::string &kind, const std::string &name,
                   const std::vector<std::string> &known)
{
  const std::string nearest = nearest_name(name, known);
  const bool alike = 2 * edit_distance(name, nearest) <= name.size();
  throw Error(fmt::format("unknown {} {}{}: allowed are {}", kind, name,
                          alike ? fmt::format(" (did you mean {}?)", nearest) : "", joined(known)));
}

void OptionReader::set(const Option &option, const OptionValue &value, const std::string &label,
                       const std::string &word)
{
  if (!value.set(options_, word))
    refuse(label, word, allowed_for(option, value, word, options_.units));
  auto &given = given_[option.name];
  const auto before = option.flags & Option::one_of_these ? given.begin() : given.find(&value);
  if (before != given.end() && !value.repeated)
    throw Error(fmt::format("{} is given twice, as {} and as {}: remove one of them", label,
                            before->second.word, word));
  given[&value] = {label, word};
}

void OptionReader::note(const Option &option)
{
  if (!given_.try_emplace(option.name).second)
    throw Error(fmt::format("{} is given twice: remove one of them", option.name));
}

void OptionReader::finish() const
{
  for (const Option &option : option_table()) {
    const auto found = given_.find(option.name);
    if (found == given_.end() || !(option.flags & Option::active) || options_.active) continue;
    throw Error(
        fmt::format("{0} needs 'mode active': add that, or remove {0}",
                    found->second.empty() ? option.name : found->second.begin()->second.label));
  }
}

std::map<std::string, bool> session_options()
{
  std::map<std::string, bool> keys;
  for (const Option &option : option_table())
    option.for_each([&](const std::string &, const OptionValue &value) {
      if (!value.key.empty() && !(option.flags & Option::engine)) keys[value.key] = value.is_text;
    });
  return keys;
}

void set_options(LearningOptions &options, const std::map<std::string, std::string> &words)
{
  std::vector<std::string> keys{"failed", "log", "precision"};  // Python's own
  for (const auto &[key, is_text] : session_options()) keys.push_back(key);
  for (const auto &[key, word] : words)
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      refuse_option("option of a session", key, keys);
  OptionReader reader(options);
  for (const Option &option : option_table())
    option.for_each([&](const std::string &part, const OptionValue &value) {
      const auto found = words.find(value.key);
      if (found == words.end()) return;
      reader.set(option, value, found->first, found->second);
      if (!part.empty() && words.count(option.name) == 0)
        throw Error(fmt::format("{} has no meaning without {}: add that, or remove it",
                                found->first, option.name));
    });
  reader.finish();
}

void check_ranges(const LearningOptions &options)
{
  LearningOptions again;
  again.units = options.units;
  for (const Option &option : option_table())
    option.for_each([&](const std::string &part, const OptionValue &value) {
      const std::string word = value.text(options);
      if (!word.empty() && !value.set(again, word))
        refuse(option.label(part), word, value.allowed(options.units));
    });
}

std::string common_options(const LearningOptions &options)
{
  LearningOptions same = options;
  same.units = {};  // partitions may have units of their own
  std::string text;
  for (const Option &option : option_table())
    if (!option.read_by_engine() && !(option.flags & Option::own))
      text += text_of(option, same) + "\n";
  return text;
}

std::vector<OptionRow> option_rows()
{
  const auto shown = [](const std::string &symbol) {
    return is_word(symbol) ? fmt::format("*{}*", symbol) : symbol;
  };
  std::vector<OptionRow> rows;
  for (const Option &option : option_table()) {
    std::string initial = option.initial;
    if (initial.empty() && !option.read_by_engine())
      initial = option.values[0].text(LearningOptions());
    rows.push_back({option.section,
                    fmt::format("**{}** {}{}", option.name,
                                option.syntax.empty() ? syntax(option, shown) : option.syntax,
                                option.flags & Option::active ? " (a)" : ""),
                    initial, option.unit, option.meaning});
  }
  return rows;
}

}  // namespace dptrain
