#include "training/two_pass.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "dptrain/error.h"

namespace dptrain {

namespace {

double root_mean(double sum, double n)
{
  return n > 0.0 ? std::sqrt(sum / n) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

void TwoPass::begin(const std::vector<const Frame *> &frames,
                    const std::vector<double> &bias_energies, const Prefactors &prefactors)
{
  num_frames_ = frames.size();
  const double n = static_cast<double>(num_frames_);
  weights_ = {prefactors.energy / n, prefactors.force / n, prefactors.virial / n};
  if (passes_.size() < num_frames_) passes_.resize(num_frames_);
  for (std::size_t k = 0; k < num_frames_; ++k) {
    passes_[k].frame = frames[k];
    passes_[k].bias_energy = bias_energies[k];
    passes_[k].seed = GradientSeed();
    passes_[k].has_force_seed = false;
  }
  sums_.assign(num_frames_ * NUM_SUMS, 0.0);
}

void TwoPass::forward(bool keep)
{
  guarded(*comm_, [&] {
    domains_.clear();
    outputs_.assign(num_frames_, {});
    for (std::size_t k = 0; k < num_frames_; ++k) {
      Pass &pass = passes_[k];
      if (!pass.frame->has_neighbors())
        throw Error("The frame of step " + std::to_string(pass.frame->step) +
                    " has no neighbour rows: call find_neighbors before it is used");
      pass.force.assign(std::size_t(pass.frame->nall()) * 3, 0.0);
      domains_.push_back(pass.frame->domain());
      outputs_[k].force = pass.force.data();
    }
    model_->forward_batch(domains_.data(), static_cast<int>(num_frames_), outputs_.data(), keep);
    for (std::size_t k = 0; k < num_frames_; ++k) {
      double *sums = &sums_[k * NUM_SUMS];
      sums[ENERGY] = outputs_[k].network_energy;
      std::copy(outputs_[k].virial.begin(), outputs_[k].virial.end(), sums + VIRIAL);
    }
  });
}

void TwoPass::force_residuals()
{
  for (std::size_t k = 0; k < num_frames_; ++k) {
    Pass &pass = passes_[k];
    const std::vector<double> &label = pass.frame->label.force;
    pass.frame->halo->reduce(pass.force.data(), 3);
    double *sums = &sums_[k * NUM_SUMS];
    sums[FORCE_LOSS] = force_term(weights_.force, pass.frame->natoms, label.size(), label.data(),
                                  pass.force.data(), sums[FORCE_SQUARES]);
    sums[FORCE_COMPONENTS] = static_cast<double>(label.size());
  }
}

UpdateReport TwoPass::sum_errors()
{
  comm_->all_reduce_sum(sums_.data(), sums_.size());
  UpdateReport errors;
  double energy_squares = 0.0, energies = 0.0, virial_squares = 0.0, virials = 0.0;
  double force_squares = 0.0, components = 0.0;
  for (std::size_t k = 0; k < num_frames_; ++k) {
    Pass &pass = passes_[k];
    const double *sums = &sums_[k * NUM_SUMS];
    const Label &label = pass.frame->label;
    const double natoms = static_cast<double>(pass.frame->natoms);
    if (label.energy) {
      // a large bias stays out of the sum over ranks: its rounding would differ with their number
      const double error = sums[ENERGY] - (*label.energy - pass.bias_energy);
      errors.loss += energy_term(weights_.energy, pass.frame->natoms, error, pass.seed.energy);
      energy_squares += error * error / (natoms * natoms);
      energies += 1.0;
    }
    if (label.virial) {
      std::array<double, 9> error;
      for (int c = 0; c < 9; ++c) {
        error[c] = sums[VIRIAL + c] - (*label.virial)[c];
        virial_squares += error[c] * error[c] / (natoms * natoms);
      }
      errors.loss += virial_term(weights_.virial, pass.frame->natoms, error, pass.seed.virial);
      virials += 9.0;
    }
    errors.loss += sums[FORCE_LOSS];
    force_squares += sums[FORCE_SQUARES];
    components += sums[FORCE_COMPONENTS];
    pass.has_force_seed = sums[FORCE_COMPONENTS] > 0.0 && weights_.force != 0.0;
  }
  errors.rmse_e = root_mean(energy_squares, energies);
  errors.rmse_f = root_mean(force_squares, components);
  errors.rmse_v = root_mean(virial_squares, virials);
  return errors;
}

void TwoPass::share_residuals()
{
  for (std::size_t k = 0; k < num_frames_; ++k) {
    Pass &pass = passes_[k];
    if (!pass.has_force_seed) continue;
    pass.frame->halo->exchange(pass.force.data(), 3);
    pass.seed.force = pass.force.data();
  }
}

void TwoPass::backward(std::vector<double> &gradient)
{
  guarded(*comm_, [&] {
    gradient.resize(model_->parameters().size());
    seeds_.clear();
    for (std::size_t k = 0; k < num_frames_; ++k) seeds_.push_back(passes_[k].seed);
    model_->gradient_batch(domains_.data(), static_cast<int>(num_frames_), seeds_.data(),
                           gradient.data());
  });
}

std::size_t TwoPass::memory_bytes() const
{
  std::size_t doubles = sums_.capacity();
  for (const Pass &pass : passes_) doubles += pass.force.capacity();
  return doubles * sizeof(double);
}

}  // namespace dptrain
