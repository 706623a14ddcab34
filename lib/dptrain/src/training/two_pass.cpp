#include "training/two_pass.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/advice.h"
#include "base/memory_shortage.h"
#include "kernels/vectors.h"

namespace dptrain {

TwoPass::TwoPass(std::shared_ptr<Model> model, std::shared_ptr<const Communicator> comm,
                 LossTerms terms) :
    model_(std::move(model)),
    comm_(std::move(comm)),
    terms_(std::move(terms)),
    shares_(terms_.size())
{
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    shares_[t].offset = num_sums_;
    num_sums_ += 1 + terms_[t]->num_sums(*model_);
  }
}

void TwoPass::begin_batch(std::size_t num_frames, double rate_fraction)
{
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    shares_[t].weight =
        terms_[t]->traits().prefactor.at(rate_fraction) / static_cast<double>(num_frames);
    shares_[t].errors = {};
  }
  loss_sum_ = 0.0;
  has_gradient_ = false;
}

// What check_frame cannot know, as the loss decides about it.
void TwoPass::check(const Frame &frame) const
{
  if (!frame.has_neighbors())
    throw internal_error(fmt::format("The frame of step {} has no neighbor rows", frame.step));
  for (const auto &term : terms_)
    if (term->has_label(frame.label)) term->check(frame);
}

bool TwoPass::uses_atom_energies(const Label &label) const
{
  return std::any_of(terms_.begin(), terms_.end(),
                     [&](const auto &term) { return term->uses_atom_energies(label); });
}

void TwoPass::guarded_work(const std::function<void()> &work)
{
  guarded(*comm_, [&] {
    if (model_->charges()) return work();  // whose sums over ranks one of them cannot repeat
    tried_twice(work, [&] { model_->release_workspace(); });
  });
}

void TwoPass::forward(const std::vector<const Frame *> &frames, bool keep)
{
  tape_.reset();
  guarded_work([&] {
    num_frames_ = frames.size();
    if (passes_.size() < num_frames_) passes_.resize(num_frames_);
    domains_.clear();
    outputs_.assign(num_frames_, {});
    for (std::size_t k = 0; k < num_frames_; ++k) {
      Pass &pass = passes_[k];
      pass.frame = frames[k];
      check(*pass.frame);
      pass.force.assign(std::size_t(pass.frame->nall()) * 3, 0.0);
      pass.atom_energy.clear();
      if (uses_atom_energies(pass.frame->label)) pass.atom_energy.assign(pass.frame->nlocal, 0.0);
      domains_.push_back(pass.frame->domain());
      outputs_[k].force = pass.force.data();
      if (!pass.atom_energy.empty()) outputs_[k].atom_energy = pass.atom_energy.data();
    }
  });
  guarded_work([&] {
    tape_ = model_->forward(domains_.data(), static_cast<int>(num_frames_), outputs_.data(), keep);
  });
}

Prediction TwoPass::prediction(std::size_t k) const
{
  const Pass &pass = passes_[k];
  const bool has_atoms = !pass.atom_energy.empty();
  return {*model_,
          *pass.frame,
          outputs_[k].network_energy,
          outputs_[k].virial,
          pass.force.data(),
          has_atoms ? pass.atom_energy.data() : nullptr};
}

double TwoPass::weight_of(std::size_t frame, std::size_t term) const
{
  return passes_[frame].frame->label.frame_weight * shares_[term].weight;
}

void TwoPass::sum_errors()
{
  for (std::size_t k = 0; k < num_frames_; ++k)
    passes_[k].frame->halo->reduce(passes_[k].force.data(), 3);
  sums_.assign(num_frames_ * num_sums_, 0.0);
  for (std::size_t k = 0; k < num_frames_; ++k)
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      if (!terms_[t]->has_label(passes_[k].frame->label)) continue;
      double *sums = sums_of(k, t);
      sums[0] = 1.0;
      terms_[t]->add_sums(prediction(k), sums + 1);
    }
  comm_->all_reduce_sum(sums_.data(), sums_.size());
  for (std::size_t k = 0; k < num_frames_; ++k)
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      const double *sums = sums_of(k, t);
      if (sums[0] == 0.0) continue;
      loss_sum_ += weight_of(k, t) * terms_[t]->value(prediction(k), sums + 1, shares_[t].errors);
    }
}

UpdateReport TwoPass::report() const
{
  UpdateReport report;
  report.loss = loss_sum_;
  for (std::size_t t = 0; t < terms_.size(); ++t)
    report.terms.push_back(
        {terms_[t]->traits().name, shares_[t].errors.rmse(), shares_[t].errors.mae()});
  return report;
}

// Replaces forces and atomic energies, which all terms need first, by the derivatives.
void TwoPass::find_seed(std::size_t k)
{
  Pass &pass = passes_[k];
  force_residual_.assign(std::size_t(pass.frame->nlocal) * 3, 0.0);
  atom_residual_.assign(pass.atom_energy.size(), 0.0);
  Residual residual;
  residual.force = force_residual_.data();
  if (!atom_residual_.empty()) residual.atom_energy = atom_residual_.data();
  bool has_force = false;  // the same on all ranks
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const double *sums = sums_of(k, t);
    const double weight = weight_of(k, t);
    if (sums[0] == 0.0 || weight == 0.0) continue;
    terms_[t]->add_residual(prediction(k), sums + 1, weight, residual);
    has_force = has_force || terms_[t]->traits().uses_forces;
  }
  std::copy(force_residual_.begin(), force_residual_.end(), pass.force.begin());
  std::copy(atom_residual_.begin(), atom_residual_.end(), pass.atom_energy.begin());
  pass.seed = GradientSeed();
  pass.seed.energy = residual.energy;
  pass.seed.virial = residual.virial;
  if (has_force) pass.seed.force = pass.force.data();
  if (!pass.atom_energy.empty()) pass.seed.atom_energy = pass.atom_energy.data();
}

void TwoPass::residuals()
{
  for (std::size_t k = 0; k < num_frames_; ++k) {
    find_seed(k);
    if (passes_[k].seed.force) passes_[k].frame->halo->exchange(passes_[k].force.data(), 3);
  }
}

void TwoPass::backward(kernels::Array<double> &gradient)
{
  kernels::Array<double> &target = has_gradient_ ? addend_ : gradient;
  const std::size_t n = model_->parameters().size();
  guarded_work([&] {
    target.resize(n);
    seeds_.clear();
    for (std::size_t k = 0; k < num_frames_; ++k) seeds_.push_back(passes_[k].seed);
    model_->gradient_in_kernels(*tape_, seeds_.data(), target.data());
  });
  tape_.reset();
  if (has_gradient_) kernels::add_values(addend_.data(), static_cast<long>(n), gradient.data());
  has_gradient_ = true;
}

std::size_t TwoPass::memory_bytes() const
{
  std::size_t doubles = sums_.capacity() + force_residual_.capacity() + atom_residual_.capacity();
  for (const Pass &pass : passes_) doubles += pass.force.capacity() + pass.atom_energy.capacity();
  return doubles * sizeof(double) + addend_.memory_bytes();
}

}  // namespace dptrain
