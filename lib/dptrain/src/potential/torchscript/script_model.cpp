#include "potential/torchscript/script_model.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/memory_shortage.h"
#include "base/process_memory.h"
#include "base/torch_memory.h"
#include "dptrain/base/error.h"
#include "dptrain/base/memory_ledger.h"
#include "dptrain/potential/model/model_data.h"
#include "kernels/memory.h"
#include "kernels/runtime.h"
#include "potential/nets/gemm.h"
#include "potential/torchscript/script_device.h"

namespace dptrain {

namespace {

constexpr int usual_chunk = 128;  // centers; larger blocks are no faster on a core

// graphs that wait for pass B: other ranks of the node keep theirs
constexpr std::size_t most_kept = std::size_t(1) << 30;
constexpr int fewest_measured = 16;  // centers of a block whose graph tells the memory of others
constexpr std::size_t usual_bytes_of_center = std::size_t(1) << 20;

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
    throw Error(path + ": damaged: " + std::to_string(data.parameters.size()) +
                " parameters for an archive of " + std::to_string(values.size()));
  if (data.out_bias.empty()) data.out_bias = constants.energy;
  const std::size_t features = static_cast<std::size_t>(facts.num_features);
  if (data.whitening.size() != facts.type_map.size() * features * features) {
    data.whitening.clear();
    data.calibration.clear();
  }
}

ScriptModel::ScriptModel(ModelData data, const std::string &path) :
    data_(std::move(data)),
    path_(path),
    device_(script_device()),
    script_(open_script(data_.archive, path, device_)),
    blocks_(facts(), device_),
    parameters_(script_parameters(script_)),
    fparam_(fparam_tensor(facts(), data_.fparam, path, device_)),
    constants_(energy_constants(script_, fparam_, path))
{
  ensure_runtime();
  complete(data_, script_, parameters_, constants_, path);
  for (const auto &parameter : parameters_) index_.push_back(parameter.block);
  std::vector<double> without = constants_.energy;
  for (double &energy : without) energy = -energy;
  constants_.add(without);  // a large constant would hide the last digits of the sum
  differentiable_ = true;
  set_differentiable(false);
  if (!data_.whitening.empty()) set_whitening(std::vector<double>(data_.whitening));
}

void ScriptModel::set_parameters(const std::vector<double> &values)
{
  if (values.size() != data_.parameters.size())
    throw Error("the model has " + std::to_string(data_.parameters.size()) + " parameters, " +
                std::to_string(values.size()) + " were given");
  data_.parameters = values;
  version_ = unique_number();
}

void ScriptModel::change_parameters(const std::function<void(std::vector<double> &)> &change)
{
  version_ = unique_number();  // first: also where `change` throws halfway
  change(data_.parameters);
}

void ScriptModel::set_trainable(const std::vector<char> &blocks)
{
  for (std::size_t k = 0; k < index_.size(); ++k)
    index_[k].trainable = blocks.empty() ? parameters_[k].block.trainable : blocks.at(k) != 0;
}

std::vector<char> ScriptModel::trained() const
{
  std::vector<char> trained;
  for (const ParameterBlock &block : index_) trained.push_back(block.trainable ? 1 : 0);
  return trained;
}

// Parameters take part in a graph only where it is needed: it costs memory.
void ScriptModel::set_differentiable(bool on)
{
  for (std::size_t k = 0; k < parameters_.size() && (on || differentiable_); ++k)
    for (torch::Tensor &tensor : parameters_[k].tensors)
      tensor.requires_grad_(on && index_[k].trainable);
  differentiable_ = on;
}

void ScriptModel::prepare()
{
  if (prepared_version_ == version_) return;
  const torch::NoGradGuard no_graph;
  const torch::Tensor all = torch::from_blob(
      data_.parameters.data(), static_cast<std::int64_t>(data_.parameters.size()), torch::kFloat64);
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    const ParameterBlock &block = index_[k];
    const auto begin = static_cast<std::int64_t>(block.offset);
    parameters_[k].tensors.front().copy_(
        all.slice(0, begin, begin + static_cast<std::int64_t>(block.size)).view(block.shape));
  }
  prepared_version_ = version_;
}

void ScriptModel::set_precision(Precision precision)
{
  if (precision != Precision::float64 && facts().is_double)
    throw Error(path_ + ": the archive computes in float64, as it was frozen: precision single and "
                        "mixed are for archives whose descriptor and fitting net have precision "
                        "float32; leave the precision at double");
  precision_ = precision;
}

void ScriptModel::set_auxiliary_state(const std::vector<double> &state)
{
  if (!state.empty()) throw Error("the checkpoint has the state of another kind of model");
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
  if (keep) tape = std::make_unique<SweepTape<Sweep>>(version_, sweep_);
  for (int k = 0; k < n; ++k) found[k].add_to(out[k], domains[k], data_.out_bias, constants_.acts);
  return tape;
}

// A sweep on a tape stays as it is.
void ScriptModel::begin_sweep(const Domain *domains, int n, bool keep)
{
  if (is_on_tape(sweep_)) sweep_ = std::make_shared<Sweep>();
  *sweep_ = Sweep();
  sweep_->trained = trained();
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
  ScriptAtoms atoms = block.tensors;
  if (sums.wants_samples() && !weight_samples_.defined())
    throw Error("Forces of sampled last layers were asked for, and there are no samples");
  if (sums.wants_samples()) atoms.coord = atoms.coord.detach().clone().requires_grad_(true);
  const torch::AutoGradMode graph(sums.wants_samples());
  const torch::Tensor f = script_.contract->features(atoms).to(torch::kFloat64);
  const torch::Tensor type = atoms.type.view({-1}).slice(0, 0, block.centers);
  sums.add_features(block, f.detach(), type, whitening_);
  if (!sums.wants_samples()) return;
  // the energy is linear in the last layer's weights: f dw is what a change of them adds
  for (std::int64_t k = 0; k < weight_samples_.size(0); ++k) {
    const torch::Tensor added = (f * weight_samples_[k].index_select(0, type)).sum();
    const auto slope = torch::autograd::grad({added}, {atoms.coord}, {}, true, false, true);
    if (slope.front().defined()) sums.add_sample(block, k, -slope.front().view({-1, 3}));
  }
}

void ScriptModel::pass_b(Tape &tape, const GradientSeed *seeds, double *gradient)
{
  sweep([&] {
    sweep_ = SweepTape<Sweep>::sweep_of(tape);
    add_gradients(seeds);
  });
  std::fill_n(gradient, data_.parameters.size(), 0.0);
  for (std::size_t k = 0; k < parameters_.size(); ++k)
    if (gradient_[k].defined()) {
      const torch::Tensor sum = gradient_[k].to(torch::kCPU).contiguous();
      std::copy_n(sum.data_ptr<double>(), sum.numel(), gradient + index_[k].offset);
    }
}

// Of the present sweep, whose graphs are used once.
void ScriptModel::add_gradients(const GradientSeed *seeds)
{
  gradient_.assign(parameters_.size(), {});
  set_differentiable(true);  // after pass A, whose last blocks may not have been kept
  std::vector<Block> kept = std::exchange(sweep_->kept, {});
  sweep_->kept_bytes = 0;
  if (sweep_->trained != trained()) kept.clear();
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
  std::vector<std::size_t> parameter;
  for (std::size_t k = 0; k < parameters_.size(); ++k)
    for (const torch::Tensor &tensor : parameters_[k].tensors)
      if (tensor.requires_grad()) {
        inputs.push_back(tensor);
        parameter.push_back(k);
      }
  if (inputs.empty()) return;  // nothing is trained, but forces are derivatives too
  const auto slopes = torch::autograd::grad({scalar}, inputs, {}, false, false, true);
  for (std::size_t k = 0; k < slopes.size(); ++k) {
    if (!slopes[k].defined()) continue;
    torch::Tensor &sum = gradient_[parameter[k]];
    const torch::Tensor slope = slopes[k].to(torch::kFloat64);
    sum = sum.defined() ? sum.add_(slope) : slope.clone();
  }
}

void ScriptModel::sweep(const std::function<void()> &work)
{
  if (keep_limit_ == 0) keep_limit_ = std::min(kernels::memory_for_kernels().free / 4, most_kept);
  const auto run = [&] {
    prepare();
    const torch::jit::GraphOptimizerEnabledGuard plain(
        false);  // blocks differ in shape: see manual
    const ReducedPrecision products(precision_ == Precision::mixed);
    try {
      work();
    } catch (const Error &) {
      throw;
    } catch (const std::exception &e) {
      if (!memory_shortage(e).empty()) throw;
      throw Error(path_ + ": the program in the archive failed: " + script_failure(e));
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
  release_workspace();
  release_torch_caches();
  return_free_memory();
  if (keeps_less)
    keep_limit_ = 1;
  else if (can_be_smaller)
    chunk_ = chunk / 2;
  ++shortages_.number;
  shortages_.latest = cause;
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
  const std::size_t numbers = data_.parameters.size() * sizeof(double);
  return {{"parameters", 2 * numbers},
          {"archive", data_.archive.size()},
          {"workspace", sweep_->kept_bytes}};
}

void ScriptModel::set_whitening(const std::vector<double> &matrices)
{
  const std::int64_t h = facts().num_features,
                     ntypes = static_cast<std::int64_t>(type_map().size());
  if (static_cast<std::int64_t>(matrices.size()) != ntypes * h * h || h == 0)
    throw Error("the uncertainty of this model needs " + std::to_string(ntypes * h * h) +
                " numbers, found " + std::to_string(matrices.size()));
  data_.whitening = matrices;
  whitening_ = torch::tensor(matrices, torch::kFloat64).view({ntypes, h, h}).to(device_);
}

void ScriptModel::set_weight_samples(const std::vector<double> &changes)
{
  const std::int64_t h = facts().num_features,
                     ntypes = static_cast<std::int64_t>(type_map().size());
  if (h == 0 || changes.size() % static_cast<std::size_t>(ntypes * h) != 0)
    throw Error("Samples of the last layer need " + std::to_string(ntypes * h) +
                " numbers each, found " + std::to_string(changes.size()) + " numbers");
  weight_samples_ = torch::tensor(changes, torch::kFloat64).view({-1, ntypes, h}).to(device_);
}

}  // namespace dptrain
