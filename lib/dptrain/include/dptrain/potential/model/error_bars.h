#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dptrain/base/fields.h"

namespace dptrain {

/// How large the error of an atom's force can be, by its distance from what a model has learned: bar = scale * distance, by
/// type, such that a given part of the errors is below their bars. The distance is that of the features (AtomFeatures).
struct ErrorBars {
  std::vector<double> scale;  ///< [ntypes] eV/Angstrom at distance 1; empty: not calibrated
  double coverage = 0.9;      ///< part of the errors that is below its bar
  std::int64_t frames = 0;    ///< whose errors were measured before the model learned from them
  std::vector<std::int64_t> atoms;  ///< [ntypes] in these
  std::string source;               ///< where these frames come from, in words
  // of frames that the model knows: largest distance of an atom, largest root mean square of a frame; 0: not told
  double known_atom = 0.0, known_frame = 0.0;

  bool is_known() const { return !scale.empty(); }
  /// What a distance of an atom of this type is multiplied with; 1 where nothing is known, or of a type that the model has not.
  double factor(int type) const
  {
    return is_known() && type >= 0 ? scale.at(static_cast<std::size_t>(type)) : 1.0;
  }
  /// What is wrong with fields that were read; empty: nothing.
  std::string damage(std::size_t ntypes) const;
  bool operator==(const ErrorBars &) const = default;
};
DPTRAIN_FIELDS(ErrorBars, scale, coverage, frames, atoms, source, known_atom, known_frame)

/// Distances of atoms of some frames: what a model knows.
class KnownDistances {
 public:
  /// Of all atoms of a frame; those of other types than the model's are 0.
  void add(const std::vector<double> &distances);
  double largest() const { return largest_; }              ///< of an atom
  double largest_frame() const { return largest_frame_; }  ///< root mean square of a frame

 private:
  double largest_ = 0.0, largest_frame_ = 0.0;
};

/// Frames without which a part `coverage` of the errors cannot be told: conformal prediction needs one beyond each quantile.
std::int64_t frames_for(double coverage);
/// "90 % of the force errors are below their bars, by 30 labels ... (Si 1920 atoms)", for messages.
std::string text_of(const ErrorBars &bars, const std::vector<std::string> &type_map);

}  // namespace dptrain
