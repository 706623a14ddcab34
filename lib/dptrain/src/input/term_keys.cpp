#include "input/term_keys.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "dptrain/input/new_charges.h"

namespace dptrain {

std::vector<AnyEnergyTermConfig> read_terms(JsonReader &model, const std::string &key,
                                            const ModelConfig &config)
{
  std::vector<AnyEnergyTermConfig> terms;
  for (JsonReader &reader : model.objects(
           key, "a list of terms, such as [{\"type\": \"zbl\", \"inner\": 0.6, \"outer\": 1.2}]",
           "an object with a type and its keys in each place of the list")) {
    if (!reader.has("type"))
      reader.fail("type", fmt::format("is missing: give one of {}", joined(energy_term_names())));
    const std::string type = reader.text("type", "");
    AnyEnergyTermConfig term = make_energy_term_config(type);
    if (!term)
      reader.fail("type", fmt::format("term \"{}\" is not in this version; use one of {}", type,
                                      joined(energy_term_names())));
    if (term->is_single() && has_term(terms, type))
      reader.fail("type", fmt::format("a model has one term of type {}: put all into one", type));
    term->table().read(reader, *term.get());
    if (term->has_parameters()) reader.accept({"@variables"});  // of a model file
    term->complete(reader, config);
    reader.finish();
    terms.push_back(std::move(term));
  }
  return terms;
}

bool has_term(const std::vector<AnyEnergyTermConfig> &terms, const std::string &type)
{
  return std::any_of(terms.begin(), terms.end(),
                     [&](const auto &term) { return term->type() == type; });
}

AnyEnergyTermConfig term_of(const NewCharges &charges, const ModelConfig &config)
{
  nlohmann::json term{{"type", "charges"}, {"kind", "environment"}, {"total", charges.total}};
  if (charges.kind == NewCharges::Kind::fixed) {
    std::vector<std::string> named;
    for (const auto &[element, charge] : charges.values) named.push_back(element);
    std::vector<std::string> elements = config.type_map;
    std::sort(elements.begin(), elements.end());
    if (named != elements)
      throw Error(fmt::format("charges {}: the elements of the model are {}: give each of them a "
                              "charge, 0 where there is none",
                              joined(named), joined(config.type_map)));
    term["kind"] = "fixed";
    term["values"] = charges.values;
  }
  const nlohmann::json model{{"terms", {term}}};
  JsonReader reader(model, "charges");
  return read_terms(reader, "terms", config).at(0);
}

OrderedJson written_terms(const std::vector<AnyEnergyTermConfig> &terms)
{
  if (terms.empty()) return {};
  OrderedJson list = OrderedJson::array();
  for (const AnyEnergyTermConfig &term : terms) {
    OrderedJson item{{"type", term->type()}};
    term->table().write(*term.get(), item);
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace dptrain
