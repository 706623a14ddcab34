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

// Of a value in messages.
std::string label_of(const Option &option, const std::string &part)
{
  return part.empty() ? option.name : fmt::format("{} ... {}", option.name, part);
}

// `show` is how a word that must be given as it is looks.
template <class Show> std::string syntax(const Option &option, const char *last, const Show &show)
{
  std::string text;
  const auto add = [&](const OptionValue &value) {
    std::string symbols;
    for (std::size_t k = 0; k < value.symbols.size(); ++k)
      symbols += (k == 0                         ? ""
                  : k + 1 < value.symbols.size() ? ", "
                                                 : last) +
                 show(value.symbols[k]);
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

}  // namespace

const OptionPart *Option::part(const std::string &word) const
{
  for (const OptionPart &known : parts)
    if (known.name == word) return &known;
  return nullptr;
}

std::string Option::usage() const
{
  return dptrain::syntax(*this, " or ", [](const std::string &symbol) { return symbol; });
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
  throw Error(fmt::format("unknown {} {}; did you mean {}? Allowed are {}", kind, name,
                          nearest_name(name, known), joined(known)));
}

void OptionReader::set(const Option &option, const std::string &part, const OptionValue &value,
                       const std::string &word)
{
  const std::string label = label_of(option, part);
  if (!value.set(options_, word))
    throw Error(
        fmt::format("{} {} is not possible: use {}", label, word, value.allowed(options_.units)));
  const auto [before, is_new] = given_[option.name].emplace(&value, word);
  if (!is_new && !value.repeated)
    throw Error(fmt::format("{} is given twice, as {} and as {}: remove one of them", label,
                            before->second, word));
}

void OptionReader::note(const Option &option)
{
  if (!given_.try_emplace(option.name).second)
    throw Error(fmt::format("{} is given twice: remove one of them", option.name));
}

void OptionReader::finish() const
{
  for (const Option &option : option_table())
    if (given(option.name) && (option.flags & Option::active) && !options_.active)
      throw Error(fmt::format("{0} needs 'mode active': add that, or remove {0}", option.name));
}

std::map<std::string, bool> session_options()
{
  std::map<std::string, bool> keys;
  for (const Option &option : option_table())
    option.for_each([&](const std::string &, const OptionValue &value) {
      if (!value.key.empty() && !(option.flags & Option::parallel)) keys[value.key] = value.is_text;
    });
  return keys;
}

void set_options(LearningOptions &options, const std::map<std::string, std::string> &words)
{
  std::vector<std::string> keys;
  for (const auto &[key, is_text] : session_options()) keys.push_back(key);
  for (const auto &[key, word] : words)
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      refuse_option("option of a session", key, keys);
  OptionReader reader(options);
  for (const Option &option : option_table())
    option.for_each([&](const std::string &part, const OptionValue &value) {
      const auto found = words.find(value.key);
      if (found != words.end()) reader.set(option, part, value, found->second);
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
        throw Error(fmt::format("{} {} is not possible: use {}", label_of(option, part), word,
                                value.allowed(options.units)));
    });
}

std::string common_options(const LearningOptions &options)
{
  std::string text;
  for (const Option &option : option_table())
    if (!option.read_by_engine() && !(option.flags & Option::own))
      text += text_of(option, options) + "\n";
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
    rows.push_back(
        {option.section,
         fmt::format("**{}** {}{}", option.name,
                     option.syntax.empty() ? syntax(option, " or ", shown) : option.syntax,
                     option.flags & Option::active ? " (a)" : ""),
         initial, option.unit, option.meaning});
  }
  return rows;
}

}  // namespace dptrain
