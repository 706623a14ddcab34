#include "dptrain/training/trainer.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <sstream>

#include "base/advice.h"
#include "base/hash.h"
#include "data/replay_buffer.h"
#include "data/replay_weights.h"
#include "dptrain/base/error.h"
#include "dptrain/training/energy_bias_fit.h"
#include "frames/frame_check.h"
#include "optimizer/optimizer.h"
#include "parallel/nccl_communicator.h"
#include "training/batch.h"
#include "training/loss/loss_term.h"
#include "training/parameter_rules.h"
#include "training/schedule.h"
#include "training/step_gradient.h"
#include "training/two_pass.h"
#include "training/weight_average.h"

namespace dptrain {

using Frames = std::vector<const Frame *>;

struct Trainer::Impl {
  Impl(std::shared_ptr<Model> m, std::shared_ptr<const Communicator> c,
       const TrainingConfig &config);
  /// Learning rate of the next step.
  double rate() const { return schedule.rate(steps); }
  bool any_energy() const;
  StoredBatch stored(std::vector<std::int64_t> places);
  UpdateReport sweep(const Batch &batch, double lr, kernels::Array<double> *gradient);
  UpdateReport step(const Batch &batch);
  UpdateReport errors(const Batch &batch);
  void show_raw();
  void require_finite(double value, const char *what, const Batch &batch) const;
  void check_parameters() const;

  std::shared_ptr<Model> model;
  std::shared_ptr<const Communicator> comm;
  TrainingConfig config;
  Schedule schedule;
  ReplayBuffer buffer;
  ReplayWeights weights;
  TwoPass passes;
  const std::vector<ParameterBlock> &blocks;   // of the model's parameters
  std::shared_ptr<const Communicator> owners;  // those who divide the optimizer's work
  std::unique_ptr<Optimizer> optimizer;
  StepGradient gradient;
  RateFactors rate_factors;
  WeightAverage average;
  bool shows_others = false;  // the model holds the average or others, `aside` the raw parameters
  std::int64_t steps = 0;
  bool bias_is_fitted = false;
  std::vector<double> aside;
};

Trainer::Impl::Impl(std::shared_ptr<Model> m, std::shared_ptr<const Communicator> c,
                    const TrainingConfig &config) :
    model(std::move(m)),
    comm(over_nccl(std::move(c))),
    config(config),
    schedule(config.schedule, config.numb_steps),
    buffer(config.seed, config.buffer_frames, bytes_of_gib(config.parallel.frame_memory)),
    weights(config.seed),
    passes(model, comm, make_loss_terms(config.loss)),
    blocks(apply_rules(model->parameters(), config.rules)),
    owners(is_whole(config.parallel, comm->size()) ? make_mpi_communicator() : comm),
    optimizer(make_optimizer(config.optimizer, blocks, owners)),
    gradient(make_gradient_sum(comm, config.parallel, optimizer->parts(), blocks), owners,
             optimizer->parts(), blocks, config.gradient_max_norm),
    rate_factors(blocks, config.rules),
    average(config.ema_decay, owners, optimizer->parts()),
    bias_is_fitted(!config.fit_energy_bias)
{
  if (config.acc_freq < 1)
    throw Error(fmt::format("acc_freq must be positive, found {}", config.acc_freq));
}

StoredBatch Trainer::Impl::stored(std::vector<std::int64_t> places)
{
  return {buffer, *comm, std::move(places), [this] { model->release_workspace(); }};
}

bool Trainer::Impl::any_energy() const
{
  for (std::int64_t k = 0; k < buffer.size(); ++k)
    if (buffer.frame(k).label.energy) return true;
  return false;
}

void Trainer::Impl::require_finite(double value, const char *what, const Batch &batch) const
{
  if (std::isfinite(value)) return;
  std::ostringstream text;
  text << "Training step " << steps + 1 << ": the " << what << " is not finite (learning rate "
       << rate() << ", frames of steps" << batch.steps()
       << "). The parameters were not changed. Look at these frames for broken labels or atoms too "
          "close to each other; else continue from the last checkpoint with a lower start_lr";
  throw Error(text.str());
}

Trainer::Trainer(std::shared_ptr<Model> model, std::shared_ptr<const Communicator> comm,
                 const TrainingConfig &config) :
    impl_(std::make_unique<Impl>(std::move(model), std::move(comm), config))
{
}

Trainer::~Trainer() = default;

void Trainer::check(Frame &frame)
{
  Impl &t = *impl_;
  const PairDistances closest =
      check_frame(*t.comm, frame, static_cast<int>(t.model->type_map().size()));
  guarded(*t.comm, [&] {
    if (!t.model->is_local() && t.comm->size() > 1 && !frame.is_copy)
      throw Error(
          fmt::format("The atoms of this model pass messages: a frame cannot be divided over {} "
                      "ranks: use distribute frames, with which each rank works on whole frames",
                      t.comm->size()));
    t.model->expect_distances(closest);
  });
}

std::int64_t Trainer::add(Frame frame)
{
  check(frame);
  std::int64_t place = 0;
  guarded(*impl_->comm, [&] {
    place = impl_->buffer.add(std::move(frame));
    impl_->weights.add(place);
  });
  return place;
}

void Trainer::visit(const std::vector<std::int64_t> &frames,
                    const std::function<void(const Frame &)> &work)
{
  // as many at once as there are ranks: each may have one to work on
  const std::size_t ranks = impl_->comm->size();
  for (std::size_t begin = 0; begin < frames.size(); begin += ranks) {
    const auto first = frames.begin() + static_cast<std::ptrdiff_t>(begin);
    const std::vector<std::int64_t> places(
        first, first + static_cast<std::ptrdiff_t>(std::min(ranks, frames.size() - begin)));
    const StoredBatch batch = impl_->stored(places);
    batch.use(0, batch.size(), [&](const Frames &shares) {
      guarded(*impl_->comm, [&] {
        for (const Frame *frame : shares) work(*frame);
      });
    });
  }
}

UpdateReport Trainer::update()
{
  Impl &t = *impl_;
  t.show_raw();
  if (!t.bias_is_fitted && t.any_energy()) fit_energy_bias();
  const std::vector<std::int64_t> batch = t.config.weighted_replay
                                              ? t.weights.draw(t.config.batch_size)
                                              : t.buffer.next_batch(t.config.batch_size);
  const UpdateReport report = t.step(t.stored(batch));
  for (const std::int64_t place : batch) t.weights.set_error(place, report.rmse("f"));
  return report;
}

UpdateReport Trainer::update(const Frames &frames)
{
  impl_->show_raw();
  return impl_->step(GivenBatch(frames, *impl_->comm));
}

UpdateReport Trainer::Impl::step(const Batch &batch)
{
  // pass A -> residuals -> halo -> pass B: the functions below
  UpdateReport report = sweep(batch, rate(), &gradient.batch());
  require_finite(gradient.reduce(), "gradient", batch);
  if ((steps + 1) % config.acc_freq == 0) {
    const double *const sum = gradient.take();
    model->parameters().change_in_kernels([&](double *parameters) {
      rate_factors.begin(parameters);
      optimizer->step(parameters, sum, report.learning_rate);
      rate_factors.apply(parameters);
    });
    average.add(model->parameters().in_kernels());
  } else {
    gradient.keep();
  }
  report.step = ++steps;
  const std::int64_t every = config.parallel.check_every;
  if (every > 0 && steps % every == 0 && comm->size() > 1) check_parameters();
  return report;
}

UpdateReport Trainer::Impl::errors(const Batch &batch)
{
  return sweep(batch, schedule.rate(std::max<std::int64_t>(steps - 1, 0)), nullptr);
}

UpdateReport Trainer::errors(const Frames &frames)
{
  return impl_->errors(GivenBatch(frames, *impl_->comm));
}

UpdateReport Trainer::stored_errors(const std::vector<std::int64_t> &frames)
{
  return impl_->errors(impl_->stored(frames));
}

UpdateReport Trainer::loss_gradient(const std::vector<std::int64_t> &places,
                                    std::vector<double> &gradient)
{
  Impl &t = *impl_;
  const StoredBatch batch = t.stored(places);
  kernels::Array<double> found;
  const UpdateReport report = t.sweep(batch, t.rate(), &found);
  gradient = found.to_host();
  t.comm->all_reduce_sum(gradient.data(), gradient.size());
  t.require_finite(std::inner_product(gradient.begin(), gradient.end(), gradient.begin(), 0.0),
                   "gradient", batch);
  return report;
}

// Both passes over the frames of a batch, or pass A alone; the gradient is this rank's share of the sum.
UpdateReport Trainer::Impl::sweep(const Batch &batch, double lr, kernels::Array<double> *gradient)
{
  const std::size_t n = batch.size(), micro = config.parallel.micro_batch;
  if (n == 0) throw internal_error("The loss of no frames was asked for");
  passes.begin_batch(n, lr / schedule.start_rate());
  const std::size_t most = micro > 0 ? micro : n;
  for (std::size_t begin = 0; begin < n; begin += most)
    batch.use(begin, std::min(begin + most, n), [&](const Frames &frames) {
      passes.forward(frames, gradient != nullptr);  // pass A: E, F, W
      passes.sum_errors();                          // ghosts -> owners, all-reduce
      if (!gradient) return;
      require_finite(passes.report().loss, "loss", batch);
      passes.residuals();          // c_E = dL/dE, r = dL/dF, C = dL/dW; owners -> ghosts
      passes.backward(*gradient);  // pass B: d/dparameters of c_E E + r F + C W
    });
  UpdateReport report = passes.report();
  report.step = steps;
  report.learning_rate = lr;
  return report;
}

// They are the same to the last bit, as long as memory, network and all ranks' programs are sound.
void Trainer::Impl::check_parameters() const
{
  const std::int64_t hash = static_cast<std::int64_t>(hash_of(model->parameters().values()) >> 1);
  std::int64_t bounds[2] = {hash, -hash};
  comm->all_reduce_max(bounds, 2);
  if (bounds[0] == -bounds[1]) return;
  throw Error(fmt::format(
      "Training step {}: the ranks have different parameters. All of them compute the same from "
      "the same numbers: look for a broken memory or network, and for ranks with another program, "
      "library, processor or number of threads; resume from the last checkpoint",
      steps));
}

void Trainer::Impl::show_raw()
{
  if (!shows_others) return;
  model->parameters().change([&](std::vector<double> &parameters) { parameters.swap(aside); });
  shows_others = false;
}

void Trainer::begin_average()
{
  impl_->average.begin(raw_parameters());
}

void Trainer::show_average()
{
  if (!impl_->shows_others && !impl_->average.empty()) show(potential_parameters());
}

void Trainer::show(const std::vector<double> &parameters)
{
  Impl &t = *impl_;
  if (!t.shows_others) t.aside = t.model->parameters().values();
  t.model->parameters().set(parameters);
  t.shows_others = true;
}

const std::vector<double> &Trainer::raw_parameters() const
{
  return impl_->shows_others ? impl_->aside : impl_->model->parameters().values();
}

std::vector<double> Trainer::potential_parameters() const
{
  if (impl_->shows_others) return impl_->model->parameters().values();
  std::vector<double> average;
  impl_->average.gather(average);
  return average;
}

void Trainer::fit_energy_bias()
{
  Impl &t = *impl_;
  EnergyBiasFit fit(t.model, t.comm, t.config.loss.enable_atom_ener_coeff,
                    t.config.keeps_atom_energies);
  for (std::int64_t k = 0; k < t.buffer.size(); ++k)
    if (t.buffer.frame(k).label.energy)
      t.stored({k}).use(0, 1, [&](const Frames &shares) { fit.add(*shares.front()); });
  fit.apply();
  t.bias_is_fitted = true;
}

bool Trainer::energy_bias_is_fitted() const
{
  return impl_->bias_is_fitted;
}

std::int64_t Trainer::num_frames() const
{
  return impl_->buffer.size();
}
const Frame &Trainer::frame(std::int64_t index) const
{
  return impl_->buffer.frame(index);
}
const std::string &Trainer::scratch_trouble() const
{
  return impl_->buffer.scratch_trouble();
}
std::int64_t Trainer::steps() const
{
  return impl_->steps;
}
const TrainingConfig &Trainer::config() const
{
  return impl_->config;
}

State Trainer::state() const
{
  const Impl &t = *impl_;
  State state;
  state.set("steps", t.steps);
  state.set("bias_is_fitted", t.bias_is_fitted);
  state.set("buffer", t.buffer.position());
  if (t.config.weighted_replay) state.set("weights", t.weights);
  state.set("optimizer", t.optimizer->state());
  state.set("average", t.average.state());
  state.set("gradient", t.gradient.state());
  return state;
}

void Trainer::set_state(const State &state)
{
  Impl &t = *impl_;
  t.optimizer->set_state(state.at<State>("optimizer"));
  t.average.set_state(state.at<State>("average"));
  t.gradient.set_state(state.at<State>("gradient"));
  t.buffer.go_to(state.get<ReplayBuffer::Position>("buffer"));
  // where draws were not weighted by then, frames that nothing is known of count as hard
  if (state.has("weights")) state.get_to("weights", t.weights);
  t.shows_others = false;
  t.steps = state.get<std::uint64_t>("steps");  // not negative
  t.bias_is_fitted = state.at<bool>("bias_is_fitted");
}

MemoryLedger Trainer::memory() const
{
  const Impl &t = *impl_;
  MemoryLedger ledger = t.buffer.memory();
  add_uses(ledger, {{"residuals", t.passes.memory_bytes()},
                    {"optimizer", t.optimizer->memory_bytes()},
                    {"average", t.average.memory_bytes() + t.aside.capacity() * sizeof(double)},
                    {"gradient", t.gradient.memory_bytes() + t.rate_factors.memory_bytes()}});
  return ledger;
}

}  // namespace dptrain
