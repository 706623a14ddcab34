#pragma once

#include <cstdint>
#include <vector>

#include "dptrain/frames/frame.h"
#include "potential/torchscript/contract.h"

namespace dptrain {

/// Some centers of a domain with all atoms that their energies depend on, as tensors for a contract.
struct AtomBlock {
  /// Index in the domain: first the centers, then others; each atom once. A first one of -1 stands for no atom.
  std::vector<int> atoms;
  int centers = 0;
  ScriptAtoms tensors;
};

/// Makes blocks. Keeps its scratch memory between them.
///
/// DeePMD-kit's descriptors without types of their own fill rows of neighbors up with copies of the first atom's type. Where
/// a model's energies depend on that (davg is not zero), the first atom is one of the frame's lowest type, as in frames
/// whose atoms are sorted by type; blocks that have none begin with a single atom of this type, far from all others.
class BlockMaker {
 public:
  BlockMaker(const ScriptFacts &facts, torch::Device device) : facts_(facts), device_(device) {}

  /// The centers of a domain that are atoms of the model, in the order of the domain.
  std::vector<int> centers_of(const Domain &domain) const;
  /// The block of these centers. Neighbors are those within the cutoff, the nearest first, as many as the model takes;
  /// of two at the same distance the one with the lower index. Throws Error where a model with message passing has not
  /// the whole frame, and where atoms overlap.
  AtomBlock make(const Domain &domain, const int *centers, int n);
  /// Centers so far with more neighbors than the model takes, of a type or of all.
  std::int64_t overflow_count() const { return overflow_; }

 private:
  void forget(const AtomBlock &block);
  void fill_rows(const Domain &domain, AtomBlock &block);
  void fill_tensors(const Domain &domain, AtomBlock &block) const;
  void choose_first(const Domain &domain, AtomBlock &block) const;
  void add_row(const Domain &domain, int center);
  int place_of(int atom, AtomBlock &block);
  void set_owners(const Domain &domain, AtomBlock &block) const;

  struct Neighbor {
    double square;  // of the distance
    int atom;
  };

  const ScriptFacts &facts_;
  torch::Device device_;
  std::vector<Neighbor> row_;           // of one center
  std::vector<std::vector<int>> rows_;  // of all, atoms of the domain
  std::vector<std::int64_t> place_;     // of an atom in the block, -1: not in it
  std::int64_t overflow_ = 0;
};

}  // namespace dptrain
