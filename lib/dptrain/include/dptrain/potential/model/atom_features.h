#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "dptrain/base/fields.h"

namespace dptrain {

/// What measures the distance |(f - c_t) W_t| of an atom's features f from those that a model knows, by type t of the atom.
struct FeatureMetric {
  std::vector<double> center;    ///< c [ntypes][H]
  std::vector<double> matrices;  ///< W [ntypes][H][H], upper triangles
  bool empty() const { return matrices.empty(); }
  bool operator==(const FeatureMetric &) const = default;
};
DPTRAIN_FIELDS(FeatureMetric, center, matrices)

/// The H numbers by which a model tells atoms apart: the values of the descriptor where they are few and smooth
/// (power_spectrum), else the outputs of the last hidden layer. The model answers in ForwardOutput.
class AtomFeatures {
 public:
  /// `centered`: distances are measured from the mean of the features, not from zero.
  AtomFeatures(std::size_t ntypes, std::size_t number, bool centered) :
      ntypes_(ntypes), number_(number), centered_(centered)
  {
  }

  /// H
  std::size_t number() const { return number_; }
  bool is_centered() const { return centered_; }
  /// Empty: nothing is known of the frames behind the model.
  const FeatureMetric &metric() const { return metric_; }
  /// Throws Error where it is of another size.
  void set_metric(FeatureMetric metric);
  /// Another number after each change.
  std::uint64_t version() const { return version_; }

 private:
  std::size_t ntypes_, number_;
  bool centered_;
  FeatureMetric metric_;
  std::uint64_t version_ = 1;
};

}  // namespace dptrain
