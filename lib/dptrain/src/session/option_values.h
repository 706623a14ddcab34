#pragma once

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/text.h"
#include "dptrain/base/range.h"
#include "dptrain/session/option_table.h"

// The kinds of values that options have: numbers, words, names.

namespace dptrain::option_values {

using O = LearningOptions;

// The type of a member of the options, without the optional.
template <class T> struct Plain {
  using type = T;
};
template <class T> struct Plain<std::optional<T>> {
  using type = T;
};
template <class Access>
using ValueOf = typename Plain<std::decay_t<std::invoke_result_t<Access, O &>>>::type;

// A member of a part of the options.
template <class Outer, class Inner> auto in(Outer outer, Inner inner)
{
  return [=](auto &o) -> auto &
  {
    return std::invoke(inner, std::invoke(outer, o));
  };
}

enum class Dimension { none, force, length };

inline double factor(Dimension dimension, const UnitFactors &units)
{
  return dimension == Dimension::force    ? units.force()
         : dimension == Dimension::length ? units.length
                                          : 1.0;
}

inline std::optional<double> real_of(const std::string &word)
{
  if (word.find_first_not_of("+-.0123456789eE") != std::string::npos) return std::nullopt;
  char *end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  return word.empty() || *end || !std::isfinite(value) ? std::nullopt : std::optional(value);
}

inline std::optional<std::int64_t> integer_of(const std::string &word)
{
  if (word.find_first_not_of("+-0123456789") != std::string::npos) return std::nullopt;
  char *end = nullptr;
  errno = 0;
  const std::int64_t value = std::strtoll(word.c_str(), &end, 10);
  return word.empty() || *end || errno ? std::nullopt : std::optional(value);
}

/// What numbers may be, and the word for 0, where 0 is no number but none, or all, or chosen.
struct NumberForm {
  Range range;
  const char *zero = "";
  Dimension dimension = Dimension::none;
};

// A number. access: member of the options, or a function that returns a reference to it.
template <class Access>
OptionValue number(const std::string &key, const std::string &symbol, Access access,
                   const NumberForm &form)
{
  using T = ValueOf<Access>;
  constexpr bool whole = std::is_integral_v<T>;
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  const std::string zero = form.zero;
  OptionValue value{key, zero.empty() ? std::vector{symbol} : std::vector{symbol, zero}};
  if constexpr (whole)
    value.largest = std::in_range<T>(largest) ? largest : std::numeric_limits<T>::max();
  value.allowed = [=](const UnitFactors &units) {
    Range shown = form.range;
    shown.least *= factor(form.dimension, units);
    shown.most *= factor(form.dimension, units);
    const std::string noun = whole                                 ? "whole number"
                             : form.dimension == Dimension::force  ? "force"
                             : form.dimension == Dimension::length ? "distance"
                                                                   : form.range.noun;
    return shown.words(noun) + (zero.empty() ? "" : ", or " + zero);
  };
  value.set = [=](O &o, const std::string &word) {
    const auto accept = [&](T found) {
      std::invoke(access, o) = found;
      return true;
    };
    const double unit = factor(form.dimension, o.units);
    const auto found = [&] {
      if constexpr (whole)
        return integer_of(word);
      else
        return real_of(word);
    }();
    if (!zero.empty() && word == zero) return accept(T(0));
    if (!found || !form.range.has(static_cast<double>(*found) / unit)) return false;
    if constexpr (whole) return std::in_range<T>(*found) && accept(static_cast<T>(*found));
    return accept(static_cast<T>(*found / unit));
  };
  value.text = [=](const O &o) -> std::string {
    std::optional<T> found = std::invoke(access, o);
    if (!found) return "";
    if (!zero.empty() && *found == T(0)) return zero;
    if constexpr (whole) return std::to_string(*found);
    if (form.dimension == Dimension::none) return fmt::format("{}", *found);
    return fmt::format("{:.12g}", static_cast<double>(*found) * factor(form.dimension, o.units));
  };
  return value;
}

// One of several words.
template <class Access>
OptionValue
choice(const std::string &key, Access access,
       const std::type_identity_t<std::vector<std::pair<std::string, ValueOf<Access>>>> &kinds)
{
  OptionValue value{key, {}};
  for (const auto &[name, kind] : kinds) value.symbols.push_back(name);
  value.allowed = [words = value.symbols](const UnitFactors &) { return alternatives(words); };
  value.set = [=](O &o, const std::string &word) {
    for (const auto &[name, kind] : kinds) {
      if (lower(word) != name) continue;  // input.json has Adam, SOAP
      std::invoke(access, o) = kind;
      return true;
    }
    return false;
  };
  value.text = [=](const O &o) -> std::string {
    for (const auto &[name, kind] : kinds)
      if (std::invoke(access, o) == kind) return name;
    return "";
  };
  return value;
}

inline OptionValue optional(OptionValue value)
{
  value.optional = true;
  return value;
}

// The name of a file, or such.
template <class Access>
OptionValue text(const std::string &key, const std::string &symbol, Access access)
{
  OptionValue value{key, {symbol}};
  value.is_text = true;
  value.allowed = [](const UnitFactors &) { return std::string("a name"); };
  value.set = [=](O &o, const std::string &word) {
    std::invoke(access, o) = word;
    return !word.empty();
  };
  value.text = [=](const O &o) { return std::string(std::invoke(access, o)); };
  return value;
}

}  // namespace dptrain::option_values
