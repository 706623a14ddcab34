#include "session/requests/label_request.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace dptrain {

namespace {

const Ask asks[] = {Ask::no,    Ask::prepare, Ask::young, Ask::threshold,
                    Ask::limit, Ask::audit,   Ask::rewind};

template <class T> std::vector<double> numbers(const T &values)
{
  return {values.begin(), values.end()};
}

template <std::size_t N> std::array<double, N> fixed(const State &state, const std::string &name)
{
  const std::vector<double> &values = state.array(name);
  if (values.size() != N) state.fail(fmt::format("{} has another length than {}", name, N));
  std::array<double, N> result;
  std::copy(values.begin(), values.end(), result.begin());
  return result;
}

// What a source has prepared (a baseline, or nothing), and the weights of a cut-out.
State state_of(const Label &label)
{
  State state;
  if (label.energy) state.set_number("energy", *label.energy);
  if (!label.force.empty()) state.set_array("force", label.force);
  if (label.virial) state.set_array("virial", numbers(*label.virial));
  if (!label.force_weight.empty()) state.set_array("force_weight", label.force_weight);
  return state;
}

Label label_from(const State &state)
{
  Label label;
  if (state.has("energy")) label.energy = state.number("energy");
  if (state.has("force")) label.force = state.array("force");
  if (state.has("virial")) label.virial = fixed<9>(state, "virial");
  if (state.has("force_weight")) label.force_weight = state.array("force_weight");
  return label;
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

State LabelRequest::state() const
{
  State state;
  state.set_text("why", name_of(ask));
  state.set_flag("has_scores", has_scores);
  state.set_number("score", score);
  state.set_number("expected", expected);
  state.set_number("energy", energy);
  state.set_array("force", force);
  state.set_array("feature_sum", feature_sum);
  state.set_integer("step", frame.step);
  state.set_array("coord", frame.coord);
  state.set_array("type", numbers(frame.type));
  state.set_array("box", numbers(frame.box));
  state.set_flag("periodic", frame.periodic);
  state.set_array("atoms", numbers(atoms));
  state.set_group("prepared", state_of(frame.label));
  return state;
}

LabelRequest LabelRequest::from(const State &state)
{
  LabelRequest request;
  const std::string &why = state.text("why");
  const auto ask = std::find_if(std::begin(asks), std::end(asks),
                                [&](Ask known) { return name_of(known) == why; });
  if (ask == std::end(asks)) state.fail(fmt::format("there is no reason '{}' to ask", why));
  request.ask = *ask;
  request.has_scores = state.flag("has_scores");
  request.score = state.number("score");
  request.expected = state.number("expected");
  request.energy = state.number("energy");
  request.force = state.array("force");
  request.feature_sum = state.array("feature_sum");
  WholeFrame &frame = request.frame;
  frame.step = state.integer("step");
  frame.coord = state.array("coord");
  for (const double type : state.array("type")) frame.type.push_back(static_cast<int>(type));
  frame.box = fixed<9>(state, "box");
  frame.periodic = state.flag("periodic");
  frame.label = label_from(state.group("prepared"));
  for (const double atom : state.array("atoms")) request.atoms.push_back(static_cast<int>(atom));
  const std::size_t natoms = frame.type.size();
  if (natoms == 0 || frame.coord.size() != 3 * natoms ||
      (request.has_scores && request.force.size() != 3 * natoms) ||
      (request.is_cutout() && frame.label.force_weight.size() != natoms))
    state.fail("its arrays do not have the lengths of one configuration");
  return request;
}

}  // namespace dptrain
