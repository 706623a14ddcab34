// Speed of single operations on one core, beside the matrix multiplication of LibTorch (the roofline of the fitting net):
//   bench_kernels MODEL.dp SYSTEM [options of Google Benchmark]
// SYSTEM is a deepmd npy folder; its first frame is used. Times of model operations are per call; the counter us/atom
// divides by the atoms of the frame. bench/run turns the JSON output into a table.

#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include <cstdio>

#include "base/torch_threads.h"
#include "dptrain/base/error.h"
#include "dptrain/data/dataset_writer.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/model/model_data.h"
#include "kernels/memory.h"
#include "optimizer/optimizer.h"
#include "potential/native/deep_pot.h"

using benchmark::Counter;
using benchmark::State;

namespace {

/// What the benchmarks of the model share: one frame on one rank, and the model.
struct Case {
  std::shared_ptr<const dptrain::Communicator> comm = dptrain::make_mpi_communicator();
  std::shared_ptr<dptrain::DeepPot> model;
  dptrain::Frame frame;
  std::vector<double> force;  ///< [nall][3] scratch

  Case(const std::string &model_file, const std::string &system)
  {
    const dptrain::ModelData data = dptrain::read_dp(model_file);
    const auto frames = dptrain::read_npy_system(system, data.config.type_map);
    if (frames.empty()) throw dptrain::Error(system + " has no frames");
    frame = dptrain::scatter_frame(comm, frames.front(), data.config.rcut);
    model = std::make_shared<dptrain::DeepPot>(data);
    force.resize(3 * static_cast<std::size_t>(frame.nall()));
  }

  /// Pass A; leaves the forces in `force`.
  std::unique_ptr<dptrain::Tape> forward(bool keep = false)
  {
    std::fill(force.begin(), force.end(), 0.0);
    dptrain::ForwardOutput out;
    out.force = force.data();
    const dptrain::Domain domain = frame.domain();
    std::unique_ptr<dptrain::Tape> tape = model->forward(&domain, 1, &out, keep);
    benchmark::DoNotOptimize(out.energy);
    return tape;
  }
};

void count_atoms(State &state, const Case &c)
{
  state.counters["us/atom"] =
      Counter(1e-6 * c.frame.nlocal, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

/// C = A B with A [m][k] and B [k][n] as LibTorch multiplies them.
template <typename R> void gemm(State &state)
{
  const auto type = at::TensorOptions().dtype(c10::CppTypeToScalarType<R>::value);
  const std::int64_t m = state.range(0), k = state.range(1), n = state.range(2);
  const at::Tensor a = at::randn({m, k}, type), b = at::randn({k, n}, type);
  at::Tensor c = at::empty({m, n}, type);
  for (auto _ : state) at::mm_out(c, a, b);
  state.counters["GFLOP/s"] =
      Counter(2e-9 * static_cast<double>(m * k * n), Counter::kIsIterationInvariantRate);
}

/// Energy, forces and virial of the frame.
void forward(State &state, Case *c, dptrain::Precision precision)
{
  c->model->set_precision(precision);
  c->forward();
  for (auto _ : state) c->forward();
  count_atoms(state, *c);
}

/// Pass B that finds nothing kept: the gradient of energy and forces with respect to all parameters.
void gradient(State &state, Case *c, dptrain::Precision precision)
{
  c->model->set_precision(precision);
  const auto tape = c->forward(true);
  dptrain::GradientSeed seed;
  seed.energy = 1e-3;
  seed.force = c->force.data();
  std::vector<double> result(c->model->parameters().size());
  c->model->gradient(*tape, &seed, result.data());  // uses up what pass A has kept
  for (auto _ : state) c->model->gradient(*tape, &seed, result.data());
  count_atoms(state, *c);
}

/// Pass A that keeps what pass B can use, and pass B, as in a training step (the table unchanged).
void both_passes(State &state, Case *c, dptrain::Precision precision)
{
  c->model->set_precision(precision);
  dptrain::GradientSeed seed;
  seed.energy = 1e-3;
  seed.force = c->force.data();
  std::vector<double> result(c->model->parameters().size());
  for (auto _ : state) {
    const auto tape = c->forward(true);
    c->model->gradient(*tape, &seed, result.data());
  }
  count_atoms(state, *c);
}

/// The tables of the embedding nets for new parameters.
void table_build(State &state, Case *c, dptrain::Precision precision)
{
  c->model->set_precision(precision);
  const std::vector<double> parameters = c->model->parameters().values();
  for (auto _ : state) {
    c->model->parameters().set(parameters);
    c->model->prepare();
  }
}

void adam_step(State &state, Case *c, dptrain::Precision precision)
{
  dptrain::OptimizerConfig config;
  config.precision = precision == dptrain::Precision::float64 ? "float64" : "float32";
  const std::vector<double> &values = c->model->parameters().values();
  dptrain::kernels::Array<double> parameters, gradient;
  parameters.copy_from(values);
  gradient.copy_from(std::vector<double>(values.size(), 1e-3));
  const auto optimizer = dptrain::make_optimizer(config, c->model->parameters().blocks(), c->comm);
  for (auto _ : state) optimizer->step(parameters.data(), gradient.data(), 1e-6);
  state.counters["ns/parameter"] = Counter(1e-9 * static_cast<double>(parameters.size()),
                                           Counter::kIsIterationInvariantRate | Counter::kInvert);
}

/// The shapes of the fitting net of 240 neurons for a chunk of 256 atoms, and a large product for the peak.
template <typename R> void register_gemm(const std::string &precision)
{
  benchmark::RegisterBenchmark(("gemm_peak/" + precision).c_str(), gemm<R>)
      ->Args({1024, 1024, 1024});
  benchmark::RegisterBenchmark(("gemm_fitting/" + precision).c_str(), gemm<R>)
      ->Args({256, 1600, 240})
      ->Args({256, 240, 240});
}

void register_all(Case *c)
{
  register_gemm<double>("double");
  register_gemm<float>("single");
  using Function = void (*)(State &, Case *, dptrain::Precision);
  const std::pair<std::string, Function> list[] = {{"forward", forward},
                                                   {"gradient", gradient},
                                                   {"both_passes", both_passes},
                                                   {"table_build", table_build},
                                                   {"adam_step", adam_step}};
  const std::pair<std::string, dptrain::Precision> precisions[] = {
      {"double", dptrain::Precision::float64}, {"single", dptrain::Precision::single}};
  for (const auto &[precision, value] : precisions)
    for (const auto &[name, function] : list)
      benchmark::RegisterBenchmark((name + "/" + precision).c_str(), function, c, value)
          ->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char **argv)
{
  benchmark::Initialize(&argc, argv);
  if (argc != 3) {
    std::fprintf(stderr, "Usage: bench_kernels MODEL.dp SYSTEM [--benchmark_...]\n");
    return 1;
  }
  try {
    dptrain::set_torch_threads(1);
    Case c(argv[1], argv[2]);
    register_all(&c);
    benchmark::RunSpecifiedBenchmarks();
  } catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
