#include "potential/terms/charge_term.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include "base/text.h"
#include "dptrain/base/error.h"
#include "dptrain/parallel/communicator.h"
#include "input/model_keys.h"
#include "kernels/memory.h"
#include "potential/terms/reciprocal_sum.h"

namespace dptrain {

namespace {

using ByElement = std::map<std::string, double>;

const ByElement &oxidation_numbers()
{
  static const ByElement numbers{
      {"H", 1},  {"Li", 1},  {"Na", 1},  {"K", 1},  {"Rb", 1}, {"Cs", 1}, {"Be", 2},  {"Mg", 2},
      {"Ca", 2}, {"Sr", 2},  {"Ba", 2},  {"B", 3},  {"Al", 3}, {"Ga", 3}, {"In", 3},  {"Sc", 3},
      {"Y", 3},  {"La", 3},  {"Ce", 4},  {"C", 4},  {"Si", 4}, {"Ge", 4}, {"Sn", 4},  {"Pb", 2},
      {"Ti", 4}, {"Zr", 4},  {"Hf", 4},  {"V", 5},  {"Nb", 5}, {"Ta", 5}, {"Cr", 3},  {"Mo", 6},
      {"W", 6},  {"Mn", 2},  {"Fe", 3},  {"Co", 2}, {"Ni", 2}, {"Cu", 2}, {"Zn", 2},  {"Ag", 1},
      {"Cd", 2}, {"Bi", 3},  {"P", 5},   {"N", -3}, {"O", -2}, {"S", -2}, {"Se", -2}, {"Te", -2},
      {"F", -1}, {"Cl", -1}, {"Br", -1}, {"I", -1}};
  return numbers;
}

class ChargeConfig final : public EnergyTermConfig {
 public:
  std::string type() const override { return "charges"; }
  std::unique_ptr<EnergyTermConfig> clone() const override
  {
    return std::make_unique<ChargeConfig>(*this);
  }
  double cutoff() const override { return 0.0; }
  bool has_parameters() const override { return kind == "element"; }
  std::string text() const override
  {
    std::string width = sigma ? fmt::format(", sigma {:.9g} Angstrom", *sigma) : "";
    if (kind == "element") return fmt::format("charges by element{}{}", width, text_of_total());
    std::vector<std::string> each;
    for (const auto &[element, charge] : values)
      each.push_back(fmt::format("{} {:.9g}", element, charge));
    return fmt::format("charges {}{}{}", joined(each), width, text_of_total());
  }
  const Keys<EnergyTermConfig> &table() const override
  {
    using K = Key<EnergyTermConfig>;
    using C = ChargeConfig;
    static const Keys<EnergyTermConfig> keys{
        K("kind",
          K::Read([](JsonReader &section, const std::string &key, EnergyTermConfig &config) {
            auto &own = static_cast<C &>(config);
            own.kind = section.choice(key, own.kind, {"element", "fixed"});
          }),
          K::Write([](const EnergyTermConfig &config) {
            return OrderedJson(static_cast<const C &>(config).kind);
          })),
        K("values",
          K::Read([](JsonReader &section, const std::string &key, EnergyTermConfig &config) {
            static_cast<C &>(config).values = read_charges(section, key);
          }),
          K::Write([](const EnergyTermConfig &config) {
            const ByElement &values = static_cast<const C &>(config).values;
            return values.empty() ? OrderedJson() : OrderedJson(values);
          })),
        K("sigma", &C::sigma, positive_length),
        K("total", &C::total, any_number),
    };
    return keys;
  }
  void complete(JsonReader &section, const ModelConfig &model) override
  {
    for (const auto &[element, charge] : values)
      if (std::find(model.type_map.begin(), model.type_map.end(), element) == model.type_map.end())
        section.fail("values", fmt::format("{} is not in type_map: give charges of {}", element,
                                           joined(model.type_map)));
    if (kind == "element") return;
    for (const std::string &element : model.type_map)
      if (!values.contains(element))
        section.fail("values", fmt::format("has no charge for {}: fixed charges need one for each "
                                           "element of type_map, 0 where there is none",
                                           element));
  }
  // By type; those that are given, else usual ones.
  std::vector<double> start(const std::vector<std::string> &elements) const
  {
    std::vector<double> charges;
    for (const std::string &element : elements) {
      const auto given = values.find(element);
      charges.push_back(given != values.end() ? given->second
                                              : usual_oxidation_number(element).value_or(0.0));
    }
    return charges;
  }

  std::string kind = "element";
  ByElement values;             ///< e
  std::optional<double> sigma;  ///< Angstrom; none: a quarter of the cutoff
  double total = 0.0;           ///< e, of a frame

 private:
  static ByElement read_charges(JsonReader &section, const std::string &key)
  {
    const nlohmann::json *value = section.find(key);
    const bool ok =
        value->is_object() && std::all_of(value->begin(), value->end(),
                                          [](const auto &charge) { return charge.is_number(); });
    if (!ok)
      section.expected(key, "an object of charges by element, such as {\"Na\": 1, \"Cl\": -1}");
    return value->get<ByElement>();
  }
  std::string text_of_total() const
  {
    return total == 0.0 ? "" : fmt::format(", total {:.9g}", total);
  }
};

at::TensorOptions tensor_options()
{
  const at::TensorOptions options(at::kDouble);
  if (kernels::device_index() < 0) return options;
  return options.device(
      at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(kernels::device_index())));
}

class ChargeTerm final : public GlobalTerm {
 public:
  ChargeTerm(const ModelData &data, const ChargeConfig &config,
             const std::vector<ParameterBlock> &blocks) :
      ntypes_(data.config.ntypes()),
      sigma_(config.sigma.value_or(0.25 * data.config.rcut)),
      total_(config.total)
  {
    if (blocks.empty())
      fixed_ = config.start(data.config.type_map);
    else
      begin_ = blocks.front().offset;
  }

  std::optional<Charges> charges(const std::vector<double> &parameters) const override;
  std::unique_ptr<State> forward(const std::vector<double> &parameters, const Domain *domains,
                                 int n, const ForwardOutput *out) override;
  void add_results(const State &state, ForwardOutput *out) const override;
  void gradient(const State &state, const GradientSeed *seeds, double *gradient) override;

 private:
  // What is known of a frame; nothing where it is left out.
  struct FrameState {
    const Communicator *ranks = nullptr;
    bool on_device = false;  // arrays by atom of the engine lie where kernels run
    int nlocal = 0;
    double atoms = 0.0;          // of the whole frame
    std::vector<double> counts;  // atoms of each type, in the whole frame
    at::Tensor type;             // [nlocal] 0: not in the model
    std::optional<ReciprocalSum> sum;
    ReciprocalSum::Atoms of_atoms;
    at::Tensor own, all;  // S of these atoms, and of all
    ReciprocalSum::Derivatives derivatives;
    at::Tensor virials;  // [nlocal][9] where they are asked for
    double energy = 0.0;
    std::array<double, 9> virial{};
  };
  struct Sweep final : State {
    std::vector<FrameState> frames;
  };

  void begin(const Domain &domain, FrameState &frame) const;
  void count(const Communicator &ranks, FrameState &frame) const;
  at::Tensor charges_of_atoms(const std::vector<double> &parameters, const FrameState &frame) const;

  const int ntypes_;
  const double sigma_, total_;
  std::vector<double> fixed_;  // by type
  std::size_t begin_ = 0;      // of the parameters
};

// Work that may throw on one rank, before the ranks of a frame add up numbers.
void together(const Communicator *ranks, const std::function<void()> &work)
{
  if (ranks && ranks->size() > 1)
    guarded(*ranks, work);
  else
    work();
}

void add_up(const Communicator *ranks, at::Tensor &sum)
{
  if (!ranks || ranks->size() == 1) return;
  at::Tensor host = sum.to(at::kCPU).contiguous().clone();
  ranks->all_reduce_sum(host.data_ptr<double>(), static_cast<std::size_t>(host.numel()));
  sum = host.to(sum.device());
}

template <class T> at::Tensor array(const T *data, at::IntArrayRef shape, bool on_device)
{
  at::TensorOptions options(sizeof(T) == 8 ? at::kDouble : at::kInt);
  if (on_device) options = options.device(tensor_options().device());
  return at::from_blob(const_cast<T *>(data), shape, options);
}

void ChargeTerm::begin(const Domain &domain, FrameState &frame) const
{
  const WholeCell &whole = *domain.whole;
  if (!whole.periodic)
    throw Error("charges need a cell that is periodic in all directions: give the frames one, with "
                "vacuum around what is not, or leave the charges out");
  frame.nlocal = domain.nlocal;
  frame.on_device = domain.in_kernel_memory && kernels::separate_memory();
  const at::TensorOptions options = tensor_options();
  frame.type =
      (array(domain.type, {domain.nlocal}, frame.on_device).to(options.device()) + 1).to(at::kLong);
  frame.counts.assign(ntypes_, 0.0);
  const at::Tensor counts = at::bincount(frame.type, {}, ntypes_ + 1).to(at::kCPU);
  for (int type = 0; type < ntypes_; ++type)
    frame.counts[type] = static_cast<double>(counts[type + 1].item<std::int64_t>());
  frame.sum.emplace(whole.box, sigma_, options);
}

std::optional<Charges> ChargeTerm::charges(const std::vector<double> &parameters) const
{
  std::vector<double> by_type = fixed_;
  if (by_type.empty()) {
    const double *own = parameters.data() + begin_;
    by_type.assign(own, own + ntypes_);
  }
  return Charges{by_type, total_, sigma_};
}

// [nlocal]
at::Tensor ChargeTerm::charges_of_atoms(const std::vector<double> &parameters,
                                        const FrameState &frame) const
{
  std::vector<double> by_type{0.0};  // of what is not in the model
  for (const double charge : charges(parameters)->in_frame(frame.counts)) by_type.push_back(charge);
  const at::Tensor values =
      array(by_type.data(), {ntypes_ + 1}, false).to(frame.type.device(), false, true);
  return values.index_select(0, frame.type);
}

std::unique_ptr<GlobalTerm::State> ChargeTerm::forward(const std::vector<double> &parameters,
                                                       const Domain *domains, int n,
                                                       const ForwardOutput *out)
{
  const c10::InferenceMode no_graph;
  auto sweep = std::make_unique<Sweep>();
  sweep->frames.resize(n);
  for (int f = 0; f < n; ++f) {
    const Domain &domain = domains[f];
    FrameState &frame = sweep->frames[f];
    if (!domain.whole) continue;
    frame.ranks = domain.whole->ranks;
    const bool alone = !frame.ranks || frame.ranks->size() == 1;
    if (alone && domain.nlocal == 0) continue;  // the frame of another rank
    together(frame.ranks, [&] { begin(domain, frame); });
    if (!alone) frame.ranks->all_reduce_sum(frame.counts.data(), frame.counts.size());
    for (const double count : frame.counts) frame.atoms += count;
    together(frame.ranks, [&] {
      const at::Tensor x =
          array(domain.x, {domain.nlocal, 3}, frame.on_device).to(frame.type.device());
      frame.of_atoms = frame.sum->atoms(x, charges_of_atoms(parameters, frame));
      frame.own = frame.sum->structure(frame.of_atoms);
    });
    frame.all = frame.own;
    add_up(frame.ranks, frame.all);
    together(frame.ranks, [&] {
      frame.derivatives = frame.sum->derivatives(frame.of_atoms, frame.all);
      frame.energy =
          0.5 * at::dot(frame.of_atoms.charge, frame.derivatives.potential).item<double>();
      if (out[f].sums) frame.virial = frame.sum->virial(frame.all, frame.own);
      if (out[f].atom_virial) frame.virials = frame.sum->virials(frame.of_atoms, frame.all);
    });
  }
  return sweep;
}

void ChargeTerm::add_results(const State &state, ForwardOutput *out) const
{
  const c10::InferenceMode no_graph;
  const auto &frames = static_cast<const Sweep &>(state).frames;
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const FrameState &frame = frames[f];
    if (!frame.sum) continue;
    const auto add = [&](double *target, const at::Tensor &values, double factor) {
      at::Tensor there = array(target, values.sizes(), frame.on_device);
      there.add_(values.to(there.device()), factor);
    };
    ForwardOutput &o = out[f];
    o.energy += frame.energy;
    o.network_energy += frame.energy;
    for (std::size_t k = 0; k < 9; ++k) o.virial[k] += frame.virial[k];
    if (o.force) add(o.force, frame.derivatives.gradient, -1.0);
    if (o.atom_energy) add(o.atom_energy, frame.of_atoms.charge * frame.derivatives.potential, 0.5);
    if (o.atom_virial) add(o.atom_virial, frame.virials, 1.0);
  }
}

void ChargeTerm::gradient(const State &state, const GradientSeed *seeds, double *gradient)
{
  if (!fixed_.empty()) return;
  const c10::InferenceMode no_graph;
  const auto &frames = static_cast<const Sweep &>(state).frames;
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const FrameState &frame = frames[f];
    if (!frame.sum) continue;
    const GradientSeed &seed = seeds[f];
    const at::Tensor none = at::zeros_like(frame.of_atoms.charge);
    at::Tensor v, tangent;
    together(frame.ranks, [&] {
      if (seed.atom_energy)
        throw Error("charges cannot learn from energies of atoms, which long-range energies do not "
                    "have: remove the labels or the term of the loss");
      v = seed.force ? array(seed.force, {frame.nlocal, 3}, false).to(none.device())
                     : at::zeros({frame.nlocal, 3}, none.options());
      tangent = frame.sum->structure_tangent(frame.of_atoms, v, none);
    });
    add_up(frame.ranks, tangent);
    together(frame.ranks, [&] {
      // S = c E - E_dot
      const at::Tensor by_charge =
          seed.energy * frame.derivatives.potential -
          frame.sum->potential_tangent(frame.of_atoms, v, none, seed.virial, frame.all, tangent);
      const at::Tensor by_type = at::zeros({ntypes_ + 1}, none.options())
                                     .index_add_(0, frame.type, by_charge)
                                     .to(at::kCPU);
      double sum = 0.0;
      for (int type = 0; type < ntypes_; ++type) sum += by_type[type + 1].item<double>();
      for (int type = 0; type < ntypes_; ++type)
        gradient[begin_ + type] +=
            by_type[type + 1].item<double>() - frame.counts[type] / frame.atoms * sum;
    });
  }
}

class ChargeType final : public EnergyTermType {
 public:
  std::string name() const override { return ChargeConfig().type(); }
  std::unique_ptr<EnergyTermConfig> make_config() const override
  {
    return std::make_unique<ChargeConfig>();
  }
  void add_blocks(const ModelConfig &model, const EnergyTermConfig &own, const std::string &place,
                  std::vector<ParameterBlock> &blocks) const override
  {
    if (!own.has_parameters()) return;
    ParameterBlock block;
    block.name = place + "/charge";
    block.shape = {model.ntypes()};
    block.size = static_cast<std::size_t>(model.ntypes());
    blocks.push_back(block);
  }
  void draw(const ModelConfig &model, const EnergyTermConfig &own, const ParameterBlock &,
            RandomEngine &, double *values) const override
  {
    const auto start = dynamic_cast<const ChargeConfig &>(own).start(model.type_map);
    std::copy(start.begin(), start.end(), values);
  }
  std::unique_ptr<EnergyTerm<double>>
  make_double(const ModelData &, const EnergyTermConfig &,
              const std::vector<ParameterBlock> &) const override
  {
    return nullptr;
  }
  std::unique_ptr<EnergyTerm<float>> make_single(const ModelData &, const EnergyTermConfig &,
                                                 const std::vector<ParameterBlock> &) const override
  {
    return nullptr;
  }
  std::unique_ptr<GlobalTerm> make_global(const ModelData &data, const EnergyTermConfig &own,
                                          const std::vector<ParameterBlock> &blocks) const override
  {
    return std::make_unique<ChargeTerm>(data, dynamic_cast<const ChargeConfig &>(own), blocks);
  }
};

}  // namespace

std::unique_ptr<const EnergyTermType> make_charge_type()
{
  return std::make_unique<ChargeType>();
}

AnyEnergyTermConfig fixed_charges(const std::vector<std::string> &elements,
                                  const std::vector<double> &charges)
{
  auto config = std::make_unique<ChargeConfig>();
  config->kind = "fixed";
  for (std::size_t type = 0; type < elements.size(); ++type)
    config->values[elements[type]] = charges.at(type);
  return config;
}

std::optional<double> usual_oxidation_number(const std::string &element)
{
  const auto found = oxidation_numbers().find(element);
  return found == oxidation_numbers().end() ? std::nullopt : std::optional(found->second);
}

}  // namespace dptrain
