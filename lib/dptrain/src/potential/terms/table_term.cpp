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
  double cutoff() const override { return table_.distance.back(); }
  std::string text() const override
  {
    const std::uint64_t hash =
        hash_of(table_.force, hash_of(table_.energy, hash_of(table_.distance)));
    return fmt::format("table of {} rows to {:g} Angstrom (numbers {:08x}){}",
                       table_.distance.size(), cutoff(), hash & 0xffffffff, text_of_pairs());
  }
  // The numbers of the file take its place where the settings are written.
  const Keys<EnergyTermConfig> &table() const override
  {
    using K = Key<EnergyTermConfig>;
    using C = TableConfig;
    const auto numbers = [](std::vector<double> PairTable::*member) {
      return [member](EnergyTermConfig &config) -> std::vector<double> & {
        return static_cast<C &>(config).table_.*member;
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
        name("file", &C::file),
        name("keyword", &C::keyword),
        K("pairs", &C::pairs, read_element_pairs),
        K("distance", numbers(&PairTable::distance), Plain()),
        K("energy", numbers(&PairTable::energy), Plain()),
        K("force", numbers(&PairTable::force), Plain()),
    };
    return keys;
  }
  void complete(JsonReader &section, const ModelConfig &model) override
  {
    const bool has_rows = section.has("distance");
    if (has_rows == section.has("file"))
      section.fail("file", "give it, or the numbers distance, energy and force");
    try {
      if (!has_rows) table_ = read_pair_table(file, keyword);
      const std::size_t rows = table_.distance.size();
      if (rows < 4 || table_.energy.size() != rows || table_.force.size() != rows)
        throw Error("distance, energy and force must have the same number of rows, at least 4");
      check_pair_table(table_, has_rows ? "the table" : file);
    } catch (const Error &error) {
      section.fail(has_rows ? "distance" : "file", error.what());
    }
    file.clear();
    keyword.clear();
    PairTermConfig::complete(section, model);
  }
  const PairTable &rows() const { return table_; }

 private:
  std::string file, keyword;
  PairTable table_;
};

template <class Real> class TableTerm final : public PairTerm<Real> {
 public:
  TableTerm(const ModelData &data, const TableConfig &config) :
      ntypes_(data.config.ntypes()), cutoff_(config.cutoff())
  {
    const PairTable rows = on_equal_steps(config.rows());
    const std::size_t number = rows.distance.size();
    std::vector<double> knots;
    for (std::size_t k = 0; k < number; ++k)
      knots.insert(knots.end(), {rows.energy[k], -rows.force[k]});
    // a distance that is rounded up to the cutoff reads one more
    knots.insert(knots.end(), {0.0, 0.0});
    knots_.copy_from(knots);
    kernels::PairSpline spline{rows.distance.front(), rows.distance.back(), 0.0, knots_.data()};
    spline.step = (spline.end - spline.begin) / static_cast<double>(number - 1);
    std::vector<kernels::PairSpline> functions;
    std::vector<Real> reach_squared;
    for (const std::string &a : data.config.type_map)
      for (const std::string &b : data.config.type_map) {
        const double reach = config.acts_on(a, b) ? spline.end : 0.0;
        functions.push_back(spline);
        reach_squared.push_back(static_cast<Real>(reach * reach));
      }
    functions_.copy_from(functions);
    reach_squared_.copy_from(reach_squared);
  }
  std::optional<EdgeLimits> edge_limits() const override { return EdgeLimits{cutoff_}; }

 private:
  void add_pairs(int type, const kernels::Edges<Real> &edges, double *energies,
                 const kernels::PairSlopes &slopes) override
  {
    const long row = static_cast<long>(type) * ntypes_;
    kernels::add_pair_splines(edges, functions_.data() + row, reach_squared_.data() + row, energies,
                              slopes);
  }

  const int ntypes_;
  const double cutoff_;
  kernels::Array<double> knots_;
  kernels::Array<kernels::PairSpline> functions_;  // [ntypes][ntypes]
  kernels::Array<Real> reach_squared_;             // the same
};

}  // namespace

std::unique_ptr<const EnergyTermType> make_table_type()
{
  return std::make_unique<PairTermType<TableConfig, TableTerm>>();
}

}  // namespace dptrain
