#pragma once

namespace dptrain {

/// Adds up by how much the potential energy of a run jumps where other forces take over at the same positions: the model
/// has learned, or the reference takes its place and gives it back. The total energy of a run with constant energy, less
/// this sum, is conserved. Energies of the whole system in one unit.
class EnergyJumps {
 public:
  /// A new run: nothing has moved the atoms yet.
  void begin() { driver_ = Driver::none; }
  /// Or the last step of a run is done once more.
  void begin(bool reference_moves)
  {
    driver_ = reference_moves ? Driver::reference : Driver::model;
  }
  /// A step at which the reference was asked: energy of the model before and after its training, of the reference, and which of
  /// the two moves the atoms on.
  void asked(double before, double after, double reference, bool reference_moves)
  {
    const double now = reference_moves ? reference : after;
    if (driver_ == Driver::reference) sum_ += now - reference;
    if (driver_ == Driver::model) sum_ += now - before;
    driver_ = reference_moves ? Driver::reference : Driver::model;
    way_back_ = after - reference;
  }
  /// A step that the model moves, without an answer. The energies of the answer before stand for a jump back.
  void not_asked()
  {
    if (driver_ == Driver::reference) sum_ += way_back_;
    driver_ = Driver::model;
  }
  /// The model has learned at a step before it was known who moves the atoms on: its energy before and after.
  void learned(double before, double after)
  {
    if (driver_ == Driver::model) sum_ += after - before;
    if (driver_ == Driver::reference) way_back_ += after - before;
  }
  double sum() const { return sum_; }
  void set_sum(double sum) { sum_ = sum; }

 private:
  enum class Driver { none, model, reference };
  Driver driver_ = Driver::none;
  double way_back_ = 0.0, sum_ = 0.0;
};

}  // namespace dptrain
