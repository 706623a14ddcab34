#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "dptrain/base/fields.h"
#include "dptrain/uncertainty/accuracy.h"
#include "dptrain/uncertainty/bar_calibration.h"

namespace dptrain {

/// When a run on a learned potential asks its reference.
struct ActiveConfig {
  Accuracy accuracy;   ///< that the user wants
  double limit = 0.0;  ///< error bar above which the model does not move the atoms, eV/Angstrom;
                       ///< 0: three thresholds
  std::int64_t audit = 1000;  ///< mean number of steps between two random calls; 0: none
  std::uint64_t seed = 1;     ///< of the random calls
  double coverage = 0.9;      ///< part of the force errors that error bars cover
  bool late = false;  ///< labels come while the run goes on: a limit that is not given is 1.5
                      ///< thresholds during the first fifty answers, as it would go where the
                      ///< model knows nothing
};

/// What the model makes of the configurations that it has learned from, eV/Angstrom. 0: not known.
struct LearnedFrames {
  double bar = 0.0;    ///< largest error bar of an atom that nine in ten of them do not exceed
  double error = 0.0;  ///< root mean square error of the force components
  double force = 0.0;  ///< root mean square of the force components
  std::int64_t frames = 0;
};
DPTRAIN_FIELDS(LearnedFrames, bar, error, force, frames)

/// What a model had said of a configuration, and the error that a reference label has shown.
struct Comparison {
  double expected = 0.0;   ///< largest error bar of an atom, eV/Angstrom; 0: bars were not known
  double max_error = 0.0;  ///< largest length of an atom's force error, eV/Angstrom
  AtomErrors atoms;        ///< those whose forces count
};

/// The root mean square error of the force components of configurations that are not learned, eV/Angstrom.
struct HeldOutError {
  std::int64_t frames = 0;
  double error = std::numeric_limits<double>::quiet_NaN();
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

/// Decides at every step whether to ask the reference, from the largest error bar of an atom, and learns from the answers how large
/// bars are. Knows nothing of the engine; the same on all ranks.
///
/// The threshold is ten times the accuracy that the user wants, a root mean square error: where forces have this error, ten times it is
/// the largest bar of a configuration (bench/results/accuracy.md). It does not follow the errors of the model, but in one case: the error
/// of what the model has learned is above two thirds of the accuracy, so that more labels of the same kind do not help. Then one and a half times the
/// largest bar of what has been learned is the threshold, if that is more: only what is new is asked for.
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
  bool is_growing() const { return answers_ < growing_answers; }
  /// `due`: a step at which the threshold counts; all else counts at every step. `expected`: largest bar of an atom. `close`: two
  /// atoms are inside of their wall.
  Ask decide(std::int64_t step, bool due, double expected, bool close) const;
  /// Bar of an atom above which the reference is asked where this error is wanted.
  static double threshold_of(double wanted_error) { return 10.0 * wanted_error; }
  /// The present one, eV/Angstrom.
  double threshold() const;
  /// Bar of an atom above which the model does not move the atoms, eV/Angstrom; without end as long as the threshold is relative to
  /// forces that are not known.
  double limit() const;
  /// A true error above it is trouble: the limit that is given, or three thresholds.
  double trouble() const;
  /// The root mean square error of the force components that the user wants, eV/Angstrom; 0: relative to forces that are not known.
  double wanted_error() const { return config_.accuracy.error(force()); }
  /// Whether a label shows that the model is not as good as it is to be: root mean square error of the components, and the largest
  /// error of an atom. The first labels, which may be of atoms at rest, do not say what an error is relative to.
  bool is_wrong(double rms, double largest) const;
  /// Whether the model does not reach the error that is wanted on what it has learned.
  bool is_out_of_reach() const;
  void set_learned(const LearnedFrames &learned) { learned_ = learned; }
  const LearnedFrames &learned() const { return learned_; }
  /// Root mean square of the force components that errors are relative to: of what has been learned, else the largest of the labels so
  /// far, or the one that is given; 0: there was none.
  double force() const { return learned_.force > 0.0 ? learned_.force : force_; }
  void set_force(double force) { force_ = force; }

  /// An answer of the reference, before the model learns from it. `force`: root mean square of the label's force components.
  void compare(const Comparison &comparison, Ask ask, double force);

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
  /// What has been learned, for files: not what the user chooses.
  template <class Visit> void fields(Visit &visit)
  {
    visit("calibration, coverage, expected, found, force, learned", calibration_, coverage_,
          expected_, found_, force_, learned_);
    visit("answers, audits, audits_above, audits_far_above", answers_, audits_, audits_above_,
          audits_far_above_);
  }
  /// What is wrong with fields that were read; empty: nothing.
  std::string damage() const;

 private:
  static constexpr std::int64_t growing_answers = 50;

  ActiveConfig config_;
  BarCalibration calibration_;
  std::vector<BarCoverage> coverage_;  // of the latest answers
  ErrorBars given_;
  std::vector<double> expected_, found_;  // errors at the latest answers
  double force_ = 0.0;                    // largest rms of the force components of a label
  LearnedFrames learned_;
  std::int64_t answers_ = 0, audits_ = 0, audits_above_ = 0, audits_far_above_ = 0;
};

}  // namespace dptrain
