#include "statistics/data/structure_cutoff.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "dptrain/base/elements.h"
#include "dptrain/input/config.h"
#include "statistics/data/statistics_search.h"

namespace dptrain {

namespace {

constexpr double neighbor_distances = 2.6, step = 0.5;
constexpr double search = longest_chosen_cutoff;  // atoms farther away are no neighbors
constexpr int hydrogen = 1;

}  // namespace

StructureCutoff cutoff_of_structures(const std::vector<WholeFrame> &frames,
                                     const std::vector<std::string> &type_map)
{
  const int ntypes = static_cast<int>(type_map.size());
  StructureCutoff cutoff;
  std::vector<char> counts;
  for (const std::string &element : type_map) {
    const int number = atomic_number(element);
    counts.push_back(number != hydrogen ? 1 : 0);
    if (element_symbol(number).empty() && cutoff.no_element.empty()) cutoff.no_element = element;
  }
  if (!cutoff.no_element.empty()) return cutoff;
  std::vector<double> distances;
  for (const WholeFrame &frame : frames) {
    FrameSearch neighbors(frame, ntypes, search);
    neighbors.for_each_atom(0, 1, 1, [&](const Neighborhood &around) {
      if (counts[around.type] == 0) return;
      double nearest = search * search;
      for (int type = 0; type < ntypes; ++type)
        if (counts[type] != 0)
          for (int k = around.first[type]; k < around.first[type + 1]; ++k)
            nearest = std::min(nearest, around.length_squared[k]);
      if (nearest < search * search) distances.push_back(std::sqrt(nearest));
    });
  }
  if (distances.empty()) return cutoff;
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::nth_element(distances.begin(), middle, distances.end());
  cutoff.nearest = *middle;
  const double wanted = std::round(neighbor_distances * *middle / step) * step;
  cutoff.rcut = std::clamp(wanted, shortest_chosen_cutoff, longest_chosen_cutoff);
  return cutoff;
}

std::string text_of(const StructureCutoff &cutoff)
{
  if (!cutoff.no_element.empty())
    return fmt::format("cutoff {:g} Angstrom, as {} is no chemical element: only of such it is "
                       "chosen by the structure",
                       cutoff.rcut, cutoff.no_element);
  if (!cutoff.nearest)
    return fmt::format("cutoff {:g} Angstrom, as there are no neighbors to choose it by",
                       cutoff.rcut);
  return fmt::format("cutoff {:g} Angstrom, by the distance of nearest neighbors ({:.3g} Angstrom)",
                     cutoff.rcut, *cutoff.nearest);
}

}  // namespace dptrain
