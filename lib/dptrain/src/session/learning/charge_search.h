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

/// Whether charges of the elements make a new potential better, and which: by short trainings of the potential with them and without.
///
/// Charges are s^(1/2) times the oxidation numbers of the elements. The error of the forces that is left after a training follows
/// err^2 = err_0^2 + c (s - s_0)^2: energies of charges are proportional to s, and what the net cannot make up for is linear in
/// what is wrong of s. So three trainings find s_0. Gradients of a single training do not: the net of the first steps is so wrong that charges
/// are pulled to where they make up for it.
class ChargeSearch {
 public:
  struct Trial {
    double scale;  ///< of the oxidation numbers, s^(1/2)
    double error;  ///< root mean square of the forces' errors after the training, eV/Angstrom
  };
  struct Result {
    std::vector<Trial> trials;    ///< in their order, the first one without charges
    std::optional<double> scale;  ///< none: charges do not pay
  };
  /// error_at(scale) trains and returns the error that is left.
  static Result search(const std::function<double(double scale)> &error_at);

  /// on_update: is called after each optimizer step.
  ChargeSearch(std::shared_ptr<const Communicator> comm, const TrainingConfig &config,
               Precision precision, std::function<void()> on_update) :
      comm_(std::move(comm)),
      config_(config),
      precision_(precision),
      on_update_(std::move(on_update))
  {
  }

  /// Adds charges to a new model, if they make it better, and says what was found. Nothing is done where they could not: the elements do not
  /// have oxidation numbers of both signs, or frames have no cell or no forces. Collective.
  void choose(ModelData &data, const std::vector<Frame> &frames, const Log &say) const;

 private:
  std::vector<double> neutral_numbers(const std::vector<std::string> &elements,
                                      const std::vector<Frame> &frames) const;
  double error_after_training(const ModelData &data, const std::vector<Frame> &frames) const;

  std::shared_ptr<const Communicator> comm_;
  const TrainingConfig &config_;
  const Precision precision_;
  const std::function<void()> on_update_;
};

}  // namespace dptrain
