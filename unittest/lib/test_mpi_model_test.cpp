// The whole test of a model on data sets: text and files of `dp test`, on as many ranks as there are.

#include <filesystem>
#include <sstream>

#include "dptrain/checkpoint/checkpoint.h"
#include "dptrain/data/dataset_writer.h"
#include "dptrain/kernels/threads.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/native/deep_pot.h"
#include "io/file.h"
#include "support/known_frames.h"

namespace dptrain::test {

namespace {

namespace fs = std::filesystem;

/// Writes frames as systems of a data set below `dir`; frames of one composition are a system.
void write_systems(const std::string &dir, const std::string &name,
                   const std::vector<Known> &frames)
{
  const std::vector<std::string> type_map = load_model(model_of(name))->type_map();
  for (const Known &known : frames) append_to_dataset(dir, type_map, known.frame);
}

struct Lines {
  std::vector<std::string> text;
  Log log()
  {
    return [this](const std::string &line) { text.push_back(line); };
  }
  bool has(const std::string &start) const
  {
    for (const auto &line : text)
      if (line.rfind(start, 0) == 0) return true;
    return false;
  }
};

const std::vector<std::string> suffixes{".e.out",         ".f.out",         ".v.out",
                                        ".e_peratom.out", ".v_peratom.out", ".s.out"};

/// Numbers of a detail file, without its header.
Vec numbers_in(const std::string &path)
{
  const std::string text = read_file(path);
  std::istringstream rest(text.substr(text.find('\n')));
  Vec values;
  for (double x; rest >> x;) values.push_back(x);
  return values;
}

void expect_near(const TestErrors &a, const TestErrors &b, double tolerance)
{
  for (const auto field :
       {&TestErrors::energy, &TestErrors::energy_per_atom, &TestErrors::force, &TestErrors::virial,
        &TestErrors::virial_per_atom, &TestErrors::stress, &TestErrors::atomic_energy}) {
    EXPECT_NEAR((a.*field).mae, (b.*field).mae, tolerance);
    EXPECT_NEAR((a.*field).rmse, (b.*field).rmse, tolerance);
    EXPECT_EQ((a.*field).weight, (b.*field).weight);
    EXPECT_EQ((a.*field).found, (b.*field).found);
  }
}

}  // namespace

TEST(ModelTest, TextOfDpTest)
{
  const SharedScratch scratch;
  scratch.once([&] { write_systems(scratch.path(), "one_side", known_frames("one_side", 6)); });
  TestOptions options;
  options.model = model_of("one_side");
  options.systems = {scratch / "O6H10", scratch / "O3H6_nopbc"};
  Lines lines;
  const TestReport report = run_test(world(), options, lines.log());
  ASSERT_EQ(report.systems.size(), 2u);
  if (world()->rank() != 0) {
    EXPECT_TRUE(lines.text.empty());
    return;
  }
  const auto number = [](double x) {
    std::ostringstream text;
    text << std::scientific << x;
    return text.str();
  };
  std::vector<std::string> expected;
  const auto add_errors = [&](const TestErrors &e, bool virial) {
    const std::string a = "eV/\xc3\x85", a3 = a + "\xc2\xb3";
    expected.push_back("Energy MAE         : " + number(e.energy.mae) + " eV");
    expected.push_back("Energy RMSE        : " + number(e.energy.rmse) + " eV");
    expected.push_back("Energy MAE/Natoms  : " + number(e.energy_per_atom.mae) + " eV");
    expected.push_back("Energy RMSE/Natoms : " + number(e.energy_per_atom.rmse) + " eV");
    expected.push_back("Force  MAE         : " + number(e.force.mae) + " " + a);
    expected.push_back("Force  RMSE        : " + number(e.force.rmse) + " " + a);
    if (!virial) return;
    expected.push_back("Virial MAE         : " + number(e.virial.mae) + " eV");
    expected.push_back("Virial RMSE        : " + number(e.virial.rmse) + " eV");
    expected.push_back("Virial MAE/Natoms  : " + number(e.virial_per_atom.mae) + " eV");
    expected.push_back("Virial RMSE/Natoms : " + number(e.virial_per_atom.rmse) + " eV");
    expected.push_back("Stress MAE         : " + number(e.stress.mae) + " " + a3);
    expected.push_back("Stress RMSE        : " + number(e.stress.rmse) + " " + a3);
  };
  for (const auto &system : report.systems) {
    expected.push_back("# ---------------output of dp test--------------- ");
    expected.push_back("# testing system : " + system.name);
    expected.push_back("# number of test data : 6 ");
    add_errors(system.errors, system.errors.virial.found);
    expected.push_back("# ----------------------------------------------- ");
  }
  expected.push_back("# ----------weighted average of errors----------- ");
  expected.push_back("# number of systems : 2");
  add_errors(report.total, true);
  expected.push_back("# ----------------------------------------------- ");
  EXPECT_EQ(lines.text, expected);
  EXPECT_FALSE(report.systems[1].errors.virial.found) << "a system without a cell";
}

TEST(ModelTest, TotalIsOverAllValues)
{
  const SharedScratch scratch;
  const auto frames = known_frames("one_side", 6);
  scratch.once([&] { write_systems(scratch.path(), "one_side", frames); });
  TestOptions options;
  options.model = model_of("one_side");
  options.systems = {scratch / "O6H10", scratch / "O3H6_nopbc"};
  Lines lines;
  const TestReport report = run_test(world(), options, lines.log());
  for (int k = 0; k < 2; ++k) {
    auto expected = differences_of(only(k == 0, frames));
    EXPECT_EQ(report.systems[k].frames, 6);
    expected["e"].expect(report.systems[k].errors.energy, "energy");
    expected["f"].expect(report.systems[k].errors.force, "force");
  }
  auto expected = differences_of(frames);
  expected["e"].expect(report.total.energy, "energy");
  expected["ea"].expect(report.total.energy_per_atom, "energy per atom");
  expected["f"].expect(report.total.force, "force");
  expected["v"].expect(report.total.virial, "virial");
  expected["s"].expect(report.total.stress, "stress");
  options.numb_test = 2;
  const TestReport less = run_test(world(), options, lines.log());
  const auto some = only(true, frames);
  EXPECT_EQ(less.systems[0].frames, 2);
  differences_of({some[0], some[1]})["f"].expect(less.systems[0].errors.force, "first frames");
}

TEST(ModelTest, NumberOfRanksDoesNotMatter)
{
  const SharedScratch scratch;
  scratch.once([&] {
    write_systems(scratch.path(), "one_side", only(true, known_frames("one_side", 13)));
    write_systems(scratch.path(), "one_side", only(false, known_frames("one_side", 2)));
  });
  TestOptions options;
  options.model = model_of("one_side");
  options.detail_file = scratch / "world.txt";
  options.shuffle = true;
  Lines lines;
  const std::vector<std::vector<std::string>> tests{{scratch / "O6H10"},
                                                    {scratch / "O6H10", scratch / "O3H6_nopbc"}};
  for (const auto &systems : tests) {
    options.systems = systems;
    options.detail_file = scratch / "world.txt";
    const TestReport report = run_test(world(), options, lines.log());
    scratch.once([&] {
      options.detail_file = scratch / "alone";
      const TestReport alone = run_test(make_mpi_communicator(), options, lines.log());
      // the second one is split with four ranks; on a GPU no sum has the same bits twice
      const bool same_bits = systems.size() == 1 && !runs_on_gpu();
      expect_near(report.total, alone.total, same_bits ? 0.0 : 1e-12);
      for (const auto &suffix : suffixes) {
        SCOPED_TRACE(suffix);
        if (same_bits) {
          EXPECT_EQ(read_file(scratch / ("world" + suffix)),
                    read_file(scratch / ("alone" + suffix)));
        }
        const Vec a = numbers_in(scratch / ("world" + suffix));
        const Vec b = numbers_in(scratch / ("alone" + suffix));
        ASSERT_EQ(a.size(), b.size());
        for (std::size_t k = 0; k < a.size(); ++k)
          EXPECT_NEAR(a[k], b[k], 1e-13 * std::max(1.0, std::abs(b[k])));
      }
    });
  }
}

TEST(ModelTest, FormatOfTheDetailFiles)
{
  const SharedScratch scratch;
  auto frames = known_frames("one_side", 1);
  frames[0].frame.label.energy = -0.5;
  scratch.once([&] {
    write_systems(scratch.path(), "one_side", frames);
    write_file(scratch / "d.s.out", "of another test");
  });
  TestOptions options;
  options.model = model_of("one_side");
  options.systems = {scratch / "O3H6_nopbc"};
  options.detail_file = scratch / "d";
  Lines lines;
  run_test(world(), options, lines.log());
  scratch.once([&] { EXPECT_FALSE(fs::exists(scratch / "d.s.out")); });
  options.systems.push_back(scratch / "O6H10");
  run_test(world(), options, lines.log());
  if (world()->rank() != 0) return;
  const std::string name = "# " + options.systems[0] + ": ";
  const auto first_line = [&](const std::string &suffix) {
    const std::string text = read_file(scratch / ("d" + suffix));
    EXPECT_EQ(text.find('#', 1), std::string::npos) << "one header for all systems";
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(first_line(".e.out"), name + "data_e pred_e");
  EXPECT_EQ(first_line(".e_peratom.out"), name + "data_e pred_e");
  EXPECT_EQ(first_line(".f.out"), name + "data_fx data_fy data_fz pred_fx pred_fy pred_fz");
  const std::string columns =
      "data_vxx data_vxy data_vxz data_vyx data_vyy data_vyz data_vzx data_vzy data_vzz pred_vxx "
      "pred_vxy pred_vxz pred_vyx pred_vyy pred_vyz pred_vzx pred_vzy pred_vzz";
  EXPECT_EQ(first_line(".v.out"), name + columns);
  EXPECT_EQ(first_line(".v_peratom.out"), name + columns);
  const std::string stress = first_line(".s.out");
  EXPECT_EQ(stress.rfind("# " + options.systems[1] + " (eV/\xc3\x85\xc2\xb3): data_sxx ", 0), 0u)
      << stress;
  const std::string energies = read_file(scratch / "d.e.out");
  expect_in("\n-5.000000000000000000e-01 ", energies);
  EXPECT_EQ(numbers_in(scratch / "d.f.out").size(), (9 + 16) * 6u);
  const Vec virial = numbers_in(scratch / "d.v.out"),
            per_atom = numbers_in(scratch / "d.v_peratom.out");
  const Vec stresses = numbers_in(scratch / "d.s.out");
  ASSERT_EQ(virial.size(), 36u);
  ASSERT_EQ(stresses.size(), 18u);
  for (int k = 0; k < 18; ++k) {
    EXPECT_DOUBLE_EQ(per_atom[18 + k], virial[18 + k] / 16);
    EXPECT_DOUBLE_EQ(stresses[k], -virial[18 + k] / std::abs(volume(frames[0].frame.box)));
  }
}

TEST(ModelTest, ACheckpointStandsForItsBestWeights)
{
  const SharedScratch scratch;
  const auto model = load_model(model_of("one_side"));
  scratch.once([&] {
    write_systems(scratch.path(), "one_side", only(true, known_frames("one_side", 5)));
    Checkpoint checkpoint;
    checkpoint.model = model->data();
    checkpoint.parameters = checkpoint.average = checkpoint.model.parameters;
    for (double &value : checkpoint.average) value *= 1.01;
    write_checkpoint(scratch / "both.ckpt", checkpoint);
    checkpoint.model.parameters = checkpoint.average;
    write_dp(scratch / "average.dp", checkpoint.model);
    checkpoint.average.clear();  // the tree has other numbers than the raw weights
    write_checkpoint(scratch / "raw.ckpt", checkpoint);
  });
  TestOptions options;
  options.systems = {scratch / "O6H10"};
  Lines lines;
  const auto errors = [&](const std::string &file) {
    options.model = file;
    return run_test(world(), options, lines.log()).total;
  };
  const TestErrors average = errors(scratch / "average.dp"), raw = errors(model_of("one_side"));
  EXPECT_GT(std::abs(average.energy.rmse - raw.energy.rmse), 1e-3);
  const double rounding = runs_on_gpu() ? 1e-12 : 0.0;  // of sums in any order
  expect_near(errors(scratch / "both.ckpt"), average, rounding);
  expect_near(errors(scratch / "raw.ckpt"), raw, rounding);
}

TEST(ModelTest, SinglePrecisionIsNear)
{
  const SharedScratch scratch;
  scratch.once(
      [&] { write_systems(scratch.path(), "one_side", only(true, known_frames("one_side", 5))); });
  TestOptions options;
  options.model = model_of("one_side");
  options.systems = {scratch / "O6H10"};
  Lines lines;
  const TestErrors full = run_test(world(), options, lines.log()).total;
  options.precision = Precision::single;
  const TestErrors single = run_test(world(), options, lines.log()).total;
  EXPECT_NE(single.force.rmse, full.force.rmse);
  expect_near(single, full, 1e-5);  // float32 of forces of some eV/A
}

TEST(ModelTest, MoreNeighborsThanSelAreCountedOnce)
{
  const SharedScratch scratch;
  const auto frames = only(true, known_frames("sel_overflow", 5));
  scratch.once([&] { write_systems(scratch.path(), "sel_overflow", frames); });
  TestOptions options;
  options.model = model_of("sel_overflow");
  options.systems = {scratch / "O6H10"};
  Lines lines;
  const TestReport report = run_test(world(), options, lines.log());
  EXPECT_GT(report.overflow, 0);
  EXPECT_EQ(report.overflow % 5, 0) << "five times the same atoms";
  if (world()->rank() == 0)
    expect_in("WARNING: " + std::to_string(report.overflow) + " atoms", lines.text.back());
  EXPECT_EQ(run_test(make_mpi_communicator(), options, lines.log()).overflow, report.overflow);
}

TEST(ModelTest, WhatCannotBeTestedIsNamed)
{
  const SharedScratch scratch;
  scratch.once([&] {
    write_systems(scratch.path(), "one_side", known_frames("one_side", 1));
    write_file(scratch / "empty.txt", "\n\n");
  });
  TestOptions good;
  good.model = model_of("one_side");
  good.systems = {scratch / "O6H10"};
  Lines lines;
  const auto message = [&](auto &&change) {
    TestOptions options = good;
    change(options);
    return message_of([&] { run_test(world(), options, lines.log()); });
  };
  expect_in("more than one way", message([&](auto &o) { o.data_file = scratch / "empty.txt"; }));
  expect_in("found -1 frames", message([](auto &o) { o.numb_test = -1; }));
  expect_in("no.dp", message([&](auto &o) { o.model = scratch / "no.dp"; }));
  expect_in("not_here", message([&](auto &o) { o.systems = {scratch / "not_here"}; }));
  expect_in("none/d.e.out", message([&](auto &o) { o.detail_file = scratch / "none/d"; }));
  expect_in("names no system", message([&](auto &o) {
              o.systems.clear();
              o.data_file = scratch / "empty.txt";
            }));
  EXPECT_FALSE(lines.has("Energy"));
}

TEST(ModelTest, SystemsFromAFile)
{
  const SharedScratch scratch;
  scratch.once([&] {
    write_systems(scratch.path(), "one_side", known_frames("one_side", 1));
    write_file(scratch / "list.txt", scratch / "O3H6_nopbc" + "\r\n" + scratch / "O6H10" + "\n");
  });
  TestOptions options;
  options.model = model_of("one_side");
  options.data_file = scratch / "list.txt";
  Lines lines;
  const TestReport report = run_test(world(), options, lines.log());
  ASSERT_EQ(report.systems.size(), 2u);
  EXPECT_EQ(report.systems[0].name, scratch / "O3H6_nopbc");
  EXPECT_EQ(report.systems[1].name, scratch / "O6H10");
}

}  // namespace dptrain::test
