// Ten million atoms in one frame: no index of what there is for each atom overflows an int, on a host and on a device, which
// searches the neighbors itself. (What there is for each neighbor is divided into chunks.) Takes 2 GB.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "potential/native/deep_pot.h"
#include "support/both_passes.h"
#include "support/kernel_data.h"
#include "support/tiny_model.h"

namespace dptrain::test {
namespace {

constexpr int many = 10'000'000;

// The cluster, behind atoms on a lattice so wide and so far away that nobody has a neighbor among them.
struct FarFrame : Cluster {
  explicit FarFrame(const Cluster &cluster) : Cluster(cluster)
  {
    const int atoms = static_cast<int>(cluster.type.size()), before = many - atoms;
    constexpr double spacing = 5.0;
    constexpr int side = 216;
    x.clear();
    x.reserve(3L * many);
    for (int i = 0; i < before; ++i)
      x.insert(x.end(), {100.0 + spacing * (i % side), spacing * (i / side % side),
                         spacing * (i / (side * side))});
    x.insert(x.end(), cluster.x.begin(), cluster.x.end());
    type.insert(type.begin(), before, 0);
    counts.insert(counts.begin(), before, 0);
    rows.assign(before, nullptr);
    for (auto &list : lists) {
      for (int &j : list) j += before;
      rows.push_back(list.data());
    }
    std::iota(centers.begin(), centers.end(), before);
  }
};

// Energy, forces on the last atoms, parameter gradient.
Vec results(DeepPot &model, const Domain &domain, int atoms)
{
  Vec force(3L * domain.nall, 0.0);
  ForwardOutput out;
  out.force = force.data();
  const auto tape = model.forward(&domain, 1, &out, true);
  Vec all{out.energy};
  all.insert(all.end(), force.end() - 3L * atoms, force.end());
  Vec weights(3L * domain.nall, 0.0);
  for (int k = 0; k < 3 * atoms; ++k) weights[weights.size() - 3L * atoms + k] = std::cos(1.0 + k);
  GradientSeed seed;
  seed.energy = 0.3;
  seed.force = weights.data();
  const Vec gradient = gradient_of(model, *tape, &seed);
  all.insert(all.end(), gradient.begin(), gradient.end());
  return all;
}

TEST(ManyAtoms, TheLastOnesAmongTenMillionFeelTheSame)
{
  constexpr int atoms = 40;
  const Cluster cluster(atoms, 2, 8.0);
  const FarFrame frame(cluster);
  DeepPot model(tiny_model(tiny_config()));
  const Vec expected = results(model, cluster.domain(), atoms);
  const Vec found = results(model, frame.domain(), atoms);
  // sums in another order
  expect_close(found, expected, 1e-13);
}

}  // namespace
}  // namespace dptrain::test
