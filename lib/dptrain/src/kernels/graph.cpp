#include "kernels/graph.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "kernels/memory.h"
#include "kernels/recorder.h"

namespace dptrain::kernels {

namespace {

constexpr std::size_t most_entries = 32;

enum class Mode { give, record, skip };
Mode mode = Mode::give;
// A sequence is watched. Without graphs never: several threads may give commands then.
bool counts = false;

class WhileCounting {
 public:
  WhileCounting() { counts = true; }
  ~WhileCounting() { counts = false; }
  WhileCounting(const WhileCounting &) = delete;
  WhileCounting &operator=(const WhileCounting &) = delete;
};

// Restores the mode also where work throws.
class InMode {
 public:
  explicit InMode(Mode wanted) { mode = wanted; }
  ~InMode() { mode = Mode::give; }
  InMode(const InMode &) = delete;
  InMode &operator=(const InMode &) = delete;
};

bool wanted_by_environment()
{
  const char *const text = std::getenv("DPTRAIN_GRAPHS");
  return !text || std::string_view(text) != "0";
}

bool &wanted()
{
  static bool on = wanted_by_environment();
  return on;
}

// Blocks of memory that were taken or given back so far: while this number stays, arrays are where they were.
std::int64_t memory_changes()
{
  return counters().allocations + counters().releases;
}

}  // namespace

bool begin_command()
{
  if (counts) ++counters().commands;
  return mode != Mode::skip;
}

bool is_recording()
{
  return mode == Mode::record;
}

bool is_skipping()
{
  return mode == Mode::skip;
}

bool has_graphs()
{
  return wanted() && recorder::available();
}

void set_graphs(bool on)
{
  wanted() = on;
}

struct Graphs::Entry {
  std::vector<std::int64_t> key;
  // memory_changes() when it was done or recorded last; -1: it took memory, or copied
  std::int64_t memory = -1;
  std::int64_t commands = 0;    // how many it gave
  std::shared_ptr<void> graph;  // null: it was not recorded yet
  bool refused = false;         // the device could not record it
};

Graphs::Graphs() = default;
Graphs::~Graphs() = default;

void Graphs::clear()
{
  entries_.clear();
}

Graphs::Entry &Graphs::entry_of(const std::vector<std::int64_t> &key)
{
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto &entry) { return entry->key == key; });
  if (found != entries_.end()) {
    std::rotate(found, found + 1, entries_.end());
  } else {
    if (entries_.size() == most_entries) entries_.erase(entries_.begin());
    entries_.push_back(std::make_unique<Entry>());
    entries_.back()->key = key;
  }
  return *entries_.back();
}

void Graphs::record(Entry &entry, const std::function<void()> &work)
{
  const std::int64_t memory = memory_changes(), copies = counters().copies,
                     commands = counters().commands;
  entry.refused = true;
  if (!recorder::begin()) return;
  bool failed = false;
  try {
    const InMode recording(Mode::record);
    work();
  } catch (const std::exception &) {
    failed = true;  // what cannot be recorded can be done; else that tells the reason
  }
  entry.graph = recorder::end();
  entry.commands = counters().commands - commands;
  if (failed || memory != memory_changes() || copies != counters().copies) entry.graph.reset();
  entry.refused = !entry.graph;
}

void Graphs::run(const std::vector<std::int64_t> &key, const std::function<void()> &work)
{
  if (!has_graphs() || mode != Mode::give) return work();
  const WhileCounting counting;
  Entry &entry = entry_of(key);
  const std::int64_t memory = memory_changes(), copies = counters().copies,
                     commands = counters().commands;
  if (entry.memory == memory && !entry.refused) {
    if (!entry.graph) {
      record(entry, work);
    } else {
      const InMode skipping(Mode::skip);
      work();
    }
    if (entry.graph && counters().commands - commands == entry.commands &&
        memory == memory_changes()) {
      ++counters().graphs;
      return recorder::launch(entry.graph);
    }
  }
  entry.graph.reset();
  work();
  const bool quiet = memory == memory_changes() && copies == counters().copies;
  entry.memory = quiet ? memory : -1;
}

}  // namespace dptrain::kernels
