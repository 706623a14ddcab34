#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "dptrain/communicator.h"
#include "dptrain/frame.h"
#include "dptrain/model.h"
#include "dptrain/trainer.h"
#include "training/loss.h"

namespace dptrain {

/// The loss of a batch of frames and its parameter gradient in two passes, without second derivatives of a graph:
/// pass A gives E, F and W, hence c_E = dL/dE, r = dL/dF and C = dL/dW; pass B differentiates the one scalar
/// S = c_E E + r . F + C : W at fixed c_E, r, C. The functions are called in the order in which they stand here; all are
/// collective. The loss is the mean over the frames of each frame's loss. Buffers are kept between batches.
class TwoPass {
 public:
  TwoPass(std::shared_ptr<Model> model, std::shared_ptr<const Communicator> comm) :
      model_(std::move(model)), comm_(std::move(comm))
  {
  }

  /// Sets the frames (which must live until the end), the part of each frame's energy that is energy bias (eV, the same
  /// on all ranks), and the weights of the terms.
  void begin(const std::vector<const Frame *> &frames, const std::vector<double> &bias_energies,
             const Prefactors &prefactors);
  /// Pass A: energies, virials, forces on owned atoms and ghosts. With `keep`, pass B will follow.
  void forward(bool keep);
  /// Halo: forces of ghosts go to their owners; there they become residuals r = dL/dF.
  void force_residuals();
  /// One all-reduce of energies, virials and error sums; c_E and C follow. Returns loss and errors of the batch, NaN where
  /// no frame has the label.
  UpdateReport sum_errors();
  /// Halo: residuals of the owners go to their ghosts.
  void share_residuals();
  /// Pass B: gradient[number of parameters] becomes this rank's part of dL/dparameters.
  void backward(std::vector<double> &gradient);

  std::size_t memory_bytes() const;

 private:
  // What travels in the all-reduce for each frame.
  enum Sum { ENERGY, VIRIAL, FORCE_LOSS = VIRIAL + 9, FORCE_SQUARES, FORCE_COMPONENTS, NUM_SUMS };
  struct Pass {
    const Frame *frame = nullptr;
    double bias_energy = 0.0;
    std::vector<double> force;  // [nall][3] F, then r
    GradientSeed seed;
    bool has_force_seed = false;  // the same on all ranks
  };

  std::shared_ptr<Model> model_;
  std::shared_ptr<const Communicator> comm_;
  Prefactors weights_;  // divided by the number of frames
  std::size_t num_frames_ = 0;
  std::vector<Pass> passes_;  // the first num_frames_ are in use
  std::vector<double> sums_;  // [num_frames_][NUM_SUMS]
  std::vector<Domain> domains_;
  std::vector<ForwardOutput> outputs_;
  std::vector<GradientSeed> seeds_;
};

}  // namespace dptrain
