#include "training/two_pass.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/memory_shortage.h"
#include "dptrain/base/error.h"
#include "training/atom_energies.h"

namespace dptrain {

namespace {

void put(const Deviation &deviation, double *sums)
{
  sums[0] = deviation.squares;
  sums[1] = deviation.absolutes;
  sums[2] = deviation.count;
}

void add(const double *sums, Deviation &deviation)
{
  deviation.add({sums[0], sums[1], sums[2]});
}

}  // namespace

TwoPass::TwoPass(std::shared_ptr<Model> model, std::shared_ptr<const Communicator> comm,
                 const LossConfig &loss) :
    model_(std::move(model)), comm_(std::move(comm)), loss_(loss)
{
}

void TwoPass::begin_batch(std::size_t num_frames, const Prefactors &prefactors)
{
  weights_ = prefactors;
  for (double *weight : {&weights_.energy, &weights_.force, &weights_.virial, &weights_.atom_energy,
                         &weights_.atom_pref, &weights_.generalized})
    *weight /= static_cast<double>(num_frames);
  loss_sum_ = 0.0;
  errors_ = Errors();
  has_gradient_ = false;
}

void TwoPass::begin(const std::vector<const Frame *> &frames,
                    const std::vector<double> &bias_energies)
{
  num_frames_ = frames.size();
  if (passes_.size() < num_frames_) passes_.resize(num_frames_);
  for (std::size_t k = 0; k < num_frames_; ++k) {
    passes_[k].frame = frames[k];
    passes_[k].bias_energy = bias_energies[k];
    passes_[k].seed = GradientSeed();
    passes_[k].has_force_seed = false;
  }
  sums_.assign(num_frames_ * NUM_SUMS, 0.0);
}

// What check_frame cannot know, as the loss decides about it.
void TwoPass::check(const Frame &frame) const
{
  const std::string name = "The frame of step " + std::to_string(frame.step);
  if (!frame.has_neighbors())
    throw Error(name + " has no neighbor rows: call find_neighbors before it is used");
  const std::size_t coordinates = loss_.config().numb_generalized_coord;
  const std::size_t expected = std::size_t(frame.nlocal) * 3 * coordinates;
  if (has_generalized(frame.label) && frame.label.drdq.size() != expected)
    throw Error(name + " has " + std::to_string(frame.label.drdq.size()) + " numbers of drdq for " +
                std::to_string(frame.nlocal) + " atoms; numb_generalized_coord = " +
                std::to_string(coordinates) + " needs " + std::to_string(expected));
}

void TwoPass::guarded_work(const std::function<void()> &work)
{
  guarded(*comm_, [&] { tried_twice(work, [&] { model_->release_workspace(); }); });
}

void TwoPass::forward(bool keep)
{
  tape_.reset();
  guarded_work([&] {
    domains_.clear();
    outputs_.assign(num_frames_, {});
    for (std::size_t k = 0; k < num_frames_; ++k) {
      Pass &pass = passes_[k];
      check(*pass.frame);
      const Label &label = pass.frame->label;
      pass.force.assign(std::size_t(pass.frame->nall()) * 3, 0.0);
      pass.atom_energy.clear();
      if (has_atom_term(label) || has_coefficients(label))
        pass.atom_energy.assign(pass.frame->nlocal, 0.0);
      domains_.push_back(pass.frame->domain());
      outputs_[k].force = pass.force.data();
      if (!pass.atom_energy.empty()) outputs_[k].atom_energy = pass.atom_energy.data();
    }
    tape_ = model_->forward(domains_.data(), static_cast<int>(num_frames_), outputs_.data(), keep);
    for (std::size_t k = 0; k < num_frames_; ++k) {
      double *sums = &sums_[k * NUM_SUMS];
      sums[ENERGY] =
          has_coefficients(passes_[k].frame->label)
              ? network_energy(*model_, *passes_[k].frame, true, passes_[k].atom_energy.data())
              : outputs_[k].network_energy;
      std::copy(outputs_[k].virial.begin(), outputs_[k].virial.end(), sums + VIRIAL);
    }
  });
}

void TwoPass::residuals()
{
  for (std::size_t k = 0; k < num_frames_; ++k)
    passes_[k].frame->halo->reduce(passes_[k].force.data(), 3);
  if (weights_.generalized != 0.0) generalized_errors();
  for (std::size_t k = 0; k < num_frames_; ++k) {
    force_residuals(k);
    if (!passes_[k].atom_energy.empty()) atom_energy_residuals(passes_[k], &sums_[k * NUM_SUMS]);
  }
}

// Their squares are known only when all ranks have added their atoms.
void TwoPass::generalized_errors()
{
  generalized_.assign(num_frames_ * (loss_.config().numb_generalized_coord + 1), 0.0);
  for (std::size_t k = 0; k < num_frames_; ++k) {
    const Label &label = passes_[k].frame->label;
    if (!has_generalized(label)) continue;
    loss_.generalized_errors(passes_[k].frame->nlocal, label.drdq.data(), label.force.data(),
                             passes_[k].force.data(), generalized_of(k));
    generalized_of(k)[loss_.config().numb_generalized_coord] = 1.0;
  }
  comm_->all_reduce_sum(generalized_.data(), generalized_.size());
}

void TwoPass::force_residuals(std::size_t k)
{
  Pass &pass = passes_[k];
  const Label &label = pass.frame->label;
  if (label.force.empty()) return;
  const double *pref = nullptr;
  if (weights_.atom_pref != 0.0 && !label.atom_pref.empty()) pref = label.atom_pref.data();
  if (weights_.atom_pref != 0.0 && !pref && loss_.config().use_default_pf) {
    default_pref_.assign(pass.frame->nlocal, 1.0);
    pref = default_pref_.data();
  }
  double *sums = &sums_[k * NUM_SUMS];
  Deviation force, weighted;
  sums[LOSS] += loss_.forces(weights_, pass.frame->natoms, pass.frame->nlocal, label.force.data(),
                             pref, pass.force.data(), force, weighted);
  put(force, sums + FORCE);
  put(weighted, sums + PREF);
  if (has_generalized(label)) {
    const double *error = generalized_of(k);
    loss_.generalized_forces(weights_.generalized, pass.frame->nlocal, label.drdq.data(), error,
                             pass.force.data());
  }
}

void TwoPass::atom_energy_residuals(Pass &pass, double *sums)
{
  const Frame &frame = *pass.frame;
  if (!has_atom_term(frame.label)) {
    std::fill(pass.atom_energy.begin(), pass.atom_energy.end(), 0.0);
    return;
  }
  has_energy_.resize(frame.nlocal);
  for (int i = 0; i < frame.nlocal; ++i)
    has_energy_[i] = coefficient_of(*model_, frame, i, false) != 0.0 ? 1 : 0;
  Deviation deviation;
  sums[LOSS] += loss_.atom_energies(weights_.atom_energy, frame.natoms, frame.nlocal,
                                    frame.label.atom_energy.data(), has_energy_.data(),
                                    pass.atom_energy.data(), deviation);
  put(deviation, sums + ATOM_ENERGY);
}

void TwoPass::sum_errors()
{
  comm_->all_reduce_sum(sums_.data(), sums_.size());
  for (std::size_t k = 0; k < num_frames_; ++k) add_frame(k);
}

UpdateReport TwoPass::report() const
{
  const Errors &errors = errors_;
  UpdateReport report;
  report.loss = loss_sum_;
  report.rmse_e = errors.energy.rmse();
  report.rmse_f = errors.force.rmse();
  report.rmse_v = errors.virial.rmse();
  report.rmse_ae = errors.atom_energy.rmse();
  report.rmse_pf = errors.pref.rmse();
  report.rmse_gf = errors.generalized.rmse();
  report.mae_e = errors.energy.mae();
  report.mae_f = errors.force.mae();
  report.mae_v = errors.virial.mae();
  report.mae_ae = errors.atom_energy.mae();
  report.mae_pf = errors.pref.mae();
  report.mae_gf = errors.generalized.mae();
  return report;
}

// Adds a frame's loss and errors, and finds the seeds that are the same on all ranks.
void TwoPass::add_frame(std::size_t k)
{
  Errors &errors = errors_;
  double &loss = loss_sum_;
  Pass &pass = passes_[k];
  const double *sums = &sums_[k * NUM_SUMS];
  const Label &label = pass.frame->label;
  const std::int64_t natoms = pass.frame->natoms;
  loss += sums[LOSS];
  if (label.energy) {
    // a large bias stays out of the sum over ranks: its rounding would differ with their number
    const double error = sums[ENERGY] - (*label.energy - pass.bias_energy);
    double slope = 0.0;
    loss += loss_.energy(weights_.energy, natoms, error, slope);
    errors.energy.add(error / static_cast<double>(natoms));
    if (has_coefficients(label))
      for (int i = 0; i < pass.frame->nlocal; ++i)
        pass.atom_energy[i] += slope * label.atom_ener_coeff[i];
    else
      pass.seed.energy = slope;
  }
  if (label.virial) {
    std::array<double, 9> error;
    for (int c = 0; c < 9; ++c) {
      error[c] = sums[VIRIAL + c] - (*label.virial)[c];
      errors.virial.add(error[c] / static_cast<double>(natoms));
    }
    loss += loss_.virial(weights_.virial, natoms, error, pass.seed.virial);
  }
  add(sums + FORCE, errors.force);
  add(sums + PREF, errors.pref);
  add(sums + ATOM_ENERGY, errors.atom_energy);
  pass.has_force_seed =
      sums[FORCE + 2] > 0.0 &&
      (weights_.force != 0.0 || weights_.atom_pref != 0.0 || weights_.generalized != 0.0);
  const int coordinates = loss_.config().numb_generalized_coord;
  if (weights_.generalized == 0.0 || generalized_of(k)[coordinates] == 0.0) return;
  loss += loss_.generalized_forces(weights_.generalized, 0, nullptr, generalized_of(k), nullptr);
  for (int q = 0; q < coordinates; ++q) errors.generalized.add(generalized_of(k)[q]);
}

void TwoPass::share_residuals()
{
  for (std::size_t k = 0; k < num_frames_; ++k) {
    Pass &pass = passes_[k];
    if (!pass.atom_energy.empty()) pass.seed.atom_energy = pass.atom_energy.data();
    if (!pass.has_force_seed) continue;
    pass.frame->halo->exchange(pass.force.data(), 3);
    pass.seed.force = pass.force.data();
  }
}

void TwoPass::backward(std::vector<double> &gradient)
{
  std::vector<double> &target = has_gradient_ ? addend_ : gradient;
  guarded_work([&] {
    target.resize(model_->parameters().size());
    seeds_.clear();
    for (std::size_t k = 0; k < num_frames_; ++k) seeds_.push_back(passes_[k].seed);
    model_->gradient(*tape_, seeds_.data(), target.data());
  });
  tape_.reset();
  if (has_gradient_)
    for (std::size_t k = 0; k < gradient.size(); ++k) gradient[k] += addend_[k];
  has_gradient_ = true;
}

std::size_t TwoPass::memory_bytes() const
{
  std::size_t doubles =
      sums_.capacity() + generalized_.capacity() + default_pref_.capacity() + addend_.capacity();
  for (const Pass &pass : passes_) doubles += pass.force.capacity() + pass.atom_energy.capacity();
  return doubles * sizeof(double) + has_energy_.capacity();
}

}  // namespace dptrain
