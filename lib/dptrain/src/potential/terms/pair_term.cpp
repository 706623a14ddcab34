#include "potential/terms/pair_term.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "input/model_keys.h"

namespace dptrain {

template <class Real>
PairTerm<Real>::PairTerm(int ntypes, double cutoff, const std::vector<double> &reach) :
    ntypes_(ntypes)
{
  constexpr double dense = 0.1;  // atoms per cubic Angstrom
  limits_.rcut = cutoff;
  limits_.usual_neighbors = std::max(16, static_cast<int>(dense * 4.2 * cutoff * cutoff * cutoff));
  std::vector<Real> squared;
  for (const double distance : reach) squared.push_back(static_cast<Real>(distance * distance));
  reach_squared_.copy_from(squared);
}

template <class Real>
void PairTerm<Real>::value(int type, const EdgeChunk<Real> &edges, bool /*train*/, State &state,
                           double *energies)
{
  auto &own = static_cast<PairState &>(state);
  add_pairs(type, edges.edges(), reach_squared_.data() + row(type), energies,
            {own.slope.resize(edges.num_slots()), own.inside.resize(edges.edges().num_centers)});
}

template <class Real>
void PairTerm<Real>::reverse(int /*type*/, const EdgeChunk<Real> &edges, const Real *seeds,
                             State &state, const kernels::ForceSums *sums)
{
  auto &own = static_cast<PairState &>(state);
  if (sums)
    kernels::add_pair_forces(edges.edges(), {own.slope.data(), own.inside.data()}, seeds, *sums);
}

template class PairTerm<double>;
template class PairTerm<float>;

void PairTermConfig::complete(JsonReader &section, const ModelConfig &model)
{
  const auto &known = model.type_map;
  for (const auto &pair : pairs)
    for (const std::string &element : pair)
      if (std::find(known.begin(), known.end(), element) == known.end())
        section.fail("pairs", fmt::format("names {}, which is none of type_map: use {}", element,
                                          joined(known)));
}

bool PairTermConfig::acts_on(const std::string &a, const std::string &b) const
{
  using Pair = std::array<std::string, 2>;
  return pairs.empty() || std::any_of(pairs.begin(), pairs.end(), [&](const Pair &pair) {
           return pair == Pair{a, b} || pair == Pair{b, a};
         });
}

std::vector<double> PairTermConfig::reach(const std::vector<std::string> &elements) const
{
  std::vector<double> reach;
  for (const std::string &a : elements)
    for (const std::string &b : elements) reach.push_back(acts_on(a, b) ? cutoff() : 0.0);
  return reach;
}

std::string PairTermConfig::text_of_pairs() const
{
  std::string text;
  for (const auto &[a, b] : pairs) text += fmt::format(", {}-{}", a, b);
  return text;
}

std::vector<std::array<std::string, 2>> PairTermConfig::read_element_pairs(JsonReader &section,
                                                                           const std::string &key)
{
  const nlohmann::json *value = section.find(key);
  const auto is_pair = [](const nlohmann::json &item) {
    return item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_string();
  };
  if (!value->is_array() || !std::all_of(value->begin(), value->end(), is_pair))
    section.expected(key, "a list of pairs of elements, such as [[\"Si\", \"O\"]]");
  return value->get<std::vector<std::array<std::string, 2>>>();
}

}  // namespace dptrain
