#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "dptrain/frames/frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/training/trainer.h"
#include "training/loss.h"

namespace dptrain {

/// The loss of a batch of frames and its parameter gradient in two passes, without second derivatives of a graph:
/// pass A gives E_i, F and W, hence c_i = dL/dE_i, r = dL/dF and C = dL/dW; pass B differentiates the one scalar
/// S = sum_i c_i E_i + r . F + C : W at fixed c_i, r, C. The functions are called in the order in which they stand here; all
/// are collective. The loss is the mean over the frames of each frame's loss; a term whose label a frame does not have adds
/// nothing. Buffers are kept between batches.
class TwoPass {
 public:
  /// Throws Error where settings of the loss contradict each other.
  TwoPass(std::shared_ptr<Model> model, std::shared_ptr<const Communicator> comm,
          const LossConfig &loss);

  /// A new batch of so many frames, with these weights of the terms.
  void begin_batch(std::size_t num_frames, const Prefactors &prefactors);
  /// Frames of the batch, all or some (which must live until the end), and the part of each frame's energy that is energy
  /// bias (eV, the same on all ranks). The functions below are for these.
  void begin(const std::vector<const Frame *> &frames, const std::vector<double> &bias_energies);
  /// Pass A: energies, virials, forces on owned atoms and ghosts. With `keep`, pass B will follow.
  void forward(bool keep);
  /// Halo: forces of ghosts go to their owners; there they become residuals r = dL/dF. Atomic energies become dL/dE_i. The
  /// errors of generalized forces, where that term is on, are summed over the ranks before.
  void residuals();
  /// One all-reduce of energies, virials and error sums; c_E and C follow.
  void sum_errors();
  /// Loss and errors of the frames of the batch so far, NaN where no frame has the label or the term needs more than pass A
  /// gives and is off.
  UpdateReport report() const;
  /// Halo: residuals of the owners go to their ghosts.
  void share_residuals();
  /// Pass B: gradient[number of parameters] becomes this rank's part of dL/dparameters. For further frames of the batch it
  /// is added.
  void backward(std::vector<double> &gradient);

  std::size_t memory_bytes() const;

 private:
  /// guarded() for work that can begin again: where memory runs out, the model gives its workspace back once.
  void guarded_work(const std::function<void()> &work);

  // What travels in the all-reduce for each frame; the last three are a Deviation each.
  enum Sum {
    ENERGY,
    VIRIAL,
    LOSS = VIRIAL + 9,
    FORCE,
    PREF = FORCE + 3,
    ATOM_ENERGY = PREF + 3,
    NUM_SUMS = ATOM_ENERGY + 3
  };
  struct Pass {
    const Frame *frame = nullptr;
    double bias_energy = 0.0;
    std::vector<double> force;        // [nall][3] F, then r
    std::vector<double> atom_energy;  // [nlocal] E_i, then dL/dE_i; empty where nothing needs it
    GradientSeed seed;
    bool has_force_seed = false;  // the same on all ranks
  };
  /// Of a batch, by term.
  struct Errors {
    Deviation energy, force, virial, atom_energy, pref, generalized;
  };

  bool has_atom_term(const Label &label) const
  {
    return weights_.atom_energy != 0.0 && !label.atom_energy.empty();
  }
  bool has_coefficients(const Label &label) const
  {
    return loss_.config().enable_atom_ener_coeff && !label.atom_ener_coeff.empty();
  }
  bool has_generalized(const Label &label) const
  {
    return weights_.generalized != 0.0 && !label.drdq.empty() && !label.force.empty();
  }
  void check(const Frame &frame) const;
  void generalized_errors();
  double *generalized_of(std::size_t frame)
  {
    return &generalized_[frame * (loss_.config().numb_generalized_coord + 1)];
  }
  void force_residuals(std::size_t frame);
  void atom_energy_residuals(Pass &pass, double *sums);
  void add_frame(std::size_t frame);

  std::shared_ptr<Model> model_;
  std::shared_ptr<const Communicator> comm_;
  Loss loss_;
  Prefactors weights_;  // divided by the number of frames
  double loss_sum_ = 0.0;
  Errors errors_;
  bool has_gradient_ = false;  // of frames of the batch before
  std::vector<double> addend_;
  std::size_t num_frames_ = 0;
  std::vector<Pass> passes_;  // the first num_frames_ are in use
  std::vector<double> sums_;  // [num_frames_][NUM_SUMS]
  std::vector<double>
      generalized_;  // [num_frames_][coordinates + 1] errors, then whether the frame has them
  std::vector<char> has_energy_;      // [nlocal] of one frame
  std::vector<double> default_pref_;  // [nlocal] ones
  std::vector<Domain> domains_;
  std::vector<ForwardOutput> outputs_;
  std::unique_ptr<Tape> tape_;  // between the passes
  std::vector<GradientSeed> seeds_;
};

}  // namespace dptrain
