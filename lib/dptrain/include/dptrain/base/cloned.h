#pragma once

#include <memory>
#include <utility>

namespace dptrain {

/// An object of a class derived from T, or none, with the meaning of a value: a copy is independent. T has clone().
template <class T> class Cloned {
 public:
  Cloned() = default;
  template <class Derived> Cloned(std::unique_ptr<Derived> object) : object_(std::move(object)) {}
  Cloned(const Cloned &other) : object_(other.object_ ? other.object_->clone() : nullptr) {}
  Cloned(Cloned &&) noexcept = default;
  Cloned &operator=(Cloned other) noexcept
  {
    object_ = std::move(other.object_);
    return *this;
  }

  explicit operator bool() const { return object_ != nullptr; }
  T *operator->() { return object_.get(); }
  const T *operator->() const { return object_.get(); }
  T *get() { return object_.get(); }
  const T *get() const { return object_.get(); }

 private:
  std::unique_ptr<T> object_;
};

}  // namespace dptrain
