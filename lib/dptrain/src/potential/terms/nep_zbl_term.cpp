#include "potential/terms/nep_zbl_term.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>

#include "dptrain/base/elements.h"
#include "dptrain/potential/descriptor/nep_config.h"
#include "input/model_keys.h"
#include "kernels/memory.h"
#include "kernels/pair_functions.h"
#include "potential/terms/nep_zbl_config.h"
#include "potential/terms/pair_term_type.h"

namespace dptrain {

namespace {

constexpr double squared_charge =
    14.399645;  // e^2 / (4 pi epsilon_0), eV Angstrom, as GPUMD has it
constexpr double inverse_length = 2.134563, power = 0.23;
constexpr std::size_t numbers_of_a_pair = 10;

// Angstrom, of hydrogen to plutonium, as GPUMD has them for the cutoffs of pairs.
constexpr double covalent_radii[] = {
    0.426667, 0.613333, 1.6,     1.25333, 1.02667, 1.0,     0.946667, 0.84,    0.853333, 0.893333,
    1.86667,  1.66667,  1.50667, 1.38667, 1.46667, 1.36,    1.32,     1.28,    2.34667,  2.05333,
    1.77333,  1.62667,  1.61333, 1.46667, 1.42667, 1.38667, 1.33333,  1.32,    1.34667,  1.45333,
    1.49333,  1.45333,  1.53333, 1.46667, 1.52,    1.56,    2.52,     2.22667, 1.96,     1.85333,
    1.76,     1.65333,  1.53333, 1.50667, 1.50667, 1.44,    1.53333,  1.64,    1.70667,  1.68,
    1.68,     1.64,     1.76,    1.74667, 2.78667, 2.34667, 2.16,     1.96,    2.10667,  2.09333,
    2.08,     2.06667,  2.01333, 2.02667, 2.01333, 2.0,     1.98667,  1.98667, 1.97333,  2.04,
    1.94667,  1.82667,  1.74667, 1.64,    1.57333, 1.54667, 1.48,     1.49333, 1.50667,  1.76,
    1.73333,  1.73333,  1.81333, 1.74667, 1.84,    1.89333, 2.68,     2.41333, 2.22667,  2.10667,
    2.02667,  2.04,     2.05333, 2.06667};

double radius_of(const std::string &element)
{
  return covalent_radii[atomic_number(element) - 1];
}

class NepZblConfig final : public EnergyTermConfig {
 public:
  using Numbers = std::vector<double>;

  std::string type() const override { return "nep_zbl"; }
  std::unique_ptr<EnergyTermConfig> clone() const override
  {
    return std::make_unique<NepZblConfig>(*this);
  }
  bool is_single() const override { return true; }
  double cutoff() const override { return longest_; }
  std::string text() const override
  {
    if (!pairs.empty()) {
      std::string text = "nep_zbl of numbers";
      for (const auto &[pair, numbers] : pairs) {
        text += " " + pair;
        for (const double number : numbers) text += fmt::format(" {}", number);
      }
      return text;
    }
    return fmt::format(
        "nep_zbl from {:.15g} to {:.15g} Angstrom{}", factor ? 0.0 : inner, outer,
        factor ? fmt::format(", {:.15g} times the sum of covalent radii at most", *factor) : "");
  }
  std::string note() const override;
  /// Of pairs whose repulsion ends at their angular cutoff before it has vanished.
  std::string warning(const ModelConfig &model) const override;
  const Keys<EnergyTermConfig> &table() const override;
  void complete(JsonReader &section, const ModelConfig &model) override;
  /// Sets the longest distance between elements of the model.
  void look_at(const ModelConfig &model);
  NepZblPair between(const std::string &a, const std::string &b) const;

  double inner = 0.0, outer = 0.0;  ///< Angstrom
  std::optional<double> factor;
  std::map<std::string, Numbers> pairs;  ///< "Si-O": inner, outer, and four times part and decay

 private:
  double longest_ = 0.0;
};

const Keys<EnergyTermConfig> &NepZblConfig::table() const
{
  using K = Key<EnergyTermConfig>;
  using C = NepZblConfig;
  static const Keys<EnergyTermConfig> keys{
      K("inner", &C::inner, not_negative),
      K("outer", &C::outer, not_negative),
      K("factor", &C::factor, positive_length),
      K("pairs", K::Read([](JsonReader &section, const std::string &key, EnergyTermConfig &config) {
          auto &own = static_cast<C &>(config);
          JsonReader list = section.section(key);
          for (const std::string &pair : list.keys()) own.pairs[pair] = list.numbers(pair);
        }),
        K::Write([](const EnergyTermConfig &config) {
          const auto &own = static_cast<const C &>(config).pairs;
          return own.empty() ? OrderedJson() : OrderedJson(own);
        })),
  };
  return keys;
}

void NepZblConfig::complete(JsonReader &section, const ModelConfig &model)
{
  for (const std::string &element : model.type_map)
    if (atomic_number(element) > static_cast<int>(std::size(covalent_radii)))
      section.fail("type",
                   fmt::format("nep_zbl is of nuclei up to Pu, and {} in type_map is none of "
                               "them: remove the term, or use zbl with pairs",
                               element));
  if (pairs.empty()) {
    if (!(outer > 0.0 && inner < outer))
      section.fail("outer",
                   fmt::format("must be above 0 and above inner ({:g}); found {:g}", inner, outer));
  } else {
    if (inner != 0.0 || outer != 0.0 || factor)
      section.fail("pairs", "stands in place of inner, outer and factor: remove either");
    for (const auto &[pair, numbers] : pairs)
      if (numbers.size() != numbers_of_a_pair)
        section.fail("pairs",
                     fmt::format("{} has {} numbers, expected {}: inner, outer, and four times "
                                 "amplitude and decay",
                                 pair, numbers.size(), numbers_of_a_pair));
    for (const std::string &a : model.type_map)
      for (const std::string &b : model.type_map)
        if (!pairs.contains(a + "-" + b) && !pairs.contains(b + "-" + a))
          section.fail(
              "pairs",
              fmt::format("has no numbers for {}-{}: give some for all two elements", a, b));
  }
  look_at(model);
}

void NepZblConfig::look_at(const ModelConfig &model)
{
  longest_ = 0.0;
  for (const std::string &a : model.type_map)
    for (const std::string &b : model.type_map) longest_ = std::max(longest_, between(a, b).outer);
}

NepZblPair NepZblConfig::between(const std::string &a, const std::string &b) const
{
  NepZblPair pair;
  if (pairs.empty()) {
    pair.inner = factor ? 0.0 : inner;
    pair.outer = factor ? std::min(*factor * (radius_of(a) + radius_of(b)), outer) : outer;
    pair.part = {0.18175, 0.50986, 0.28022, 0.02817};
    pair.decay = {3.1998, 0.94229, 0.4029, 0.20162};
    return pair;
  }
  const auto found = pairs.find(a + "-" + b);
  const Numbers &numbers = (found == pairs.end() ? pairs.find(b + "-" + a) : found)->second;
  pair.inner = numbers[0];
  pair.outer = numbers[1];
  for (std::size_t k = 0; k < 4; ++k) {
    pair.part[k] = numbers[2 + 2 * k];
    pair.decay[k] = numbers[3 + 2 * k];
  }
  return pair;
}

const NepZblConfig &nep_zbl_settings(const EnergyTermConfig &config)
{
  return dynamic_cast<const NepZblConfig &>(config);
}

// [ntypes][ntypes] Where it ends: neighbors are those of the angular part. Where cutoffs have not been chosen, where its numbers say.
std::vector<double> reach_of(const ModelConfig &model, const NepZblConfig &config)
{
  const auto *descriptor = dynamic_cast<const NepConfig *>(model.descriptor.get());
  std::vector<double> angular(model.type_map.size(), model.rcut);
  if (descriptor && descriptor->rcut_angular.empty())
    angular.assign(model.type_map.size(), config.cutoff());
  else if (descriptor)
    angular = NepConfig::cutoffs(descriptor->rcut_angular, model.ntypes());
  std::vector<double> reach;
  for (int a = 0; a < model.ntypes(); ++a)
    for (int b = 0; b < model.ntypes(); ++b)
      reach.push_back(std::min(config.between(model.type_map[a], model.type_map[b]).outer,
                               0.5 * (angular[a] + angular[b])));
  return reach;
}

std::string NepZblConfig::note() const
{
  if (!factor) return "";
  return fmt::format(
      "its ZBL is whole at no distance and ends at {:g} times the sum of the covalent "
      "radii, at most at {:g} Angstrom: the meaning that GPUMD has had since December "
      "2025 (before, it was whole up to half of that)",
      *factor, outer);
}

std::string NepZblConfig::warning(const ModelConfig &model) const
{
  const std::vector<double> reach = reach_of(model, *this);
  for (std::size_t a = 0; a < model.type_map.size(); ++a)
    for (std::size_t b = a; b < model.type_map.size(); ++b) {
      const double wanted = between(model.type_map[a], model.type_map[b]).outer,
                   end = reach[a * model.type_map.size() + b];
      if (end < wanted)
        return fmt::format("the ZBL of {} and {} reaches to {:g} Angstrom and ends at their "
                           "angular cutoff, {:g} Angstrom, as in GPUMD: energies jump there",
                           model.type_map[a], model.type_map[b], wanted, end);
    }
  return "";
}

template <class Real> class NepZblTerm final : public PairTerm<Real> {
 public:
  NepZblTerm(const ModelData &data, const NepZblConfig &config) :
      PairTerm<Real>(data.config.ntypes(), config.cutoff(), reach_of(data.config, config))
  {
    std::vector<kernels::NepZbl> functions;
    for (const std::string &a : data.config.type_map)
      for (const std::string &b : data.config.type_map) {
        const NepZblPair pair = config.between(a, b);
        const double za = atomic_number(a), zb = atomic_number(b);
        const double screening = (std::pow(za, power) + std::pow(zb, power)) * inverse_length;
        kernels::NepZbl function{pair.inner, pair.outer, squared_charge * za * zb};
        for (std::size_t k = 0; k < 4; ++k) {
          function.part[k] = pair.part[k];
          function.rate[k] = pair.decay[k] * screening;
        }
        functions.push_back(function);
      }
    functions_.copy_from(functions);
  }

 private:
  void add_pairs(int type, const kernels::Edges<Real> &edges, const Real *reach_squared,
                 double *energies, const kernels::PairSlopes &slopes) override
  {
    kernels::add_nep_zbl(edges, functions_.data() + this->row(type), reach_squared, energies,
                         slopes);
  }

  kernels::Array<kernels::NepZbl> functions_;  // [ntypes][ntypes]
};

}  // namespace

std::unique_ptr<const EnergyTermType> make_nep_zbl_type()
{
  return std::make_unique<PairTermType<NepZblConfig, NepZblTerm>>();
}

std::unique_ptr<EnergyTermConfig> nep_zbl(const std::vector<double> &line,
                                          const std::vector<double> &numbers,
                                          const ModelConfig &model)
{
  auto config = std::make_unique<NepZblConfig>();
  config->inner = line[0];
  config->outer = line[1];
  if (line.size() > 2) config->factor = line[2];
  std::size_t place = 0;
  for (std::size_t a = 0; a < model.type_map.size() && !numbers.empty(); ++a)
    for (std::size_t b = a; b < model.type_map.size(); ++b, place += numbers_of_a_pair)
      config->pairs[model.type_map[a] + "-" + model.type_map[b]].assign(
          numbers.begin() + static_cast<std::ptrdiff_t>(place),
          numbers.begin() + static_cast<std::ptrdiff_t>(place + numbers_of_a_pair));
  config->look_at(model);
  return config;
}

bool is_nep_zbl(const EnergyTermConfig &config)
{
  return dynamic_cast<const NepZblConfig *>(&config) != nullptr;
}

NepZblText nep_zbl_text(const EnergyTermConfig &config, const ModelConfig &model)
{
  const NepZblConfig &own = nep_zbl_settings(config);
  NepZblText text;
  text.line = fmt::format("zbl {} {}", own.inner, own.outer);
  if (own.factor) text.line += fmt::format(" {}", *own.factor);
  for (std::size_t a = 0; a < model.type_map.size() && !own.pairs.empty(); ++a)
    for (std::size_t b = a; b < model.type_map.size(); ++b) {
      const NepZblPair pair = own.between(model.type_map[a], model.type_map[b]);
      text.numbers.insert(text.numbers.end(), {pair.inner, pair.outer});
      for (std::size_t k = 0; k < 4; ++k)
        text.numbers.insert(text.numbers.end(), {pair.part[k], pair.decay[k]});
    }
  return text;
}

}  // namespace dptrain
