// Trains a new model on deepmd npy data sets, on all ranks of an MPI run, and reports how long it took and what error it
// reached: one JSON object per line. Called by bench/run; the public headers of the library are all it needs.

#include <mpi.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "dptrain/base/error.h"
#include "dptrain/base/memory_ledger.h"
#include "dptrain/data/dataset_writer.h"
#include "dptrain/frames/distribution.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/parallel/device.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "dptrain/statistics/statistics.h"
#include "dptrain/training/trainer.h"
#include "replicated.h"

using dptrain::Communicator;
using dptrain::Frame;
using dptrain::Model;
using dptrain::WholeFrame;
using nlohmann::json;

namespace {

const char USAGE[] =
    "Usage: mpiexec -n RANKS bench_train INPUT.json OUT.jsonl --train DIR [DIR ...] [options]\n"
    "  --valid DIR [DIR ...]  systems of the validation error\n"
    "  --eval-every N         steps between two validations (default: only at the end)\n"
    "  --report-every N       steps of one timed block (default 50)\n"
    "  --steps N              stop after N steps (default: numb_steps of the input)\n"
    "  --seconds S            stop when S seconds have passed since the start, all included\n"
    "  --frames N             only the first N training frames\n"
    "  --replicate K          each frame repeated K times along each edge of its cell\n"
    "  --precision P          of the arithmetic: double (default), single or mixed\n"
    "  --distribute WAY       auto (default), frames or space\n"
    "  --compress WAY         none (default), bf16 or powersgd:RANK\n"
    "  --micro-batch N        frames of a batch in work at once (default: all)\n"
    "  --chunk N              atoms of a rank in work at once (default: auto)\n"
    "  --save FILE            writes the model\n";

struct Options {
  std::string input, out, save;
  std::vector<std::string> train, valid;
  std::int64_t eval_every = 0, report_every = 50, steps = 0, frames = 0;
  int replicate = 1, chunk = 0;
  dptrain::ParallelConfig parallel;
  dptrain::Precision precision = dptrain::Precision::float64;
  double seconds = std::numeric_limits<double>::infinity();
};

dptrain::Distribution read_distribution(const std::string &name)
{
  if (name == "auto") return dptrain::Distribution::automatic;
  if (name == "frames") return dptrain::Distribution::frames;
  if (name == "space") return dptrain::Distribution::space;
  throw dptrain::Error("bench_train: --distribute " + name +
                       ": allowed are auto, frames and space");
}

void read_compression(const std::string &name, dptrain::ParallelConfig &parallel)
{
  const std::string low_rank = "powersgd:";
  if (name == "none") return;
  parallel.compression =
      name == "bf16" ? dptrain::Compression::bfloat16 : dptrain::Compression::power_sgd;
  if (name == "bf16") return;
  if (name.rfind(low_rank, 0) != 0)
    throw dptrain::Error("bench_train: --compress " + name +
                         ": allowed are none, bf16 and powersgd:RANK");
  parallel.compression_rank = std::stoi(name.substr(low_rank.size()));
}

/// The command line; throws Error on one that is not as in USAGE.
Options parse(int argc, char **argv)
{
  Options options;
  std::map<std::string, std::function<void(const std::string &)>> keys{
      {"--train", [&](const std::string &v) { options.train.push_back(v); }},
      {"--valid", [&](const std::string &v) { options.valid.push_back(v); }},
      {"--eval-every", [&](const std::string &v) { options.eval_every = std::stoll(v); }},
      {"--report-every", [&](const std::string &v) { options.report_every = std::stoll(v); }},
      {"--steps", [&](const std::string &v) { options.steps = std::stoll(v); }},
      {"--frames", [&](const std::string &v) { options.frames = std::stoll(v); }},
      {"--replicate", [&](const std::string &v) { options.replicate = std::stoi(v); }},
      {"--seconds", [&](const std::string &v) { options.seconds = std::stod(v); }},
      {"--distribute",
       [&](const std::string &v) { options.parallel.distribution = read_distribution(v); }},
      {"--compress", [&](const std::string &v) { read_compression(v, options.parallel); }},
      {"--micro-batch", [&](const std::string &v) { options.parallel.micro_batch = std::stoi(v); }},
      {"--chunk", [&](const std::string &v) { options.chunk = std::stoi(v); }},
      {"--precision", [&](const std::string &v) { options.precision = dptrain::precision_of(v); }},
      {"--save", [&](const std::string &v) { options.save = v; }}};
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2) throw dptrain::Error(USAGE);
  options.input = words[0];
  options.out = words[1];
  std::string key;
  for (std::size_t k = 2; k < words.size(); ++k) {
    if (keys.count(words[k]) != 0) {
      key = words[k];
      continue;
    }
    if (key.empty())
      throw dptrain::Error("bench_train: unexpected argument " + words[k] + "\n" + USAGE);
    try {
      keys[key](words[k]);
    } catch (const std::logic_error &) {
      throw dptrain::Error("bench_train: " + key + " needs a number, found " + words[k]);
    }
  }
  if (options.train.empty() || options.report_every < 1 || options.replicate < 1)
    throw dptrain::Error(USAGE);
  return options;
}

double now()
{
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Bytes that the process holds now (field VmRSS of /proc/self/status), or held at most (VmHWM).
double memory_of(const std::string &field)
{
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;)
    if (word == field + ":") {
      double kib = 0.0;
      file >> kib;
      return 1024.0 * kib;
    }
  return 0.0;
}

/// This rank's shares of all frames of the systems; `limit` > 0 stops after so many.
std::vector<Frame> read_frames(const std::shared_ptr<const Communicator> &comm,
                               const std::vector<std::string> &dirs,
                               const dptrain::InputFile &input, dptrain::Distribution distribution,
                               int replicate, std::int64_t limit)
{
  const dptrain::ModelConfig &model = input.model;
  dptrain::Distributor distributor(
      comm, distribution,
      dptrain::frames_at_once(input.training.batch_size, input.training.parallel),
      dptrain::weights_of_an_atom(model));
  std::vector<Frame> shares;
  for (const std::string &dir : dirs) {
    std::vector<WholeFrame> frames;
    dptrain::guarded(*comm, [&] { frames = dptrain::read_npy_system(dir, model.type_map); });
    for (const WholeFrame &frame : frames) {
      if (limit > 0 && static_cast<std::int64_t>(shares.size()) == limit) return shares;
      const WholeFrame large = replicate > 1 ? replicated(frame, replicate) : WholeFrame{};
      shares.push_back(distributor.share(replicate > 1 ? large : frame, model.rcut));
    }
  }
  return shares;
}

/// A new model from the statistics of the frames, as `fix dptrain` makes it.
std::shared_ptr<Model> new_model(const Communicator &comm, const dptrain::InputFile &input,
                                 const std::vector<Frame> &frames)
{
  const dptrain::ModelConfig &config = input.model;
  dptrain::Statistics statistics(config.ntypes(), dptrain::statistics_settings(config));
  std::vector<const Frame *> all;
  for (const Frame &frame : frames) all.push_back(&frame);
  const dptrain::BatchShares shares(all, comm);
  dptrain::guarded(comm, [&] {
    for (const Frame *frame : shares.frames()) statistics.add(frame->domain());
  });
  statistics.reduce(comm);
  return dptrain::make_deep_pot(dptrain::new_deep_pot(config, statistics, input.model_def_script));
}

struct Errors {
  double energy = 0.0;  ///< eV per atom
  double force = 0.0;   ///< eV/Angstrom
};

/// Root mean square errors over all frames: of the energy per atom, and of all force components. Collective.
Errors validate(const Communicator &comm, Model &model, const std::vector<Frame> &frames)
{
  std::vector<double> energies(frames.size(), 0.0);
  double square_sum = 0.0, components = 0.0;
  std::vector<double> force;
  for (std::size_t k = 0; k < frames.size(); ++k) {
    const Frame &frame = frames[k];
    force.assign(3 * static_cast<std::size_t>(frame.nall()), 0.0);
    dptrain::ForwardOutput out;
    out.force = force.data();
    dptrain::guarded(comm, [&] { model.forward(frame.domain(), out); });
    frame.halo->reduce(force.data(), 3);
    energies[k] = out.energy;
    for (std::size_t i = 0; i < frame.label.force.size(); ++i)
      square_sum += std::pow(force[i] - frame.label.force[i], 2);
    components += static_cast<double>(frame.label.force.size());
  }
  comm.all_reduce_sum(energies.data(), energies.size());
  double sums[2] = {square_sum, components};
  comm.all_reduce_sum(sums, 2);
  double energy_sum = 0.0;
  for (std::size_t k = 0; k < frames.size(); ++k)
    energy_sum += std::pow((energies[k] - frames[k].label.energy.value_or(energies[k])) /
                               static_cast<double>(frames[k].natoms),
                           2);
  return {std::sqrt(energy_sum / static_cast<double>(frames.size())), std::sqrt(sums[0] / sums[1])};
}

/// The run: set up, then blocks of timed steps with validations between them.
class Run {
 public:
  Run(const Options &options, std::shared_ptr<const Communicator> comm) :
      options_(options), comm_(std::move(comm))
  {
    if (comm_->rank() == 0) {
      out_.open(options_.out);
      if (!out_) throw dptrain::Error("bench_train: cannot write " + options_.out);
    }
  }

  /// Data, statistics, model, trainer.
  void set_up()
  {
    dptrain::guarded(*comm_, [&] { input_ = dptrain::read_input(options_.input); });
    steps_ = options_.steps > 0 ? options_.steps : input_.training.numb_steps;
    if (!input_.training.optimizer.precision && options_.precision != dptrain::Precision::float64)
      input_.training.optimizer.precision = "float32";  // as in the fix
    input_.training.parallel = options_.parallel;
    std::vector<Frame> frames =
        read_frames(comm_, options_.train, input_, options_.parallel.distribution,
                    options_.replicate, options_.frames);
    valid_ = read_frames(comm_, options_.valid, input_, dptrain::Distribution::space, 1, 0);
    model_ = new_model(*comm_, input_, frames);
    trainer_ = std::make_unique<dptrain::Trainer>(model_, comm_, input_.training);
    model_->set_precision(options_.precision);
    if (options_.chunk > 0) model_->set_chunk(options_.chunk);
    const std::int64_t natoms = frames.empty() ? 0 : frames.front().natoms;
    for (Frame &frame : frames) trainer_->add(std::move(frame));
    memory_before_ = memory_of("VmRSS");
    write({{"event", "start"},
           {"ranks", comm_->size()},
           {"frames", trainer_->num_frames()},
           {"atoms", natoms},
           {"parameters", model_->parameters().size()},
           {"setup_seconds", now() - start_}});
  }

  void train()
  {
    before_ = comm_->traffic();
    while (trainer_->steps() < steps_ && !late()) {
      const double begin = now();
      const dptrain::UpdateReport report = trainer_->update();
      const double seconds = now() - begin;
      train_seconds_ += seconds;
      block_seconds_ += seconds;
      ++block_steps_;
      if (block_steps_ == options_.report_every) end_block(report);
      if (options_.eval_every > 0 && trainer_->steps() % options_.eval_every == 0) evaluate();
    }
  }

  void finish()
  {
    const json traffic = traffic_per_step(), ledger = memory_by_purpose(), network = time_network();
    if (evaluated_ != trainer_->steps()) evaluate();
    double bytes[2] = {memory_before_, memory_of("VmHWM")};
    comm_->all_reduce_sum(bytes, 2);
    write({{"event", "end"},
           {"step", trainer_->steps()},
           {"train_seconds", train_seconds_},
           {"elapsed", now() - start_},
           {"traffic", traffic},
           {"memory", ledger},
           {"network", network},
           {"memory_before_training", bytes[0]},
           {"memory_peak", bytes[1]}});
    dptrain::guarded(*comm_, [&] {
      if (comm_->rank() == 0 && !options_.save.empty())
        dptrain::write_model_file(options_.save, model_->data());
    });
  }

 private:
  /// Calls and bytes of each operation in a step (with validations, those of blocks too), the most of all ranks.
  json traffic_per_step() const
  {
    json result = json::array();
    const double steps = static_cast<double>(trainer_->steps());
    for (const auto &after : comm_->traffic()) {
      double numbers[2] = {static_cast<double>(after.calls), static_cast<double>(after.bytes)};
      for (const auto &before : before_)
        if (before.operation == after.operation) {
          numbers[0] -= static_cast<double>(before.calls);
          numbers[1] -= static_cast<double>(before.bytes);
        }
      comm_->all_reduce_max(numbers, 2);
      result.push_back({{"operation", after.operation},
                        {"calls", numbers[0] / steps},
                        {"bytes", numbers[1] / steps}});
    }
    return result;
  }

  /// Bytes of the rank that has most.
  json memory_by_purpose() const
  {
    dptrain::MemoryLedger ledger = model_->memory();
    dptrain::add_uses(ledger, trainer_->memory());
    json result;
    for (const auto &use : ledger) {
      std::int64_t bytes = static_cast<std::int64_t>(use.bytes);
      comm_->all_reduce_max(&bytes, 1);
      result[use.purpose] = bytes;
    }
    return result;
  }

  /// Seconds of a short sum over the ranks, and of the exchange of gradient and parameters.
  json time_network() const
  {
    constexpr int repeats = 200;
    std::vector<double> values(model_->parameters().size(), 0.0);
    std::vector<std::size_t> parts(comm_->size(), values.size() / comm_->size());
    parts.back() += values.size() % comm_->size();
    const auto time = [&](const std::function<void()> &work) {
      work();
      const double begin = now();
      for (int k = 0; k < repeats; ++k) work();
      return (now() - begin) / repeats;
    };
    return {{"short_sum", time([&] { comm_->all_reduce_sum(values.data(), 16); })},
            {"gradient_and_parameters", time([&] {
               comm_->reduce_scatter_sum(values.data(), parts);
               comm_->all_gather(values.data(), parts);
             })}};
  }

  void write(const json &line)
  {
    if (comm_->rank() == 0) out_ << line.dump() << std::endl;
  }

  /// The same answer on all ranks.
  bool late()
  {
    double elapsed = now() - start_;
    if (std::isinf(options_.seconds)) return false;
    comm_->broadcast(&elapsed, sizeof(elapsed), 0);
    return elapsed > options_.seconds;
  }

  void end_block(const dptrain::UpdateReport &report)
  {
    write({{"event", "block"},
           {"step", report.step},
           {"steps", block_steps_},
           {"seconds", block_seconds_},
           {"train_seconds", train_seconds_},
           {"loss", report.loss},
           {"rmse_e", report.rmse("e")},
           {"rmse_f", report.rmse("f")},
           {"lr", report.learning_rate}});
    block_steps_ = 0;
    block_seconds_ = 0.0;
  }

  void evaluate()
  {
    evaluated_ = trainer_->steps();
    if (valid_.empty()) return;
    trainer_->show_average();  // of the weights, where the input asks for one
    const double begin = now();
    const Errors errors = validate(*comm_, *model_, valid_);
    write({{"event", "valid"},
           {"step", trainer_->steps()},
           {"train_seconds", train_seconds_},
           {"elapsed", begin - start_},
           {"rmse_e", errors.energy},
           {"rmse_f", errors.force},
           {"eval_seconds", now() - begin}});
  }

  const Options options_;
  const std::shared_ptr<const Communicator> comm_;
  const double start_ = now();
  std::ofstream out_;
  dptrain::InputFile input_;
  std::vector<Frame> valid_;
  std::shared_ptr<Model> model_;
  std::unique_ptr<dptrain::Trainer> trainer_;
  std::vector<Communicator::Traffic> before_;
  std::int64_t steps_ = 0, evaluated_ = -1, block_steps_ = 0;
  double train_seconds_ = 0.0, block_seconds_ = 0.0, memory_before_ = 0.0;
};

}  // namespace

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int status = 0;
  try {
    const Options options = parse(argc, argv);
    MPI_Comm world = MPI_COMM_WORLD;
    const auto comm = dptrain::make_mpi_communicator(&world);
    dptrain::bind_devices(*comm, dptrain::DeviceRequest(), dptrain::rank_on_node(&world));
    Run run(options, comm);
    run.set_up();
    run.train();
    run.finish();
  } catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what());
    status = 1;
  }
  if (status != 0) MPI_Abort(MPI_COMM_WORLD, status);
  MPI_Finalize();
  return status;
}
