#include "potential/terms/energy_term_type.h"

#include <fmt/format.h>
#include <type_traits>

#include "base/advice.h"
#include "potential/terms/charge_term.h"
#include "potential/terms/nep_zbl_term.h"
#include "potential/terms/table_term.h"
#include "potential/terms/zbl_term.h"

namespace dptrain {

namespace {

using Types = std::vector<std::unique_ptr<const EnergyTermType>>;

Types made_here()
{
  Types types;
  types.push_back(make_zbl_type());
  types.push_back(make_table_type());
  types.push_back(make_charge_type());
  types.push_back(make_nep_zbl_type());
  return types;
}

/// All kinds there are.
Types &energy_term_types()
{
  static Types types = made_here();
  return types;
}

std::vector<ParameterBlock> blocks_of(std::size_t number, const std::vector<ParameterBlock> &all)
{
  std::vector<ParameterBlock> own;
  for (const ParameterBlock &block : all)
    if (block.name.starts_with(place_of_term(number) + "/")) own.push_back(block);
  return own;
}

const EnergyTermType &type_of(const EnergyTermConfig &config)
{
  if (const EnergyTermType *type = find_energy_term_type(config.type())) return *type;
  throw internal_error(fmt::format("the term {} is not known", config.type()));
}

}  // namespace

const EnergyTermType *find_energy_term_type(const std::string &name)
{
  for (const auto &type : energy_term_types())
    if (type->name() == name) return type.get();
  return nullptr;
}

void add_energy_term_type(std::unique_ptr<const EnergyTermType> type)
{
  energy_term_types().push_back(std::move(type));
}

std::unique_ptr<EnergyTermConfig> make_energy_term_config(const std::string &name)
{
  const EnergyTermType *type = find_energy_term_type(name);
  return type ? type->make_config() : nullptr;
}

std::vector<std::string> energy_term_names()
{
  std::vector<std::string> names;
  for (const auto &type : energy_term_types()) names.push_back(type->name());
  return names;
}

std::string place_of_term(std::size_t number)
{
  return fmt::format("/model/terms/{}/@variables", number);
}

void add_term_blocks(const ModelConfig &model, std::vector<ParameterBlock> &blocks)
{
  for (std::size_t k = 0; k < model.terms.size(); ++k) {
    const EnergyTermConfig &own = *model.terms[k].get();
    std::size_t next = blocks.size();
    type_of(own).add_blocks(model, own, place_of_term(k), blocks);
    for (; next < blocks.size(); ++next)
      blocks[next].offset = next == 0 ? 0 : blocks[next - 1].offset + blocks[next - 1].size;
  }
}

void draw_term(const ModelConfig &model, const ParameterBlock &block, RandomEngine &engine,
               double *values)
{
  for (std::size_t k = 0; k < model.terms.size(); ++k) {
    const EnergyTermConfig &own = *model.terms[k].get();
    if (block.name.starts_with(place_of_term(k) + "/"))
      return type_of(own).draw(model, own, block, engine, values);
  }
  throw internal_error(fmt::format("no term has the parameters {}", block.name));
}

template <class Real>
std::vector<std::unique_ptr<EnergyTerm<Real>>>
make_energy_terms(const ModelData &data, const std::vector<ParameterBlock> &blocks)
{
  std::vector<std::unique_ptr<EnergyTerm<Real>>> terms;
  for (std::size_t k = 0; k < data.config.terms.size(); ++k) {
    const EnergyTermConfig &own = *data.config.terms[k].get();
    const std::vector<ParameterBlock> own_blocks = blocks_of(k, blocks);
    std::unique_ptr<EnergyTerm<Real>> term;
    if constexpr (std::is_same_v<Real, double>)
      term = type_of(own).make_double(data, own, own_blocks);
    else
      term = type_of(own).make_single(data, own, own_blocks);
    if (term) terms.push_back(std::move(term));
  }
  return terms;
}

std::vector<std::unique_ptr<GlobalTerm>> make_global_terms(const ModelData &data)
{
  std::vector<std::unique_ptr<GlobalTerm>> terms;
  for (const AnyEnergyTermConfig &own : data.config.terms)
    if (auto term = type_of(*own.get()).make_global(data, *own.get()))
      terms.push_back(std::move(term));
  return terms;
}

template std::vector<std::unique_ptr<EnergyTerm<double>>>
make_energy_terms(const ModelData &, const std::vector<ParameterBlock> &);
template std::vector<std::unique_ptr<EnergyTerm<float>>>
make_energy_terms(const ModelData &, const std::vector<ParameterBlock> &);

}  // namespace dptrain
