// The contract of potentials that DeePMD-kit 3.0 to 3.2 freezes: all that is special to them.

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "dptrain/base/error.h"
#include "potential/torchscript/contract.h"

namespace dptrain {

namespace {

using torch::jit::IValue;
using torch::jit::Module;

bool contains(const std::string &text, const char *part)
{
  return text.find(part) != std::string::npos;
}

/// Calls a method by the names of its arguments; those that are not given have their defaults. Versions of DeePMD-kit differ
/// in the arguments at the end.
IValue call(const Module &module, const char *name,
            const std::unordered_map<std::string, IValue> &arguments = {})
{
  const auto method = module.get_method(name);
  std::unordered_map<std::string, IValue> known;
  for (const auto &argument : method.function().getSchema().arguments()) {
    const auto found = arguments.find(argument.name());
    if (found != arguments.end()) known.insert(*found);
  }
  return method({}, known);
}

/// The value of a method without arguments, or `fallback` where the archive's version does not have it.
template <class T> T value_of(const Module &module, const char *name, T fallback)
{
  if (!module.find_method(name)) return fallback;
  const IValue value = call(module, name);
  return value.isNone() ? fallback : value.to<T>();
}

/// The list that a method gives.
template <class T> std::vector<T> list_of(const Module &module, const char *name)
{
  const IValue list = call(module, name);
  std::vector<T> values;
  for (const IValue &value : list.toListRef()) values.push_back(value.to<T>());
  return values;
}

bool has_argument(const Module &module, const char *method, const std::string &name)
{
  const auto found = module.find_method(method);
  if (!found) return false;
  const auto &arguments = found->function().getSchema().arguments();
  return std::any_of(arguments.begin(), arguments.end(),
                     [&](const auto &argument) { return argument.name() == name; });
}

/// Evaluates any of the potentials as LAMMPS' pair style of DeePMD-kit does, through forward_lower.
class DeepmdContract final : public ScriptContract {
 public:
  DeepmdContract(Module module, const std::string &path, bool has_operators) :
      module_(std::move(module))
  {
    refuse_others(path);
    facts_.cutoff = call(module_, "get_rcut").toDouble();
    facts_.type_map = list_of<std::string>(module_, "get_type_map");
    facts_.is_local = !value_of(module_, "has_message_passing", false);
    facts_.max_neighbors = static_cast<int>(call(module_, "get_nnei").toInt());
    facts_.model_def_script = value_of<std::string>(module_, "get_model_def_script", "");
    facts_.fparam = static_cast<int>(value_of<std::int64_t>(module_, "get_dim_fparam", 0));
    facts_.has_default_fparam = value_of(module_, "has_default_fparam", false);
    if (module_.find_method("get_min_nbor_dist")) {
      const IValue distance = call(module_, "get_min_nbor_dist");
      if (!distance.isNone()) facts_.min_nbor_dist = distance.toDouble();
    }
    find_sel();
    for (const auto &parameter : module_.named_parameters()) {
      const bool exists = parameter.value.numel() > 0;
      if (!is_parameter(parameter.name))
        facts_.needs_operators |= exists;
      else if (exists && parameter.value.scalar_type() != torch::kFloat64)
        facts_.is_double = false;
    }
    if (facts_.needs_operators && !has_operators) return;  // it cannot be evaluated
    facts_.num_features = count_features();
    facts_.padding_has_type = depends_on_order();
  }

  const ScriptFacts &facts() const override { return facts_; }

  ScriptResults evaluate(const ScriptAtoms &atoms, bool differentiable, bool atom_virial) override
  {
    const torch::AutoGradMode graph(true);  // forces are derivatives, whatever the caller needs
    // and made with create_graph where the module trains
    if (module_.is_training() != differentiable) module_.train(differentiable);
    auto arguments = arguments_of(atoms);
    arguments["do_atomic_virial"] = atom_virial;
    const auto found = call(module_, "forward_lower", arguments).toGenericDict();
    const auto tensor = [&found](const char *key) { return found.at(key).toTensor(); };
    ScriptResults results;
    results.atom_energy = tensor("atom_energy").view({-1});
    results.force = tensor("extended_force").view({-1, 3});
    results.virial = tensor("virial").view({9});
    if (atom_virial) results.atom_virial = tensor("extended_virial").view({-1, 9});
    return results;
  }

  torch::Tensor features(const ScriptAtoms &atoms) override
  {
    module_.eval();
    auto arguments = arguments_of(atoms);
    arguments["nlist"] = call(module_, "format_nlist", arguments);
    const auto found = call(atomic_model(), "forward_embedding", arguments).toGenericDict();
    return found.at("atomic_feature").toTensor().view({-1, facts_.num_features});
  }

  // A linear combination of potentials (ZBL beside a network) has constants of its own from DeePMD-kit 3.2 on; before, those
  // of its parts count.
  std::vector<std::vector<torch::Tensor>> energy_constants() override
  {
    const auto bias_of = [](const Module &part, std::vector<torch::Tensor> &to) {
      if (part.hasattr("out_bias")) to.push_back(part.attr("out_bias").toTensor().view({-1}));
    };
    std::vector<std::vector<torch::Tensor>> places(2);
    bias_of(atomic_model(), places[0]);
    if (atomic_model().hasattr("models"))
      for (const Module &part : atomic_model().attr("models").toModule().children())
        bias_of(part, places[1]);
    return places;
  }

  bool is_parameter(const std::string &name) const override
  {
    return !contains(name, "compress_data") && !contains(name, "compress_info");
  }

 private:
  Module atomic_model() const { return module_.attr("atomic_model").toModule(); }

  static std::unordered_map<std::string, IValue> arguments_of(const ScriptAtoms &atoms)
  {
    std::unordered_map<std::string, IValue> arguments{{"extended_coord", atoms.coord},
                                                      {"extended_atype", atoms.type},
                                                      {"nlist", atoms.neighbors}};
    if (atoms.owner.defined()) arguments["mapping"] = atoms.owner;
    if (atoms.fparam.defined()) arguments["fparam"] = atoms.fparam;
    return arguments;
  }

  void refuse_others(const std::string &path) const
  {
    if (has_argument(module_, "forward_lower", "extended_spin"))
      throw Error(
          fmt::format("{}: a spin model of DeePMD-kit (pair style deepspin): magnetic moments are "
                      "not supported; use pair_style deepspin, or a model without spin",
                      path));
    if (!module_.hasattr("atomic_model") || !module_.find_method("get_nnei"))
      throw Error(fmt::format(
          "{}: a model of DeePMD-kit of another kind than the potentials of versions 3.0 to 3.2: "
          "it lacks atomic_model or get_nnei; freeze a potential: dp --pt freeze -o model.pth",
          path));
    if (module_.find_method("model_output_type")) {
      std::string outputs;
      bool energy = false;
      for (const std::string &output : list_of<std::string>(module_, "model_output_type")) {
        energy |= output == "energy";
        if (output != "mask") outputs += (outputs.empty() ? "" : ", ") + output;
      }
      if (!energy)
        throw Error(
            fmt::format("{}: a model of DeePMD-kit that predicts {}, not energies: use a potential",
                        path, outputs));
    }
    if (value_of<std::int64_t>(module_, "get_dim_aparam", 0) > 0)
      throw Error(
          fmt::format("{}: a model with {} parameters of each atom (numb_aparam): these are not "
                      "supported; train a model without aparam, or use pair_style deepmd",
                      path, value_of<std::int64_t>(module_, "get_dim_aparam", 0)));
    if (value_of<std::int64_t>(module_, "get_dim_chg_spin", 0) > 0 &&
        !value_of(module_, "has_default_chg_spin", false))
      throw Error(fmt::format("{}: a model that needs total charge and spin of each frame "
                              "(charge_spin) and has no default for them: these are not supported; "
                              "freeze it with default values, or use pair_style deepmd",
                              path));
  }

  void find_sel()
  {
    if (value_of(module_, "mixed_types", true)) {
      facts_.sel = {facts_.max_neighbors};
    } else if (module_.find_method("get_sel")) {
      for (const std::int64_t n : list_of<std::int64_t>(module_, "get_sel"))
        facts_.sel.push_back(static_cast<int>(n));
    }
    if (std::accumulate(facts_.sel.begin(), facts_.sel.end(), 0) != facts_.max_neighbors)
      facts_.sel = {facts_.max_neighbors};
  }

  /// Atoms of these types in a row, each the neighbor of the one beside it.
  ScriptAtoms atoms_in_a_row(const std::vector<std::int64_t> &types) const
  {
    const auto integers = torch::TensorOptions().dtype(torch::kInt64).device(device());
    const auto n = static_cast<std::int64_t>(types.size());
    ScriptAtoms atoms;
    atoms.coord = torch::zeros({1, n, 3}, integers.dtype(torch::kFloat64));
    atoms.neighbors = torch::full({1, n, 2}, -1, integers);
    for (std::int64_t i = 0; i < n; ++i) atoms.coord[0][i][0] = 0.3 * facts_.cutoff * i;
    for (std::int64_t i = 1; i < n; ++i) {
      atoms.neighbors[0][i][0] = i - 1;
      atoms.neighbors[0][i - 1][1] = i;
    }
    atoms.type = torch::tensor(types, torch::kInt64).view({1, n}).to(device());
    atoms.owner = torch::arange(n, integers).view({1, n});
    if (facts_.fparam > 0)
      atoms.fparam = torch::zeros({1, facts_.fparam}, integers.dtype(torch::kFloat64));
    return atoms;
  }

  torch::Device device() const
  {
    for (const auto &parameter : module_.named_parameters()) return parameter.value.device();
    return torch::kCPU;
  }

  // The same atoms, counted from the other end.
  bool depends_on_order()
  {
    if (facts_.type_map.size() < 2) return false;
    const auto energy = [this](const std::vector<std::int64_t> &types) {
      return evaluate(atoms_in_a_row(types), false, false).atom_energy.sum().item<double>();
    };
    const double there = energy({0, 0, 1}), back = energy({1, 0, 0});
    const double rounding = facts_.is_double ? 1e-12 : 1e-5;
    return std::abs(there - back) > rounding * std::max(1.0, std::abs(there));
  }

  // DeePMD-kit 3.2 has a function for the last layer's inputs; a model may still not have any (a table).
  int count_features() const
  {
    if (!module_.find_method("format_nlist") || !atomic_model().find_method("forward_embedding"))
      return 0;
    auto arguments = arguments_of(atoms_in_a_row({0}));
    try {
      const torch::NoGradGuard no_graph;
      arguments["nlist"] = call(module_, "format_nlist", arguments);
      const auto found = call(atomic_model(), "forward_embedding", arguments).toGenericDict();
      return static_cast<int>(found.at("atomic_feature").toTensor().size(-1));
    } catch (const std::exception &) {
      return 0;
    }
  }

  Module module_;
  ScriptFacts facts_;
};

}  // namespace

bool is_deepmd_model(const Module &module)
{
  for (const char *method : {"forward_lower", "get_rcut", "get_type_map"})
    if (!module.find_method(method)) return false;
  return true;
}

std::unique_ptr<ScriptContract> make_deepmd_contract(Module module, const std::string &path,
                                                     bool has_operators)
{
  return std::make_unique<DeepmdContract>(std::move(module), path, has_operators);
}

}  // namespace dptrain
