#pragma once

#include <vector>

namespace dptrain {

/// Threads for a process that may run on the cores marked in `own` (1 or 0), where users[k] processes may run on core k,
/// the process itself among them: its share of these cores, at least one. Summed over processes that have at least a
/// core each, the shares are not more than the cores.
int share_of_cores(const std::vector<int> &own, const std::vector<int> &users);

}  // namespace dptrain
