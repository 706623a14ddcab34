#pragma once

#include <algorithm>
#include <vector>

#include "dptrain/frames/frame.h"

namespace dptrain {

/// A domain that does not change with the arrays it was made from, except for its neighbor rows, which stay where they are
/// and must live as long.
class DomainCopy {
 public:
  explicit DomainCopy(const Domain &domain) :
      domain_(domain),
      x_(domain.x, domain.x + 3L * domain.nall),
      type_(domain.type, domain.type + domain.nall),
      centers_(domain.centers, domain.centers + domain.num_centers),
      counts_(domain.num_neighbors, domain.num_neighbors + domain.nlocal),
      rows_(domain.neighbors ? domain.nlocal : 0)
  {
    if (domain.neighbors) std::copy_n(domain.neighbors, domain.nlocal, rows_.begin());
    domain_.x = x_.data();
    domain_.type = type_.data();
    domain_.centers = centers_.data();
    domain_.num_neighbors = counts_.data();
    if (domain.neighbors) domain_.neighbors = rows_.data();
    if (!domain.owner) return;
    owner_.assign(domain.owner, domain.owner + domain.nall);
    domain_.owner = owner_.data();
  }
  DomainCopy(const DomainCopy &) = delete;
  DomainCopy(DomainCopy &&) = default;
  DomainCopy &operator=(DomainCopy &&) = default;

  const Domain &domain() const { return domain_; }

 private:
  Domain domain_;
  std::vector<double> x_;
  std::vector<int> type_, centers_, counts_, owner_;
  std::vector<const int *> rows_;
};

}  // namespace dptrain
