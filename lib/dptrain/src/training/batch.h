#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/replay_buffer.h"
#include "dptrain/frames/frame.h"
#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// Frames of a step, of which some at a time come into work. All functions are collective.
class Batch {
 public:
  using Frames = std::vector<const Frame *>;

  virtual ~Batch() = default;
  virtual std::size_t size() const = 0;
  /// Calls `work` with this rank's shares of the frames [begin, end), which have their neighbor rows meanwhile.
  virtual void use(std::size_t begin, std::size_t end,
                   const std::function<void(const Frames &)> &work) const = 0;
  /// Their time steps, for messages: " 100 200".
  virtual std::string steps() const = 0;
};

/// Frames that the caller holds.
class GivenBatch : public Batch {
 public:
  GivenBatch(const Frames &frames, const Communicator &comm) : frames_(frames), comm_(comm) {}
  std::size_t size() const override { return frames_.size(); }
  void use(std::size_t begin, std::size_t end,
           const std::function<void(const Frames &)> &work) const override;
  std::string steps() const override;

 private:
  const Frames &frames_;
  const Communicator &comm_;
};

/// Frames of the replay buffer. Where there is no memory to bring them back `give_back` is called and it is tried again.
class StoredBatch : public Batch {
 public:
  StoredBatch(ReplayBuffer &buffer, const Communicator &comm, std::vector<std::int64_t> places,
              std::function<void()> give_back) :
      buffer_(buffer), comm_(comm), places_(std::move(places)), give_back_(std::move(give_back))
  {
  }
  std::size_t size() const override { return places_.size(); }
  void use(std::size_t begin, std::size_t end,
           const std::function<void(const Frames &)> &work) const override;
  std::string steps() const override;

 private:
  ReplayBuffer &buffer_;
  const Communicator &comm_;
  std::vector<std::int64_t> places_;
  std::function<void()> give_back_;
};

}  // namespace dptrain
