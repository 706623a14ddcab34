// Terms of the energy that are sums over pairs: ZBL and tables.
#include <gtest/gtest.h>

#include <cmath>
#include <fmt/format.h>

#include "dptrain/potential/files/model_file.h"
#include "input/model_keys.h"
#include "io/file.h"
#include "kernels/workers.h"
#include "potential/native/deep_pot.h"
#include "potential/native/net_term.h"
#include "potential/terms/energy_term_type.h"
#include "support/all_ways.h"
#include "support/energy_derivatives.h"
#include "support/kernel_data.h"
#include "support/power_spectrum_model.h"
#include "support/scratch.h"
#include "support/seeded_sum.h"
#include "support/tiny_model.h"
#include "support/two_atoms.h"

namespace dptrain::test {
namespace {

using nlohmann::json;

constexpr double RCUT = 3.2;

/// A potential for Si and O with these terms, as an input has them.
ModelData model_data(const json &terms)
{
  ModelData data = power_spectrum_model(2, small_power_spectrum(), RCUT);
  data.config.type_map = {"Si", "O"};
  const json model{{"type_map", {"Si", "O"}}, {"terms", terms}};
  JsonReader reader(model, "input.json", "model");
  read_type_keys(reader, data.config);
  return data;
}

/// The energy of two atoms, without that of the net.
double pair_energy(const json &terms, int a, int b, double r)
{
  const Cluster atoms = dimer(a, b, r);
  DeepPot with(model_data(terms)), without(model_data(json::array()));
  return evaluate(with, atoms.domain()).energy - evaluate(without, atoms.domain()).energy;
}

const json zbl = json::parse(R"([{"type": "zbl", "inner": 0.9, "outer": 1.9}])");

/// A table of a function that ends smoothly at 4.5 Angstrom.
double tabled(double r)
{
  const double y = std::max(0.0, 1.0 - r * r / 20.25);
  return 8.0 * std::exp(-1.5 * r) * std::cos(2.0 * r) * y * y * y;
}
double tabled_slope(double r)
{
  constexpr double h = 1e-6;
  return (tabled(r + h) - tabled(r - h)) / (2 * h);
}
std::string table_text(const std::string &name, int rows, double power = 1.0)
{
  std::string text = fmt::format("# a table, UNITS: metal\n\n{}\nN {}\n\n", name, rows);
  for (int k = 0; k < rows; ++k) {
    const double r = 0.5 + 4.0 * std::pow(k / (rows - 1.0), power);
    text += fmt::format("{} {:.15g} {:.15g} {:.15g}\n", k + 1, r, tabled(r), -tabled_slope(r));
  }
  return text;
}
json table_in(const Scratch &scratch, const std::string &text, const json &keys = json::object())
{
  write_file(scratch / "pairs.table", text);
  json term{{"type", "table"}, {"file", scratch / "pairs.table"}};
  term.update(keys);
  return json::array({term});
}

TEST(PairTerms, ZblIsTheRepulsionOfTheNucleiBelowInner)
{
  const int charge[] = {14, 8};
  for (const auto &[a, b] : {std::pair{0, 0}, {0, 1}, {1, 0}, {1, 1}}) {
    const auto rest = [&](double r) {
      return pair_energy(zbl, a, b, r) - zbl_by_definition(charge[a], charge[b], r);
    };
    for (const double r : {0.2, 0.5, 0.89})
      EXPECT_NEAR(rest(r), rest(0.7), 1e-10 * zbl_by_definition(14, 14, r));
    EXPECT_EQ(pair_energy(zbl, a, b, 1.91), 0.0);
    EXPECT_GT(pair_energy(zbl, a, b, 1.5), 0.0);
  }
}

// Value, slope and curvature end at outer, and nothing jumps at inner: a smooth function has differences of the order of h^3.
TEST(PairTerms, ZblEndsSmoothly)
{
  const auto e = [](double r) { return pair_energy(zbl, 0, 1, r); };
  constexpr double h = 1e-3;
  EXPECT_LT(std::abs(e(1.9 - h)), 1e-6);
  for (const double place : {0.9, 1.9}) {
    const double third = e(place + 1.5 * h) - 3.0 * e(place + 0.5 * h) + 3.0 * e(place - 0.5 * h) -
                         e(place - 1.5 * h);
    EXPECT_LT(std::abs(third), 1e-5) << place;
  }
}

TEST(PairTerms, ActOnThePairsThatAreNamed)
{
  json named = zbl;
  named[0]["pairs"] = json::parse(R"([["O", "Si"]])");
  EXPECT_EQ(pair_energy(named, 0, 1, 1.0), pair_energy(zbl, 0, 1, 1.0));
  EXPECT_EQ(pair_energy(named, 1, 0, 1.0), pair_energy(zbl, 1, 0, 1.0));
  EXPECT_EQ(pair_energy(named, 0, 0, 1.0), 0.0);
  EXPECT_EQ(pair_energy(named, 1, 1, 1.0), 0.0);
  // several terms add up
  json both = named;
  both.push_back(zbl[0]);
  EXPECT_NEAR(pair_energy(both, 0, 1, 1.0), 2.0 * pair_energy(zbl, 0, 1, 1.0), 1e-10);
}

// Cubic splines: at the rows the numbers themselves, between them an error of h^4 / 384 times the fourth derivative, 4000 here.
TEST(PairTerms, TablesAreInterpolated)
{
  const Scratch scratch;
  for (const double power : {1.0, 1.3}) {
    const json terms = table_in(scratch, table_text("SI_O", 401, power));
    for (const double r : {0.5, 0.51, 0.777, 1.5, 2.3, 3.7, 4.2, 4.499})
      EXPECT_NEAR(pair_energy(terms, 0, 1, r), tabled(r), 4e-7) << power << ' ' << r;
    EXPECT_EQ(pair_energy(terms, 0, 1, 4.51), 0.0);
    // below the first row a straight line
    EXPECT_NEAR(pair_energy(terms, 0, 1, 0.3), tabled(0.5) - 0.2 * tabled_slope(0.5), 1e-7);
  }
  // with distances by R
  const std::string text =
      "A\nN 5 R 1.0 3.0\n\n1 1.0001 1 4\n2 1.5001 0.1 0.2\n3 2 0.01 0.02\n4 2.5 0 0\n5 3 0 0\n";
  EXPECT_NEAR(pair_energy(table_in(scratch, text), 0, 0, 1.5), 0.1, 1e-12);
}

// It reaches beyond the cutoff of the net, 3.2 Angstrom.
TEST(PairTerms, HaveCutoffsOfTheirOwn)
{
  const Scratch scratch;
  const json terms = table_in(scratch, table_text("A", 400));
  DeepPot model(model_data(terms));
  EXPECT_EQ(model.cutoff(), 4.5);
  EXPECT_EQ(model.data().config.rcut, RCUT);
  EXPECT_NEAR(pair_energy(terms, 0, 1, 3.9), tabled(3.9), 4e-7);
  EXPECT_EQ(DeepPot(model_data(zbl)).cutoff(), RCUT);
}

json both_terms(const Scratch &scratch)
{
  json terms = table_in(scratch, table_text("A", 400),
                        json::parse(R"({"pairs": [["Si", "O"], ["O", "O"]]})"));
  terms.push_back(zbl[0]);
  return terms;
}

TEST(PairTerms, ForcesAndVirialAreDerivativesOfTheEnergy)
{
  const Scratch scratch;
  ModelData data = model_data(both_terms(scratch));
  data.config.pair_exclude_types = {{0, 1}};  // of the net alone
  DeepPot model(data);
  model.set_chunk(7);
  model.set_walls(Walls(2, 1.4));
  // steps of 1e-5 leave 1e-10 times third derivatives of 10^4
  expect_energy_derivatives(model, Cluster(20, 2, 4.0, 1.0), 1e-5, 1e-4);
}

TEST(PairTerms, ParameterGradientDoesNotSeeThem)
{
  const Scratch scratch;
  DeepPot with(model_data(both_terms(scratch))), without(model_data(json::array()));
  const Cluster atoms(20, 2, 4.5);
  const Domain domain = atoms.domain();
  const SeededSum sum(domain);
  const auto gradient = [&](DeepPot &model) {
    model.set_chunk(7);
    return gradient_of(model, &domain, 1, &sum.seed());
  };
  expect_same_sums(gradient(with), gradient(without));
}

TEST(PairTerms, AreTheSameInAllWays)
{
  const Scratch scratch;
  DeepPot model(model_data(both_terms(scratch)));
  expect_same_in_all_ways(model, Cluster(40, 2, 5.0, 0.9), 100.0);
}

TEST(PairTerms, AreKeptInFiles)
{
  const Scratch scratch;
  const ModelData data = model_data(both_terms(scratch));
  write_dp(scratch / "a.dp", data);
  const ModelData read = read_dp(scratch / "a.dp");
  ASSERT_EQ(read.config.terms.size(), 2u);
  EXPECT_EQ(model_differences(read, data), "");
  EXPECT_EQ(read.config.terms[1]->text(), "zbl from 0.9 to 1.9 Angstrom");
  const Cluster atoms(20, 2, 4.0);
  EXPECT_EQ(evaluate(*make_deep_pot(read), atoms.domain()).energy,
            evaluate(*make_deep_pot(data), atoms.domain()).energy);
  // programs that do not know them refuse the file
  EXPECT_NE(read_file(scratch / "a.dp").find("\"@version\":4,\"type_map\""), std::string::npos);
  write_dp(scratch / "b.dp", model_data(json::array()));
  EXPECT_NE(read_file(scratch / "b.dp").find("\"@version\":2,\"type_map\""), std::string::npos);
}

TEST(PairTerms, DistinguishModels)
{
  const Scratch scratch;
  const ModelData some = model_data(zbl), none = model_data(json::array());
  EXPECT_EQ(model_differences(some, none),
            "terms is zbl from 0.9 to 1.9 Angstrom there and none here");
  const ModelData first = model_data(table_in(scratch, table_text("A", 100))),
                  second = model_data(table_in(scratch, table_text("A", 101)));
  expect_in("table of 100 rows to 4.5 Angstrom", model_differences(first, second));
}

TEST(PairTerms, BadInputIsRefused)
{
  const Scratch scratch;
  const auto refused = [](const std::string &terms, const std::string &place,
                          const std::string &message) {
    const std::string text = message_of([&] { model_data(json::parse(terms)); });
    expect_in("input.json: model/terms" + place, text);
    expect_in(message, text);
  };
  refused(R"({"type": "zbl"})", "", "expected a list of terms");
  refused(R"([3])", "", "an object with a type");
  refused(R"([{"inner": 1}])", "/0/type", "is missing: give one of zbl table charges");
  refused(R"([{"type": "lj"}])", "/0/type",
          "term \"lj\" is not in this version; use one of zbl table charges");
  refused(R"([{"type": "zbl", "outer": 2}])", "/0/inner",
          "is missing: give a distance in Angstrom");
  refused(R"([{"type": "zbl", "inner": 2, "outer": 2}])", "/0/outer",
          "must be larger than inner (2); found 2");
  refused(R"([{"type": "zbl", "inner": 1, "outer": 2, "pairs": [["Si", "C"]]}])", "/0/pairs",
          "names C, which is none of type_map: use Si O");
  refused(R"([{"type": "zbl", "inner": 1, "outer": 2, "pairs": ["Si"]}])", "/0/pairs",
          "a list of pairs of elements");
  refused(R"([{"type": "zbl", "inner": 1, "outer": 2, "cut": 1}])", "/0/cut", "");
  refused(R"([{"type": "table"}])", "/0/file", "give it, or the numbers");
  refused(R"([{"type": "table", "file": "/nowhere/a.table"}])", "/0/file", "/nowhere/a.table");
  const auto table_refused = [&](const std::string &text, const std::string &message,
                                 const json &keys = json::object()) {
    const json terms = table_in(scratch, text, keys);
    refused(terms.dump(), "/0/file", message);
  };
  const std::string good = table_text("A", 50);
  table_refused("# nothing\n", "has no table: give a file of LAMMPS' pair_style table");
  table_refused(good + table_text("B", 50), "has the tables A B: give one of them as keyword");
  table_refused(good, "has no table C: use one of A", {{"keyword", "C"}});
  table_refused(good + good, "there is a second table A");
  table_refused("# UNITS: real\n" + good, "its units are real");
  table_refused("A\nN 50\n\n1 1 2 3\n", "ends in the middle of a table");
  table_refused("A\nN 4\n\n1 1 2\n",
                "pairs.table:4: expected a row of number, distance, energy and force");
  table_refused("A\nN 4\n\n1 1 x 3\n", "expected a number, found x");
  table_refused("A\nN 4 BITMAP 1 2\n", "found BITMAP");
  table_refused("A\nN 2\n", "N is the number of rows, from 4 to 100000; found 2");
  table_refused("A\nN 4\n\n1 1 3 2\n2 2 1 2\n3 3 0 0\n4 4 0 0\n5 5 0 0\n",
                "there are more rows than N says");
  table_refused("A\nN 4 R 1 5\n\n1 1 3 2\n2 2 1 2\n3 3 0 0\n4 4 0 0\n",
                "the distance 2 is 2.33333 by R in the header");
  table_refused("A\nN 4\n\n1 1 3 2\n2 2 1 2\n3 2 0 0\n4 3 0 0\n", "distances must ascend");
  table_refused("A\nN 4\n\n1 1 3 -2\n2 2 1 -2\n3 3 0 0\n4 4 0 0\n",
                "forces are not minus the slope");
  table_refused("A\nN 4\n\n1 1 3 1\n2 2 2 1\n3 3 1 1\n4 4 0.5 0.5\n",
                "ends at 4 Angstrom with an energy of 0.5 eV and a force of 0.5");
  refused(R"([{"type": "table", "distance": [1, 2]}])", "/0/distance",
          "found 2 distances, 0 energies");
  refused(R"([{"type": "table", "file": "a", "energy": [1, 2]}])", "/0/file",
          "give it, or the numbers");
  refused(R"([{"type": "table", "distance": [1, 2], "keyword": "a"}])", "/0/keyword",
          "is of a file");
  {
    const json model{{"type_map", {"Si", "O"}}, {"terms", zbl}, {"atom_exclude_types", {1}}};
    JsonReader reader(model, "input.json", "model");
    ModelConfig config;
    expect_in("model/terms: cannot be used with atom_exclude_types",
              message_of([&] { read_type_keys(reader, config); }));
  }
  ModelData letters = power_spectrum_model();
  const json model{{"type_map", {"A", "B"}}, {"terms", zbl}};
  JsonReader reader(model, "input.json", "model");
  expect_in("A in type_map is no element",
            message_of([&] { read_type_keys(reader, letters.config); }));
}

/// Forces of sum_i seeds_i E_i by a term, over all atoms of a cluster.
Vec seeded_forces(EnergyTerm<double> &term, const Cluster &atoms, const Vec &seeds)
{
  const Domain domain = atoms.domain();
  const int ntypes = 2, natoms = domain.nall;
  FrameSet frames;
  const EdgeLimits limits = *term.edge_limits();
  frames.set(&domain, 1, std::vector<char>(ntypes, 0), false,
             kernels::separate_memory() ? limits.rcut : 0.0);
  kernels::ForceSums sums;
  auto force = zeros<double>(3L * natoms * kernels::workers()),
       virial = zeros<double>(9L * kernels::workers());
  sums.force = force.data();
  sums.virial = virial.data();
  sums.copies = kernels::workers();
  sums.atoms = natoms;
  sums.frames = 1;
  EdgeFinder finder(ntypes, limits);
  term.begin_sweep();
  for (int type = 0; type < ntypes; ++type) {
    const auto &centers = frames.centers(type);
    const int n = static_cast<int>(centers.size());
    Vec own;
    for (const auto &center : centers) own.push_back(seeds[center.atom]);
    EdgeChunk<double> edges;
    do {
      finder.begin_sweep();
      finder.find(frames, type, 0, n, edges);
    } while (!finder.end_sweep(frames));
    const auto state = term.make_state();
    auto energies = zeros<double>(n);
    const auto in_kernel = in_kernels<double>(own);
    term.value(type, edges, false, *state, energies.data());
    term.reverse(type, edges, in_kernel.data(), *state, &sums);
  }
  kernels::sum_copies(force.data(), 3L * natoms, {kernels::workers(), 3L * natoms});
  Vec all = to_host(force);
  all.resize(3L * natoms);
  return all;
}

// What a term of the energies of several others will need: the net's and the pairs' forces of a weighted sum of energies.
TEST(EnergyTerms, ReverseTakesSeedsOfCenters)
{
  const Scratch scratch;
  ModelData data = model_data(both_terms(scratch));
  Cluster atoms(15, 2, 4.0, 1.0);
  Vec seeds;
  for (std::size_t i = 0; i < atoms.type.size(); ++i) seeds.push_back(std::sin(1.0 + i));
  const auto blocks = parameter_index(data.config);
  const auto parameters = in_kernels<double>(data.parameters);
  NetTerm<double> net(data);
  net.prepare(parameters.data());
  Vec found = seeded_forces(net, atoms, seeds);
  for (const auto &term : make_energy_terms<double>(data, blocks)) {
    const Vec more = seeded_forces(*term, atoms, seeds);
    for (std::size_t k = 0; k < found.size(); ++k) found[k] += more[k];
  }
  DeepPot model(data);
  const auto weighted = [&] {
    const Result r = evaluate(model, atoms.domain());
    double sum = 0.0;
    for (std::size_t i = 0; i < seeds.size(); ++i) sum += seeds[i] * r.atom_energy[i];
    return sum;
  };
  constexpr double h = 1e-5;
  for (std::size_t k = 0; k < found.size(); ++k) {
    const double x = atoms.x[k];
    atoms.x[k] = x + h;
    const double up = weighted();
    atoms.x[k] = x - h;
    const double down = weighted();
    atoms.x[k] = x;
    EXPECT_NEAR(found[k], -(up - down) / (2 * h), 1e-5) << k;
  }
}

}  // namespace
}  // namespace dptrain::test
