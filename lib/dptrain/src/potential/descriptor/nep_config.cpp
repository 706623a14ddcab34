#include "dptrain/potential/descriptor/nep_config.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "dptrain/base/error.h"
#include "input/model_keys.h"
#include "input/training_defaults.h"
#include "kernels/limits.h"

namespace dptrain {

namespace {

// Of the radial cutoff: bench/results/nep.md.
constexpr double angular_part = 5.0 / 6.0;

using K = Key<DescriptorConfig>;
using C = NepConfig;

K cutoff_key(const char *name, std::vector<double> C::*cutoffs)
{
  return {name, K::Read([=](JsonReader &section, const std::string &key, DescriptorConfig &config) {
            const nlohmann::json &value = *section.find(key);
            auto &own = static_cast<C &>(config).*cutoffs;
            own.clear();
            if (value == "auto") return;
            if (value.is_number())
              own = {value.get<double>()};
            else if (value.is_array())
              own = section.numbers(key);
            const auto is_good = [](double rcut) { return rcut > 0.0 && std::isfinite(rcut); };
            if (own.empty() || !std::all_of(own.begin(), own.end(), is_good))
              section.expected(
                  key, "a length in Angstrom, one for each element of type_map, or \"auto\"");
          }),
          K::Write([=](const DescriptorConfig &config) {
            const auto &own = static_cast<const C &>(config).*cutoffs;
            if (own.empty()) return OrderedJson("auto");
            return own.size() == 1 ? OrderedJson(own[0]) : OrderedJson(own);
          })};
}

// A term that is there where a number is `degree`, and not where it is 0.
K degree_key(const char *name, bool C::*flag, int degree)
{
  return {name, K::Read([=](JsonReader &section, const std::string &key, DescriptorConfig &config) {
            const std::int64_t found = section.integer(key, 0);
            if (found != 0 && found != degree)
              section.expected(key, fmt::format("0 or {}", degree));
            static_cast<C &>(config).*flag = found != 0;
          }),
          K::Write([=](const DescriptorConfig &config) {
            return OrderedJson(static_cast<const C &>(config).*flag ? degree : 0);
          })};
}

}  // namespace

int NepConfig::blocks() const
{
  return l_max + has_222 + has_1111 + has_112 + has_123 + has_233 + has_134;
}

const Keys<DescriptorConfig> &NepConfig::table() const
{
  constexpr Range functions{0, kernels::most_functions - 1};
  static const Keys<DescriptorConfig> keys{
      cutoff_key("rcut_radial", &C::rcut_radial),
      cutoff_key("rcut_angular", &C::rcut_angular),
      K("n_max_radial", &C::n_max_radial, Range{0, most_n}),
      K("n_max_angular", &C::n_max_angular, Range{0, most_n}),
      K("basis_size_radial", &C::basis_size_radial, functions),
      K("basis_size_angular", &C::basis_size_angular, functions),
      K("l_max", &C::l_max, Range{1, kernels::most_nep_l}),
      degree_key("l_max_4body", &C::has_222, 2),
      degree_key("l_max_5body", &C::has_1111, 1),
      K("has_112", &C::has_112),
      K("has_123", &C::has_123),
      K("has_233", &C::has_233),
      K("has_134", &C::has_134),
  };
  return keys;
}

void NepConfig::complete(JsonReader &section, ModelConfig &model)
{
  const int ntypes = model.ntypes();
  for (const auto &[key, list] :
       {std::pair("rcut_radial", &rcut_radial), std::pair("rcut_angular", &rcut_angular)})
    if (list->size() > 1 && static_cast<int>(list->size()) != ntypes)
      section.expected(key,
                       fmt::format("one length, or {}, one for each element of type_map", ntypes));
  radial_follows_ = rcut_radial.empty();
  angular_follows_ = rcut_angular.empty();
  if (!radial_follows_) {
    const double longest = *std::max_element(rcut_radial.begin(), rcut_radial.end());
    const bool is_open = model.cutoff_source == CutoffSource::open;
    if (section.has("rcut") && !is_open && model.rcut != longest)
      section.fail("rcut", fmt::format("differs from the largest rcut_radial, {:g}: remove one of "
                                       "the two keys",
                                       longest));
    model.rcut = longest;
    model.cutoff_source = CutoffSource::input;
  }
  if (model.cutoff_source == CutoffSource::input) {
    set_cutoffs(model.rcut);
    if (const std::string wrong = wrong_cutoff(); !wrong.empty())
      section.fail("rcut_angular", wrong + ": give at most as much");
  }
  const auto need = [&](bool flag, const char *key, int degree) {
    if (flag && l_max < degree)
      section.fail(section.has(key) ? key : "l_max",
                   fmt::format("{} needs l_max {} or more, found {}", key, degree, l_max));
  };
  need(has_222, "l_max_4body", 2);
  need(has_112, "has_112", 2);
  need(has_123, "has_123", 3);
  need(has_233, "has_233", 3);
  need(has_134, "has_134", 4);
}

void NepConfig::set_cutoffs(double rcut)
{
  if (radial_follows_) rcut_radial = {rcut};
  if (angular_follows_) {
    rcut_angular = rcut_radial;
    for (double &angular : rcut_angular) angular *= angular_part;
  }
  rcut_radial = shortened(rcut_radial);
  rcut_angular = shortened(rcut_angular);
}

void NepConfig::follow_model(const ModelConfig &model)
{
  const auto *other = dynamic_cast<const NepConfig *>(model.descriptor.get());
  if (other && radial_follows_) rcut_radial = other->rcut_radial;
  if (other && angular_follows_) rcut_angular = other->rcut_angular;
  if (!other) follow_cutoff(model.rcut);
}

void NepConfig::follow_cutoff(double rcut)
{
  set_cutoffs(rcut);
  if (const std::string wrong = wrong_cutoff(); !wrong.empty())
    throw Error(fmt::format("rcut_angular: {}, which follows from the structure: give at most as "
                            "much, or rcut_radial as well",
                            wrong));
}

std::string NepConfig::wrong_cutoff() const
{
  const std::size_t types = std::max(rcut_radial.size(), rcut_angular.size());
  const std::vector<double> radial = cutoffs(rcut_radial, static_cast<int>(types)),
                            angular = cutoffs(rcut_angular, static_cast<int>(types));
  for (std::size_t type = 0; type < types; ++type)
    if (angular[type] > radial[type])
      return fmt::format("{:g} is larger than rcut_radial ({:g}){}", angular[type], radial[type],
                         types > 1 ? fmt::format(", element {} of type_map", type + 1) : "");
  return "";
}

bool NepConfig::set_input_defaults(InputFile &input, bool in_a_run) const
{
  input.model.fitting_neuron = {50};
  input.model.fitting_resnet_dt = false;
  set_training_defaults(input, in_a_run);
  return true;
}

std::vector<double> NepConfig::cutoffs(const std::vector<double> &given, int ntypes)
{
  return given.size() == 1 ? std::vector<double>(ntypes, given[0]) : given;
}

std::vector<double> NepConfig::shortened(const std::vector<double> &cutoffs)
{
  const bool are_same = std::all_of(cutoffs.begin(), cutoffs.end(),
                                    [&](double rcut) { return rcut == cutoffs.front(); });
  return are_same ? std::vector<double>{cutoffs.front()} : cutoffs;
}

const NepConfig &nep(const ModelConfig &model)
{
  const DescriptorConfig *descriptor = model.descriptor.get();
  if (const auto *config = dynamic_cast<const NepConfig *>(descriptor)) return *config;
  throw Error(fmt::format("this needs a model with descriptor nep{}",
                          descriptor ? fmt::format("; this one has {}", descriptor->type())
                                     : std::string()));
}

}  // namespace dptrain
