#pragma once

#include <cmath>
#include <limits>

namespace dptrain {

/// Sums over errors x of one kind: of x^2, of |x|, and their number. Three numbers side by side, which ranks add up.
struct Deviation {
  double squares = 0.0, absolutes = 0.0, count = 0.0;

  void add(double error)
  {
    squares += error * error;
    absolutes += std::fabs(error);
    count += 1.0;
  }
  void add(const Deviation &other)
  {
    squares += other.squares;
    absolutes += other.absolutes;
    count += other.count;
  }
  /// NaN without an error.
  double rmse() const { return count > 0.0 ? std::sqrt(squares / count) : none; }
  double mae() const { return count > 0.0 ? absolutes / count : none; }

 private:
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace dptrain
