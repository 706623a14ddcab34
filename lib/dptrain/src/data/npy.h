#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dptrain {

/// An array of a NumPy .npy file, row-major.
struct NpyArray {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

/// Reads a .npy file (format 1.0 to 3.0; float32, float64, int32, int64; C or Fortran order) as
/// numbers in double precision. Throws Error that names the file and what is wrong.
NpyArray read_npy(const std::string &path);

/// Bytes of a .npy file (format 1.0, float64, C order), whose header has a fixed length.
std::string npy_bytes(const std::vector<std::int64_t> &shape, const std::vector<double> &values);

/// Number of rows of a file with the layout of npy_bytes() and rows of `width` numbers (one number:
/// a one-dimensional array); -1 if there is no such file or it has another layout.
std::int64_t npy_rows(const std::string &path, std::int64_t width);

/// Writes row number `row` of such a file and sets its length to row + 1. The new row comes first and
/// the header last, so an interruption leaves the old rows as they were.
void append_npy_row(const std::string &path, std::int64_t row, const std::vector<double> &values);

}  // namespace dptrain
