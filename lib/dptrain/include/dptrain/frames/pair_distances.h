#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace dptrain {

/// The smallest distance (Angstrom) of each two types of atoms in some frames; infinite where no two atoms of these types were
/// neighbors.
class PairDistances {
 public:
  explicit PairDistances(int ntypes = 0, double all = std::numeric_limits<double>::infinity()) :
      ntypes_(ntypes), values_(static_cast<std::size_t>(ntypes) * ntypes, all)
  {
  }

  int ntypes() const { return ntypes_; }
  double at(int a, int b) const { return values_.at(static_cast<std::size_t>(a) * ntypes_ + b); }
  double smallest() const
  {
    return values_.empty() ? std::numeric_limits<double>::infinity()
                           : *std::min_element(values_.begin(), values_.end());
  }
  /// [ntypes][ntypes]
  const std::vector<double> &values() const { return values_; }

  /// Two atoms of these types as close as this. True: so close were none.
  bool lower(int a, int b, double distance)
  {
    if (!(distance < at(a, b))) return false;
    values_[static_cast<std::size_t>(a) * ntypes_ + b] = distance;
    values_[static_cast<std::size_t>(b) * ntypes_ + a] = distance;
    return true;
  }
  /// The same with all distances of others.
  bool lower(const PairDistances &others)
  {
    bool any = false;
    for (int a = 0; a < ntypes_; ++a)
      for (int b = 0; b <= a; ++b) any = lower(a, b, others.at(a, b)) || any;
    return any;
  }
  template <class Visit> void fields(Visit &visit) { visit("ntypes, values", ntypes_, values_); }

 private:
  int ntypes_ = 0;
  std::vector<double> values_;
};

}  // namespace dptrain
