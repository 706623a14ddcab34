#pragma once

#include "base/random.h"
#include "dptrain/frames/whole_frame.h"

namespace dptrain::test {

/// A periodic frame with random numbers in all fields; types 0 .. ntypes - 1 in turn.
inline WholeFrame random_whole_frame(int natoms, int ntypes = 2, std::uint64_t seed = 1)
{
  RandomEngine engine(seed);
  WholeFrame frame;
  frame.step = 100 + static_cast<std::int64_t>(seed);
  for (int i = 0; i < natoms; ++i) frame.type.push_back(i % ntypes);
  for (int i = 0; i < 3 * natoms; ++i) {
    frame.coord.push_back(10.0 * random_uniform(engine));
    frame.label.force.push_back(random_normal(engine));
  }
  for (double &value : frame.box) value = random_normal(engine);
  frame.label.energy = random_normal(engine);
  frame.label.virial.emplace();
  for (double &value : *frame.label.virial) value = random_normal(engine);
  return frame;
}

/// True if all fields but the step have the same bits.
inline bool same_content(const WholeFrame &a, const WholeFrame &b)
{
  return a.coord == b.coord && a.type == b.type && a.box == b.box && a.periodic == b.periodic &&
         a.charge == b.charge && a.label.frame_weight == b.label.frame_weight &&
         a.label.energy == b.label.energy && a.label.force == b.label.force &&
         a.label.virial == b.label.virial && a.label.force_weight == b.label.force_weight;
}

}  // namespace dptrain::test
