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

std::int64_t LabelRequest::natoms() const
{
  const std::vector<double> &weight = frame.label.force_weight;
  if (weight.empty()) return static_cast<std::int64_t>(frame.type.size());
  return std::count_if(weight.begin(), weight.end(), [](double w) { return w > 0.0; });
}

Label LabelRequest::learnable(Label answer) const
{
  if (!is_cutout()) return answer;
  answer.energy.reset();
  answer.virial.reset();
  answer.force_weight = frame.label.force_weight;
  return answer;
}

std::vector<double> forces_on(const LabelRequest &request, const std::vector<double> &force)
{
  if (!request.is_cutout()) return force;
  std::vector<double> found;
  found.reserve(3 * request.atoms.size());
  for (const int atom : request.atoms) {
    const auto first = force.begin() + 3 * static_cast<std::ptrdiff_t>(atom);
    found.insert(found.end(), first, first + 3);
  }
  return found;
}

bool same_energy(double a, double b)
{
  return std::fabs(a - b) <= 1e-9 * std::max(1.0, std::fabs(b));
}

ForceErrors force_errors(const std::vector<double> &force, const Label &label)
{
  double squares = 0.0, label_squares = 0.0, largest = 0.0, numbers = 0.0;
  for (std::size_t i = 0; i < force.size(); i += 3) {
    const double weight = label.force_weight.empty() ? 1.0 : label.force_weight[i / 3];
    if (weight == 0.0) continue;
    double square = 0.0;
    for (std::size_t k = i; k < i + 3; ++k) {
      const double difference = force[k] - label.force[k];
      square += difference * difference;
      label_squares += weight * label.force[k] * label.force[k];
    }
    squares += weight * square;
    numbers += 3.0 * weight;
    largest = std::max(largest, std::sqrt(square));
  }
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
  submit(request);
}

void ReferenceDesk::submit(LabelRequest &request)
{
  const auto start = std::chrono::steady_clock::now();
  request.id = source_.submit(request.frame);
  ++counters_.reference_calls;
  counters_.reference_seconds += seconds_since(start);
}

std::optional<Label> ReferenceDesk::await(const LabelRequest &request)
{
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    for (LabelAnswer &answer : source_.poll()) arrived_[answer.request] = std::move(answer);
    if (arrived_.count(request.id) > 0) break;
    source_.wait(one_wait);
  }
  LabelAnswer answer = std::move(arrived_.extract(request.id).mapped());
  counters_.reference_seconds += seconds_since(start);
  const std::int64_t step = request.frame.step;
  std::string why = answer.failure;
  if (!why.empty() && options_.failure_stops)
    throw Error("no label at step " + std::to_string(step) + ": " + why +
                "; 'failed skip' would go on without it");
  if (why.empty() && !is_finite(answer.label)) why = "energy, forces or virial are not finite";
  if (why.empty()) return request.learnable(std::move(answer.label));
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
  for (std::size_t k = 0; k < label.force.size(); ++k)
    if (label.force_weight.empty() || label.force_weight[k / 3] > 0.0)
      largest = std::max(largest, std::fabs(label.force[k]));
  if (options_.force_limit == 0.0 || largest <= options_.force_limit) return true;
  const double unit = options_.units.force();
  discard(request.frame.step, formatted("the largest force component %.6g is above fmax %.6g",
                                        largest * unit, options_.force_limit * unit));
  return false;
}

bool ReferenceDesk::is_stored(const LabelRequest &request, const Label &label) const
{
  return !request.is_cutout() && counters_.label_step == request.frame.step &&
         same_energy(label.energy.value_or(0.0), counters_.label_energy);
}

}  // namespace dptrain
