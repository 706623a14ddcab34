#pragma once

#include "dptrain/frames/whole_frame.h"

/// The frame repeated k times along each of its cell's edges, with the labels that follow from it.
inline dptrain::WholeFrame replicated(const dptrain::WholeFrame &frame, int k)
{
  dptrain::WholeFrame large = frame;
  const std::size_t natoms = frame.type.size();
  large.coord.clear();
  large.type.clear();
  large.label.force.clear();
  for (int cell = 0; cell < k * k * k; ++cell) {
    const int index[3] = {cell % k, cell / k % k, cell / (k * k)};
    large.type.insert(large.type.end(), frame.type.begin(), frame.type.end());
    large.label.force.insert(large.label.force.end(), frame.label.force.begin(),
                             frame.label.force.end());
    for (std::size_t i = 0; i < natoms; ++i)
      for (int c = 0; c < 3; ++c) {
        double x = frame.coord[3 * i + c];
        for (int edge = 0; edge < 3; ++edge) x += index[edge] * frame.box[3 * edge + c];
        large.coord.push_back(x);
      }
  }
  for (double &component : large.box) component *= k;
  const double copies = static_cast<double>(k) * k * k;
  if (large.label.energy) *large.label.energy *= copies;
  if (large.label.virial)
    for (double &component : *large.label.virial) component *= copies;
  return large;
}
