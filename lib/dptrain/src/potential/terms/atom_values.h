#pragma once

#include <vector>

namespace dptrain {

/// A number for each atom, by domain: [nlocal], and ghosts may follow.
using AtomValues = std::vector<std::vector<double>>;

}  // namespace dptrain
