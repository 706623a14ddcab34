#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/number_type.h"
#include "io/file.h"

namespace dptrain {

/// What the header of a .npy file tells.
struct NpyHeader {
  NumberType type;
  std::string type_name;  ///< as in the file, '<f8'
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::int64_t count = 1;  ///< product of the extents; so many numbers are in the file
  std::int64_t data = 0;   ///< where the numbers begin
};

/// Reads the header of a file of `file_size` bytes (format 1.0 to 3.0; float16/32/64, all integers, bool; any byte order)
/// from its first bytes. Throws Error that names `path` and what is wrong, also if numbers are missing at the end.
NpyHeader parse_npy_header(const std::string &start, std::int64_t file_size,
                           const std::string &path);
NpyHeader read_npy_header(const File &file);

/// Where number `index` in row-major order stands in an array that is stored column by column.
std::int64_t fortran_position(const std::vector<std::int64_t> &shape, std::int64_t index);

/// Bytes of a .npy file (format 1.0, float64, C order), whose header has a fixed length.
std::string npy_bytes(const std::vector<std::int64_t> &shape, const std::vector<double> &values);

/// Number of rows of a file with the layout of npy_bytes() and rows of `width` numbers (one number:
/// a one-dimensional array); -1 if there is no such file or it has another layout.
std::int64_t npy_rows(const std::string &path, std::int64_t width);

/// Writes row number `row` of such a file and sets its length to row + 1. The new row comes first and
/// the header last, so an interruption leaves the old rows as they were.
void append_npy_row(const std::string &path, std::int64_t row, const std::vector<double> &values);

}  // namespace dptrain
