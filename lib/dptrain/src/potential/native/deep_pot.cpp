#include "potential/native/deep_pot.h"

#include <cmath>
#include <fmt/format.h>

#include "base/advice.h"
#include "base/memory_shortage.h"
#include "dptrain/base/error.h"
#include "dptrain/base/memory_ledger.h"
#include "dptrain/potential/model/model_data.h"
#include "kernels/runtime.h"
#include "potential/native/deep_pot_engine.h"
#include "potential/nets/gemm.h"
#include "potential/terms/energy_term_type.h"

namespace dptrain {

namespace {

using GlobalStates = std::vector<std::unique_ptr<GlobalTerm::State>>;

/// What the engine and the global terms leave.
class TapeWithGlobal final : public Tape {
 public:
  TapeWithGlobal(std::unique_ptr<Tape> local, GlobalStates states) :
      Tape(local->version()), local_(std::move(local)), states_(std::move(states))
  {
  }
  Tape &local() { return *local_; }
  const GlobalStates &states() const { return states_; }

 private:
  std::unique_ptr<Tape> local_;
  GlobalStates states_;
};

std::vector<char> types_with_energy(const ModelConfig &config)
{
  std::vector<char> has_energy(config.ntypes(), 1);
  for (const int type : config.atom_exclude_types) has_energy[type] = 0;
  return has_energy;
}

}  // namespace

std::unique_ptr<PotentialEngine> make_potential_engine(const ModelData &data, Precision precision)
{
  ensure_runtime();
  if (precision == Precision::float64) return std::make_unique<DeepPotEngine<double>>(data);
  return std::make_unique<DeepPotEngine<float>>(data);
}

DeepPot::DeepPot(ModelData data) :
    Model(std::move(data), parameter_index(data.config), types_with_energy(data.config)),
    engine_(make_potential_engine(data_, precision_)),
    global_terms_(make_global_terms(data_))
{
  add_features(engine_->num_features(), data_.config.descriptor->measures_distance());
}

void DeepPot::set_precision(Precision precision)
{
  if (precision == precision_) return;
  precision_ = precision;
  engine_ = make_potential_engine(data_, precision);
  if (chunk_ > 0) engine_->set_chunk(chunk_);
  prepared_version_ = metric_version_ = 0;
}

void DeepPot::set_walls(const Walls &walls)
{
  data_.walls = walls;
  engine_->set_walls(data_);
}

void DeepPot::set_chunk(int centers)
{
  chunk_ = centers;
  engine_->set_chunk(centers);
}

void DeepPot::prepare()
{
  const std::uint64_t version = parameters().version();
  const bool stood = prepared_version_ == version;
  if (stood && !table_is_broken_) return;
  // a table that stood gets its rows again, not a new grid: the other ranks have the old one
  if (stood)
    engine_->set_auxiliary_state(engine_->auxiliary_state(), parameters().in_kernels());
  else
    engine_->prepare(parameters().in_kernels());
  prepared_version_ = version;
  table_is_broken_ = false;
}

void DeepPot::prepare_bars()
{
  engine_->set_bar_scale(bars().scale);
  if (metric_version_ == features()->version()) return;
  if (!features()->metric().empty()) engine_->set_metric(features()->metric());
  metric_version_ = features()->version();
}

void DeepPot::expect_distances(const PairDistances &closest)
{
  const double smallest = closest.smallest();
  if (std::isfinite(smallest)) sweep([&] { engine_->expect_distance(smallest); });
  if (!data_.walls.empty() && data_.walls.begin.lower(closest)) engine_->set_walls(data_);
}

std::optional<Charges> DeepPot::charges() const
{
  for (const auto &term : global_terms_)
    if (auto charges = term->charges()) return charges;
  return std::nullopt;
}

std::unique_ptr<Tape> DeepPot::pass_a(const Domain *domains, int n, ForwardOutput *out, bool keep)
{
  GlobalStates states;
  AtomValues second;
  const auto values = [&] {
    AtomValues of_net;
    sweep([&] { of_net = engine_->second_values(domains, n, keep); });
    return of_net;
  };
  for (const auto &term : global_terms_) {
    states.push_back(term->forward(domains, n, out, values));
    if (term->has_net()) second = term->net_seeds(*states.back());
  }
  sweep([&] { engine_->forward(domains, n, out, keep, second); });
  std::unique_ptr<Tape> tape = keep ? engine_->tape(parameters().version()) : nullptr;
  engine_->add_results(energy_bias(), out);
  bool learns = false;
  for (std::size_t k = 0; k < states.size(); ++k) {
    global_terms_[k]->add_results(*states[k], out);
    if (global_terms_[k]->has_net())
      learns = true;
    else
      states[k].reset();
  }
  if (!tape || !learns) return tape;
  return std::make_unique<TapeWithGlobal>(std::move(tape), std::move(states));
}

void DeepPot::pass_b(Tape &tape, const GradientSeed *seeds, double *gradient)
{
  auto *const own = dynamic_cast<TapeWithGlobal *>(&tape);
  if (!own) return sweep([&] { engine_->gradient(tape, seeds, gradient, {}); });
  // first what all ranks do together: the rest may fail on one of them
  AtomValues second;
  const auto tangents = [&] {
    AtomValues of_net;
    sweep([&] { of_net = engine_->second_tangents(own->local(), seeds); });
    return of_net;
  };
  for (std::size_t k = 0; k < global_terms_.size(); ++k) {
    GlobalTerm &term = *global_terms_[k];
    if (!own->states()[k]) continue;
    second = term.gradient(*own->states()[k], seeds, tangents);
  }
  sweep([&] { engine_->gradient(own->local(), seeds, gradient, second); });
}

void DeepPot::sweep(const std::function<void()> &work)
{
  with_relief(
      [&] {
        prepare();
        prepare_bars();
        const ReducedPrecision products(precision_ == Precision::mixed);
        work();
      },
      [&, first = true](const std::string &cause) mutable {
        const bool helps = use_less_memory(cause);
        return std::exchange(first, false) || helps;
      });
}

// First pass A leaves less for pass B, which computes it again; then chunks get smaller. Both stay so: what did not fit once
// will not fit again. Returns whether less is needed now.
bool DeepPot::use_less_memory(const std::string &cause)
{
  const bool keeps_less = engine_->keep_less();
  const bool can_be_smaller = engine_->chunk() > 1;
  give_memory_back(cause);
  table_is_broken_ = true;  // it may be half made
  if (!keeps_less && can_be_smaller) set_chunk(engine_->chunk() / 2);
  shortages_.chunk = engine_->chunk();
  return keeps_less || can_be_smaller;
}

// The first number says whether the table already stands for the present parameters.
std::vector<double> DeepPot::auxiliary_state() const
{
  std::vector<double> state = engine_->auxiliary_state();
  state.insert(state.begin(), prepared_version_ == parameters().version() ? 1.0 : 0.0);
  return state;
}

void DeepPot::set_auxiliary_state(const std::vector<double> &state)
{
  if (state.size() != auxiliary_state().size())
    throw Error(fmt::format(
        "the table state of the checkpoint is damaged: it has {} numbers, {} are needed{}",
        state.size(), auxiliary_state().size(), checkpoint_advice()));
  const bool filled = state.at(0) != 0.0;
  engine_->set_auxiliary_state({state.begin() + 1, state.end()},
                               filled ? parameters().in_kernels() : nullptr);
  prepared_version_ =
      filled ? parameters().version() : 0;  // else the table is not that of the grid
}

MemoryLedger DeepPot::memory() const
{
  MemoryLedger ledger = engine_->memory();
  ledger.insert(ledger.begin(), {"parameters", parameters().memory_bytes()});
  return ledger;
}

std::shared_ptr<Model> make_deep_pot(ModelData data)
{
  return std::make_shared<DeepPot>(std::move(data));
}

}  // namespace dptrain
