#pragma once

#include <string>
#include <vector>

namespace dptrain {

/// Threads for a process that may run on the cores marked in `own` (1 or 0), where users[k] processes may run on core k,
/// the process itself among them: its share of these cores, at least one. Summed over processes that have at least a
/// core each, the shares are not more than the cores.
int share_of_cores(const std::vector<int> &own, const std::vector<int> &users);

/// Cores' worth of time that the text of a control group's cpu.max allows ("200000 100000": 2); infinity: no limit.
double cpu_quota(const std::string &text);

}  // namespace dptrain
