#pragma once

#include <memory>

#include "potential/terms/energy_term_type.h"

namespace dptrain {

/// The repulsion of nuclei in neuroevolution potentials (Ziegler, Biersack, Littmark 1985, switched off by a cosine): between each two
/// elements
///   phi(r) f(r),   phi = Z_a Z_b e^2 / r sum_p part_p exp(-decay_p r screening),
/// f = 1 below `inner`, (1 + cos(pi (r - inner) / (outer - inner))) / 2 up to `outer`, beyond the angular cutoff of the elements nothing.
std::unique_ptr<const EnergyTermType> make_nep_zbl_type();

}  // namespace dptrain
