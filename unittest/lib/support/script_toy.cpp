// The only part of the tests' toys that includes LibTorch, which takes the compiler half a minute.
#include "script_toy.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/types.h>

#include <numeric>
#include <regex>
#include <sstream>

#include "base/random.h"
#include "potential/torchscript/archive.h"
#include "potential/torchscript/script_model.h"

namespace dptrain::test {

namespace {

const char *const atomic_source = R"(
def forward_hidden(self, extended_coord: Tensor, extended_atype: Tensor, nlist: Tensor,
                   mapping: Optional[Tensor]=None, fparam: Optional[Tensor]=None) -> Tensor:
    n = nlist.size(1)
    x = extended_coord.to(self.mu)[0]
    types = extended_atype[0]
    own = types[:n]
    j = torch.clamp(nlist[0], 0)
    d = x[j] - torch.unsqueeze(x[:n], 1)
    square = torch.sum(d * d, -1)
    there = torch.logical_and(nlist[0] >= 0, square < self.cutoff * self.cutoff)
    square = torch.where(there, square, torch.ones_like(square))
    u = 1.0 - square / (self.cutoff * self.cutoff)
    w = torch.unsqueeze(torch.where(there, u * u * u, torch.zeros_like(u)), -1)
    shift = torch.unsqueeze(torch.sqrt(square), -1) - self.mu
    table = self.descriptor.pair
    coefficient = table[torch.unsqueeze(own, 1) * self.ntypes + types[j]]
    g = torch.sum(torch.exp(-2.0 * shift * shift) * w * coefficient, 1)
    free = self.nnei - torch.sum(nlist[0] >= 0, 1)
    g = g + self.padding * torch.unsqueeze(free.to(g), -1) * table[types[0]]
    h = torch.matmul(g, self.fitting_net.w1) + self.fitting_net.b1[own]
    if self.dim_fparam > 0:
        assert fparam is not None
        h = h + torch.matmul(fparam.to(g), self.fitting_net.wf)
    h = torch.tanh(h)
    if self.passes_messages:
        assert mapping is not None
        others = h[mapping[0]][j]
        h = torch.tanh(h + torch.matmul(torch.sum(others * w, 1), self.descriptor.message))
    return h

def energies(self, extended_coord: Tensor, extended_atype: Tensor, nlist: Tensor,
             mapping: Optional[Tensor], fparam: Optional[Tensor]) -> Tensor:
    own = extended_atype[0][:nlist.size(1)]
    f = self.forward_hidden(extended_coord, extended_atype, nlist, mapping, fparam)
    e = torch.sum(f * self.fitting_net.w2[own], -1)
    return e.to(self.out_bias) + self.out_bias[0][own][:, 0]
)";

const char *const embedding_source = R"(
def forward_embedding(self, extended_coord: Tensor, extended_atype: Tensor, nlist: Tensor,
                      mapping: Optional[Tensor]=None, fparam: Optional[Tensor]=None) -> Dict[str, Tensor]:
    f = self.forward_hidden(extended_coord, extended_atype, nlist, mapping, fparam)
    return {"atomic_feature": torch.unsqueeze(f, 0)}
)";

const char *const forward_source = R"(
def forward_lower(self, extended_coord: Tensor, extended_atype: Tensor, SPINnlist: Tensor,
                  mapping: Optional[Tensor]=None, fparam: Optional[Tensor]=None,
                  aparam: Optional[Tensor]=None, do_atomic_virial: bool=False) -> Dict[str, Tensor]:
    coord = extended_coord.detach().requires_grad_(True)
    if self.never:
        coord = torch.frac(coord)
    e = self.atomic_model.energies(coord, extended_atype, nlist, mapping, fparam)
    slope = torch.autograd.grad([torch.sum(e)], [coord], None, True, self.training)[0]
    assert slope is not None
    force = -slope
    per_atom = torch.unsqueeze(force, -1) * torch.unsqueeze(coord, -2)
    found = {"energy": torch.unsqueeze(torch.sum(e, 0, True), 0), "extended_force": force}
    found["atom_energy"] = torch.unsqueeze(torch.unsqueeze(e, -1), 0)
    found["virial"] = torch.flatten(torch.sum(per_atom, 1), 1)
    if do_atomic_virial:
        center = extended_coord.detach()[0][:nlist.size(1)]
        columns: List[Tensor] = []
        for b in range(3):
            moment = torch.sum(e * center[:, b])
            column = torch.autograd.grad([moment], [coord], None, True, self.training)[0]
            assert column is not None
            columns.append(column)
        found["extended_virial"] = torch.flatten(per_atom + torch.stack(columns, -1), 2)
    return found

def format_neighbors(self, nlist: Tensor) -> Tensor:
    more = self.get_nnei() - nlist.size(2)
    if more <= 0:
        return nlist[:, :, :self.get_nnei()]
    return torch.cat([nlist, -torch.ones_like(nlist[:, :, :1]).expand(1, nlist.size(1), more)], -1)
)";

const char *const format_source = R"(
def format_nlist(self, extended_coord: Tensor, extended_atype: Tensor, nlist: Tensor) -> Tensor:
    return self.format_neighbors(nlist)
)";

/// "[a, b]" of numbers.
std::string list_text(const std::vector<int> &numbers)
{
  std::ostringstream text;
  for (std::size_t k = 0; k < numbers.size(); ++k) text << (k ? ", " : "[") << numbers[k];
  return text.str() + "]";
}

std::string facts_source(const ScriptToy &toy)
{
  const auto method = [](const std::string &name, const std::string &type,
                         const std::string &value) {
    return "def " + name + "(self) -> " + type + ":\n    return " + value + "\n\n";
  };
  const int nnei = std::accumulate(toy.sel.begin(), toy.sel.end(), 0);
  return method("get_rcut", "float", std::to_string(toy.cutoff)) +
         method("get_type_map", "List[str]", "['A', 'B']") +
         method("get_nnei", "int", std::to_string(nnei)) +
         method("get_sel", "List[int]", list_text(toy.mixed ? std::vector<int>{nnei} : toy.sel)) +
         method("mixed_types", "bool", toy.mixed ? "True" : "False") +
         method("has_message_passing", "bool", toy.messages ? "True" : "False") +
         method("get_dim_fparam", "int", toy.fparam ? "1" : "0") +
         method("get_dim_aparam", "int", std::to_string(toy.aparam)) +
         method("model_output_type", "List[str]",
                toy.energy ? "['energy', 'mask']" : "['dipole', 'mask']") +
         method("get_min_nbor_dist", "Optional[float]", "0.9") +
         method("get_model_def_script", "str",
                R"('{"type_map": ["A", "B"], "descriptor": {"type": "toy"}}')");
}

/// Normal numbers of this size.
torch::Tensor random_tensor(RandomEngine &engine, std::vector<std::int64_t> shape, double size,
                            const ScriptToy &toy)
{
  torch::Tensor tensor = torch::empty(shape, torch::kFloat64);
  double *value = tensor.data_ptr<double>();
  for (std::int64_t k = 0; k < tensor.numel(); ++k) value[k] = size * random_normal(engine);
  return tensor.to(toy.single ? torch::kFloat32 : torch::kFloat64);
}

torch::jit::Module atomic_model(const ScriptToy &toy)
{
  using torch::jit::Module;
  constexpr std::int64_t types = 2, radial = 5, hidden = 4;
  RandomEngine engine(11);
  Module descriptor("__torch__.toy.Descriptor"), fitting("__torch__.toy.Fitting");
  Module atomic("__torch__.toy.AtomicModel");
  const auto put = [&](Module &module, const char *name, std::vector<std::int64_t> shape,
                       double size) {
    torch::Tensor tensor = random_tensor(engine, std::move(shape), size, toy);
    const bool fixed = toy.frozen_layer && std::string(name) == "b1";
    module.register_parameter(name, tensor.requires_grad_(!fixed), false);
  };
  put(descriptor, "pair", {types * types, radial}, 0.8);
  put(descriptor, "message", {hidden, hidden}, 0.3);
  put(fitting, "w1", {radial, hidden}, 0.6);
  put(fitting, "b1", {types, hidden}, 0.3);
  put(fitting, "wf", {1, hidden}, 0.5);
  put(fitting, "w2", {types, hidden}, 0.7);
  atomic.register_module("descriptor", descriptor);
  atomic.register_module("fitting_net", fitting);
  const auto kind = toy.single ? torch::kFloat32 : torch::kFloat64;
  atomic.register_buffer("mu", torch::linspace(1.0, toy.cutoff, radial, torch::kFloat64).to(kind));
  atomic.register_buffer("out_bias",
                         torch::tensor({-1.5, 2.25}, torch::kFloat64).view({1, types, 1}));
  atomic.register_attribute("cutoff", c10::FloatType::get(), toy.cutoff);
  atomic.register_attribute("ntypes", c10::IntType::get(), types);
  atomic.register_attribute("nnei", c10::IntType::get(),
                            std::accumulate(toy.sel.begin(), toy.sel.end(), 0));
  atomic.register_attribute("padding", c10::FloatType::get(), toy.padding ? 0.02 : 0.0);
  atomic.register_attribute("dim_fparam", c10::IntType::get(), toy.fparam ? 1 : 0);
  atomic.register_attribute("passes_messages", c10::BoolType::get(), toy.messages);
  atomic.register_attribute("training", c10::BoolType::get(), true);
  atomic.define(atomic_source);
  if (toy.features) atomic.define(embedding_source);
  return atomic;
}

}  // namespace

std::string script_toy(const ScriptToy &toy)
{
  torch::jit::Module module("__torch__.toy.Potential");
  module.register_attribute("training", c10::BoolType::get(), true);
  module.register_attribute("never", c10::BoolType::get(), false);
  module.register_module("atomic_model", atomic_model(toy));
  module.define(facts_source(toy));
  const std::string spin = toy.spin ? "extended_spin: Tensor, " : "";
  module.define(std::regex_replace(std::string(forward_source), std::regex("SPIN"), spin));
  if (toy.features) module.define(format_source);
  module.eval();
  std::ostringstream stream;
  module.save(stream);
  if (toy.operators.empty()) return stream.str();
  // nobody has the operator, so that it can only come into the text of the code afterwards
  return with_edited_code(stream.str(), "toy", [&](std::string &code) {
    static const std::regex never("torch\\.frac\\((\\w+)\\)");
    const std::string call = "(ops." + toy.operators + "($1, $1, $1, $1, $1, $1, $1, $1, $1))[0]";
    code = std::regex_replace(code, never, call);
  });
}

const std::vector<std::pair<std::string, ScriptToy>> &script_toys()
{
  static const auto with = [](auto change) {
    ScriptToy toy;
    change(toy);
    return toy;
  };
  static const std::vector<std::pair<std::string, ScriptToy>> toys{
      {"local", {}},
      {"messages", with([](ScriptToy &t) { t.messages = true; })},
      {"fparam", with([](ScriptToy &t) { t.fparam = true; })},
      {"single", with([](ScriptToy &t) { t.single = true; })},
      {"features", with([](ScriptToy &t) { t.features = true; })},
      {"messages_features", with([](ScriptToy &t) { t.messages = t.features = true; })},
      {"padding", with([](ScriptToy &t) { t.padding = t.features = true; })},
      {"mixed", with([](ScriptToy &t) { t.mixed = true; })},
      {"spin", with([](ScriptToy &t) { t.spin = true; })},
      {"aparam", with([](ScriptToy &t) { t.aparam = 2; })},
      {"dipole", with([](ScriptToy &t) { t.energy = false; })},
      {"frozen", with([](ScriptToy &t) { t.frozen_layer = true; })},
      {"border", with([](ScriptToy &t) { t.operators = "deepmd.border_op"; })},
      {"foreign", with([](ScriptToy &t) { t.operators = "elsewhere.thing"; })}};
  return toys;
}

void limit_kept_graphs(Model &model, std::size_t bytes)
{
  dynamic_cast<ScriptModel &>(model).set_keep_limit(bytes);
}

}  // namespace dptrain::test
