// Arrays in NumPy's .npy format: all number types and orders, damaged files.
#include <gtest/gtest.h>

#include <cmath>

#include "data/npy.h"
#include "support/data_files.h"
#include "support/npy_array.h"

namespace dptrain {
namespace {

using test::expect_in;
using test::message_of;
using test::numpy_file;
using test::swapped;

const std::vector<double> six{1, 2, 3, 4, 5, 6};

std::vector<double> parsed(const std::string &bytes)
{
  const test::Scratch scratch;
  return test::read_npy(scratch.with("a.npy", bytes)).values;
}

template <typename T> void expect_type(const std::string &kind)
{
  const std::vector<T> data{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(parsed(numpy_file<T>("<" + kind, "(6,)", data)), six) << kind;
  EXPECT_EQ(parsed(numpy_file<T>(">" + kind, "(2, 3)", swapped(data))), six) << kind;
}

TEST(NpyTypes, AllNumbersInBothByteOrders)
{
  expect_type<double>("f8");
  expect_type<float>("f4");
  expect_type<std::int16_t>("i2");
  expect_type<std::int32_t>("i4");
  expect_type<std::int64_t>("i8");
  expect_type<std::uint16_t>("u2");
  expect_type<std::uint32_t>("u4");
  expect_type<std::uint64_t>("u8");
  const std::vector<std::uint8_t> bytes{1, 0, 255};
  EXPECT_EQ(parsed(numpy_file("|u1", "(3,)", bytes)), (std::vector<double>{1, 0, 255}));
  EXPECT_EQ(parsed(numpy_file("|i1", "(3,)", bytes)), (std::vector<double>{1, 0, -1}));
  const std::vector<std::uint8_t> flags{1, 0};
  EXPECT_EQ(parsed(numpy_file("|b1", "(2,)", flags)), (std::vector<double>{1, 0}));
}

TEST(NpyTypes, HalfPrecision)
{
  // 1, -2, 65504 (largest), 2^-14 (smallest normal), 2^-24 (smallest), 1/3 rounded, -0, inf, nan
  const std::vector<std::uint16_t> bits{0x3C00, 0xC000, 0x7BFF, 0x0400, 0x0001,
                                        0x3555, 0x8000, 0x7C00, 0x7E00};
  const auto values = parsed(numpy_file("<f2", "(9,)", bits));
  EXPECT_EQ(std::vector<double>(values.begin(), values.begin() + 7),
            (std::vector<double>{1, -2, 65504, std::ldexp(1, -14), std::ldexp(1, -24),
                                 0.333251953125, 0}));
  EXPECT_TRUE(std::signbit(values[6]));
  EXPECT_TRUE(std::isinf(values[7]) && std::isnan(values[8]));
  EXPECT_EQ(parsed(numpy_file(">f2", "(9,)", swapped(bits)))[5], 0.333251953125);
}

TEST(NpyTypes, OrderOfColumns)
{
  const std::vector<double> by_column{1, 4, 2, 5, 3, 6};
  EXPECT_EQ(parsed(numpy_file<double>("<f8", "(2, 3)", by_column, true)), six);
  EXPECT_EQ(parsed(numpy_file<double>("<f8", "(6,)", six, true)), six);
  // [2][2][2] with the first index fastest
  EXPECT_EQ(parsed(numpy_file<double>("<f8", "(2, 2, 2)", {0, 4, 2, 6, 1, 5, 3, 7}, true)),
            (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(NpyTypes, HeadersOfAllVersions)
{
  const std::string first = numpy_file<double>("<f8", "(6,)", six);
  for (const char version : {'\2', '\3'}) {
    std::string bytes =
        std::string("\x93NUMPY", 6) + version + std::string("\0\x76\0\0\0", 5) + first.substr(10);
    EXPECT_EQ(parsed(bytes), six);
  }
  // a header longer than the first block that is read
  std::string longer = "{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }";
  longer.resize(4096 - 11, ' ');
  const test::Scratch scratch;
  const std::string file =
      std::string("\x93NUMPY\1\0\xF6\x0F", 10) + longer + "\n" + first.substr(128);
  EXPECT_EQ(read_npy_header(File(scratch.with("a.npy", file), 0)).data, 4096);
  EXPECT_EQ(parsed(file), six);
}

TEST(NpyDamage, IsNamed)
{
  const std::string good = numpy_file<double>("<f8", "(2, 3)", six);
  const auto edited = [&](const std::string &from, const std::string &to) {
    std::string bytes = good;
    bytes.replace(bytes.find(from), from.size(), to);
    return bytes;
  };
  const std::pair<std::string, std::string> cases[] = {
      {"", "not a NumPy"},
      {"hello world, this is text", "not a NumPy"},
      {std::string("\x93NUMPY", 6), "not a NumPy"},
      {edited(std::string("\1\0", 2), std::string("\4\0", 2)), "format 4.0"},
      {good.substr(0, 60), "ends within the .npy header"},
      {good.substr(0, good.size() - 1), "only 5 numbers follow"},
      {good.substr(0, 128), "only 0 numbers follow"},
      {edited("<f8", "|O8"), "values of type '|O8'"},
      {edited("<f8", "<c8"), "values of type"},
      {edited("'<f8'", "[('x')]"), "values of type"},
      {edited("False", "Maybe"), "fortran_order is Maybe"},
      {edited("shape", "spahe"), "no 'shape'"},
      {edited("descr", "DESCR"), "no 'descr'"},
      {edited("(2, 3)", "(-2,3)"), "expected a tuple of integers"},
      {edited("(2, 3)", "(2.,3)"), "expected a tuple of integers"},
      {edited("(2, 3), }", "(2, 3    "), "no value of 'shape'"},
      {edited("(2, 3)", "(2, 4)"), "truncated"},
      {numpy_file<double>("<f8", "(99999999999, 99999999999)", six), "truncated"},
      // the product of these is 2^64 = 0 in 64 bits
      {numpy_file<double>("<f8", "(4294967296, 4294967296)", six), "truncated"},
      {numpy_file<double>("<f8", "(2, 4611686018427387904, 2)", six), "expected a tuple"},
      {numpy_file<double>("<f8", "()", {}), "no number follows"}};
  for (const auto &[bytes, expected] : cases) {
    SCOPED_TRACE(expected);
    const std::string &file = bytes;
    const std::string message = message_of([&] { parsed(file); });
    expect_in("a.npy: ", message);
    expect_in(expected, message);
  }
}

TEST(NpyDamage, ALongHeaderIsNotBelieved)
{
  // format 2.0 with a header of 4 GiB
  const test::Scratch scratch;
  const std::string bytes =
      std::string("\x93NUMPY\2\0\xFF\xFF\xFF\xFF", 12) + std::string(200, ' ');
  expect_in("damaged .npy header",
            message_of([&] { read_npy_header(File(scratch.with("a.npy", bytes), 0)); }));
}

TEST(NpyDamage, NoNumbersAtAllMayHaveAnyExtent)
{
  EXPECT_TRUE(parsed(numpy_file<double>("<f8", "(0, 999999999999999999)", {})).empty());
}

}  // namespace
}  // namespace dptrain
