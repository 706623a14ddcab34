#include <filesystem>
#include <fmt/format.h>
#include <sstream>

#include "commands/data_warnings.h"
#include "commands/test_details.h"
#include "commands/test_order.h"
#include "commands/test_system.h"
#include "dptrain/base/error.h"
#include "dptrain/parallel/broadcast.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"

namespace dptrain {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const std::string &path)
{
  std::istringstream text(read_file(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

/// Systems to test, and how their folders of frames are called.
struct Sources {
  std::vector<std::string> systems;
  std::string set_prefix = "set";
};

/// The systems of a section of input.json, with full names as in `dp test`.
Sources systems_of(const std::string &input, bool validation)
{
  const OfflineConfig config = read_input(input).offline;
  const char *section = validation ? "validation_data" : "training_data";
  const DataConfig data =
      validation ? config.validation_data.value_or(DataConfig()) : config.training_data;
  if (data.systems.empty())
    throw Error(fmt::format("{}: training/{} names no systems to test; name them there, or with -s",
                            input, section));
  const fs::path base = fs::absolute(input).parent_path();
  Sources sources;
  sources.set_prefix = data.set_prefix;
  std::vector<std::string> names;
  for (const std::string &name : data.systems)
    names.push_back(fs::weakly_canonical(base / name).string());
  sources.systems = find_systems(names, data.rglob_patterns);
  return sources;
}

Sources find_sources(const TestOptions &options)
{
  const int given = !options.systems.empty() + !options.data_file.empty() +
                    !options.train_data.empty() + !options.valid_data.empty();
  if (given > 1)
    throw Error("test: the systems are named in more than one way; give one of -s, -f, "
                "--train-data and --valid-data");
  if (options.numb_test < 0)
    throw Error(
        fmt::format("test: found {} frames per system, expected a positive number, or 0 for all",
                    options.numb_test));
  if (!options.train_data.empty()) return systems_of(options.train_data, false);
  if (!options.valid_data.empty()) return systems_of(options.valid_data, true);
  Sources sources;
  if (!options.data_file.empty()) {
    const std::vector<std::string> names = lines_of(options.data_file);
    if (names.empty())
      throw Error(fmt::format("{}: names no system; write one in each line", options.data_file));
    sources.systems = find_systems(names);
  } else {
    sources.systems = find_systems(given ? options.systems : std::vector<std::string>{"."});
  }
  return sources;
}

/// A test as a whole: what all systems share.
class ModelTest {
 public:
  ModelTest(std::shared_ptr<const Communicator> comm, const TestOptions &options, const Log &log) :
      comm_(std::move(comm)), options_(options), log_(log), order_(options)
  {
    ModelData data;
    guarded(*comm_, [&] {
      sources_ = find_sources(options_);
      if (comm_->rank() == 0) data = read_model_file(options_.model);
    });
    broadcast(*comm_, data);
    num_fparam_ = data.num_fparam;
    if (!data.config.baseline.empty())
      baseline_ = options_.make_baseline(data.config.baseline, data.config.type_map);
    guarded(*comm_, [&] {
      model_ = make_model(data, options_.model);
      model_->set_precision(options_.precision);
      if (!model_->is_local() && comm_->size() > 1)
        throw Error(fmt::format("{}: the atoms of this model pass messages, and frames are not "
                                "divided over ranks: run this test on one rank (-np 1)",
                                options_.model));
      if (comm_->rank() == 0 && !options_.detail_file.empty())
        details_ = std::make_unique<TestDetails>(options_.detail_file);
    });
  }

  TestReport run()
  {
    TestReport report;
    ErrorSums total;
    for (const std::string &name : sources_.systems) {
      const SystemErrors errors = test(name, report);
      for (std::size_t q = 0; q < num_test_quantities; ++q) total[q].add(errors.sums[q]);
      report.bars.add(errors.bars.numbers(model_->type_map().size()));
    }
    total[test_atomic_energy] = ErrorSum();
    report.total = errors_of(total);
    report.overflow = model_->neighbor_report().overflow;
    comm_->all_reduce_sum(&report.overflow, 1);
    print("# ----------weighted average of errors----------- ");
    print(fmt::format("# number of systems : {}", report.systems.size()));
    print(report.total);
    print(report.bars);
    print("# ----------------------------------------------- ");
    warn(report.overflow);
    return report;
  }

 private:
  SystemErrors test(const std::string &name, TestReport &report)
  {
    std::shared_ptr<const DataSystem> system;
    guarded(*comm_, [&] {
      system = open_system(name, {model_->type_map(), sources_.set_prefix, 0, num_fparam_});
      if (system->num_frames() == 0)
        throw Error(
            fmt::format("{}: no frames to test; leave the system out, or add frames to it", name));
    });
    print("# ---------------output of dp test--------------- ");
    print(fmt::format("# testing system : {}", name));
    const std::vector<std::int64_t> frames = order_.next(system->num_frames());
    if (comm_->rank() == 0)
      for (const auto &line : partial_labels(*system, frames)) print("WARNING: " + line);
    const SystemTest run(comm_, model_, options_.atomic, !options_.detail_file.empty(), baseline_);
    const SystemErrors errors =
        run.run(*system, frames,
                [&](const double *row, std::int64_t natoms) { details_->add(name, row, natoms); });
    report.systems.push_back(
        {name, static_cast<std::int64_t>(frames.size()), errors_of(errors.sums), errors.bars});
    print(fmt::format("# number of test data : {} ", frames.size()));
    print(report.systems.back().errors);
    print(errors.bars);
    print("# ----------------------------------------------- ");
    return errors;
  }

  void print(const std::string &line) const
  {
    if (comm_->rank() == 0) log_(line);
  }
  void print(const TestErrors &errors) const
  {
    if (comm_->rank() == 0) print_errors(errors, log_);
  }
  void print(const BarCoverage &bars) const
  {
    if (bars.atoms() > 0)
      print("Force error bars   : " + bars.text(model_->bars(), model_->type_map()));
  }
  void warn(std::int64_t overflow) const
  {
    if (overflow > 0)
      print(fmt::format(
          "WARNING: {} atoms have more neighbors of a type than sel of the model keeps: the "
          "nearest ones count. Train a model with a larger sel for all of them",
          overflow));
  }

  std::shared_ptr<const Communicator> comm_;
  const TestOptions &options_;
  const Log &log_;
  FrameOrder order_;
  Sources sources_;
  int num_fparam_ = 0;
  std::shared_ptr<Model> model_;
  EvaluateBaseline baseline_;
  std::unique_ptr<TestDetails> details_;  ///< on rank 0, if asked for
};

}  // namespace

TestReport run_test(std::shared_ptr<const Communicator> comm, const TestOptions &options,
                    const Log &log)
{
  return ModelTest(std::move(comm), options, log).run();
}

}  // namespace dptrain
