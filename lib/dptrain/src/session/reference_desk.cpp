#include "session/reference_desk.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "dptrain/base/error.h"

namespace dptrain {

namespace {

constexpr double one_wait = 3600.0;  // seconds; any number will do

double seconds_since(std::chrono::steady_clock::time_point start)
{
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A number that is not finite spoils the sum.
bool is_finite(const Label &label)
{
  double sum = label.energy.value_or(0.0);
  for (const double component : label.force) sum += component;
  if (label.virial)
    for (const double component : *label.virial) sum += component;
  return std::isfinite(sum);
}

}  // namespace

bool same_energy(double a, double b)
{
  return std::fabs(a - b) <= 1e-9 * std::max(1.0, std::fabs(b));
}

ForceErrors force_errors(const std::vector<double> &force, const Label &label)
{
  double squares = 0.0, label_squares = 0.0, largest = 0.0;
  for (std::size_t i = 0; i < force.size(); i += 3) {
    double square = 0.0;
    for (std::size_t k = i; k < i + 3; ++k) {
      const double difference = force[k] - label.force[k];
      square += difference * difference;
      label_squares += label.force[k] * label.force[k];
    }
    squares += square;
    largest = std::max(largest, std::sqrt(square));
  }
  const double numbers = static_cast<double>(force.size());
  return {largest, std::sqrt(squares / numbers), std::sqrt(label_squares / numbers)};
}

ReferenceDesk::ReferenceDesk(std::shared_ptr<const Communicator> comm, LabelSource &source,
                             const LearningOptions &options, const Messages &messages,
                             SessionCounters &counters) :
    comm_(std::move(comm)),
    source_(source),
    options_(options),
    messages_(messages),
    counters_(counters)
{
}

void ReferenceDesk::submit(Trajectory &run, LabelRequest &request)
{
  request.frame = run.configuration();
  request.energy = run.energy();
  comm_->all_reduce_sum(&request.energy, 1);
  if (request.has_scores && request.ask != Ask::no) {
    request.force = run.forces();
    request.feature_sum = run.feature_sum();
    comm_->all_reduce_sum(request.feature_sum.data(), request.feature_sum.size());
  }
  const auto start = std::chrono::steady_clock::now();
  request.id = source_.submit(request.frame);
  ++counters_.reference_calls;
  counters_.reference_seconds += seconds_since(start);
}

std::optional<Label> ReferenceDesk::await(const LabelRequest &request)
{
  const auto start = std::chrono::steady_clock::now();
  std::optional<LabelAnswer> answer;
  while (!answer) {
    for (LabelAnswer &arrived : source_.poll())
      if (arrived.request == request.id) answer = std::move(arrived);
    if (!answer) source_.wait(one_wait);
  }
  counters_.reference_seconds += seconds_since(start);
  const std::int64_t step = request.frame.step;
  std::string why = answer->failure;
  if (!why.empty() && options_.failure_stops)
    throw Error("no label at step " + std::to_string(step) + ": " + why +
                "; 'failed skip' would go on without it");
  if (why.empty() && !is_finite(answer->label)) why = "energy, forces or virial are not finite";
  if (why.empty()) return std::move(answer->label);
  if (options_.runs_model && !counters_.trained)
    throw Error("no label at step " + std::to_string(step) + ": " + why +
                "; the model is not trained yet, and the run cannot go on without the reference");
  discard(step, why);
  return std::nullopt;
}

void ReferenceDesk::discard(std::int64_t step, const std::string &why)
{
  ++counters_.discarded;
  messages_.warning("label of step " + std::to_string(step) + " is discarded: " + why);
}

bool ReferenceDesk::within_limit(const LabelRequest &request, const Label &label)
{
  double largest = 0.0;
  for (const double component : label.force) largest = std::max(largest, std::fabs(component));
  if (options_.force_limit == 0.0 || largest <= options_.force_limit) return true;
  const double unit = options_.units.force();
  discard(request.frame.step, formatted("the largest force component %.6g is above fmax %.6g",
                                        largest * unit, options_.force_limit * unit));
  return false;
}

bool ReferenceDesk::is_stored(const LabelRequest &request, const Label &label) const
{
  return counters_.label_step == request.frame.step &&
         same_energy(label.energy.value_or(0.0), counters_.label_energy);
}

}  // namespace dptrain
