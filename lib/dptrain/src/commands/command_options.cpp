#include "dptrain/commands/command_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "dptrain/base/error.h"

namespace dptrain {

namespace {

void add_precision(CLI::App &app, Precision &precision)
{
  app.add_option_function<std::string>(
         "--precision", [&precision](const std::string &name) { precision = precision_of(name); },
         "double, single or mixed: of the arithmetic (default: double)")
      ->check(CLI::IsMember({"double", "single", "mixed"}))
      ->type_name("NAME");
}

void add_device(CLI::App &app, DeviceRequest &device)
{
  app.add_option_function<std::string>(
         "--device", [&device](const std::string &name) { device = read_device(name); },
         "auto, cpu or cuda:K: what each rank runs on (default: auto)")
      ->type_name("NAME");
}

/// The parser's own check names a range up to the largest double.
std::string not_below_zero(const std::string &text)
{
  double number = 0.0;
  const bool fine = CLI::detail::lexical_cast(text, number) && number >= 0.0;
  return fine ? "" : fmt::format("found {}, use a number not below 0", text);
}

/// A whole number of at least `smallest`, that an int holds.
std::function<std::string(const std::string &)> whole_number(int smallest)
{
  return [smallest](const std::string &text) {
    int number = 0;
    const bool fine = CLI::detail::lexical_cast(text, number) && number >= smallest;
    return fine ? "" : fmt::format("found {}, use a whole number from {}", text, smallest);
  };
}

std::string zero_or_a_second(const std::string &text)
{
  double number = 0.0;
  const bool fine = CLI::detail::lexical_cast(text, number) && (number == 0.0 || number >= 1.0);
  return fine ? "" : fmt::format("found {}, use 0 for none, or 1 second or more", text);
}

void add_timeout(CLI::App &app)
{
  app.add_option_function<double>(
         "--timeout", [](const double &seconds) { set_communication_timeout(seconds); },
         "seconds that a rank waits for others before it ends the job; 0: any time (default: 1800)")
      ->check(zero_or_a_second);
}

const std::map<std::string, Distribution> DISTRIBUTIONS{{"auto", Distribution::automatic},
                                                        {"frames", Distribution::frames},
                                                        {"space", Distribution::space}};

const std::map<std::string, Compression> COMPRESSIONS{{"none", Compression::none},
                                                      {"bf16", Compression::bfloat16},
                                                      {"powersgd", Compression::power_sgd}};

void add_parallel(CLI::App &app, ParallelConfig &parallel)
{
  app.add_option_function<std::string>(
         "--distribute",
         [&parallel](const std::string &name) { parallel.distribution = DISTRIBUTIONS.at(name); },
         "auto, frames or space: how frames are divided over the ranks (default: auto)")
      ->check(CLI::IsMember(DISTRIBUTIONS))
      ->type_name("NAME");
  app.add_option_function<std::string>(
         "--compress",
         [&parallel](const std::string &name) { parallel.compression = COMPRESSIONS.at(name); },
         "none, bf16 or powersgd: what of a gradient travels between ranks (default: none)")
      ->check(CLI::IsMember(COMPRESSIONS))
      ->type_name("NAME");
  app.add_option("--compress-rank", parallel.compression_rank,
                 "powersgd: columns of the approximation of a weight matrix (default: 4)")
      ->check(whole_number(1));
  app.add_option("--micro-batch", parallel.micro_batch,
                 "frames of a batch that are in work at once (default: 0, all)")
      ->check(whole_number(0));
  add_timeout(app);
}

void add_train(CLI::App &root, TrainOptions &options)
{
  CLI::App &app = *root.add_subcommand("train", "Train a potential on data sets");
  app.add_option("INPUT", options.input, "input.json of DeePMD-kit, versions 1 to 3")->required();
  CLI::Option_group &start =
      *app.add_option_group("start", "What the training starts from (default: a new model)");
  start.add_option("-i,--init-model", options.init_model,
                   "model or checkpoint whose parameters are taken");
  start.add_option("-r,--restart", options.restart, "checkpoint of a training that goes on");
  start.add_option("-t,--finetune", options.finetune,
                   "model or checkpoint; its energy bias is fitted to the new data");
  start.require_option(0, 1);
  app.add_flag("--use-pretrain-script", options.use_pretrain_script,
               "with -i or -t: take the model section from that file");
  app.add_flag("--skip-neighbor-stat", options.skip_neighbor_stat,
               "statistics from data_stat_nbatch batches of each system only");
  app.add_flag("--dry-run", options.dry_run,
               "check input and data, estimate time and memory, train nothing");
  app.add_option("-o,--output", options.output, "the input with all defaults (default: out.json)");
  app.add_option("--frame-memory", options.parallel.frame_memory,
                 "GiB of frames that a rank keeps in memory; others wait on its disk (default: 1)")
      ->check(not_below_zero);
  add_precision(app, options.precision);
  add_device(app, options.device);
  add_parallel(app, options.parallel);
  app.add_flag("--terminal", options.terminal, "draw a progress bar");
}

void add_test(CLI::App &root, TestOptions &options)
{
  CLI::App &app = *root.add_subcommand("test", "Errors of a potential on data sets");
  app.add_option("-m,--model", options.model, "model (.dp) or checkpoint")->required();
  CLI::Option_group &data = *app.add_option_group("data", "Which data");
  data.add_option("-s,--system", options.systems,
                  "systems, folders of systems or patterns (default: .)");
  data.add_option("-f,--datafile", options.data_file, "file with one system in each line");
  data.add_option("--train-data", options.train_data, "input.json: its training data");
  data.add_option("--valid-data", options.valid_data, "input.json: its validation data");
  data.require_option(0, 1);
  app.add_option("-n,--numb-test", options.numb_test, "frames of each system (default: 0, all)")
      ->check(not_below_zero);
  app.add_flag("--shuffle-test", options.shuffle, "take the frames in random order");
  app.add_option("-r,--rand-seed", options.seed, "of that order");
  app.add_option("-d,--detail-file", options.detail_file,
                 "write predictions beside labels to FILE.e.out, FILE.f.out, ...");
  app.add_flag("-a,--atomic", options.atomic, "errors of atomic energies too");
  add_precision(app, options.precision);
  add_device(app, options.device);
  add_timeout(app);
}

void add_stat(CLI::App &root, StatOptions &options)
{
  CLI::App &app = *root.add_subcommand("stat", "Neighbor and descriptor statistics of data sets");
  app.add_option("-s,--system", options.systems, "systems, folders of systems or patterns")
      ->required();
  app.add_option("-r,--rcut", options.rcut, "cutoff, Angstrom")->required();
  app.add_option("--rcut-smth", options.rcut_smth,
                 "where the switching function starts, Angstrom (default: 0.5)");
  app.add_option("-t,--type-map", options.type_map, "elements (default: those of the data)");
  app.add_option("--sel", options.sel,
                 "most neighbors of each type (default: the recommended ones)");
  app.add_option("--sel-factor", options.sel_factor,
                 "recommended sel = this times the largest number of neighbors (default: 1.1)");
  app.add_option("-o,--output", options.output, "JSON file for the statistics");
  add_timeout(app);
}

void add_convert(CLI::App &root, ConvertOptions &options)
{
  CLI::App &app = *root.add_subcommand("convert", "Model file from a checkpoint or model");
  app.add_option("FROM", options.from, "checkpoint or .dp file")->required();
  app.add_option("TO", options.to, ".dp file")->required();
}

}  // namespace

CommandOptions read_command_options(const std::vector<std::string> &words)
{
  CLI::App app("Training of deep potentials from data sets", "dptrain");
  app.require_subcommand(1);
  TrainOptions train;
  TestOptions test;
  StatOptions stat;
  ConvertOptions convert;
  add_train(app, train);
  add_test(app, test);
  add_stat(app, stat);
  add_convert(app, convert);
  const auto known = [&](const std::string &word) {
    const auto all = app.get_subcommands([](CLI::App *) { return true; });
    return std::any_of(all.begin(), all.end(),
                       [&](const CLI::App *sub) { return sub->check_name(word); });
  };
  if (!words.empty() && words[0].rfind('-', 0) != 0 && !known(words[0]))
    throw Error(fmt::format(
        "found '{}', allowed are train, test, stat and convert. Run: dptrain --help", words[0]));
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // the parser's order
  } catch (const CLI::CallForHelp &) {
    for (const CLI::App *sub : app.get_subcommands()) return HelpText{sub->help("dptrain")};
    return HelpText{app.help()};
  } catch (const CLI::ParseError &e) {
    const auto subcommands = app.get_subcommands();
    const std::string name = subcommands.empty() ? "" : " " + subcommands[0]->get_name();
    throw Error(fmt::format("{}. Run: dptrain{} --help", e.what(), name));
  }
  const std::string name = app.get_subcommands()[0]->get_name();
  if (name == "train") return train;
  if (name == "test") return test;
  if (name == "stat") return stat;
  return convert;
}

}  // namespace dptrain
