#pragma once

namespace dptrain {

/// Notices, once, that the reference is asked at nearly every check although the model has learned: the threshold is out of
/// its reach.
class ThresholdWatch {
 public:
  /// A check of the error bars: whether the reference was asked, the threshold, and the error that the model reaches on what
  /// it has learned. True at the end of twenty checks that say so, the first time.
  bool add(bool asked, double threshold, double reached)
  {
    if (warned_) return false;
    asked_ += asked;
    if (++checks_ < checks) return false;
    warned_ = asked_ >= checks - 1 && reached > threshold;
    checks_ = asked_ = 0;
    return warned_;
  }

 private:
  static constexpr int checks = 20;
  int checks_ = 0, asked_ = 0;
  bool warned_ = false;
};

}  // namespace dptrain
