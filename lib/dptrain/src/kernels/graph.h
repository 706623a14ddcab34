#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace dptrain::kernels {

/// Counts a command for the stream of the kernels: a kernel, a product, a clearing. False: it is not to be given, as it is part of
/// a graph that is launched as a whole.
bool begin_command();
/// Whether commands that are given now are recorded, and not done.
bool is_recording();
/// Whether they are skipped.
bool is_skipping();

/// Sequences of commands that repeat. On a device that can, the second time that a sequence is the same it is recorded, and from
/// then on launched as one (a CUDA graph), which takes a fraction of the time that single launches take. Elsewhere every sequence is
/// done as it is.
class Graphs {
 public:
  Graphs();
  ~Graphs();
  Graphs(const Graphs &) = delete;
  Graphs &operator=(const Graphs &) = delete;

  /// Does work(), which gives commands. key: all numbers that reach kernels as arguments, beside addresses of arrays (memory.h), whose
  /// memory is watched. Nothing may be copied from or to the host; else the sequence stays one of single commands. work() is
  /// called in any case, so that what it notes on the host is right, and twice where a sequence turns out to be another one.
  void run(const std::vector<std::int64_t> &key, const std::function<void()> &work);
  /// Forgets all sequences.
  void clear();

 private:
  struct Entry;
  Entry &entry_of(const std::vector<std::int64_t> &key);
  void record(Entry &entry, const std::function<void()> &work);

  std::vector<std::unique_ptr<Entry>> entries_;  // the latest one last
};

/// Whether this device records sequences, unless DPTRAIN_GRAPHS=0 is in the environment. For tests: set_graphs.
bool has_graphs();
void set_graphs(bool on);

}  // namespace dptrain::kernels
