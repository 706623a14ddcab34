// Damaged strings in HDF5 files that HDF5 itself would follow out of its memory, or for ever.
#include "io/hdf5_guard.h"

#include <gtest/gtest.h>

#include "io/hdf5_file.h"
#include "support/scratch.h"

namespace dptrain {
namespace {

using test::expect_in;
using test::message_of;

std::string number(std::uint64_t value, int bytes)
{
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xFF);
  return text;
}

/// A collection of 96 bytes with object 1, `size` bytes "abc", and free space of the rest.
std::string collection(std::uint64_t size = 3, std::uint64_t free = 56, std::uint64_t total = 96)
{
  return std::string("GCOL\1\0\0\0", 8) + number(total, 8) + number(1, 8) + number(size, 8) +
         std::string("abc\0\0\0\0\0", 8) + number(0, 8) + number(free, 8) + std::string(40, '\0');
}

bool is_sound(const std::string &bytes, const std::string &reference)
{
  const ReadAt read = [&](char *data, std::size_t count, std::int64_t offset) {
    return bytes.copy(data, count, static_cast<std::size_t>(offset));
  };
  return is_sound_string(read, static_cast<std::int64_t>(bytes.size()),
                         HeapReference(reference.c_str()));
}

std::string reference(std::uint64_t length, std::uint64_t address, std::uint64_t index)
{
  return number(length, 4) + number(address, 8) + number(index, 4);
}

TEST(Hdf5Guard, LooksAtReferences)
{
  const std::string file = std::string(8, 'x') + collection();
  EXPECT_TRUE(is_sound(file, reference(3, 8, 1)));
  EXPECT_TRUE(is_sound(file, reference(0, 0, 0)));   // no string
  EXPECT_FALSE(is_sound(file, reference(2, 8, 1)));  // HDF5 would write three bytes into two
  EXPECT_FALSE(is_sound(file, reference(3, 8, 2)));
  EXPECT_FALSE(is_sound(file, reference(3, 8, 0)));
  EXPECT_FALSE(is_sound(file, reference(3, 9, 1)));
  EXPECT_FALSE(is_sound(file, reference(3, 1000, 1)));
  EXPECT_FALSE(is_sound(file, reference(3, ~0ull, 1)));
}

TEST(Hdf5Guard, LooksAtCollections)
{
  const auto sound = [](const std::string &bytes) { return are_sound_strings("x" + bytes); };
  EXPECT_TRUE(sound(collection()));
  EXPECT_FALSE(sound(collection(3, 0)));  // HDF5 would not move on
  EXPECT_FALSE(sound(collection(3, 64)));
  EXPECT_FALSE(sound(collection(1000)));
  EXPECT_FALSE(sound(collection(~0ull)));  // rounded up to 0
  EXPECT_FALSE(sound(collection(3, 56, 97)));
  EXPECT_FALSE(sound(collection(3, 56, ~0ull)));
  EXPECT_FALSE(sound(collection(3, 56, 0)));
  EXPECT_FALSE(sound(collection().substr(0, 90)));
}

TEST(Hdf5Guard, LooksAtAttributes)
{
  const std::string type("\x19\1\0\0\x10\0\0\0\x13\0\0\0\1\0\0\0", 16);
  for (const std::string &space :
       {std::string("\1\0\0\0\0\0\0\0", 8), std::string("\2\0\0\0", 4)}) {
    const auto sound = [&](const std::string &text) {
      return are_sound_strings(std::string(8, 'x') + collection() + type + space + text);
    };
    EXPECT_TRUE(sound(reference(3, 8, 1)));
    EXPECT_TRUE(sound(reference(3, 8, 2)));  // may have been deleted
    EXPECT_FALSE(sound(reference(3, 8, 70000)));
    EXPECT_TRUE(sound(reference(3, 7, 70000)));  // not there: HDF5 sees this
  }
  // the file ends within the type
  for (std::size_t length = 0; length <= type.size(); ++length)
    EXPECT_TRUE(are_sound_strings(type.substr(0, length)));
}

TEST(Hdf5Guard, StandsInFrontOfModelFiles)
{
  Hdf5File file = Hdf5File::create("new");
  file.write_text("/", "json", "{}");
  std::string bytes = file.bytes();
  EXPECT_EQ(Hdf5File::open(bytes, "a.dp").read_text("/", "json"), "{}");
  const auto heap = bytes.find("GCOL");
  ASSERT_NE(heap, std::string::npos);
  bytes.replace(heap + 24, 8, number(~0ull, 8));
  expect_in("a.dp: damaged or truncated", message_of([&] { Hdf5File::open(bytes, "a.dp"); }));
  bytes = file.bytes();
  bytes[13] = 4;  // addresses of four bytes
  expect_in("a.dp: damaged or truncated", message_of([&] { Hdf5File::open(bytes, "a.dp"); }));
}

}  // namespace
}  // namespace dptrain
