#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace dptrain {

/// States of a run that it can go back to: many of the latest steps and few of earlier ones. Of those added, number n (from 0) is
/// kept while fewer than 2 * 4^k have been added after it, where 4^k, at most 64, divides n. So there are always states of
/// about 1, 4, 16 and 64 times the spacing of age, and never more than eight.
template <class State> class StateHistory {
 public:
  static constexpr std::int64_t spacing = 10;  ///< steps between two states

  /// Whether a state of this step would be far enough from the latest one.
  bool is_due(std::int64_t step) const
  {
    return entries_.empty() || step - entries_.back().step >= spacing;
  }
  /// Steps increase from call to call.
  void add(std::int64_t step, State state)
  {
    const std::int64_t newest = entries_.empty() ? 0 : entries_.back().number + 1;
    entries_.push_back({step, newest, std::move(state)});
    std::vector<Entry> kept;
    for (Entry &entry : entries_)
      if (newest - entry.number < lifetime(entry.number)) kept.push_back(std::move(entry));
    entries_ = std::move(kept);
  }
  /// The latest state of step `before` or earlier, or else the earliest one; later ones are forgotten. Null where there is
  /// none. Good until the next call of a function.
  struct Entry {
    std::int64_t step, number;
    State state;
  };
  const Entry *go_back(std::int64_t before)
  {
    while (entries_.size() > 1 && entries_.back().step > before) entries_.pop_back();
    return entries_.empty() ? nullptr : &entries_.back();
  }
  void clear() { entries_.clear(); }
  std::size_t size() const { return entries_.size(); }
  /// Of all states, in their order.
  std::vector<std::int64_t> steps() const
  {
    std::vector<std::int64_t> steps;
    for (const Entry &entry : entries_) steps.push_back(entry.step);
    return steps;
  }

 private:
  static std::int64_t lifetime(std::int64_t number)
  {
    std::int64_t power = 1;
    while (power < 64 && number % (4 * power) == 0) power *= 4;
    return 2 * power;
  }

  std::vector<Entry> entries_;
};

}  // namespace dptrain
