#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "dptrain/base/error.h"
#include "dptrain/uncertainty/feature_moments.h"

namespace dptrain {

namespace {

// Part of the mean diagonal element that is added to the diagonal: features are correlated.
constexpr double ridge = 1e-7;
// Uncertainty per length of f where nothing is known of a type.
constexpr double unknown = 1e6;

// The moments behind W = L^-T / sqrt(H).
at::Tensor moments_of(const at::Tensor &w)
{
  const auto inverse = at::linalg_inv(w * std::sqrt(static_cast<double>(w.size(0))));
  return at::matmul(inverse.t(), inverse);
}

}  // namespace

FeatureMoments::FeatureMoments(std::shared_ptr<Model> model,
                               std::shared_ptr<const Communicator> comm) :
    model_(std::move(model)), comm_(std::move(comm))
{
  if (!model_->last_hidden_layer())
    throw Error("This model has no hidden layer from which an uncertainty could be computed: use "
                "one whose fitting net has hidden layers");
  const std::size_t ntypes = model_->type_map().size(), features = layer().num_features();
  sums_.assign(ntypes * features * features, 0.0);
  atoms_.assign(ntypes, 0);
}

void FeatureMoments::add(const Frame &frame)
{
  std::vector<double> force(static_cast<std::size_t>(frame.nall()) * 3);
  ForwardOutput out;
  out.force = force.data();
  out.feature_covariance = sums_.data();
  feature_sums_.emplace_back(model_->type_map().size() * layer().num_features(), 0.0);
  out.feature_sum = feature_sums_.back().data();
  const Domain domain = frame.weighted_domain();
  model_->forward(domain, out);
  for (int k = 0; k < domain.num_centers; ++k) {
    const int type = frame.type[domain.centers[k]];
    if (type >= 0 && model_->has_energy(type)) ++atoms_[type];
  }
}

// C + ridge = L L^T: W = L^-T / sqrt(H).
std::vector<double> FeatureMoments::matrices(double weight) const
{
  const std::int64_t ntypes = atoms_.size(), features = layer().num_features();
  const auto view = [=](std::vector<double> &values, std::int64_t type) {
    return at::from_blob(&values[type * features * features], {features, features}, at::kDouble);
  };
  std::vector<double> result(sums_.size(), 0.0), sums = sums_, present = layer().whitening();
  const auto identity = at::eye(features, at::kDouble);
  for (std::int64_t t = 0; t < ntypes; ++t) {
    if (atoms_[t] == 0) {
      view(result, t).copy_(weight < 1.0 ? view(present, t) : identity * unknown);
      continue;
    }
    at::Tensor c = view(sums, t) / static_cast<double>(atoms_[t]);
    if (weight < 1.0) c = weight * c + (1.0 - weight) * moments_of(view(present, t));
    const double mean = c.diagonal().mean().item<double>();
    c = 0.5 * (c + c.t()) + ridge * std::max(mean, 1e-300) * identity;
    const auto lower = at::linalg_cholesky(c);
    view(result, t).copy_(at::linalg_solve_triangular(lower, identity, false).t() /
                          std::sqrt(static_cast<double>(features)));
  }
  return result;
}

void FeatureMoments::apply(double weight)
{
  comm_->all_reduce_sum(sums_.data(), sums_.size());
  comm_->all_reduce_sum(atoms_.data(), atoms_.size());
  for (auto &sum : feature_sums_) comm_->all_reduce_sum(sum.data(), sum.size());
  std::vector<double> all(sums_.size());
  guarded(*comm_, [&] {
    if (comm_->rank() == 0) all = matrices(weight);
  });
  comm_->broadcast(all.data(), all.size() * sizeof(double), 0);
  guarded(*comm_, [&] { layer().set_whitening(all); });
}

double feature_distance(const std::vector<double> &whitening, const std::vector<double> &a,
                        const std::vector<double> &b, std::int64_t natoms)
{
  const std::size_t features = whitening.size() / a.size(), ntypes = a.size() / features;
  double square = 0.0;
  for (std::size_t t = 0; t < ntypes; ++t)
    for (std::size_t c = 0; c < features; ++c) {
      double z = 0.0;
      for (std::size_t k = 0; k < features; ++k)
        z += (a[t * features + k] - b[t * features + k]) *
             whitening[(t * features + k) * features + c];
      square += z * z;
    }
  return std::sqrt(square / static_cast<double>(natoms));
}

}  // namespace dptrain
