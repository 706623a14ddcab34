#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dptrain/uncertainty/bar_calibration.h"

namespace dptrain {

/// When a run on a learned potential asks its reference. Errors are lengths of an atom's force error, eV/Angstrom.
struct ActiveConfig {
  double threshold = 0.0;  ///< expected error above which the reference is asked; 0: auto
  double limit =
      0.0;  ///< expected error above which the model does not move the atoms; 0: 3 thresholds
  std::int64_t audit = 1000;  ///< mean number of steps between two random calls; 0: none
  std::uint64_t seed = 1;     ///< of the random calls
  double coverage = 0.9;      ///< part of the force errors that error bars cover
  bool late = false;  ///< labels come while the run goes on: the limit is 1.5 thresholds during
                      ///< the first fifty answers, as it would go where the model knows nothing
};

/// What a model had said of a configuration, and the error that a reference label has shown.
struct Comparison {
  double expected = 0.0;   ///< largest error bar of an atom, eV/Angstrom; 0: bars were not known
  double max_error = 0.0;  ///< largest length of an atom's force error, eV/Angstrom
  AtomErrors atoms;        ///< those whose forces count
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

/// Decides at every step whether to ask the reference, from the largest error bar of an atom, the expected error, and learns from
/// the answers how large bars are. Knows nothing of the engine; the same on all ranks.
///
/// `threshold auto` is one and a half times the largest bar in the configurations that the model has learned from
/// (set_known_bar), but at least a quarter of the root mean square of the force components: smaller errors are not worth a
/// label. While the model is new (the first 50 answers) it is not
/// above this root mean square, so that a poor model does not excuse itself.
class ActiveLearning {
 public:
  explicit ActiveLearning(const ActiveConfig &config);

  /// True until there are error bars: those that came with the model, or of three comparisons with the reference. Until then the
  /// reference moves the atoms.
  bool is_early() const { return calibration_.count() < 3 && !given_.is_known(); }
  /// Bars that came with the model: they hold until it has been compared three times.
  void set_given_bars(const ErrorBars &bars) { given_ = bars; }
  /// Distances have become 1 / factor times as large, for the same errors.
  void rescale(double factor);
  /// Those of the answers so far.
  ErrorBars bars(std::size_t ntypes) const;
  /// True until there have been fifty answers.
  bool is_growing() const;
  /// `due`: a step at which the threshold counts; all else counts at every step. `expected`: largest bar of an atom. `close`: two
  /// atoms are inside of their wall.
  Ask decide(std::int64_t step, bool due, double expected, bool close) const;
  double threshold() const;
  bool is_threshold_given() const { return config_.threshold > 0.0; }
  double limit() const;
  /// A true error above it is trouble: the limit that is given, or three thresholds.
  double trouble() const;
  /// What configurations that the model has learned from have as their largest bar of an atom, eV/Angstrom.
  void set_known_bar(double bar) { known_bar_ = bar; }
  /// The median of the latest errors that the model has reached; 0: there was none.
  double reached_error() const;

  /// An answer of the reference, before the model learns from it. `force`: root mean square of the label's force components.
  void compare(const Comparison &comparison, Ask ask, double force);
  /// The largest error of an atom in the same configuration, once the model has learned from it.
  void learned(double max_error);

  /// Of the latest answers.
  BarCoverage coverage() const;
  /// Labels that are missing for bars that cover what they promise.
  std::int64_t missing_labels() const;
  /// Audits so far, and those whose largest error was above the threshold and above three thresholds of their time.
  std::int64_t audits() const { return audits_; }
  std::int64_t audits_above() const { return audits_above_; }
  std::int64_t audits_far_above() const { return audits_far_above_; }
  /// Spearman's rank correlation of expected and true largest errors over the latest answers; 0 for fewer than three.
  double rank_correlation() const;
  /// Root mean square of the force components of the latest label; 0: there was none.
  double force() const { return force_; }

  /// What has been learned, for files: not what the user chooses.
  template <class Visit> void fields(Visit &visit)
  {
    visit("calibration, coverage, reached, expected, found, force, known_bar", calibration_,
          coverage_, reached_, expected_, found_, force_, known_bar_);
    visit("answers, audits, audits_above, audits_far_above", answers_, audits_, audits_above_,
          audits_far_above_);
  }
  /// What is wrong with fields that were read; empty: nothing.
  std::string damage() const;

 private:
  ActiveConfig config_;
  BarCalibration calibration_;
  std::vector<BarCoverage> coverage_;  // of the latest answers
  ErrorBars given_;
  std::vector<double> reached_;           // latest errors that were reached
  std::vector<double> expected_, found_;  // errors at the latest answers
  double force_ = 0.0;                    // rms of the force components of the latest label
  double known_bar_ = 0.0;
  std::int64_t answers_ = 0, audits_ = 0, audits_above_ = 0, audits_far_above_ = 0;
};

}  // namespace dptrain
