#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/base/messages.h"
#include "dptrain/frames/frame.h"
#include "dptrain/input/config.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"

namespace dptrain {

/// Whether charges of the elements make a new potential better, and which: by short trainings of the potential with
/// charges and without, judged by frames that are left out.
///
/// Charges are a multiple of the oxidation numbers of the elements, or of the values that the settings give; either is made
/// neutral first. Energies of charges are proportional to its square s, and
/// the net makes up for a part of what is wrong of s: what it leaves is linear in that, so that the error of the forces
/// follows err^2 = err_0^2 + c (s - s_0)^2, and three or four trainings find s_0, twice as long ones where the short ones
/// say that charges pay, but by little. The gradients of one training do not: the net of the first steps is so wrong that
/// charges become what makes up for it.
class ChargeSearch {
 public:
  struct Trial {
    double scale;  ///< multiple of them
    double error;  ///< root mean square of errors of forces after the training, eV/Angstrom
  };
  struct Result {
    std::vector<Trial> trials;    ///< in their order, the first one without charges
    std::optional<double> scale;  ///< none: charges do not pay
    /// Whether they may, after longer trainings: they make the error smaller, but not by much.
    bool is_open() const;
  };
  /// error_at(scale) trains and returns the error that is left.
  static Result search(const std::function<double(double scale)> &error_at);

  /// on_update: is called after each optimizer step.
  ChargeSearch(std::shared_ptr<const Communicator> comm, TrainingConfig config, Precision precision,
               std::function<void()> on_update = {});

  static constexpr int fewest_frames = 4;
  static constexpr int most_frames = 24;  ///< of more it takes these, at equal distances
  /// For whom it is asked for.
  static constexpr const char *needs =
      "charges of kind search need four labels with forces in cells that are periodic in all "
      "directions, and elements with "
      "oxidation numbers or values of both signs: give more labels, or charges of kind fixed with "
      "their values (terms)";
  /// Whether the settings have charges that are to be searched, multiples of their own values.
  static bool is_asked_for(const ModelConfig &config);

  /// Gives a new model charges that make it better, or none in the place of those that were to be searched, and says what was
  /// found. Returns false where there is nothing to search: frames are too few, have no cell or no forces, or the elements do
  /// not have charges of both signs. Collective.
  bool choose(ModelData &data, const std::vector<const Frame *> &frames, const Log &say) const;

 private:
  std::vector<const Frame *> usable(const std::vector<const Frame *> &frames) const;
  std::vector<double> neutral(std::vector<double> numbers,
                              const std::vector<const Frame *> &frames) const;
  double error_after_training(const ModelData &data, const std::vector<const Frame *> &frames,
                              int steps) const;

  std::shared_ptr<const Communicator> comm_;
  TrainingConfig config_;
  const Precision precision_;
  const std::function<void()> on_update_;
};

}  // namespace dptrain
