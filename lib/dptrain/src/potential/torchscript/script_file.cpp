#include "potential/torchscript/script_file.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "dptrain/base/error.h"
#include "potential/torchscript/archive.h"
#include "potential/torchscript/operators.h"

namespace dptrain {

namespace {

bool has_record(const std::vector<std::string> &names, const std::string &part)
{
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string &name) { return name.find(part) != std::string::npos; });
}

/// What PyTorch writes zip files for, other than TorchScript.
void refuse_other_archives(const std::vector<std::string> &names, const std::string &path)
{
  if (has_record(names, "aotinductor") || has_record(names, "extra/metadata.json") ||
      has_record(names, "archive_format"))
    throw Error(fmt::format(
        "{}: a compiled model (.pt2, AOTInductor; DPA4 of DeePMD-kit is frozen so): its weights "
        "are constants of machine code and cannot be trained. Run it with pair_style deepmd, or "
        "freeze a model that has a TorchScript form: dp freeze -o model.pth",
        path));
  if (!has_record(names, "code/") || !has_record(names, "constants.pkl"))
    throw Error(fmt::format("{}: weights without a program (a checkpoint .pt of PyTorch): freeze "
                            "it with DeePMD-kit: dp --pt freeze -c {} -o model.pth",
                            path, path));
}

torch::jit::Module load_module(const std::string &bytes, const std::string &path,
                               torch::Device device)
{
  std::istringstream stream(bytes);
  try {
    return torch::jit::load(stream, device);
  } catch (const std::exception &e) {
    throw Error(fmt::format(
        "{}: LibTorch cannot load this archive: {}. Freeze the model with DeePMD-kit 3.0 to 3.2 "
        "and a PyTorch that is not newer than the one that this program uses",
        path, script_failure(e)));
  }
}

double energy_of_atom(ScriptContract &contract, int type, const torch::Tensor &fparam,
                      const std::string &path)
{
  const auto integers = torch::TensorOptions().dtype(torch::kInt64).device(fparam.device());
  ScriptAtoms atom;
  atom.coord = torch::zeros({1, 1, 3}, integers.dtype(torch::kFloat64));
  atom.type = torch::full({1, 1}, type, integers);
  atom.neighbors = torch::full({1, 1, 1}, -1, integers);
  if (!contract.facts().is_local) atom.owner = torch::zeros({1, 1}, integers);
  if (fparam.numel() > 0) atom.fparam = fparam;
  try {
    return contract.evaluate(atom, false, false).atom_energy.item<double>();
  } catch (const std::exception &e) {
    throw Error(fmt::format("{}: the program in the archive failed for a single atom: {}; freeze "
                            "the model again with DeePMD-kit 3.0 to 3.2",
                            path, script_failure(e)));
  }
}

}  // namespace

std::vector<double> numbers_of(const torch::Tensor &tensor)
{
  const torch::Tensor values = tensor.detach().to(torch::kCPU, torch::kFloat64).contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

std::string script_failure(const std::exception &error)
{
  const auto *with_trace = dynamic_cast<const c10::Error *>(&error);
  std::istringstream text(with_trace ? with_trace->what_without_backtrace() : error.what());
  std::string last;
  for (std::string line; std::getline(text, line);)
    if (line.find_first_not_of(" \t\r~^<-") != std::string::npos) last = line;
  return last.substr(std::min(last.find_first_not_of(" \t"), last.size()));
}

Script open_script(const std::string &archive, const std::string &path, torch::Device device)
{
  refuse_other_archives(record_names(archive, path), path);
  const LoadableArchive ready = loadable(archive, path);
  Script script;
  script.module = load_module(ready.bytes, path, device);
  script.contract = make_contract(script.module, path, !ready.has_stand_ins);
  script.has_stand_ins = ready.has_stand_ins;
  if (!script.contract->facts().needs_operators || !ready.has_stand_ins) return script;
  const std::string trouble = load_deepmd_operators();
  if (!trouble.empty())
    throw Error(
        fmt::format("{}: a compressed model, which needs the operator library of DeePMD-kit "
                    "(libdeepmd_op_pt.so): {}. Load DeePMD-kit's plugin before, install it beside "
                    "this program, or freeze the model without dp compress",
                    path, trouble));
  script.has_stand_ins = false;
  script.module = load_module(archive, path, device);
  script.contract = make_contract(script.module, path, true);
  return script;
}

std::vector<ScriptParameter> script_parameters(const Script &script)
{
  std::vector<ScriptParameter> parameters;
  std::map<const void *, std::size_t> known;  // by address
  std::size_t offset = 0;
  for (const auto &found : script.module.named_parameters()) {
    const torch::Tensor &tensor = found.value;
    if (tensor.numel() == 0 || !tensor.is_floating_point() ||
        !script.contract->is_parameter(found.name))
      continue;
    const auto [place, is_new] = known.emplace(tensor.data_ptr(), parameters.size());
    if (is_new) {
      ScriptParameter parameter;
      parameter.block.name = found.name;
      parameter.block.shape = tensor.sizes().vec();
      parameter.block.size = static_cast<std::size_t>(tensor.numel());
      parameter.block.offset = offset;
      parameter.block.trainable = tensor.requires_grad();
      offset += parameter.block.size;
      parameters.push_back(std::move(parameter));
    }
    std::vector<torch::Tensor> &tensors = parameters[place->second].tensors;
    if (std::none_of(tensors.begin(), tensors.end(),
                     [&](const torch::Tensor &other) { return other.is_same(tensor); }))
      tensors.push_back(tensor);
  }
  return parameters;
}

void EnergyConstants::add(const std::vector<double> &change) const
{
  const torch::NoGradGuard no_graph;
  std::vector<double> own = change;
  for (double &value : own) value /= response;
  const torch::Tensor shift = torch::tensor(own, torch::kFloat64);
  for (const torch::Tensor &tensor : tensors) tensor.add_(shift.to(tensor.options()));
}

namespace {

std::vector<double> single_atoms(const Script &script, const torch::Tensor &fparam,
                                 const std::string &path)
{
  std::vector<double> energies;
  const int ntypes = static_cast<int>(script.contract->facts().type_map.size());
  for (int t = 0; t < ntypes; ++t)
    energies.push_back(energy_of_atom(*script.contract, t, fparam, path));
  return energies;
}

/// What of `constants.tensors` can be known by changing them; false where types share a constant.
bool probe(const Script &script, const torch::Tensor &fparam, const std::string &path,
           EnergyConstants &constants)
{
  const std::size_t ntypes = constants.energy.size();
  for (const torch::Tensor &tensor : constants.tensors)
    if (tensor.numel() != static_cast<std::int64_t>(ntypes)) return false;
  const torch::NoGradGuard no_graph;
  std::vector<torch::Tensor> stored;
  for (const torch::Tensor &tensor : constants.tensors) stored.push_back(tensor.clone());
  std::vector<double> shift(ntypes);  // another one for each type: types must not be exchanged
  for (std::size_t t = 0; t < ntypes; ++t) shift[t] = 1.0 + 0.125 * static_cast<double>(t);
  for (const torch::Tensor &tensor : constants.tensors) tensor.zero_();
  const std::vector<double> before = single_atoms(script, fparam, path);
  constants.add(shift);
  const std::vector<double> after = single_atoms(script, fparam, path);
  for (std::size_t k = 0; k < stored.size(); ++k) constants.tensors[k].copy_(stored[k]);

  constexpr double rounding = 1e-4;  // of float32 archives
  double response = 0.0;
  bool same = true;
  for (std::size_t t = 0; t < ntypes; ++t) {
    const double factor = (after[t] - before[t]) / shift[t];
    constants.acts[t] = std::abs(factor) > rounding ? 1 : 0;
    if (constants.acts[t] && response != 0.0) same &= std::abs(factor - response) < rounding;
    if (constants.acts[t] && response == 0.0) response = factor;
  }
  if (response == 0.0 || !same) return false;
  constants.response = std::abs(response - 1.0) < rounding ? 1.0 : response;
  return true;
}

}  // namespace

EnergyConstants energy_constants(const Script &script, const torch::Tensor &fparam,
                                 const std::string &path)
{
  const std::size_t ntypes = script.contract->facts().type_map.size();
  for (auto &place : script.contract->energy_constants()) {
    EnergyConstants constants;
    constants.tensors = std::move(place);
    constants.energy.assign(ntypes, 0.0);
    constants.acts.assign(ntypes, 0);
    if (constants.tensors.empty() || !probe(script, fparam, path, constants)) continue;
    constants.energy = numbers_of(constants.tensors.front());
    for (double &energy : constants.energy) energy *= constants.response;
    return constants;
  }
  EnergyConstants none;  // that could be changed
  none.energy.assign(ntypes, 0.0);
  none.acts.assign(ntypes, 0);
  return none;
}

torch::Tensor fparam_tensor(const ScriptFacts &facts, const std::vector<double> &values,
                            const std::string &path, torch::Device device)
{
  const std::size_t expected = static_cast<std::size_t>(facts.fparam);
  if (values.empty() && (expected == 0 || facts.has_default_fparam))
    return torch::empty({0}, torch::TensorOptions().dtype(torch::kFloat64).device(device));
  if (values.size() != expected)
    throw Error(fmt::format(
        "{}: the model has {} frame parameters (numb_fparam), {} are given; {}", path, expected,
        values.size(),
        expected > 0
            ? "give them with the keyword fparam V1 V2 ... of pair_style dptrain (or of fix "
              "dptrain with its own model); elsewhere freeze the model with default_fparam"
            : "remove the keyword fparam"));
  return torch::tensor(values, torch::kFloat64).view({1, facts.fparam}).to(device);
}

std::unique_ptr<ScriptContract> make_contract(torch::jit::Module module, const std::string &path,
                                              bool has_operators)
{
  try {
    if (is_deepmd_model(module))
      return make_deepmd_contract(std::move(module), path, has_operators);
  } catch (const Error &) {
    throw;
  } catch (const std::exception &e) {  // what fails inside the program is no c10::Error
    throw Error(fmt::format("{}: a potential of DeePMD-kit that does not answer as those of "
                            "versions 3.0 to 3.2 do: {}; freeze it with one of them",
                            path, script_failure(e)));
  }
  throw Error(fmt::format(
      "{}: a TorchScript module, but no potential of DeePMD-kit 3.0 to 3.2: it lacks the methods "
      "forward_lower, get_rcut and get_type_map. Models of other programs and of DeePMD-kit before "
      "3.0 cannot be used; freeze the model with DeePMD-kit 3: dp --pt freeze -o model.pth",
      path));
}

}  // namespace dptrain
