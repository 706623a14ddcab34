#include "potential/terms/table_term.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "dptrain/base/error.h"
#include "input/model_keys.h"
#include "kernels/memory.h"
#include "kernels/pair_functions.h"
#include "potential/terms/pair_table.h"
#include "potential/terms/pair_term_type.h"

namespace dptrain {

namespace {

class TableConfig final : public PairTermConfig {
 public:
  std::string type() const override { return "table"; }
  std::unique_ptr<EnergyTermConfig> clone() const override
  {
    return std::make_unique<TableConfig>(*this);
  }
  double cutoff() const override { return rows_.distance.back(); }
  std::string text() const override
  {
    const std::uint64_t hash = hash_of(rows_.force, hash_of(rows_.energy, hash_of(rows_.distance)));
    return fmt::format("table of {} rows to {:.9g} Angstrom (numbers {:08x}){}",
                       rows_.distance.size(), cutoff(), hash & 0xffffffff, text_of_pairs());
  }
  // The numbers of the file take its place where the settings are written.
  const Keys<EnergyTermConfig> &table() const override
  {
    using K = Key<EnergyTermConfig>;
    using C = TableConfig;
    const auto numbers = [](std::vector<double> PairTable::*member) {
      return [member](EnergyTermConfig &config) -> std::vector<double> & {
        return static_cast<C &>(config).rows_.*member;
      };
    };
    const auto name = [](const char *key, std::string C::*member) {
      return K(
          key,
          K::Read([member](JsonReader &section, const std::string &own, EnergyTermConfig &config) {
            static_cast<C &>(config).*member = section.text(own, "");
          }),
          K::Write([](const EnergyTermConfig &) { return OrderedJson(); }));
    };
    static const Keys<EnergyTermConfig> keys{
        name("file", &C::file_),
        name("keyword", &C::keyword_),
        K("pairs", &C::pairs, read_element_pairs),
        K("distance", numbers(&PairTable::distance), Plain()),
        K("energy", numbers(&PairTable::energy), Plain()),
        K("force", numbers(&PairTable::force), Plain()),
    };
    return keys;
  }
  void complete(JsonReader &section, const ModelConfig &model) override
  {
    const bool has_rows = section.has("distance") || section.has("energy") || section.has("force");
    if (has_rows == section.has("file"))
      section.fail("file", "give it, or the numbers distance, energy and force");
    if (has_rows && section.has("keyword"))
      section.fail("keyword", "is of a file: remove it, or give file in place of the numbers");
    try {
      if (!has_rows) rows_ = read_pair_table(file_, keyword_);
      check_pair_table(rows_, has_rows ? "the table" : file_);
    } catch (const Error &error) {
      section.fail(has_rows ? "distance" : "file", error.what());
    }
    file_.clear();
    keyword_.clear();
    PairTermConfig::complete(section, model);
  }
  const PairTable &rows() const { return rows_; }

 private:
  std::string file_, keyword_;  // until they are read
  PairTable rows_;
};

template <class Real> class TableTerm final : public PairTerm<Real> {
 public:
  TableTerm(const ModelData &data, const TableConfig &config) :
      PairTerm<Real>(data.config.ntypes(), config.cutoff(), config.reach(data.config.type_map))
  {
    const PairTable rows = on_equal_steps(config.rows());
    const std::size_t number = rows.distance.size();
    std::vector<double> knots;
    for (std::size_t k = 0; k < number; ++k)
      knots.insert(knots.end(), {rows.energy[k], -rows.force[k]});
    knots_.copy_from(knots);
    spline_.begin = rows.distance.front();
    spline_.intervals = static_cast<int>(number - 1);
    spline_.step = (rows.distance.back() - spline_.begin) / spline_.intervals;
    spline_.knots = knots_.data();
  }

 private:
  void add_pairs(int /*type*/, const kernels::Edges<Real> &edges, const Real *reach_squared,
                 double *energies, const kernels::PairSlopes &slopes) override
  {
    kernels::add_pair_spline(edges, spline_, reach_squared, energies, slopes);
  }

  kernels::Array<double> knots_;
  kernels::PairSpline spline_;
};

}  // namespace

std::unique_ptr<const EnergyTermType> make_table_type()
{
  return std::make_unique<PairTermType<TableConfig, TableTerm>>();
}

}  // namespace dptrain
