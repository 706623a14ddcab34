#include "potential/terms/charge_term.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <optional>

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include "base/advice.h"
#include "dptrain/base/error.h"
#include "dptrain/parallel/communicator.h"
#include "frames/frame_check.h"
#include "kernels/memory.h"
#include "potential/terms/charge_config.h"
#include "potential/terms/reciprocal_sum.h"

namespace dptrain {

namespace {

at::TensorOptions tensor_options()
{
  const at::TensorOptions options(at::kDouble);
  if (kernels::device_index() < 0) return options;
  return options.device(
      at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(kernels::device_index())));
}

// What a net has, times this, is charge in e: charges begin small.
constexpr double net_scale = 0.2;

class ChargeTerm final : public GlobalTerm {
 public:
  // after follow_cutoff()
  ChargeTerm(const ModelData &data, const ChargeConfig &config) :
      ntypes_(data.config.ntypes()),
      sigma_(config.sigma.value()),
      total_(config.total),
      has_net_(config.has_net()),
      by_type_(config.start(data.config.type_map))
  {
  }

  bool has_net() const override { return has_net_; }
  std::optional<Charges> charges() const override { return Charges{by_type_, total_, sigma_}; }
  std::unique_ptr<State> forward(const Domain *domains, int n, const ForwardOutput *out,
                                 const std::function<AtomValues()> &net) override;
  AtomValues net_seeds(const State &state) const override;
  void add_results(const State &state, ForwardOutput *out) const override;
  AtomValues gradient(const State &state, const GradientSeed *seeds,
                      const std::function<AtomValues()> &net) override;

 private:
  // What is known of a frame; nothing where it is left out.
  struct FrameState {
    const Communicator *ranks = nullptr;
    bool on_device = false;  // arrays by atom of the engine lie where kernels run
    int nlocal = 0;
    double atoms = 0.0;          // of the whole frame
    double total = 0.0;          // charge of the whole frame
    std::vector<double> counts;  // atoms of each type, in the whole frame
    at::Tensor type;             // [nlocal] 0: not in the model
    at::Tensor charge;           // [nlocal]
    std::shared_ptr<const ReciprocalSum> sum;
    ReciprocalSum::Atoms of_atoms;
    at::Tensor own, all;  // S of these atoms, and of all
    ReciprocalSum::Derivatives derivatives;
    at::Tensor net_seed;  // [nlocal] dE/dnet
    at::Tensor virials;   // [nlocal][9] where they are asked for
    double energy = 0.0;
    std::array<double, 9> virial{};
  };
  struct Sweep final : State {
    std::vector<FrameState> frames;
  };

  void begin(const Domain &domain, FrameState &frame) const;
  std::shared_ptr<const ReciprocalSum> sum_of(const std::array<double, 9> &box);
  at::Tensor charges_of_atoms(const FrameState &frame) const;
  void sum_over_waves(const Domain &domain, const ForwardOutput &out, FrameState &frame);
  void solve(const Domain &domain, const ForwardOutput &out, FrameState &frame) const;
  at::Tensor without_mean(const FrameState &frame,
                          const std::function<at::Tensor()> &make_values) const;

  const int ntypes_;
  const double sigma_;
  const std::optional<double> total_;
  const bool has_net_;
  const std::vector<double> by_type_;
  std::shared_ptr<const ReciprocalSum> latest_;
  std::array<double, 9> latest_box_{};
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

// A copy of numbers of the host, where the sums are.
at::Tensor copy_of(const std::vector<double> &values, at::IntArrayRef shape)
{
  return array(values.data(), shape, false).to(tensor_options().device(), false, true);
}

std::vector<double> on_host(const at::Tensor &values)
{
  const at::Tensor host = values.to(at::kCPU).contiguous();
  const double *data = host.const_data_ptr<double>();
  return {data, data + host.numel()};
}

// What one rank of a frame cannot do, which all of them have to know before they add up numbers.
class OnOneRank {
 public:
  explicit OnOneRank(const std::function<void()> &work)
  {
    try {
      work();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  void check() const
  {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::exception_ptr failure_;
};

// Runs and trainings come back to the same cell.
std::shared_ptr<const ReciprocalSum> ChargeTerm::sum_of(const std::array<double, 9> &box)
{
  if (!latest_ || latest_box_ != box) {
    latest_ = std::make_shared<ReciprocalSum>(box, sigma_, tensor_options());
    latest_box_ = box;
  }
  return latest_;
}

void ChargeTerm::begin(const Domain &domain, FrameState &frame) const
{
  const WholeCell &whole = *domain.whole;
  need_cell_for_charges(whole.periodic || whole.solver);
  check_charge(whole.charge, total_);
  frame.total = total_.value_or(whole.charge.value_or(0.0));
  frame.nlocal = domain.nlocal;
  frame.on_device = domain.in_kernel_memory && kernels::separate_memory();
  // the host has looked at positions that it can read
  if (frame.on_device &&
      !at::isfinite(array(domain.x, {domain.nlocal, 3}, true)).all().item<bool>())
    throw Error("The position of an atom of this rank is not a finite number: the simulation has "
                "become unstable; check the time step, the start configuration and the model");
  frame.type =
      (array(domain.type, {domain.nlocal}, frame.on_device).to(tensor_options().device()) + 1)
          .to(at::kLong);
  frame.counts.assign(ntypes_, 0.0);
  const at::Tensor counts = at::bincount(frame.type, {}, ntypes_ + 1).to(at::kCPU);
  for (int type = 0; type < ntypes_; ++type)
    frame.counts[type] = static_cast<double>(counts[type + 1].item<std::int64_t>());
}

// [nlocal], without what the net has
at::Tensor ChargeTerm::charges_of_atoms(const FrameState &frame) const
{
  std::vector<double> by_type{0.0};  // of what is not in the model
  for (const double charge : charges()->in_frame(frame.counts, frame.total))
    by_type.push_back(charge);
  return copy_of(by_type, {ntypes_ + 1}).index_select(0, frame.type);
}

// [nlocal] Values of the net, times its scale, less their mean over the atoms of the model: the total charge of a frame stays. Collective.
at::Tensor ChargeTerm::without_mean(const FrameState &frame,
                                    const std::function<at::Tensor()> &make_values) const
{
  at::Tensor own, sum;
  together(frame.ranks, [&] {
    const at::Tensor values = net_scale * make_values();
    own = at::where(frame.type > 0, values, at::zeros_like(values));
    sum = own.sum();
  });
  add_up(frame.ranks, sum);
  together(frame.ranks, [&] { own = at::where(frame.type > 0, own - sum / frame.atoms, own); });
  return own;
}

std::unique_ptr<GlobalTerm::State> ChargeTerm::forward(const Domain *domains, int n,
                                                       const ForwardOutput *out,
                                                       const std::function<AtomValues()> &net)
{
  const c10::InferenceMode no_graph;
  auto sweep = std::make_unique<Sweep>();
  sweep->frames.resize(n);
  AtomValues of_net;
  const OnOneRank values([&] {
    if (has_net_) of_net = net();
  });
  for (int f = 0; f < n; ++f) {
    const Domain &domain = domains[f];
    FrameState &frame = sweep->frames[f];
    if (!domain.whole) continue;
    frame.ranks = domain.whole->ranks;
    const bool alone = !frame.ranks || frame.ranks->size() == 1;
    if (alone && domain.nlocal == 0) continue;  // the frame of another rank
    together(frame.ranks, [&] {
      values.check();
      begin(domain, frame);
    });
    if (!alone) frame.ranks->all_reduce_sum(frame.counts.data(), frame.counts.size());
    for (const double count : frame.counts) frame.atoms += count;
    together(frame.ranks, [&] { frame.charge = charges_of_atoms(frame); });
    if (has_net_)
      frame.charge += without_mean(frame, [&] { return copy_of(of_net[f], {domain.nlocal}); });
    if (domain.whole->solver)
      solve(domain, out[f], frame);
    else
      sum_over_waves(domain, out[f], frame);
    if (has_net_) frame.net_seed = without_mean(frame, [&] { return frame.derivatives.potential; });
  }
  values.check();
  return sweep;
}

void ChargeTerm::sum_over_waves(const Domain &domain, const ForwardOutput &out, FrameState &frame)
{
  together(frame.ranks, [&] {
    frame.sum = sum_of(domain.whole->box);
    const at::Tensor x =
        array(domain.x, {domain.nlocal, 3}, frame.on_device).to(frame.type.device());
    frame.of_atoms = frame.sum->atoms(x, frame.charge);
    frame.own = frame.sum->structure(frame.of_atoms);
  });
  frame.all = frame.own;
  add_up(frame.ranks, frame.all);
  together(frame.ranks, [&] {
    frame.derivatives = frame.sum->derivatives(frame.of_atoms, frame.all);
    frame.energy = 0.5 * at::dot(frame.charge, frame.derivatives.potential).item<double>();
    if (out.sums) frame.virial = frame.sum->virial(frame.all, frame.own);
    if (out.atom_virial) frame.virials = frame.sum->virials(frame.of_atoms, frame.all);
  });
}

void ChargeTerm::solve(const Domain &domain, const ForwardOutput &out, FrameState &frame) const
{
  ChargeRequest request;
  request.potential = has_net_ || out.atom_energy;
  request.virials = out.atom_virial != nullptr;
  std::vector<double> charge;
  together(frame.ranks, [&] { charge = on_host(frame.charge); });
  const ChargeEnergy found = domain.whole->solver(charge, request);
  together(frame.ranks, [&] {
    frame.energy = found.energy;
    frame.virial = found.virial;
    frame.derivatives.gradient = -copy_of(found.force, {frame.nlocal, 3});
    if (request.potential || !found.potential.empty())
      frame.derivatives.potential = copy_of(found.potential, {frame.nlocal});
    if (request.virials) frame.virials = copy_of(found.virials, {frame.nlocal, 9});
  });
}

AtomValues ChargeTerm::net_seeds(const State &state) const
{
  AtomValues seeds;
  for (const FrameState &frame : static_cast<const Sweep &>(state).frames)
    seeds.push_back(frame.net_seed.defined() ? on_host(frame.net_seed) : std::vector<double>());
  return seeds;
}

void ChargeTerm::add_results(const State &state, ForwardOutput *out) const
{
  const c10::InferenceMode no_graph;
  const auto &frames = static_cast<const Sweep &>(state).frames;
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const FrameState &frame = frames[f];
    if (!frame.charge.defined()) continue;
    const auto add = [&](double *target, const at::Tensor &values, double factor) {
      at::Tensor there = array(target, values.sizes(), frame.on_device);
      there.add_(values.to(there.device()), factor);
    };
    ForwardOutput &o = out[f];
    o.energy += frame.energy;
    o.network_energy += frame.energy;
    for (std::size_t k = 0; k < 9; ++k) o.virial[k] += frame.virial[k];
    if (o.force) add(o.force, frame.derivatives.gradient, -1.0);
    if (o.atom_energy) add(o.atom_energy, frame.charge * frame.derivatives.potential, 0.5);
    if (o.atom_virial) add(o.atom_virial, frame.virials, 1.0);
    if (o.charge) {
      at::Tensor there = array(o.charge, {frame.nlocal}, frame.on_device);
      there.copy_(frame.charge);
    }
  }
}

AtomValues ChargeTerm::gradient(const State &state, const GradientSeed *seeds,
                                const std::function<AtomValues()> &net)
{
  const c10::InferenceMode no_graph;
  const auto &frames = static_cast<const Sweep &>(state).frames;
  AtomValues tangents, by_net(frames.size());
  const OnOneRank values([&] { tangents = net(); });
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const FrameState &frame = frames[f];
    if (!frame.charge.defined()) continue;
    if (!frame.sum) throw internal_error("a solver of the engine has no gradient by parameters");
    const GradientSeed &seed = seeds[f];
    const at::TensorOptions options = frame.charge.options();
    at::Tensor v, tangent, by_charge;
    together(frame.ranks, [&] {
      values.check();
      if (seed.atom_energy)
        throw Error("charges cannot learn from energies of atoms, which long-range energies do not "
                    "have: remove the labels or the term of the loss");
      v = seed.force ? array(seed.force, {frame.nlocal, 3}, false).to(options.device())
                     : at::zeros({frame.nlocal, 3}, options);
    });
    const at::Tensor dq = without_mean(frame, [&] { return copy_of(tangents[f], {frame.nlocal}); });
    together(frame.ranks, [&] { tangent = frame.sum->structure_tangent(frame.of_atoms, v, dq); });
    add_up(frame.ranks, tangent);
    // S = c E - E_dot
    together(frame.ranks, [&] {
      by_charge =
          seed.energy * frame.derivatives.potential -
          frame.sum->potential_tangent(frame.of_atoms, v, dq, seed.virial, frame.all, tangent);
    });
    const at::Tensor found = without_mean(frame, [&] { return by_charge; });
    together(frame.ranks, [&] { by_net[f] = on_host(found); });
  }
  values.check();
  return by_net;
}

const ChargeConfig &own_settings(const EnergyTermConfig &config)
{
  return dynamic_cast<const ChargeConfig &>(config);
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
    if (const auto nets = charge_nets_of(model, own, place)) {
      const std::vector<bool> trainable(nets->shape.num_layers(), true);
      return add_network_blocks(nets->name, model.ntypes(), nets->shape, trainable, blocks);
    }
  }
  void draw(const ModelConfig &, const EnergyTermConfig &, const ParameterBlock &block,
            RandomEngine &engine, double *values) const override
  {
    draw_weights(block, engine, values);
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
  std::unique_ptr<GlobalTerm> make_global(const ModelData &data,
                                          const EnergyTermConfig &own) const override
  {
    ChargeConfig charges = own_settings(own);
    charges.follow_cutoff(data.config.rcut);
    return std::make_unique<ChargeTerm>(data, charges);
  }
};

}  // namespace

std::unique_ptr<const EnergyTermType> make_charge_type()
{
  return std::make_unique<ChargeType>();
}

}  // namespace dptrain
