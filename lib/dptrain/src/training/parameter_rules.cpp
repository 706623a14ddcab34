#include "training/parameter_rules.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <string>

#include "dptrain/base/error.h"
#include "kernels/layer.h"
#include "kernels/runtime.h"
#include "kernels/vectors.h"

namespace dptrain {

namespace {

void replace(std::string &text, const std::string &from, const std::string &to)
{
  const std::size_t at = text.find(from);
  if (at != std::string::npos) text.replace(at, from.size(), to);
}

/// Name of a parameter as patterns see it, for native models as for archives.
std::string shown_name(const ParameterBlock &block)
{
  std::string name = block.name;
  replace(name, "/model/fitting/", "/model/fitting_net/");
  replace(name, "/model/", "");
  replace(name, "@variables/", "");
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

bool matches(const ParameterBlock &block, const std::string &pattern)
{
  const std::string name = shown_name(block);
  if (pattern.find_first_of("*?[") != std::string::npos)
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  return name.find(pattern) != std::string::npos;
}

bool matches_any(const ParameterBlock &block, const std::vector<std::string> &patterns)
{
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string &pattern) { return matches(block, pattern); });
}

void check_pattern(const std::vector<ParameterBlock> &index, const std::string &pattern)
{
  for (const ParameterBlock &block : index)
    if (matches(block, pattern)) return;
  if (index.empty())
    throw Error(
        fmt::format("the model has no parameters that {} could be about: remove it", pattern));
  throw Error(
      fmt::format("no parameter of the model has a name like {}: use names such as {} and {}",
                  pattern, shown_name(index.front()), shown_name(index.back())));
}

}  // namespace

const std::vector<ParameterBlock> &apply_rules(ParameterSet &parameters,
                                               const ParameterRules &rules)
{
  parameters.set_trainable({});
  const std::vector<ParameterBlock> &index = parameters.blocks();
  for (const auto *patterns : {&rules.only, &rules.freeze})
    for (const std::string &pattern : *patterns) check_pattern(index, pattern);
  for (const auto &rate : rules.rates) check_pattern(index, rate.first);
  if (rules.only.empty() && rules.freeze.empty()) return index;
  std::vector<char> trained;
  for (const ParameterBlock &block : index) {
    const bool wanted = rules.only.empty() ? block.trainable : matches_any(block, rules.only);
    trained.push_back(wanted && !matches_any(block, rules.freeze));
  }
  if (std::none_of(trained.begin(), trained.end(), [](char on) { return on; }))
    throw Error("no parameter is left to train: what is trained only and what is frozen leave "
                "none; change one of the two");
  parameters.set_trainable(trained);
  return index;
}

RateFactors::RateFactors(const std::vector<ParameterBlock> &index, const ParameterRules &rules)
{
  for (const ParameterBlock &block : index) {
    double factor = 1.0;
    for (const auto &[pattern, value] : rules.rates)
      if (matches(block, pattern)) factor = value;
    if (factor != 1.0) ranges_.push_back({block.offset, block.offset + block.size, factor});
  }
  if (ranges_.empty()) return;
  ensure_runtime();
  std::size_t numbers = 0;
  for (const Range &range : ranges_) numbers += range.end - range.begin;
  before_.resize(numbers);
}

void RateFactors::begin(const double *parameters)
{
  double *before = before_.data();
  for (const Range &range : ranges_) {
    const long n = static_cast<long>(range.end - range.begin);
    kernels::convert(parameters + range.begin, n, before);
    before += n;
  }
}

void RateFactors::apply(double *parameters)
{
  double *before = before_.data();
  for (const Range &range : ranges_) {
    const long n = static_cast<long>(range.end - range.begin);
    kernels::move_toward(parameters + range.begin, range.factor, n, before);
    kernels::convert(before, n, parameters + range.begin);
    before += n;
  }
}

}  // namespace dptrain
