#include "commands/test_frame.h"

#include <algorithm>
#include <cmath>

#include "data/frame_values.h"
#include "dptrain/base/error.h"
#include "dptrain/potential/model/evaluator.h"

namespace dptrain {

namespace {

bool has_stress(const WholeFrame &frame)
{
  return frame.periodic && frame.label.virial;
}

}  // namespace

FramePrediction predict(const std::shared_ptr<Model> &model,
                        const std::shared_ptr<const Communicator> &comm, const WholeFrame &whole)
{
  const Frame frame = scatter_frame(comm, whole, model->cutoff());
  std::vector<double> force(std::size_t(frame.nall()) * 3, 0.0), atom_energy(frame.nlocal, 0.0);
  ForwardOutput out;
  out.force = force.data();
  out.atom_energy = atom_energy.data();
  const bool has_bars = model->features() && !model->features()->metric().empty();
  std::vector<double> bar(frame.nlocal, 0.0);
  if (has_bars) out.bar = bar.data();
  const bool has_charges = model->charges().has_value();
  std::vector<double> charge(frame.nlocal, 0.0);
  if (has_charges) out.charge = charge.data();
  guarded(*comm, [&] { Evaluator(model).step(frame.domain(), out); });
  frame.halo->reduce(force.data(), 3);

  // energy, virial, and per atom force, energy, bar and charge: one array, of which each rank knows its own atoms
  constexpr std::size_t global = 10, width = 6;
  std::vector<double> all(global + width * whole.type.size(), 0.0);
  all[0] = out.energy;
  std::copy(out.virial.begin(), out.virial.end(), &all[1]);
  for (int k = 0; k < frame.nlocal; ++k) {
    double *row = &all[global + width * (frame.tag[k] - 1)];
    std::copy_n(&force[std::size_t(k) * 3], 3, row);
    row[3] = atom_energy[k];
    row[4] = bar[k];
    row[5] = charge[k];
  }
  comm->all_reduce_sum(all.data(), all.size());

  FramePrediction prediction;
  prediction.energy = all[0];
  std::copy_n(&all[1], 9, prediction.virial.begin());
  for (std::size_t i = 0; i < whole.type.size(); ++i) {
    const double *row = &all[global + width * i];
    prediction.force.insert(prediction.force.end(), row, row + 3);
    prediction.atom_energy.push_back(row[3]);
    if (has_bars) prediction.bar.push_back(row[4]);
    if (has_charges) prediction.charge.push_back(row[5]);
  }
  return prediction;
}

void add(FramePrediction &prediction, const Label &baseline)
{
  prediction.energy += baseline.energy.value();
  for (std::size_t k = 0; k < prediction.force.size(); ++k)
    prediction.force[k] += baseline.force.at(k);
  for (std::size_t k = 0; k < 9; ++k) prediction.virial[k] += baseline.virial.value()[k];
}

ErrorSums frame_errors(const WholeFrame &frame, const FramePrediction &prediction, bool atomic)
{
  ErrorSums sums;
  const Label &label = frame.label;
  const double natoms = static_cast<double>(frame.type.size());
  if (label.energy) {
    const double difference = prediction.energy - *label.energy;
    sums[test_energy].add(difference);
    sums[test_energy_per_atom].add(difference / natoms);
    sums[test_energy].labels = sums[test_energy_per_atom].labels = 1.0;
  }
  for (std::size_t k = 0; k < label.force.size(); ++k) {
    const double difference = prediction.force[k] - label.force[k];
    sums[test_force].add(difference);
    if (!label.atom_pref.empty()) sums[test_weighted_force].add(difference, label.atom_pref[k / 3]);
  }
  sums[test_force].labels = label.force.empty() ? 0.0 : 1.0;
  sums[test_weighted_force].labels = label.force.empty() || label.atom_pref.empty() ? 0.0 : 1.0;
  if (has_stress(frame)) {
    const double volume = std::abs(volume_of(frame.box));
    for (int c = 0; c < 9; ++c) {
      const double difference = prediction.virial[c] - (*label.virial)[c];
      sums[test_virial].add(difference);
      sums[test_virial_per_atom].add(difference / natoms);
      sums[test_stress].add(difference / volume);
    }
    for (const auto quantity : {test_virial, test_virial_per_atom, test_stress})
      sums[quantity].labels = 1.0;
  }
  if (atomic) {
    if (label.atom_energy.empty())
      throw Error("no atomic energies (atom_ener.npy), but their errors are asked for; leave out "
                  "the option -a, or add the labels");
    for (std::size_t i = 0; i < label.atom_energy.size(); ++i)
      sums[test_atomic_energy].add(prediction.atom_energy[i] - label.atom_energy[i]);
    sums[test_atomic_energy].labels = 1.0;
  }
  return sums;
}

AtomErrors atom_errors(const WholeFrame &frame, const FramePrediction &prediction,
                       const ErrorBars &bars)
{
  AtomErrors atoms;
  const std::vector<double> &label = frame.label.force;
  if (label.empty()) return atoms;
  for (std::size_t i = 0; i < prediction.bar.size(); ++i) {
    const int type = frame.type[i];
    if (type < 0) continue;
    atoms.add(type, prediction.bar[i] / bars.factor(type), &prediction.force[3 * i], &label[3 * i]);
    if (bars.is_known()) atoms.bar.push_back(prediction.bar[i]);
  }
  return atoms;
}

std::vector<double> frame_details(const WholeFrame &frame, const FramePrediction &prediction,
                                  bool has_bars)
{
  namespace row = detail_row;
  const Label &label = frame.label;
  std::vector<double> values(row::size(static_cast<std::int64_t>(frame.type.size())), 0.0);
  values[row::energy] = label.energy.value_or(0.0);
  values[row::energy + 1] = prediction.energy;
  if (label.virial) std::copy_n(label.virial->begin(), 9, &values[row::virial]);
  std::copy_n(prediction.virial.begin(), 9, &values[row::virial + 9]);
  if (has_stress(frame)) values[row::volume] = std::abs(volume_of(frame.box));
  for (std::size_t i = 0; i < frame.type.size(); ++i) {
    double *pair = &values[row::force + 6 * i];
    if (!label.force.empty()) std::copy_n(&label.force[3 * i], 3, pair);
    std::copy_n(&prediction.force[3 * i], 3, pair + 3);
  }
  const std::size_t natoms = frame.type.size();
  const auto bars = values.begin() + static_cast<std::ptrdiff_t>(row::force + 6 * natoms);
  const auto charges = bars + static_cast<std::ptrdiff_t>(natoms);
  if (has_bars) std::copy(prediction.bar.begin(), prediction.bar.end(), bars);
  std::fill(charges, values.end(), NAN);
  std::copy(prediction.charge.begin(), prediction.charge.end(), charges);
  return values;
}

}  // namespace dptrain
