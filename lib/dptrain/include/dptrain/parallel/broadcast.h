#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "dptrain/base/fields.h"
#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// Turns values into bytes on one rank and back on the others, structs by the lists of their fields (fields.h).
class ByteArchive {
 public:
  explicit ByteArchive(const Communicator &comm, int root = 0) :
      comm_(comm), root_(root), writing_(comm.rank() == root)
  {
  }

  template <class T> void send(T &value)
  {
    if (writing_) visit(value);
    std::uint64_t size = bytes_.size();
    comm_.broadcast(&size, sizeof(size), root_);
    bytes_.resize(size);
    if (size) comm_.broadcast(bytes_.data(), size, root_);
    if (!writing_) visit(value);
  }

  template <class... T> void operator()(const char * /*names*/, T &...values)
  {
    (visit(values), ...);
  }
  template <class... T> void or_default(const char * /*names*/, T &...values)
  {
    (visit(values), ...);
  }

 private:
  const Communicator &comm_;
  int root_;
  bool writing_;
  std::vector<char> bytes_;
  std::size_t position_ = 0;

  void raw(void *data, std::size_t size)
  {
    if (size == 0) return;
    if (writing_) {
      const char *begin = static_cast<const char *>(data);
      bytes_.insert(bytes_.end(), begin, begin + size);
    } else {
      std::memcpy(data, &bytes_[position_], size);
      position_ += size;
    }
  }

  template <class T> std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T>> visit(T &value)
  {
    raw(&value, sizeof(T));
  }
  template <class T, std::size_t N> void visit(std::array<T, N> &values)
  {
    for (auto &value : values) visit(value);
  }
  template <class T> void visit_size(T &container)
  {
    std::uint64_t size = container.size();
    visit(size);
    if (!writing_) container.resize(size);
  }
  void visit(std::string &text)
  {
    visit_size(text);
    raw(text.data(), text.size());
  }
  void visit(std::vector<bool> &flags)
  {
    visit_size(flags);
    for (std::size_t i = 0; i < flags.size(); ++i) {
      bool flag = flags[i];
      visit(flag);
      flags[i] = flag;
    }
  }
  template <class T> void visit(std::vector<T> &values)
  {
    visit_size(values);
    if constexpr (std::is_arithmetic_v<T>)
      raw(values.data(), values.size() * sizeof(T));
    else
      for (auto &value : values) visit(value);
  }
  template <class Key, class T> void visit(std::map<Key, T> &values)
  {
    std::vector<std::pair<Key, T>> list(values.begin(), values.end());
    visit_size(list);
    for (auto &[key, value] : list) {
      visit(key);
      visit(value);
    }
    if (!writing_) values = std::map<Key, T>(list.begin(), list.end());
  }
  template <class T> void visit(std::optional<T> &value)
  {
    bool given = value.has_value();
    visit(given);
    if (!given) return value.reset();
    if (!value) value.emplace();
    visit(*value);
  }
  template <class... T> void visit(std::variant<T...> &value)
  {
    std::uint64_t index = value.index(), k = 0;
    visit(index);
    if (!writing_) ((k++ == index ? void(value.template emplace<T>()) : void()), ...);
    std::visit([this](auto &content) { visit(content); }, value);
  }
  template <class T> std::enable_if_t<std::is_class_v<T>> visit(T &value)
  {
    visit_fields(*this, value);
  }
};

/// Copies a value of the rank `root` to all ranks: numbers, texts, containers, whatever lists its fields. Collective.
template <class T> void broadcast(const Communicator &comm, T &value, int root = 0)
{
  ByteArchive(comm, root).send(value);
}

/// The text of the lowest rank that has one, on all ranks; empty if none has. Collective.
std::string said_by_one(const Communicator &comm, std::string text);

}  // namespace dptrain
