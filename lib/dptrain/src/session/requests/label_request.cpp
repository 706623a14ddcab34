#include "session/requests/label_request.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dptrain {

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

void LabelRequest::set_bars(std::vector<double> values, const ErrorBars &bars)
{
  distance = std::move(values);
  bar.clear();
  if (!bars.is_known()) return;
  bar = distance;
  for (std::size_t i = 0; i < distance.size(); ++i) distance[i] /= bars.factor(frame.type[i]);
}

double LabelRequest::largest_bar(const ErrorBars &bars) const
{
  double largest = 0.0;
  const std::vector<double> &weight = frame.label.force_weight;
  for (std::size_t i = 0; i < distance.size() && bars.is_known(); ++i)
    if (frame.type[i] >= 0 && (weight.empty() || weight[i] > 0.0))
      largest = std::max(largest, bars.factor(frame.type[i]) * distance[i]);
  return largest;
}

AtomErrors atom_errors(const LabelRequest &request, const Label &label)
{
  AtomErrors atoms;
  for (std::size_t i = 0; i < request.distance.size(); ++i) {
    const bool counts = label.force_weight.empty() || label.force_weight[i] > 0.0;
    if (!counts || request.frame.type[i] < 0) continue;
    atoms.add(request.frame.type[i], request.distance[i], &request.force[3 * i],
              &label.force[3 * i]);
    if (!request.bar.empty()) atoms.bar.push_back(request.bar[i]);
  }
  return atoms;
}

std::string LabelRequest::damage() const
{
  const std::size_t natoms = frame.type.size();
  const bool fits = natoms > 0 && frame.coord.size() == 3 * natoms &&
                    (!has_bars || (force.size() == 3 * natoms && distance.size() == natoms)) &&
                    (bar.empty() || bar.size() == natoms) &&
                    (!is_cutout() || frame.label.force_weight.size() == natoms);
  return fits ? "" : "its arrays do not have the lengths of one configuration";
}

}  // namespace dptrain
