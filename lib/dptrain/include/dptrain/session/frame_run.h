#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "dptrain/frames/whole_frame.h"
#include "dptrain/models/model_in_use.h"
#include "dptrain/potential/model/evaluator.h"
#include "dptrain/session/trajectory.h"

namespace dptrain {

/// What a model says of a whole frame. eV, eV/Angstrom.
struct FrameValues {
  double energy = 0.0;
  std::vector<double> force;        ///< [natoms][3]
  std::array<double, 9> virial{};   ///< sum of F (x) x, row-major
  bool has_virial = false;          ///< else neither a model nor a label has given one
  std::vector<double> atom_energy;  ///< [natoms]
  std::vector<double> charge;       ///< [natoms] e; empty: the model has none
  std::vector<double> bar;          ///< [natoms] as ForwardOutput::bar; empty: the model has none
  std::vector<double> feature_sum;  ///< [ntypes][H]; ditto
};
/// The ranks of `comm` share the atoms, and all of them get the values. Collective.
FrameValues evaluate_frame(const std::shared_ptr<const Communicator> &comm, Evaluator &evaluator,
                           const WholeFrame &frame, bool with_bars);

/// A run of an engine that hands over whole frames, one after the other, the same on all ranks (ASE, on one process): the session sees
/// the frame of the latest show(), and values() are those with which the run goes on.
class FrameRun final : public Trajectory {
 public:
  explicit FrameRun(std::shared_ptr<ModelInUse> slot,
                    std::shared_ptr<const Communicator> comm = make_mpi_communicator()) :
      slot_(std::move(slot)), comm_(std::move(comm))
  {
  }

  /// The next step of the run: evaluates the model, if it is trained. Collective.
  void show(const WholeFrame &frame);
  const FrameValues &values() const { return values_; }
  /// Whether these are the model's.
  bool model_moves() const { return model_moves_; }

  std::int64_t step() const override { return frame_.step; }
  std::int64_t natoms() const override { return static_cast<std::int64_t>(frame_.type.size()); }
  bool has_bars() const override { return !model_.bar.empty(); }
  std::vector<double> bars() const override;
  std::vector<double> all_bars() override { return bars(); }
  std::vector<double> feature_sum() const override;
  double energy() const override { return comm_->rank() == 0 ? model_.energy : 0.0; }
  std::vector<double> forces() override { return model_.force; }
  WholeFrame configuration() override { return frame_; }
  void evaluate_again() override;
  void follow_model() override;
  void follow(const Label &label) override;

 private:
  std::shared_ptr<ModelInUse> slot_;
  std::shared_ptr<const Communicator> comm_;
  std::optional<Evaluator> evaluator_;
  WholeFrame frame_;
  FrameValues model_, values_;
  ErrorBars known_;  // of the model when it was evaluated
  bool model_moves_ = false;
};

}  // namespace dptrain
