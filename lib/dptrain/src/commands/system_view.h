#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/data/data_set.h"

namespace dptrain {

/// The frames of another system, for classes that change something about them.
class SystemView : public DataSystem {
 public:
  explicit SystemView(std::shared_ptr<const DataSystem> system) : system_(std::move(system)) {}

  const std::string &name() const override { return system_->name(); }
  std::int64_t num_frames() const override { return system_->num_frames(); }
  std::int64_t natoms(std::int64_t frame) const override { return system_->natoms(number(frame)); }
  bool same_atoms() const override { return system_->same_atoms(); }
  WholeFrame read(std::int64_t frame) const override { return system_->read(number(frame)); }
  Label label_kinds(std::int64_t frame) const override
  {
    return system_->label_kinds(number(frame));
  }
  std::string place(std::int64_t frame) const override { return system_->place(number(frame)); }
  std::string unread_label(const std::string &kind) const override
  {
    return system_->unread_label(kind);
  }

 private:
  /// Of a frame in the other system.
  virtual std::int64_t number(std::int64_t frame) const { return frame; }

  std::shared_ptr<const DataSystem> system_;
};

/// Some of the frames of a system.
class SomeFrames final : public SystemView {
 public:
  SomeFrames(std::shared_ptr<const DataSystem> system, std::vector<std::int64_t> frames) :
      SystemView(std::move(system)), frames_(std::move(frames))
  {
  }
  std::int64_t num_frames() const override { return static_cast<std::int64_t>(frames_.size()); }

 private:
  std::int64_t number(std::int64_t frame) const override { return frames_.at(frame); }

  std::vector<std::int64_t> frames_;
};

}  // namespace dptrain
