#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dptrain/frames/frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model.h"

namespace dptrain {

/// Fits the energy bias of a model by least squares to (label - energy of the network) of frames that are given one after
/// the other; nothing of a frame is kept but the number of its atoms of each type and its energies. The change of the bias
/// has the smallest norm, so types without data keep theirs.
class EnergyBiasFit {
 public:
  /// use_coefficients: the energy of a frame is the sum of its atoms' energies times Label::atom_ener_coeff, where it has
  /// them.
  EnergyBiasFit(std::shared_ptr<Model> model, std::shared_ptr<const Communicator> comm,
                bool use_coefficients = false);

  /// Takes up a frame, which must have its neighbor rows; one without an energy label is passed over. Collective.
  void add(const Frame &frame);
  /// Frames with an energy label so far.
  std::int64_t num_frames() const { return static_cast<std::int64_t>(labels_.size()); }
  /// Changes the bias of the model, and forgets the frames. Returns the standard deviation over the frames of what then
  /// remains of label - energy, in eV (DeePMD-kit's out_std). Collective.
  double apply();

 private:
  std::shared_ptr<Model> model_;
  std::shared_ptr<const Communicator> comm_;
  bool use_coefficients_;
  std::vector<double> labels_;  // [frames] eV
  // of this rank's atoms
  std::vector<double> counts_;            // [frames][ntypes] atoms, or sums of their coefficients
  std::vector<double> network_energies_;  // [frames] eV, without the bias
  std::vector<double> force_, atom_energy_;
};

}  // namespace dptrain
