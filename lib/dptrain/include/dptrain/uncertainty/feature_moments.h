#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dptrain/frames/frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model.h"

namespace dptrain {

/// Means and covariances of the features of atoms over the frames of a training, by type of the center: c_t = <f>,
/// C_t = <(f - c_t)^T (f - c_t)>. From them follows the metric of AtomFeatures, W_t W_t^T = C_t^-1 / H: the distance of an atom is
/// sqrt((f - c_t) C_t^-1 (f - c_t)^T / H), whose mean square over the frames is 1 (Mahalanobis distance; of the last hidden layer,
/// where c_t = 0, the "last-layer prediction rigidity" of arXiv 2403.02251 with a covariance of atoms instead of structures).
class FeatureMoments {
 public:
  /// Throws Error if the model tells no features.
  FeatureMoments(std::shared_ptr<Model> model, std::shared_ptr<const Communicator> comm);

  /// Adds this rank's centers of a frame, which must have its neighbor rows: of a cut-out the atoms whose forces count, as
  /// the neighborhoods of the others are not whole. Throws on this rank alone.
  void add(const Frame &frame);
  /// Sums over all centers that were added, by type.
  struct Sums {
    std::vector<std::int64_t> atoms;  ///< [ntypes]
    std::vector<double> features;     ///< [ntypes][H]
    std::vector<double> products;     ///< [ntypes][H][H] of f^T f
  };
  /// These of all ranks, for who needs no metric: in the place of apply(). Collective.
  Sums reduce();
  /// Of each frame in the order of add(), over all ranks once apply() is done: sum of f_i over its centers, [ntypes][H].
  const std::vector<std::vector<double>> &feature_sums() const { return feature_sums_; }
  /// Sums over all ranks, and gives the metric to the model: once, after the last frame. A type without atoms gets such
  /// a one that its distances are very large. With `weight` below 1 the moments of the frames count with this weight,
  /// and those behind the metric that the model has with the rest. Collective.
  void apply(double weight = 1.0);

 private:
  AtomFeatures &features() const { return *model_->features(); }
  FeatureMetric metric(double weight) const;
  std::vector<double> added_features() const;  // [ntypes][H]

  std::shared_ptr<Model> model_;
  std::shared_ptr<const Communicator> comm_;
  std::vector<double> sums_;         // [ntypes][H][H]
  std::vector<std::int64_t> atoms_;  // [ntypes]
  std::vector<std::vector<double>> feature_sums_;
};

/// Distance of two configurations of the same atoms: |(a - b) W| / sqrt(natoms) for their feature sums a, b [ntypes][H] and
/// the matrices W of a metric. About 1 for two independent configurations of the kind that the matrices stand for, 0 for the same one.
double feature_distance(const FeatureMetric &metric, const std::vector<double> &a,
                        const std::vector<double> &b, std::int64_t natoms);

}  // namespace dptrain
