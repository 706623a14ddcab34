#include "potential/torchscript/script_model.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <algorithm>
#include <utility>

#include "base/advice.h"
#include "base/memory_shortage.h"
#include "base/process_memory.h"
#include "base/torch_memory.h"
#include "dptrain/base/error.h"
#include "dptrain/base/memory_ledger.h"
#include "dptrain/potential/model/model_data.h"
#include "kernels/gpus.h"
#include "kernels/memory.h"
#include "kernels/runtime.h"
#include "potential/nets/gemm.h"

namespace dptrain {

namespace {

/// Where LibTorch works on this rank: its GPU, or the processor.
torch::Device script_device()
{
#ifdef DPTRAIN_CUDA
  const int gpu = kernels::bound_gpu();
  if (gpu >= 0) return {torch::kCUDA, static_cast<torch::DeviceIndex>(gpu)};
#endif
  return torch::kCPU;
}

constexpr int usual_chunk = 128;  // centers; larger blocks are no faster on a core

// graphs that wait for pass B: other ranks of the node keep theirs
constexpr std::size_t most_kept = std::size_t(1) << 30;
constexpr int fewest_measured = 16;  // centers of a block whose graph tells the memory of others
constexpr std::size_t usual_bytes_of_center = std::size_t(1) << 20;

std::vector<ParameterBlock> blocks_of(const std::vector<ScriptParameter> &parameters)
{
  std::vector<ParameterBlock> blocks;
  for (const ScriptParameter &parameter : parameters) blocks.push_back(parameter.block);
  return blocks;
}

/// Memory that graphs are part of, as far as it can be told.
std::size_t graph_memory(const torch::Device &device)
{
  if (device.is_cpu()) return process_memory().resident;
  for (const MemoryUse &use : torch_ledger())
    if (use.purpose == "torch allocated") return use.bytes;
  return 0;
}

}  // namespace

void complete(ModelData &data, const Script &script, const std::vector<ScriptParameter> &parameters,
              const EnergyConstants &constants, const std::string &path)
{
  const ScriptFacts &facts = script.contract->facts();
  data.kind = ModelKind::torchscript;
  data.config.type_map = facts.type_map;
  data.config.rcut = facts.cutoff;
  data.passes_messages = !facts.is_local;
  data.num_fparam = facts.fparam;
  data.is_compressed = facts.needs_operators;
  data.max_neighbors = facts.max_neighbors;
  data.model_def_script = facts.model_def_script;
  data.min_nbor_dist = facts.min_nbor_dist;
  std::vector<double> values;
  for (const ScriptParameter &parameter : parameters) {
    const std::vector<double> own = numbers_of(parameter.tensors.front());
    values.insert(values.end(), own.begin(), own.end());
  }
  if (data.parameters.empty()) data.parameters = values;
  if (data.parameters.size() != values.size())
    throw Error(fmt::format("{}: damaged: {} parameters for an archive of {}; copy the file again",
                            path, data.parameters.size(), values.size()));
  if (data.out_bias.empty()) data.out_bias = constants.energy;
  const std::size_t features = static_cast<std::size_t>(facts.num_features);
  if (data.metric.matrices.size() != facts.type_map.size() * features * features) {
    data.metric = {};
    data.bars = {};
    data.learning = {};
  }
}

ScriptModel::Archive::Archive(ModelData content, const std::string &path) :
    data(std::move(content)),
    device(script_device()),
    script(open_script(data.archive, path, device)),
    parameters(script_parameters(script)),
    fparam(fparam_tensor(script.contract->facts(), data.fparam, path, device)),
    constants(energy_constants(script, fparam, path))
{
  complete(data, script, parameters, constants, path);
  std::vector<double> without = constants.energy;
  for (double &energy : without) energy = -energy;
  constants.add(without);  // a large constant would hide the last digits of the sum
}

ScriptModel::ScriptModel(ModelData data, const std::string &path) :
    ScriptModel(Archive(std::move(data), path), path)
{
}

ScriptModel::ScriptModel(Archive archive, const std::string &path) :
    Model(std::move(archive.data), blocks_of(archive.parameters), archive.constants.acts),
    path_(path),
    device_(archive.device),
    script_(std::move(archive.script)),
    blocks_(facts(), device_),
    fparam_(archive.fparam)
{
  ensure_runtime();
  for (ScriptParameter &parameter : archive.parameters)
    tensors_.push_back(std::move(parameter.tensors));
  differentiable_ = true;
  set_differentiable(false);
  if (facts().num_features > 0) Model::add_features(facts().num_features, false);
}

// Parameters take part in a graph only where it is needed: it costs memory.
void ScriptModel::set_differentiable(bool on)
{
  for (std::size_t k = 0; k < tensors_.size() && (on || differentiable_); ++k)
    for (torch::Tensor &tensor : tensors_[k])
      tensor.requires_grad_(on && parameters().blocks()[k].trainable);
  differentiable_ = on;
}

void ScriptModel::prepare()
{
  if (prepared_version_ == parameters().version()) return;
  const torch::NoGradGuard no_graph;
  for (std::size_t k = 0; k < tensors_.size(); ++k) {
    const ParameterBlock &block = parameters().blocks()[k];
    auto *values = const_cast<double *>(parameters().values().data() + block.offset);
    tensors_[k].front().copy_(torch::from_blob(values, block.shape, torch::kFloat64));
  }
  prepared_version_ = parameters().version();
}

void ScriptModel::prepare_metric()
{
  if (!features() || metric_version_ == features()->version()) return;
  const std::int64_t h = facts().num_features,
                     ntypes = static_cast<std::int64_t>(type_map().size());
  const auto tensor = [&](const std::vector<double> &values, torch::IntArrayRef shape) {
    if (values.empty()) return torch::Tensor();
    return torch::tensor(values, torch::kFloat64).view(shape).to(device_);
  };
  matrices_ = tensor(features()->metric().matrices, {ntypes, h, h});
  metric_version_ = features()->version();
}

void ScriptModel::set_walls(const Walls &)
{
  throw internal_error("a TorchScript model has no walls");
}

void ScriptModel::set_precision(Precision precision)
{
  if (precision != Precision::float64 && facts().is_double)
    throw Error(fmt::format("{}: the archive computes in float64, as it was frozen: precision "
                            "single and mixed are for archives whose descriptor and fitting net "
                            "have precision float32; leave the precision at double",
                            path_));
  precision_ = precision;
}

void ScriptModel::set_auxiliary_state(const std::vector<double> &state)
{
  if (!state.empty())
    throw Error(fmt::format("the checkpoint has the state of another kind of model{}",
                            checkpoint_advice()));
}

// The end of the block that begins with this center: a whole frame where messages are passed.
std::size_t ScriptModel::block_end(std::size_t begin, std::size_t centers) const
{
  if (!facts().is_local) return centers;
  return std::min(begin + (chunk_ > 0 ? chunk_ : usual_chunk), centers);
}

AtomBlock ScriptModel::make_block(const Domain &domain, const std::vector<int> &centers,
                                  std::size_t begin, std::size_t end)
{
  AtomBlock block = blocks_.make(domain, centers.data() + begin, static_cast<int>(end - begin));
  if (fparam_.numel() > 0) block.tensors.fparam = fparam_;
  return block;
}

std::unique_ptr<Tape> ScriptModel::pass_a(const Domain *domains, int n, ForwardOutput *out,
                                          bool keep)
{
  std::vector<ScriptSums> found;
  sweep([&] {
    begin_sweep(domains, n, keep);
    found.clear();
    for (int k = 0; k < n; ++k) {
      found.emplace_back(domains[k], out[k], facts());
      forward_domain(domains[k], k, out[k], keep, found.back());
    }
  });
  std::unique_ptr<Tape> tape;
  if (keep) tape = std::make_unique<SweepTape<Sweep>>(parameters().version(), sweep_);
  for (int k = 0; k < n; ++k)
    found[k].add_to(out[k], domains[k], energy_bias(), has_energy_, bars());
  return tape;
}

// A sweep on a tape stays as it is.
void ScriptModel::begin_sweep(const Domain *domains, int n, bool keep)
{
  if (is_on_tape(sweep_)) sweep_ = std::make_shared<Sweep>();
  *sweep_ = Sweep();
  sweep_->trainable = parameters().trainable();
  for (int k = 0; k < n && keep; ++k) sweep_->domains.emplace_back(domains[k]);
}

void ScriptModel::forward_domain(const Domain &domain, int index, const ForwardOutput &out,
                                 bool keep, ScriptSums &sums)
{
  const std::vector<int> centers = blocks_.centers_of(domain);
  for (std::size_t begin = 0; begin < centers.size();) {
    const std::size_t end = block_end(begin, centers.size());
    AtomBlock block = make_block(domain, centers, begin, end);
    const std::size_t expected =
        (bytes_of_center_ > 0 ? bytes_of_center_ : usual_bytes_of_center) * block.centers;
    const bool keeps = keep && sweep_->kept_bytes + expected <= keep_limit_;
    const std::size_t before = keeps ? graph_memory(device_) : 0;
    set_differentiable(keeps);
    ScriptResults results =
        script_.contract->evaluate(block.tensors, keeps, out.atom_virial != nullptr);
    sums.add(block, results);
    if (sums.wants_features()) add_features(block, sums);
    if (keeps) {
      // memory that was free before does not show; that of the first graphs does
      const std::size_t now = graph_memory(device_);
      if (block.centers >= fewest_measured)
        bytes_of_center_ =
            std::max(bytes_of_center_, (now - std::min(before, now)) / block.centers);
      sweep_->kept_bytes += expected;
      sweep_->kept.push_back({index, begin, end, std::move(block), std::move(results)});
    }
    begin = end;
  }
}

void ScriptModel::add_features(const AtomBlock &block, ScriptSums &sums)
{
  set_differentiable(false);
  const torch::NoGradGuard no_graph;
  const torch::Tensor f = script_.contract->features(block.tensors).to(torch::kFloat64);
  const torch::Tensor type = block.tensors.type.view({-1}).slice(0, 0, block.centers);
  sums.add_features(block, f, type, matrices_);
}

void ScriptModel::pass_b(Tape &tape, const GradientSeed *seeds, double *gradient)
{
  sweep([&] {
    sweep_ = SweepTape<Sweep>::sweep_of(tape);
    add_gradients(seeds);
  });
  std::vector<double> separate(kernels::separate_memory() ? parameters().size() : 0);
  double *const host = separate.empty() ? gradient : separate.data();
  std::fill_n(host, parameters().size(), 0.0);
  for (std::size_t k = 0; k < tensors_.size(); ++k)
    if (gradient_[k].defined()) {
      const torch::Tensor sum = gradient_[k].to(torch::kCPU).contiguous();
      std::copy_n(sum.data_ptr<double>(), sum.numel(), host + parameters().blocks()[k].offset);
    }
  if (host != gradient) kernels::copy_in(gradient, host, separate.size() * sizeof(double));
}

// Of the present sweep, whose graphs are used once.
void ScriptModel::add_gradients(const GradientSeed *seeds)
{
  gradient_.assign(tensors_.size(), {});
  set_differentiable(true);  // after pass A, whose last blocks may not have been kept
  std::vector<Block> kept = std::exchange(sweep_->kept, {});
  sweep_->kept_bytes = 0;
  if (sweep_->trainable != parameters().trainable()) kept.clear();
  std::size_t next = 0;  // of what pass A has kept
  for (std::size_t k = 0; k < sweep_->domains.size(); ++k) {
    const Domain &domain = sweep_->domains[k].domain();
    const std::vector<int> centers = blocks_.centers_of(domain);
    for (std::size_t begin = 0; begin < centers.size();) {
      const bool is_kept = next < kept.size() && kept[next].domain == static_cast<int>(k);
      const Block block =
          is_kept ? std::move(kept[next++]) : graph_of(domain, static_cast<int>(k), centers, begin);
      begin = block.end;
      add_gradient(scalar_of(block.atoms, block.results, seeds[k]));
    }
  }
}

// A block of pass A again, for pass B.
ScriptModel::Block ScriptModel::graph_of(const Domain &domain, int index,
                                         const std::vector<int> &centers, std::size_t begin)
{
  Block made{index, begin, block_end(begin, centers.size()), {}, {}};
  made.atoms = make_block(domain, centers, begin, made.end);
  set_differentiable(true);
  made.results = script_.contract->evaluate(made.atoms.tensors, true, false);
  return made;
}

// S = energy E + sum_i atom_energy_i E_i + sum_k force_k F_k + virial : W, of this block.
torch::Tensor ScriptModel::scalar_of(const AtomBlock &block, const ScriptResults &results,
                                     const GradientSeed &seed) const
{
  const auto on_device = [this](const std::vector<double> &values) {
    return torch::tensor(values, torch::kFloat64).to(device_);
  };
  std::vector<double> weights(block.centers, seed.energy);
  if (block.atoms.front() < 0) weights.front() = 0.0;
  for (int i = 0; i < block.centers && seed.atom_energy; ++i)
    if (block.atoms[i] >= 0) weights[i] += seed.atom_energy[block.atoms[i]];
  torch::Tensor scalar = (results.atom_energy.to(torch::kFloat64) * on_device(weights)).sum() +
                         (results.virial.to(torch::kFloat64) *
                          on_device(std::vector<double>(seed.virial.begin(), seed.virial.end())))
                             .sum();
  if (!seed.force) return scalar;
  std::vector<double> residuals(3 * block.atoms.size(), 0.0);
  for (std::size_t k = 0; k < block.atoms.size(); ++k)
    if (block.atoms[k] >= 0) std::copy_n(seed.force + 3L * block.atoms[k], 3, &residuals[3 * k]);
  return scalar + (results.force.to(torch::kFloat64) * on_device(residuals).view({-1, 3})).sum();
}

void ScriptModel::add_gradient(const torch::Tensor &scalar)
{
  if (!scalar.requires_grad()) return;
  std::vector<torch::Tensor> inputs;
  std::vector<std::size_t> block;
  for (std::size_t k = 0; k < tensors_.size(); ++k)
    for (const torch::Tensor &tensor : tensors_[k])
      if (tensor.requires_grad()) {
        inputs.push_back(tensor);
        block.push_back(k);
      }
  if (inputs.empty()) return;  // nothing is trained, but forces are derivatives too
  const auto slopes = torch::autograd::grad({scalar}, inputs, {}, false, false, true);
  for (std::size_t k = 0; k < slopes.size(); ++k) {
    if (!slopes[k].defined()) continue;
    torch::Tensor &sum = gradient_[block[k]];
    const torch::Tensor slope = slopes[k].to(torch::kFloat64);
    sum = sum.defined() ? sum.add_(slope) : slope.clone();
  }
}

void ScriptModel::sweep(const std::function<void()> &work)
{
  if (keep_limit_ == 0) keep_limit_ = std::min(kernels::memory_for_kernels().free / 4, most_kept);
  const auto run = [&] {
    prepare();
    prepare_metric();
    const torch::jit::GraphOptimizerEnabledGuard plain(
        false);  // blocks differ in shape: see manual
    const ReducedPrecision products(precision_ == Precision::mixed);
    try {
      work();
    } catch (const Error &) {
      throw;
    } catch (const std::exception &e) {
      if (!memory_shortage(e).empty()) throw;
      throw Error(fmt::format("{}: the program in the archive failed: {}; freeze the model again "
                              "with DeePMD-kit 3.0 to 3.2",
                              path_, script_failure(e)));
    }
  };
  with_relief(run, [&](const std::string &cause) { return use_less_memory(cause); });
}

// First nothing is kept for pass B, then blocks get smaller. A frame whose atoms pass messages is one block.
bool ScriptModel::use_less_memory(const std::string &cause)
{
  const bool keeps_less = keep_limit_ > 1;
  const int chunk = chunk_ > 0 ? chunk_ : usual_chunk;
  const bool can_be_smaller = facts().is_local && chunk > 1;
  give_memory_back(cause);
  if (keeps_less)
    keep_limit_ = 1;
  else if (can_be_smaller)
    chunk_ = chunk / 2;
  shortages_.chunk = chunk_ > 0 ? chunk_ : usual_chunk;
  return keeps_less || can_be_smaller;
}

void ScriptModel::release_workspace()
{
  sweep_->kept.clear();
  sweep_->kept_bytes = 0;
  gradient_.clear();
}

MemoryLedger ScriptModel::memory() const
{
  const std::size_t numbers = parameters().size() * sizeof(double);
  return {{"parameters", 2 * numbers},
          {"archive", data_.archive.size()},
          {"workspace", sweep_->kept_bytes}};
}

}  // namespace dptrain
