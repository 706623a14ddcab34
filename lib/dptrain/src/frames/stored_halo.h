#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dptrain/frames/halo.h"
#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// A halo with a fixed plan: who owns each ghost. Ghosts of the own atoms (periodic images) move without MPI.
/// The order of additions in `reduce` depends on the plan alone, so equal plans give equal bits.
class StoredHalo : public Halo {
 public:
  /// owner_rank, owner_index [nghost]: rank that owns the atom of a ghost, and the atom's index there. Ghosts follow the
  /// nlocal owned atoms in all arrays. Collective; throws Error on all ranks if an owner does not exist.
  StoredHalo(std::shared_ptr<const Communicator> comm, int nlocal,
             const std::vector<int> &owner_rank, const std::vector<int> &owner_index);

  void exchange(double *values, int width) const override;
  void reduce(double *values, int width) const override;
  const Communicator *ranks() const override { return comm_.get(); }
  std::size_t memory_bytes() const override;

 private:
  void check_owners(const std::vector<int> &owner_rank, const std::vector<int> &owner_index,
                    const std::vector<std::int64_t> &atoms_of_rank) const;
  struct Buffers;
  /// Message lengths for values of this width, and room for them.
  Buffers &buffers(int width) const;

  std::shared_ptr<const Communicator> comm_;
  int nlocal_ = 0;
  std::vector<int> own_ghost_, own_atom_;  // images of own atoms: ghost index, atom index
  std::vector<int> ghosts_;                // other ghosts by owner: index in the arrays
  std::vector<int> atoms_;                 // own atoms that other ranks have as ghosts, by rank
  std::vector<int> ghost_counts_, atom_counts_;  // [size] entries of ghosts_ and atoms_ per rank
};

}  // namespace dptrain
