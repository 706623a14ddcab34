#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "dptrain/frames/frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/training/update_report.h"
#include "kernels/memory.h"
#include "training/loss/loss_term.h"

namespace dptrain {

/// The loss of a batch of frames and its parameter gradient in two passes, without second derivatives of a graph:
/// pass A gives E_i, F and W, hence c_i = dL/dE_i, r = dL/dF and C = dL/dW; pass B differentiates the one scalar
/// S = sum_i c_i E_i + r . F + C : W at fixed c_i, r, C. The functions are called in the order in which they stand here; all
/// are collective. The loss is the mean over the frames of each frame's loss; a term whose label a frame does not have adds
/// nothing. Buffers are kept between batches.
class TwoPass {
 public:
  TwoPass(std::shared_ptr<Model> model, std::shared_ptr<const Communicator> comm, LossTerms terms);

  /// A new batch of so many frames, at this fraction of the start learning rate, which the weights of the terms follow.
  void begin_batch(std::size_t num_frames, double rate_fraction);
  /// Pass A of frames of the batch, all or some (which must live until the end): energies, virials, forces on owned atoms
  /// and ghosts. The functions below are for these. With `keep`, pass B will follow.
  void forward(const std::vector<const Frame *> &frames, bool keep);
  /// Halo: forces of ghosts go to their owners. One all-reduce of what the terms sum up; loss and errors follow.
  void sum_errors();
  /// Loss and errors of the frames of the batch so far.
  UpdateReport report() const;
  /// Derivatives of the loss, which are the seeds of pass B. Halo: those by the forces go from the owners to their ghosts.
  void residuals();
  /// Pass B: gradient[number of parameters], in the memory of the kernels, becomes this rank's part of dL/dparameters. For further frames of the batch it
  /// is added.
  void backward(kernels::Array<double> &gradient);

  std::size_t memory_bytes() const;

 private:
  /// guarded() for work that can begin again: where memory runs out, the model gives its workspace back once.
  void guarded_work(const std::function<void()> &work);

  struct Pass {
    const Frame *frame = nullptr;
    std::vector<double> force;        // [nall][3] F, then dL/dF
    std::vector<double> atom_energy;  // [nlocal] E_i, then dL/dE_i; empty where no term uses it
    GradientSeed seed;
  };
  /// A term in the batch.
  struct Share {
    std::size_t offset =
        0;  ///< of its numbers in those of a frame: whether there is a label, then its sums
    double weight = 0.0;  ///< divided by the number of frames of the batch
    Deviation errors;
  };

  void check(const Frame &frame) const;
  bool uses_atom_energies(const Label &label) const;
  Prediction prediction(std::size_t frame) const;
  double weight_of(std::size_t frame, std::size_t term) const;
  void find_seed(std::size_t frame);
  double *sums_of(std::size_t frame, std::size_t term)
  {
    return &sums_[frame * num_sums_ + shares_[term].offset];
  }

  std::shared_ptr<Model> model_;
  std::shared_ptr<const Communicator> comm_;
  LossTerms terms_;
  std::vector<Share> shares_;  // by term
  std::size_t num_sums_ = 0;   // of a frame
  double loss_sum_ = 0.0;
  bool has_gradient_ = false;  // of frames of the batch before
  kernels::Array<double> addend_;
  std::size_t num_frames_ = 0;
  std::vector<Pass> passes_;  // the first num_frames_ are in use
  std::vector<double> sums_;  // [num_frames_][num_sums_] what travels in the all-reduce
  std::vector<double> force_residual_, atom_residual_;  // of the owned atoms of one frame
  std::vector<Domain> domains_;
  std::vector<ForwardOutput> outputs_;
  std::unique_ptr<Tape> tape_;  // between the passes
  std::vector<GradientSeed> seeds_;
};

}  // namespace dptrain
