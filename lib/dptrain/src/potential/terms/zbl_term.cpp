#include "potential/terms/zbl_term.h"

#include <fmt/format.h>

#include "dptrain/base/elements.h"
#include "input/model_keys.h"
#include "kernels/memory.h"
#include "kernels/pair_functions.h"
#include "potential/terms/nuclei.h"
#include "potential/terms/pair_term_type.h"

namespace dptrain {

namespace {

class ZblConfig final : public PairTermConfig {
 public:
  std::string type() const override { return "zbl"; }
  std::unique_ptr<EnergyTermConfig> clone() const override
  {
    return std::make_unique<ZblConfig>(*this);
  }
  double cutoff() const override { return outer.value(); }
  std::string text() const override
  {
    return fmt::format("zbl from {:.15g} to {:.15g} Angstrom{}", *inner, *outer, text_of_pairs());
  }
  const Keys<EnergyTermConfig> &table() const override
  {
    using K = Key<EnergyTermConfig>;
    static const Keys<EnergyTermConfig> keys{
        K("inner", &ZblConfig::inner, not_negative),
        K("outer", &ZblConfig::outer, positive_length),
        K("pairs", &ZblConfig::pairs, read_element_pairs),
    };
    return keys;
  }
  void complete(JsonReader &section, const ModelConfig &model) override
  {
    if (!inner) section.fail("inner", "is missing: give a distance in Angstrom");
    if (!outer) section.fail("outer", "is missing: give a distance in Angstrom");
    if (!(*inner < *outer))
      section.fail("outer",
                   fmt::format("must be larger than inner ({:g}); found {:g}", *inner, *outer));
    PairTermConfig::complete(section, model);
    for (const std::string &a : model.type_map)
      for (const std::string &b : model.type_map)
        if (acts_on(a, b) && element_symbol(atomic_number(a)).empty())
          section.fail("type", fmt::format("zbl is of nuclei, and {} in type_map is no element: "
                                           "give pairs without it",
                                           a));
  }

  std::optional<double> inner, outer;  ///< Angstrom
};

template <class Real> class ZblTerm final : public PairTerm<Real> {
 public:
  ZblTerm(const ModelData &data, const ZblConfig &config) :
      PairTerm<Real>(data.config.ntypes(), config.cutoff(), config.reach(data.config.type_map))
  {
    std::vector<kernels::Zbl> functions;
    for (const std::string &a : data.config.type_map)
      for (const std::string &b : data.config.type_map) {
        const Nuclei nuclei = nuclei_of(a, b);
        functions.push_back(
            kernels::smooth_zbl(nuclei.charges, nuclei.screening, *config.inner, *config.outer));
      }
    functions_.copy_from(functions);
  }

 private:
  void add_pairs(int type, const kernels::Edges<Real> &edges, const Real *reach_squared,
                 double *energies, const kernels::PairSlopes &slopes) override
  {
    kernels::add_zbl(edges, functions_.data() + this->row(type), reach_squared, energies, slopes);
  }

  kernels::Array<kernels::Zbl> functions_;  // [ntypes][ntypes]
};

}  // namespace

std::unique_ptr<const EnergyTermType> make_zbl_type()
{
  return std::make_unique<PairTermType<ZblConfig, ZblTerm>>();
}

}  // namespace dptrain
