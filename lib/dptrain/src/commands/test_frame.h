#pragma once

#include <memory>
#include <vector>

#include "commands/test_errors.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/uncertainty/bar_calibration.h"

namespace dptrain {

/// Results of a model for a whole frame. eV, eV/Angstrom.
struct FramePrediction {
  double energy = 0.0;
  std::array<double, 9> virial{};
  std::vector<double> force;        ///< [natoms][3]
  std::vector<double> atom_energy;  ///< [natoms]
  std::vector<double> bar;          ///< [natoms] as ForwardOutput::bar; empty: the model has none
  std::vector<double> charge;       ///< [natoms] e; empty: the model has none
};

/// Evaluates a frame (same on all ranks) by all ranks of `comm` together; the result is the same on all. Collective.
/// Throws Error on all ranks if the frame cannot be evaluated.
FramePrediction predict(const std::shared_ptr<Model> &model,
                        const std::shared_ptr<const Communicator> &comm, const WholeFrame &frame);

/// The results with those of a baseline, which has no atomic energies.
void add(FramePrediction &prediction, const Label &baseline);

/// Sums of the errors of one frame, of the labels that it has. The virial counts in periodic frames only. Atomic energies
/// must be there if they are asked for: throws Error otherwise.
ErrorSums frame_errors(const WholeFrame &frame, const FramePrediction &prediction, bool atomic);

/// Labels and results of one frame, as the detail files list them: a flat array, so that ranks can exchange it.
/// A label that the frame does not have is zero, as `dp test` writes it.
namespace detail_row {
constexpr std::size_t energy = 0;   ///< [2] label, result
constexpr std::size_t virial = 2;   ///< [2][9]
constexpr std::size_t volume = 20;  ///< Angstrom^3; 0: no stress in this frame
constexpr std::size_t force =
    21;  ///< [natoms][2][3]; then [natoms] bars, 0: there are none; then [natoms] charges, NaN: ditto
constexpr std::size_t size(std::int64_t natoms)
{
  return force + 8 * std::size_t(natoms);
}
}  // namespace detail_row

/// The forces' errors beside their bars; empty where there are no bars or no forces.
AtomErrors atom_errors(const WholeFrame &frame, const FramePrediction &prediction,
                       const ErrorBars &bars);

/// `has_bars`: those of the prediction are errors, not distances.
std::vector<double> frame_details(const WholeFrame &frame, const FramePrediction &prediction,
                                  bool has_bars = false);

}  // namespace dptrain
