#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dptrain/uncertainty/calibration.h"

namespace dptrain {

/// When a run on a learned potential asks its reference. Errors are lengths of an atom's force error, eV/Angstrom.
struct ActiveConfig {
  double threshold = 0.0;  ///< expected error above which the reference is asked; 0: auto
  double limit =
      0.0;  ///< expected error above which the model does not move the atoms; 0: 3 thresholds
  std::int64_t audit = 1000;  ///< mean number of steps between two random calls; 0: none
  std::uint64_t seed = 1;     ///< of the random calls
  bool late = false;  ///< labels come while the run goes on: the limit is 1.5 thresholds during
                      ///< the first fifty answers, as it would go where the model knows nothing
};

/// Why the reference is asked.
enum class Ask {
  no,
  prepare,    ///< a displaced copy of the first configuration
  early,      ///< the model is new, and its errors are not known yet
  threshold,  ///< an atom is above the threshold
  limit,      ///< an atom is above the limit: the step is not trusted
  wall,       ///< two atoms are closer to each other than in all labels
  audit,      ///< at random
  rewind      ///< the run is unstable, or has just been rolled back
};
std::string name_of(Ask ask);

/// Decides at every step whether to ask the reference, from the largest uncertainty of an atom, and learns from the
/// answers what uncertainties mean. Knows nothing of atoms and of the engine; the same on all ranks.
///
/// An uncertainty becomes an expected error by the Calibration. `threshold auto` is one and a half times the expected error
/// of the configurations that the model has learned from (known_score), but at least a quarter of the root mean square of
/// the force components: smaller errors are not worth a label. While the model is new (the first 50 answers) it is not
/// above this root mean square, so that a poor model does not excuse itself.
class ActiveLearning {
 public:
  explicit ActiveLearning(const ActiveConfig &config) : config_(config) {}

  /// True until the model has been compared with the reference three times: the reference moves the atoms.
  bool is_early() const { return calibration_.count() < 3; }
  /// True until there have been fifty answers.
  bool is_growing() const;
  /// `due`: a step at which the threshold counts; all else counts at every step. `score`: largest uncertainty of an atom as the
  /// model gives it. `close`: two atoms are inside of their wall.
  Ask decide(std::int64_t step, bool due, double score, bool close) const;
  /// Expected largest error.
  double expected_error(double score) const { return calibration_.scale() * score; }
  double threshold() const;
  bool is_threshold_given() const { return config_.threshold > 0.0; }
  double limit() const;
  /// A true error above it is trouble: the limit that is given, or three thresholds.
  double trouble() const;
  /// What configurations that the model has learned from have as their largest uncertainty of an atom.
  void set_known_score(double score) { known_score_ = score; }
  /// The median of the latest errors that the model has reached; 0: there was none.
  double reached_error() const;

  /// An answer of the reference, before the model learns from it. `force`: root mean square of the label's force components.
  void compare(const Comparison &comparison, Ask ask, double force);
  /// The largest error of an atom in the same configuration, once the model has learned from it.
  void learned(double max_error);

  /// Scores have become 1 / factor times as large, for the same errors.
  void rescale(double factor) { calibration_.rescale(factor); }

  const Calibration &calibration() const { return calibration_; }
  /// Audits so far, and those whose largest error was above the threshold and above three thresholds of their time.
  std::int64_t audits() const { return audits_; }
  std::int64_t audits_above() const { return audits_above_; }
  std::int64_t audits_far_above() const { return audits_far_above_; }
  /// Mean of the errors over the expected errors of all answers, and the part of the answers with a larger error than
  /// expected.
  double mean_ratio() const
  {
    return ratios_ > 0 ? ratio_sum_ / static_cast<double>(ratios_) : 0.0;
  }
  double part_above() const
  {
    return ratios_ > 0 ? static_cast<double>(above_) / static_cast<double>(ratios_) : 0.0;
  }

  /// Spearman's rank correlation of expected and true errors over the latest answers; 0 for fewer than three.
  double rank_correlation() const;
  /// Root mean square of the force components of the latest label; 0: there was none.
  double force() const { return force_; }

  /// What has been learned, for files: not what the user chooses.
  template <class Visit> void fields(Visit &visit)
  {
    visit("calibration, reached, expected, found, force, known_score", calibration_, reached_,
          expected_, found_, force_, known_score_);
    visit.or_default("answers, audits, audits_above, audits_far_above, ratios, above, ratio_sum",
                     answers_, audits_, audits_above_, audits_far_above_, ratios_, above_,
                     ratio_sum_);
  }
  /// What is wrong with fields that were read; empty: nothing.
  std::string damage() const;

 private:
  ActiveConfig config_;
  Calibration calibration_;
  std::vector<double> reached_;           // latest errors that were reached
  std::vector<double> expected_, found_;  // errors at the latest answers
  double force_ = 0.0;                    // rms of the force components of the latest label
  double known_score_ = 0.0;
  std::int64_t answers_ = 0, audits_ = 0, audits_above_ = 0, audits_far_above_ = 0;
  std::int64_t ratios_ = 0, above_ = 0;
  double ratio_sum_ = 0.0;
};

}  // namespace dptrain
