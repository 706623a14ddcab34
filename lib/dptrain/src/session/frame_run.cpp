#include "dptrain/session/frame_run.h"

#include <algorithm>

namespace dptrain {

FrameValues evaluate_frame(const std::shared_ptr<const Communicator> &comm, Evaluator &evaluator,
                           const WholeFrame &whole, bool with_bars)
{
  const Model &model = evaluator.model();
  const Frame frame = scatter_frame(comm, whole, model.cutoff());
  const std::size_t nlocal = frame.nlocal, natoms = whole.type.size();
  std::vector<double> force(3 * static_cast<std::size_t>(frame.nall())), energy(nlocal),
      bar(nlocal), charge(nlocal);
  FrameValues values;
  ForwardOutput out;
  out.force = force.data();
  out.atom_energy = energy.data();
  const bool has_charges = model.charges().has_value();
  if (has_charges) {
    out.charge = charge.data();
    values.charge.assign(natoms, 0.0);
  }
  if (with_bars) {
    values.feature_sum.assign(model.type_map().size() * model.features()->number(), 0.0);
    out.bar = bar.data();
    out.feature_sum = values.feature_sum.data();
  }
  guarded(*comm, [&] { evaluator.step(frame.domain(), out); });  // the others wait below
  frame.halo->reduce(force.data(), 3);
  values.energy = out.energy;
  values.virial = out.virial;
  values.has_virial = true;
  values.force.assign(3 * natoms, 0.0);
  values.atom_energy.assign(natoms, 0.0);
  if (with_bars) values.bar.assign(natoms, 0.0);
  for (std::size_t i = 0; i < nlocal; ++i) {
    const auto atom = static_cast<std::size_t>(frame.tag[i] - 1);
    std::copy_n(&force[3 * i], 3, &values.force[3 * atom]);
    values.atom_energy[atom] = energy[i];
    if (with_bars) values.bar[atom] = bar[i];
    if (has_charges) values.charge[atom] = charge[i];
  }
  if (comm->size() == 1) return values;
  comm->all_reduce_sum(&values.energy, 1);
  comm->all_reduce_sum(values.virial.data(), values.virial.size());
  for (auto *each :
       {&values.force, &values.atom_energy, &values.bar, &values.feature_sum, &values.charge})
    comm->all_reduce_sum(each->data(), each->size());
  return values;
}

void FrameRun::show(const WholeFrame &frame)
{
  frame_ = frame;
  evaluate_again();
  follow_model();
}

void FrameRun::evaluate_again()
{
  model_ = {};
  model_.force.assign(frame_.coord.size(), 0.0);
  if (!slot_->model() || !slot_->trained()) return;
  if (!evaluator_ || &evaluator_->model() != slot_->model().get())
    evaluator_.emplace(slot_->model());
  model_ = evaluate_frame(comm_, *evaluator_, frame_, slot_->has_bars());
  known_ = slot_->model()->bars();
}

// By what distances mean now: a label may have told meanwhile.
std::vector<double> FrameRun::bars() const
{
  std::vector<double> bars = model_.bar;
  for (std::size_t i = 0; i < bars.size(); ++i)
    bars[i] *= slot_->model()->bars().factor(frame_.type[i]) / known_.factor(frame_.type[i]);
  return bars;
}

// This rank's part of it: rank 0 has all.
std::vector<double> FrameRun::feature_sum() const
{
  std::vector<double> sum = model_.feature_sum;
  if (comm_->rank() != 0) std::fill(sum.begin(), sum.end(), 0.0);
  return sum;
}

void FrameRun::follow_model()
{
  values_ = model_;
  model_moves_ = slot_->model() && slot_->trained();
}

void FrameRun::follow(const Label &label)
{
  values_.energy = label.energy.value_or(0.0);
  values_.force = label.force;
  if (label.virial) {
    values_.virial = *label.virial;
    values_.has_virial = true;
  }
  model_moves_ = false;
}

}  // namespace dptrain
