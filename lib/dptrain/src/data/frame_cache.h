#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/batch_plan.h"
#include "data/frame_spill.h"
#include "dptrain/base/memory_ledger.h"
#include "dptrain/frames/distribution.h"
#include "dptrain/frames/frame.h"
#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// This rank's shares of the frames of a data set, made as they are asked for. The latest used ones stay in memory, up to a
/// number of bytes; the others wait on the scratch disk, or, where a rank's is full or what stays of them in memory would be
/// more than a quarter of that number, are read again: a data set may be larger than the memory. Collective.
class FrameCache {
 public:
  /// `ntypes` is that of the model, rcut in Angstrom; budget in bytes on each rank. Frames with atoms closer to each other
  /// than min_pair_dist (Angstrom) are left out.
  FrameCache(std::shared_ptr<const Communicator> comm, Systems systems, Distributor distributor,
             double rcut, int ntypes, std::size_t budget, double min_pair_dist = 0.0);

  /// The frames without those left out, valid until the next call. Throws Error on all ranks if one cannot be read or
  /// trained on.
  std::vector<const Frame *> load(const std::vector<FrameId> &ids);

  /// Lets the system read what will be asked for next.
  void prefetch(const std::vector<FrameId> &ids) const;

  /// How the frames are divided, where that was a choice, once (see Distributor).
  std::string take_reason() { return distributor_.take_reason(); }

  /// The shortest distance in Angstrom in all frames that were given so far.
  double shortest_distance() const { return shortest_; }
  std::int64_t reads() const { return reads_; }  ///< from the files
  /// Why frames could not wait on this rank's scratch disk; empty if they could.
  const std::string &scratch_trouble() const { return scratch_trouble_; }
  /// Of the frames in memory, the most of all ranks.
  std::size_t memory_bytes() const { return bytes_; }
  /// What this rank holds, by purpose.
  MemoryLedger memory() const;

 private:
  struct Entry {
    std::uint64_t key;
    Frame frame;
    double shortest;          // Angstrom
    std::size_t bytes, rest;  // in memory; of it what stays when the arrays are on the scratch disk
    FrameSpill::Place place = {};  // on the scratch disk, once it was there
  };
  const Entry &entry(const FrameId &id);
  void read(const FrameId &id, std::uint64_t key);
  void bring_back(std::uint64_t key);
  void put_aside(std::size_t in_use);

  std::shared_ptr<const Communicator> comm_;
  Distributor distributor_;
  Systems systems_;
  double rcut_, min_pair_dist_, shortest_;
  int ntypes_;
  std::size_t budget_, bytes_ = 0, aside_bytes_ = 0;
  std::int64_t reads_ = 0;
  std::list<Entry> entries_;                        // in memory, the latest used one in front
  std::unordered_map<std::uint64_t, Entry> aside_;  // their arrays are on the scratch disk
  FrameSpill spill_;
  bool disk_is_full_ = false;  // of any rank
  std::string scratch_trouble_;
  std::unordered_map<std::uint64_t, std::list<Entry>::iterator> places_;
};

}  // namespace dptrain
