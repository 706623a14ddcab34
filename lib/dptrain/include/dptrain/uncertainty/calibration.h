#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dptrain {

/// Predicted uncertainty of a frame and the error that a reference label has shown.
struct Comparison {
  double score = 0.0;      ///< largest uncertainty of an atom, as the model gives it (no unit)
  double max_error = 0.0;  ///< largest length of an atom's force error, eV/Angstrom
  double rms_error = 0.0;  ///< root mean square of its components, eV/Angstrom
};

/// Turns the uncertainty of an atom, which has no unit, into an expected error of its force: error = scale * score. The
/// scale follows the errors that reference labels have shown, the latest ones with more weight: the root of
/// sum w (error / score)^2 / sum w over the frames, each with its largest error and its largest uncertainty. Each frame
/// has weight 1: few frames with large uncertainties must not hide what the many others show.
class Calibration {
 public:
  /// A comparison without uncertainty, or with one that is not finite, is not counted.
  void add(const Comparison &comparison);
  /// Multiplies the scale by a factor, where the scores have become 1 / factor times as large.
  void rescale(double factor) { squares_ *= factor * factor; }
  bool is_known() const { return weights_ > 0.0; }
  /// eV/Angstrom for a score of 1; 0 where nothing is known.
  double scale() const;
  std::int64_t count() const { return count_; }

  template <class Visit> void fields(Visit &visit)
  {
    visit("squares, weights, count", squares_, weights_, count_);
  }
  /// What is wrong with fields that were read; empty: nothing.
  std::string damage() const;

 private:
  double squares_ = 0.0, weights_ = 0.0;  // weighted sums of (error / score)^2 and of 1
  std::int64_t count_ = 0;
};

/// Spearman's rank correlation of two arrays of n numbers; equal numbers share their mean rank. 0 where one is constant.
double rank_correlation(const std::vector<double> &a, const std::vector<double> &b);

}  // namespace dptrain
