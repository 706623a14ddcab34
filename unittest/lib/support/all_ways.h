#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "potential/native/deep_pot.h"
#include "tiny_model.h"

namespace dptrain::test {

/// A model gives the same in chunks, in the ways of a device and in single precision. Forces are compared in parts of `force`,
/// eV/Angstrom.
inline void expect_same_in_all_ways(DeepPot &model, const Cluster &atoms, double force)
{
  const Result all = evaluate(model, atoms.domain());
  const auto expect_same = [&](double tolerance, const char *what) {
    const Result found = evaluate(model, atoms.domain());
    EXPECT_NEAR(found.energy, all.energy, tolerance * std::abs(all.energy)) << what;
    for (std::size_t k = 0; k < all.force.size(); ++k)
      EXPECT_NEAR(found.force[k], all.force[k], tolerance * force) << what << ' ' << k;
    double of_atoms = 0.0, virial = 0.0;
    for (const double e : found.atom_energy) of_atoms += e;
    for (std::size_t i = 0; i < atoms.type.size(); ++i) virial += found.atom_virial[9 * i];
    EXPECT_NEAR(of_atoms, found.energy, 1e-6 * std::abs(all.energy)) << what;
    EXPECT_NEAR(virial, found.virial[0], 1e-6 * force) << what;
  };
  model.set_chunk(3);
  expect_same(1e-12, "chunks");
  model.engine().use_device_algorithms(true);
  expect_same(1e-12, "device");
  model.set_precision(Precision::single);
  expect_same(1e-5, "single");
}

}  // namespace dptrain::test
