#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "dptrain/base/error.h"
#include "dptrain/parallel/broadcast.h"
#include "dptrain/uncertainty/feature_moments.h"

namespace dptrain {

namespace {

// Part of the mean diagonal element that is added to the diagonal: features are correlated. A larger part hides the directions in
// which what is learned hardly varies, and which tell best what is new.
constexpr double ridge = 1e-7;
// The same of the mean square: a perfect crystal has no variance but that of rounding.
constexpr double rounding = 1e-13;
// Distance per length of f - c where nothing is known of a type.
constexpr double unknown = 1e6;

// The covariance behind W = L^-T / sqrt(H).
at::Tensor covariance_of(const at::Tensor &w)
{
  const auto inverse = at::linalg_inv(w * std::sqrt(static_cast<double>(w.size(0))));
  return at::matmul(inverse.t(), inverse);
}

// A view of the numbers of a type.
at::Tensor view(std::vector<double> &values, std::int64_t type, at::IntArrayRef shape)
{
  std::int64_t size = 1;
  for (const std::int64_t n : shape) size *= n;
  return at::from_blob(&values[type * size], shape, at::kDouble);
}

}  // namespace

FeatureMoments::FeatureMoments(std::shared_ptr<Model> model,
                               std::shared_ptr<const Communicator> comm) :
    model_(std::move(model)), comm_(std::move(comm))
{
  if (!model_->features())
    throw Error("This model has no hidden layer from which error bars could be computed: use "
                "one whose fitting net has hidden layers");
  const std::size_t ntypes = model_->type_map().size(), h = features().number();
  sums_.assign(ntypes * h * h, 0.0);
  atoms_.assign(ntypes, 0);
}

void FeatureMoments::add(const Frame &frame)
{
  std::vector<double> force(static_cast<std::size_t>(frame.nall()) * 3);
  ForwardOutput out;
  out.force = force.data();
  out.feature_covariance = sums_.data();
  feature_sums_.emplace_back(model_->type_map().size() * features().number(), 0.0);
  out.feature_sum = feature_sums_.back().data();
  const Domain domain = frame.weighted_domain();
  model_->forward(domain, out);
  for (int k = 0; k < domain.num_centers; ++k) {
    const int type = frame.type[domain.centers[k]];
    if (type >= 0 && model_->has_energy(type)) ++atoms_[type];
  }
}

// C + ridge = L L^T: W = L^-T / sqrt(H). Means and second moments <f^T f> are those of the frames and those behind the present
// metric, by their weights.
FeatureMetric FeatureMoments::metric(double weight) const
{
  const std::int64_t ntypes = atoms_.size(), h = features().number();
  FeatureMetric result{std::vector<double>(ntypes * h, 0.0),
                       std::vector<double>(sums_.size(), 0.0)};
  FeatureMetric present = features().metric();
  std::vector<double> sums = sums_, means = added_features();
  const auto identity = at::eye(h, at::kDouble);
  for (std::int64_t t = 0; t < ntypes; ++t) {
    at::Tensor w = view(result.matrices, t, {h, h}), c = view(result.center, t, {h});
    if (atoms_[t] == 0) {
      w.copy_(weight < 1.0 ? view(present.matrices, t, {h, h}) : identity * unknown);
      if (weight < 1.0) c.copy_(view(present.center, t, {h}));
      continue;
    }
    const double atoms = static_cast<double>(atoms_[t]);
    at::Tensor mean = view(means, t, {h}) / atoms, second = view(sums, t, {h, h}) / atoms;
    if (weight < 1.0) {
      const at::Tensor center = view(present.center, t, {h});
      mean = weight * mean + (1.0 - weight) * center;
      second = weight * second +
               (1.0 - weight) *
                   (covariance_of(view(present.matrices, t, {h, h})) + at::outer(center, center));
    }
    const double square = second.diagonal().mean().item<double>();
    if (!(square > 0.0)) {  // atoms that are all alone
      w.copy_(identity * unknown);
      continue;
    }
    if (features().is_centered()) {
      c.copy_(mean);
      second = second - at::outer(mean, mean);
    }
    const double variance = second.diagonal().mean().item<double>();
    second = 0.5 * (second + second.t()) +
             (ridge * std::max(variance, 0.0) + rounding * square) * identity;
    const auto lower = at::linalg_cholesky(second);
    w.copy_(at::linalg_solve_triangular(lower, identity, false).t() /
            std::sqrt(static_cast<double>(h)));
  }
  return result;
}

std::vector<double> FeatureMoments::added_features() const
{
  std::vector<double> all(atoms_.size() * features().number(), 0.0);
  for (const auto &sum : feature_sums_)
    for (std::size_t k = 0; k < all.size(); ++k) all[k] += sum[k];
  return all;
}

FeatureMoments::Sums FeatureMoments::reduce()
{
  Sums sums{atoms_, added_features(), sums_};
  comm_->all_reduce_sum(sums.atoms.data(), sums.atoms.size());
  comm_->all_reduce_sum(sums.features.data(), sums.features.size());
  comm_->all_reduce_sum(sums.products.data(), sums.products.size());
  return sums;
}

void FeatureMoments::apply(double weight)
{
  comm_->all_reduce_sum(sums_.data(), sums_.size());
  comm_->all_reduce_sum(atoms_.data(), atoms_.size());
  for (auto &sum : feature_sums_) comm_->all_reduce_sum(sum.data(), sum.size());
  FeatureMetric all;
  guarded(*comm_, [&] {
    if (comm_->rank() == 0) all = metric(weight);
  });
  broadcast(*comm_, all);
  guarded(*comm_, [&] { features().set_metric(std::move(all)); });
}

double feature_distance(const FeatureMetric &metric, const std::vector<double> &a,
                        const std::vector<double> &b, std::int64_t natoms)
{
  const std::vector<double> &matrices = metric.matrices;
  const std::size_t features = matrices.size() / a.size(), ntypes = a.size() / features;
  double square = 0.0;
  for (std::size_t t = 0; t < ntypes; ++t)
    for (std::size_t c = 0; c < features; ++c) {
      double z = 0.0;
      for (std::size_t k = 0; k <= c; ++k)
        z += (a[t * features + k] - b[t * features + k]) *
             matrices[(t * features + k) * features + c];
      square += z * z;
    }
  return std::sqrt(square / static_cast<double>(natoms));
}

}  // namespace dptrain
