#include "dptrain/trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "data/replay_buffer.h"
#include "dptrain/error.h"
#include "dptrain/statistics.h"
#include "kernels/workers.h"
#include "optimizer/optimizer.h"
#include "training/frame_check.h"
#include "training/schedule.h"
#include "training/two_pass.h"
#include "training/weight_average.h"

namespace dptrain {

struct Trainer::Impl {
  Impl(std::shared_ptr<Model> m, std::shared_ptr<const Communicator> c,
       const TrainingConfig &config);
  /// Prefactors and learning rate of the next step.
  double rate() const { return schedule.rate(steps); }
  Prefactors prefactors() const
  {
    return prefactors_at(config.loss, rate(), schedule.start_rate());
  }
  UpdateReport report(const BatchErrors &errors) const
  {
    return {steps, errors.loss, errors.rmse_e, errors.rmse_f, errors.rmse_v, rate()};
  }
  bool any_energy() const;
  double bias_energy(std::int64_t frame, const std::vector<double> &bias) const;
  BatchErrors backpropagate(const std::vector<std::int64_t> &batch, std::vector<double> &gradient);
  double squared_norm() const;
  void show_raw();
  void require_finite(double value, const char *what, const std::vector<std::int64_t> &batch) const;

  std::shared_ptr<Model> model;
  std::shared_ptr<const Communicator> comm;
  TrainingConfig config;
  Schedule schedule;
  ReplayBuffer buffer;
  TwoPass passes;
  std::unique_ptr<Optimizer> optimizer;
  WeightAverage average;
  bool shows_average = false;  // the model holds the average, `aside` the raw parameters
  std::int64_t steps = 0;
  bool bias_is_fitted = false;
  std::vector<std::vector<double>>
      counts;  // [place in the buffer][ntypes] atoms that have an energy, over all ranks
  std::vector<const Frame *> frames;  // of the present batch
  std::vector<double> bias_energies;  // of the present batch
  std::vector<double> gradient, aside;
};

Trainer::Impl::Impl(std::shared_ptr<Model> m, std::shared_ptr<const Communicator> c,
                    const TrainingConfig &config) :
    model(std::move(m)),
    comm(std::move(c)),
    config(config),
    schedule(config.schedule, config.numb_steps),
    buffer(config.seed, config.buffer_frames),
    passes(model, comm),
    optimizer(make_optimizer(config.optimizer, model->parameter_index(), comm)),
    average(config.ema_decay, comm, optimizer->parts()),
    bias_is_fitted(!config.fit_energy_bias)
{
  if (!model->is_local() && comm->size() > 1)
    throw Error(
        "This model is not a sum over local environments: its frames cannot be split over " +
        std::to_string(comm->size()) + " ranks. Train it on one rank");
}

bool Trainer::Impl::any_energy() const
{
  for (std::int64_t k = 0; k < buffer.size(); ++k)
    if (buffer.frame(k).label.energy) return true;
  return false;
}

double Trainer::Impl::bias_energy(std::int64_t frame, const std::vector<double> &bias) const
{
  const std::vector<double> &atoms = counts[frame];
  return std::inner_product(atoms.begin(), atoms.end(), bias.begin(), 0.0);
}

void Trainer::Impl::require_finite(double value, const char *what,
                                   const std::vector<std::int64_t> &batch) const
{
  if (std::isfinite(value)) return;
  std::ostringstream text;
  text << "Training step " << steps + 1 << ": the " << what << " is not finite (learning rate "
       << rate() << ", frames of time steps";
  for (std::int64_t k : batch) text << " " << buffer.frame(k).step;
  text << "). The parameters were not changed. Look at these frames for broken labels or atoms too "
          "close to each other; else continue from the last checkpoint with a lower start_lr";
  throw Error(text.str());
}

Trainer::Trainer(std::shared_ptr<Model> model, std::shared_ptr<const Communicator> comm,
                 const TrainingConfig &config) :
    impl_(std::make_unique<Impl>(std::move(model), std::move(comm), config))
{
}

Trainer::~Trainer() = default;

void Trainer::add(Frame frame)
{
  Impl &t = *impl_;
  const int ntypes = static_cast<int>(t.model->type_map().size());
  check_frame(*t.comm, frame, ntypes);
  const double shortest = shortest_distance(*t.comm, frame);
  std::vector<double> counts(ntypes, 0.0);
  for (int i = 0; i < frame.nlocal; ++i)
    if (frame.type[i] >= 0 && t.model->has_energy(frame.type[i])) counts[frame.type[i]] += 1.0;
  t.comm->all_reduce_sum(counts.data(), counts.size());
  guarded(*t.comm, [&] {
    if (std::isfinite(shortest)) t.model->expect_distance(shortest);
    const std::int64_t place = t.buffer.add(std::move(frame));
    t.counts.resize(t.buffer.size());
    t.counts[place] = std::move(counts);
  });
}

UpdateReport Trainer::update()
{
  Impl &t = *impl_;
  t.show_raw();
  if (!t.bias_is_fitted && t.any_energy()) fit_energy_bias();
  const std::vector<std::int64_t> batch = t.buffer.next_batch(t.config.batch_size);
  // pass A -> residuals -> halo -> pass B: the function below
  const BatchErrors errors = t.backpropagate(batch, t.gradient);
  UpdateReport report = t.report(errors);

  t.comm->reduce_scatter_sum(t.gradient.data(), t.optimizer->parts());
  t.require_finite(t.squared_norm(), "gradient", batch);
  t.model->change_parameters([&](std::vector<double> &parameters) {
    t.optimizer->step(parameters, t.gradient, report.learning_rate);
  });
  t.average.add(t.model->parameters());
  report.step = ++t.steps;
  return report;
}

UpdateReport Trainer::loss_gradient(const std::vector<std::int64_t> &frames,
                                    std::vector<double> &gradient)
{
  Impl &t = *impl_;
  const BatchErrors errors = t.backpropagate(frames, gradient);
  t.comm->all_reduce_sum(gradient.data(), gradient.size());
  t.require_finite(std::inner_product(gradient.begin(), gradient.end(), gradient.begin(), 0.0),
                   "gradient", frames);
  return t.report(errors);
}

// Both passes over the frames of a batch; the gradient is this rank's share of the sum.
BatchErrors Trainer::Impl::backpropagate(const std::vector<std::int64_t> &batch,
                                         std::vector<double> &gradient)
{
  if (batch.empty()) throw Error("The loss of no frames was asked for: give at least one");
  frames.clear();
  bias_energies.clear();
  const std::vector<double> bias = model->energy_bias();
  guarded(*comm, [&] {
    for (std::int64_t index : batch) frames.push_back(&buffer.use(index));
  });
  for (std::int64_t index : batch) bias_energies.push_back(bias_energy(index, bias));

  passes.begin(frames, bias_energies, prefactors());
  passes.forward();                                // pass A: E, F, W
  passes.force_residuals();                        // ghosts -> owners, r = dL/dF
  const BatchErrors errors = passes.sum_errors();  // all-reduce; c_E = dL/dE, C = dL/dW
  require_finite(errors.loss, "loss", batch);
  passes.share_residuals();   // owners -> ghosts
  passes.backward(gradient);  // pass B: d/dparameters of c_E E + r F + C W
  for (std::int64_t index : batch) buffer.release(index);
  return errors;
}

// By value: a captured pointer would be read again for each number, and nothing vectorised.
double sum_of_squares(const double *x, std::size_t n)
{
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t k = 0; k < n; ++k) sum += x[k] * x[k];
  return sum;
}

// Of the whole gradient, the same on all ranks.
double Trainer::Impl::squared_norm() const
{
  const std::vector<std::size_t> &parts = optimizer->parts();
  const auto own = parts.begin() + comm->rank();
  const double *g = gradient.data() + std::accumulate(parts.begin(), own, std::size_t(0));
  constexpr std::size_t block = 65536;
  std::vector<double> sums((*own + block - 1) / block, 0.0);
  kernels::for_blocks(*own, block, [&](std::size_t begin, std::size_t end) {
    sums[begin / block] = sum_of_squares(g + begin, end - begin);
  });
  double norm = std::accumulate(sums.begin(), sums.end(), 0.0);
  comm->all_reduce_sum(&norm, 1);
  return norm;
}

void Trainer::Impl::show_raw()
{
  if (!shows_average) return;
  model->change_parameters([&](std::vector<double> &parameters) { parameters.swap(aside); });
  shows_average = false;
}

void Trainer::show_average()
{
  Impl &t = *impl_;
  if (t.shows_average || t.average.empty()) return;
  t.average.gather(t.aside);
  t.model->change_parameters([&](std::vector<double> &parameters) { parameters.swap(t.aside); });
  t.shows_average = true;
}

const std::vector<double> &Trainer::raw_parameters() const
{
  return impl_->shows_average ? impl_->aside : impl_->model->parameters();
}

std::vector<double> Trainer::averaged_parameters() const
{
  std::vector<double> average;
  impl_->average.gather(average);
  return average;
}

void Trainer::fit_energy_bias()
{
  Impl &t = *impl_;
  std::vector<double> bias = t.model->energy_bias(), network_energies, force;
  std::vector<std::int64_t> frames;
  for (std::int64_t k = 0; k < t.buffer.size(); ++k)
    if (t.buffer.frame(k).label.energy) frames.push_back(k);
  guarded(*t.comm, [&] {
    for (std::int64_t index : frames) {
      const Frame &frame = t.buffer.use(index);
      force.assign(std::size_t(frame.nall()) * 3, 0.0);
      ForwardOutput out;
      out.force = force.data();
      if (frame.nlocal > 0) t.model->forward(frame.domain(), out);
      network_energies.push_back(out.network_energy);
      t.buffer.release(index);
    }
  });
  t.comm->all_reduce_sum(network_energies.data(), network_energies.size());

  // The change is fitted: types of which the frames say nothing, or nothing alone, keep what they had.
  guarded(*t.comm, [&] {
    std::vector<double> counts, missing;
    for (std::size_t k = 0; k < frames.size(); ++k) {
      const std::vector<double> &atoms = t.counts[frames[k]];
      counts.insert(counts.end(), atoms.begin(), atoms.end());
      missing.push_back(*t.buffer.frame(frames[k]).label.energy - t.bias_energy(frames[k], bias) -
                        network_energies[k]);
    }
    const std::vector<double> change =
        dptrain::fit_energy_bias(counts, missing, static_cast<int>(bias.size()));
    for (std::size_t type = 0; type < bias.size(); ++type) bias[type] += change[type];
    t.model->set_energy_bias(bias);
  });
  t.bias_is_fitted = true;
}

std::int64_t Trainer::num_frames() const
{
  return impl_->buffer.size();
}
const Frame &Trainer::frame(std::int64_t index) const
{
  return impl_->buffer.frame(index);
}
std::int64_t Trainer::steps() const
{
  return impl_->steps;
}
const TrainingConfig &Trainer::config() const
{
  return impl_->config;
}

// The state: steps, bias flag, 3 numbers of the buffer, those of the optimizer, those of the average if there is one.
std::vector<double> Trainer::state() const
{
  const Impl &t = *impl_;
  std::vector<double> state{static_cast<double>(t.steps), t.bias_is_fitted ? 1.0 : 0.0};
  for (const auto &part : {t.buffer.state(), t.optimizer->state(), t.average.state()})
    state.insert(state.end(), part.begin(), part.end());
  return state;
}

void Trainer::set_state(const std::vector<double> &state)
{
  if (state.size() < 5 || !(state[0] >= 0.0))
    throw Error("The training state of the checkpoint is damaged: it has " +
                std::to_string(state.size()) + " numbers");
  Impl &t = *impl_;
  const auto buffer = state.begin() + 2, optimizer = buffer + 3;
  const std::size_t with_average = t.optimizer->state_size() + 1 + t.model->parameters().size();
  const bool has_average = static_cast<std::size_t>(state.end() - optimizer) == with_average;
  const auto average = has_average ? optimizer + t.optimizer->state_size() : state.end();
  t.optimizer->set_state({optimizer, average});
  t.average.set_state({average, state.end()});
  t.buffer.set_state({buffer, optimizer});
  t.shows_average = false;
  t.steps = static_cast<std::int64_t>(state[0]);
  t.bias_is_fitted = state[1] != 0.0;
}

std::size_t Trainer::memory_bytes() const
{
  const Impl &t = *impl_;
  return t.buffer.memory_bytes() + t.passes.memory_bytes() + t.optimizer->memory_bytes() +
         t.average.memory_bytes() + (t.aside.capacity() + t.gradient.capacity()) * sizeof(double);
}

}  // namespace dptrain
