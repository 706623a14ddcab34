#pragma once

#include <cstdint>
#include <vector>

#include "dptrain/frame.h"
#include "torchscript/contract.h"

namespace dptrain {

/// Some centres of a domain with all atoms that their energies depend on, as tensors for a contract.
struct AtomBlock {
  std::vector<int> atoms;  ///< index in the domain: first the centres, then others; each atom once
  int centers = 0;
  ScriptAtoms tensors;
};

/// Makes blocks. Keeps its scratch memory between them.
class BlockMaker {
 public:
  BlockMaker(const ScriptFacts &facts, torch::Device device) : facts_(facts), device_(device) {}

  /// The centres of a domain that are atoms of the model, in the order of the domain.
  std::vector<int> centers_of(const Domain &domain) const;
  /// The block of these centres. Neighbours are those within the cutoff, the nearest first, as many as the model takes;
  /// of two at the same distance the one with the lower index. Throws Error where a model with message passing has not
  /// the whole frame, and where atoms overlap.
  AtomBlock make(const Domain &domain, const int *centers, int n);
  /// Centres so far with more neighbours than the model takes, of a type or of all.
  std::int64_t overflow_count() const { return overflow_; }

 private:
  void add_row(const Domain &domain, int centre);
  int place_of(int atom, AtomBlock &block);
  void set_owners(const Domain &domain, AtomBlock &block) const;

  struct Neighbor {
    double square;  // of the distance
    int atom;
  };

  const ScriptFacts &facts_;
  torch::Device device_;
  std::vector<Neighbor> row_;               // of one centre
  std::vector<std::vector<int>> rows_;      // of all, atoms of the domain
  std::vector<std::int64_t> place_;         // of an atom in the block, -1: not in it
  std::int64_t overflow_ = 0;
};

}  // namespace dptrain
