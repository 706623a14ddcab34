#include "potential/terms/charge_config.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"
#include "input/model_keys.h"
#include "potential/terms/energy_term_type.h"

namespace dptrain {

namespace {

using ByElement = std::map<std::string, double>;

const ByElement &oxidation_numbers()
{
  static const ByElement numbers{
      {"H", 1},  {"Li", 1},  {"Na", 1},  {"K", 1},  {"Rb", 1}, {"Cs", 1}, {"Be", 2},  {"Mg", 2},
      {"Ca", 2}, {"Sr", 2},  {"Ba", 2},  {"B", 3},  {"Al", 3}, {"Ga", 3}, {"In", 3},  {"Sc", 3},
      {"Y", 3},  {"La", 3},  {"Ce", 4},  {"C", 4},  {"Si", 4}, {"Ge", 4}, {"Sn", 4},  {"Pb", 2},
      {"Ti", 4}, {"Zr", 4},  {"Hf", 4},  {"V", 5},  {"Nb", 5}, {"Ta", 5}, {"Cr", 3},  {"Mo", 6},
      {"W", 6},  {"Mn", 2},  {"Fe", 3},  {"Co", 2}, {"Ni", 2}, {"Cu", 2}, {"Zn", 2},  {"Ag", 1},
      {"Cd", 2}, {"Bi", 3},  {"P", 5},   {"N", -3}, {"O", -2}, {"S", -2}, {"Se", -2}, {"Te", -2},
      {"F", -1}, {"Cl", -1}, {"Br", -1}, {"I", -1}};
  return numbers;
}

// The one that an element has in most of its compounds; none: there is no such.
std::optional<double> usual_oxidation_number(const std::string &element)
{
  const auto found = oxidation_numbers().find(element);
  return found == oxidation_numbers().end() ? std::nullopt : std::optional(found->second);
}

ByElement read_charges(JsonReader &section, const std::string &key)
{
  const nlohmann::json *value = section.find(key);
  constexpr double most = 20.0;  // more is a mistake, of which sums may not survive
  const auto is_charge = [](const auto &charge) {
    return charge.is_number() && std::abs(charge.template get<double>()) <= most;
  };
  if (!value->is_object() || !std::all_of(value->begin(), value->end(), is_charge))
    section.expected(key, fmt::format("an object of charges by element, {:g} e at most, such as "
                                      "{{\"Na\": 1, \"Cl\": -1}}",
                                      most));
  return value->get<ByElement>();
}

const std::string total_of_data = "data";

std::string text_of_total(std::optional<double> total)
{
  if (total == 0.0) return "";
  return ", total " + (total ? fmt::format("{:.9g}", *total) : "of each frame");
}

}  // namespace

std::string ChargeConfig::text() const
{
  std::string width = sigma ? fmt::format(", sigma {:.9g} Angstrom", *sigma) : "";
  std::vector<std::string> each;
  for (const auto &[element, charge] : values)
    each.push_back(fmt::format("{} {:.9g}", element, charge));
  if (is_searched())
    return fmt::format("charges that are searched{}{}{}", each.empty() ? "" : ", beginning with ",
                       joined(each), width);
  if (each.empty()) each.emplace_back("0");
  const std::string net =
      has_net() ? fmt::format(" and by surroundings, net {}", joined(neuron)) : "";
  return fmt::format("charges {}{}{}{}", joined(each), net, width, text_of_total(total));
}

const Keys<EnergyTermConfig> &ChargeConfig::table() const
{
  using K = Key<EnergyTermConfig>;
  using C = ChargeConfig;
  static const Keys<EnergyTermConfig> keys{
      K("kind", K::Read([](JsonReader &section, const std::string &key, EnergyTermConfig &config) {
          auto &own = static_cast<C &>(config);
          own.kind = section.choice(key, own.kind, {"search", "environment", "fixed"});
        }),
        K::Write([](const EnergyTermConfig &config) {
          return OrderedJson(static_cast<const C &>(config).kind);
        })),
      K("values",
        K::Read([](JsonReader &section, const std::string &key, EnergyTermConfig &config) {
          static_cast<C &>(config).values = read_charges(section, key);
        }),
        K::Write([](const EnergyTermConfig &config) {
          const ByElement &values = static_cast<const C &>(config).values;
          return values.empty() ? OrderedJson() : OrderedJson(values);
        })),
      K("neuron",
        K::Read([](JsonReader &section, const std::string &key, EnergyTermConfig &config) {
          static_cast<C &>(config).neuron = read_widths(section, key);
        }),
        K::Write([](const EnergyTermConfig &config) {
          const auto &own = static_cast<const C &>(config);
          return own.has_net() ? OrderedJson(own.neuron) : OrderedJson();
        })),
      K("sigma", &C::sigma, positive_length),
      K("total", K::Read([](JsonReader &section, const std::string &key, EnergyTermConfig &config) {
          auto &own = static_cast<C &>(config);
          const nlohmann::json &value = *section.find(key);
          if (value != total_of_data && !value.is_number())
            section.expected(key, "a charge in e, or \"data\": that of each frame");
          own.total = value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
        }),
        K::Write([](const EnergyTermConfig &config) {
          const auto &total = static_cast<const C &>(config).total;
          return total ? OrderedJson(*total) : OrderedJson(total_of_data);
        })),
  };
  return keys;
}

void ChargeConfig::complete(JsonReader &section, const ModelConfig &model)
{
  for (const auto &[element, charge] : values)
    if (std::find(model.type_map.begin(), model.type_map.end(), element) == model.type_map.end())
      section.fail("values", fmt::format("{} is not in type_map: give charges of {}", element,
                                         joined(model.type_map)));
  if (!has_net() && section.has("neuron"))
    section.fail("neuron", "charges of this kind have no net: remove the key, or give the kind "
                           "\"environment\"");
  if (is_searched()) {
    if (total != 0.0)
      section.fail("total", "charges are searched for neutral frames alone: give the kind "
                            "\"environment\", or charges of kind \"fixed\"");
    const std::vector<double> charges = start(model.type_map);
    const auto [least, most] = std::minmax_element(charges.begin(), charges.end());
    if (!(*least < 0.0 && *most > 0.0))
      section.fail(
          "values",
          fmt::format("charges that are searched are multiples of these numbers, which must "
                      "have both signs; those of {} have not: give others",
                      joined(model.type_map)));
  }
  if (kind != "fixed") return;
  for (const std::string &element : model.type_map)
    if (!values.contains(element))
      section.fail("values", fmt::format("has no charge for {}: fixed charges need one for each "
                                         "element of type_map, 0 where there is none",
                                         element));
}

void ChargeConfig::follow_cutoff(double rcut)
{
  if (!sigma) sigma = 0.2 * rcut;
  if (*sigma > 0.5 * rcut)
    throw Error(
        fmt::format("terms: charges: sigma {} Angstrom is more than half the cutoff, {} "
                    "Angstrom: what is different from charges at points the net has to "
                    "take up within the cutoff: give less, or leave it out, for a fifth of it",
                    *sigma, rcut));
}

bool ChargeConfig::may_become(const EnergyTermConfig &found) const
{
  const auto *other = dynamic_cast<const ChargeConfig *>(&found);
  return is_searched() && other && other->kind == "fixed" && other->total == total &&
         other->sigma == sigma;
}

std::vector<double> ChargeConfig::start(const std::vector<std::string> &elements) const
{
  std::vector<double> charges;
  for (const std::string &element : elements) {
    const auto given = values.find(element);
    const double usual = has_net() ? 0.0 : usual_oxidation_number(element).value_or(0.0);
    charges.push_back(given != values.end() ? given->second : usual);
  }
  return charges;
}

std::optional<ChargeNets> charge_nets_of(const ModelConfig &model, const EnergyTermConfig &own,
                                         const std::string &place)
{
  const auto *charges = dynamic_cast<const ChargeConfig *>(&own);
  if (!charges || !charges->has_net()) return std::nullopt;
  ChargeNets nets;
  nets.name = place;
  nets.shape.inputs = model.descriptor->size();
  nets.shape.hidden = charges->neuron;
  nets.shape.activation = model.fitting_activation;
  nets.shape.output = true;
  return nets;
}

std::optional<ChargeNets> charge_nets(const ModelConfig &config)
{
  for (std::size_t k = 0; k < config.terms.size(); ++k)
    if (auto nets = charge_nets_of(config, *config.terms[k].get(), place_of_term(k))) return nets;
  return std::nullopt;
}

const ChargeConfig *charges_of(const ModelConfig &config)
{
  for (const AnyEnergyTermConfig &term : config.terms)
    if (const auto *charges = dynamic_cast<const ChargeConfig *>(term.get())) return charges;
  return nullptr;
}

std::optional<double> total_charge(const ModelConfig &config)
{
  const ChargeConfig *charges = charges_of(config);
  return charges ? charges->total : std::nullopt;
}

const ChargeConfig *searched_charges(const ModelConfig &config)
{
  const ChargeConfig *charges = charges_of(config);
  return charges && charges->is_searched() ? charges : nullptr;
}

}  // namespace dptrain
