#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dptrain/base/fields.h"
#include "dptrain/potential/model/error_bars.h"

namespace dptrain {

/// Atoms of a configuration: how far they are from what a model knew, and how wrong its forces were.
struct AtomErrors {
  std::vector<int> type;
  std::vector<double> distance;  ///< of the features, a plain number
  std::vector<double> bar;       ///< eV/Angstrom; empty: there were none
  std::vector<double> error;     ///< length of the force error, eV/Angstrom

  /// An atom with the forces [3] of a model and of the reference; its bar, if there are any, is for the caller to add.
  void add(int atom_type, double atom_distance, const double *force, const double *label);
};

/// Finds error bars from errors that were measured before a model learned from them: for each type the quantile of error over
/// distance (split conformal prediction). Where errors change with time it is over the latest configurations, times a factor that grows
/// while more errors than promised are above their bars, and falls while fewer are (adaptive conformal inference, Gibbs and
/// Candes, NeurIPS 2021, on the logarithm of the bars).
class BarCalibration {
 public:
  /// How many configurations count, how much one less than the next, and how fast the factor follows: its logarithm changes by
  /// gain (coverage - part of the errors of a configuration that are below their bars), less for few atoms.
  struct Memory {
    std::size_t latest = 30;
    double kept = 0.9;
    double gain = 0.5;
  };
  /// Configurations that are all alike.
  static constexpr Memory everything{SIZE_MAX, 1.0, 0.0};

  explicit BarCalibration(double coverage, Memory memory) : coverage_(coverage), memory_(memory) {}

  /// Atoms without distance, or with one that is not finite, are not counted. The factor follows from the bars of bars() before this call: those
  /// of the atoms may be older.
  void add(const AtomErrors &atoms);
  /// Distances have become 1 / factor times as large, for the same errors.
  void rescale(double factor);
  /// Configurations so far.
  std::int64_t count() const { return count_; }
  /// By the configurations that count; a type without atoms gets the largest scale of the others. Not known before there is an
  /// atom; known_atom and known_frame are the medians of the latest ten. `source`: what the configurations are, after their
  /// number.
  ErrorBars bars(std::size_t ntypes, const std::string &source) const;

  /// Not what the user chooses.
  template <class Visit> void fields(Visit &visit)
  {
    visit("samples, count, shift", samples_, count_, shift_);
  }
  /// What is wrong with fields that were read; empty: nothing.
  std::string damage() const;

 private:
  /// Of one configuration: ratios of error and distance, sorted for each type.
  struct Sample {
    std::vector<int> type;
    std::vector<double> ratio;
    std::vector<std::int64_t> atoms;  // [types in it] that the ratios stand for
    double largest = 0.0, rms = 0.0;  // distances
    template <class Visit> void fields(Visit &visit)
    {
      visit("type, ratio, atoms, largest, rms", type, ratio, atoms, largest, rms);
    }
  };

  std::vector<double> scales(std::size_t ntypes) const;

  double coverage_;
  Memory memory_;
  std::vector<Sample> samples_;  // the latest ones
  std::int64_t count_ = 0;
  std::vector<double> shift_;  // [types that there were] logarithm of the factor
};

/// How many force errors were below their bars, by type.
class BarCoverage {
 public:
  /// Nothing is counted where there were no bars.
  void add(const AtomErrors &atoms);
  /// [2 * ntypes] numbers by type, of those that were counted or more: below their bars, all; for sums over ranks.
  std::vector<double> numbers(std::size_t ntypes = 0) const;
  void add(const std::vector<double> &numbers);
  std::int64_t atoms() const;
  double found() const;  ///< part of all atoms; 0: there are none
  /// "promised 90 %, found 88 % of 1920 atoms (Si 87 %, O 89 %)".
  std::string text(const ErrorBars &bars, const std::vector<std::string> &type_map) const;

  template <class Visit> void fields(Visit &visit) { visit("inside, all", inside_, all_); }
  std::string damage() const;

 private:
  std::vector<std::int64_t> inside_, all_;  // [ntypes]
};

/// Spearman's rank correlation of two arrays of n numbers; equal numbers share their mean rank. 0 where one is constant.
double rank_correlation(const std::vector<double> &a, const std::vector<double> &b);

}  // namespace dptrain
