#include "data/npy.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "dptrain/error.h"
#include "io/file.h"

namespace dptrain {

namespace {

constexpr std::size_t header_size = 128;  // of files written here: room for any shape
const std::string magic("\x93NUMPY", 6);

/// What the header of a .npy file tells.
struct Header {
  std::string type;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::size_t data = 0;  // where the numbers begin
};

[[noreturn]] void fail(const std::string &path, const std::string &what)
{
  throw Error(path + ": " + what);
}

/// Text of the value that follows 'key': in the Python dictionary of the header.
std::string entry(const std::string &text, const std::string &key, const std::string &path)
{
  const auto start = text.find("'" + key + "':");
  if (start == std::string::npos) fail(path, "damaged .npy header: no '" + key + "'");
  const auto value = text.find_first_not_of(' ', start + key.size() + 3);
  if (value == std::string::npos) fail(path, "damaged .npy header: no value of '" + key + "'");
  if (text[value] == '(') return text.substr(value + 1, text.find(')', value) - value - 1);
  return text.substr(value, text.find_first_of(",}", value) - value);
}

Header parse_header(const std::string &bytes, const std::string &path)
{
  if (bytes.size() < 10 || bytes.compare(0, magic.size(), magic) != 0)
    fail(path, "not a NumPy .npy file; write it with numpy.save");
  const auto byte = [&](std::size_t i) {
    return std::size_t(static_cast<unsigned char>(bytes[i]));
  };
  const bool long_form = byte(6) > 1;
  const std::size_t start = long_form ? 12 : 10;
  std::size_t length = byte(8) | byte(9) << 8;
  if (long_form && bytes.size() >= 12) length |= byte(10) << 16 | byte(11) << 24;
  if (bytes.size() < start + length) fail(path, "truncated .npy header");
  const std::string text = bytes.substr(start, length);
  Header header;
  header.data = start + length;
  header.type = entry(text, "descr", path);
  header.fortran_order = entry(text, "fortran_order", path) == "True";
  std::string shape = entry(text, "shape", path);
  std::replace(shape.begin(), shape.end(), ',', ' ');
  const char *next = shape.c_str();
  for (char *end = nullptr;; next = end) {
    const std::int64_t extent = std::strtoll(next, &end, 10);
    if (end == next) break;
    if (extent < 0) fail(path, "damaged .npy header: negative extent");
    header.shape.push_back(extent);
  }
  return header;
}

template <typename T>
std::vector<double> convert(const std::string &bytes, const Header &header, const std::string &path)
{
  const std::size_t available = (bytes.size() - header.data) / sizeof(T);
  std::size_t count = 1;
  for (const auto extent : header.shape) {
    count *= std::size_t(extent);
    if (count > available) fail(path, "truncated: fewer numbers than its header tells");
  }
  std::vector<T> stored(count);
  if (count > 0) std::memcpy(stored.data(), bytes.data() + header.data, count * sizeof(T));
  if (!header.fortran_order || header.shape.size() < 2)
    return std::vector<double>(stored.begin(), stored.end());
  if (header.shape.size() != 2) fail(path, "Fortran order with more than two dimensions");
  const std::size_t rows = header.shape[0], columns = header.shape[1];
  std::vector<double> values(count);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) values[i * columns + j] = stored[j * rows + i];
  return values;
}

std::string header_bytes(const std::vector<std::int64_t> &shape)
{
  std::string text = "{'descr': '<f8', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  text += shape.size() == 1 ? ",), }" : "), }";
  text.resize(header_size - 11, ' ');
  const std::size_t length = header_size - 10;
  return magic + std::string("\1\0", 2) + static_cast<char>(length & 0xFF) +
         static_cast<char>(length >> 8) + text + "\n";
}

std::vector<std::int64_t> row_shape(std::int64_t rows, std::int64_t width)
{
  if (width == 1) return {rows};
  return {rows, width};
}

}  // namespace

NpyArray read_npy(const std::string &path)
{
  const std::string bytes = read_file(path);
  const Header header = parse_header(bytes, path);
  NpyArray array;
  array.shape = header.shape;
  if (header.type == "'<f8'")
    array.values = convert<double>(bytes, header, path);
  else if (header.type == "'<f4'")
    array.values = convert<float>(bytes, header, path);
  else if (header.type == "'<i4'")
    array.values = convert<std::int32_t>(bytes, header, path);
  else if (header.type == "'<i8'")
    array.values = convert<std::int64_t>(bytes, header, path);
  else
    fail(path, "holds numbers of type " + header.type +
                   ", expected float32, float64, int32 or int64 in little-endian order");
  return array;
}

std::string npy_bytes(const std::vector<std::int64_t> &shape, const std::vector<double> &values)
{
  return header_bytes(shape) +
         std::string(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(double));
}

std::int64_t npy_rows(const std::string &path, std::int64_t width)
{
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return -1;
  const File file(path, O_RDONLY);
  std::string bytes(header_size, '\0');
  if (file.read(bytes.data(), header_size, 0) != header_size) return -1;
  // only a header that would be written here is trusted
  if (bytes.compare(0, magic.size(), magic) != 0 || bytes[6] != 1) return -1;
  if (static_cast<unsigned char>(bytes[8]) != header_size - 10 || bytes[9] != 0) return -1;
  const Header header = parse_header(bytes, path);
  const std::int64_t rows = header.shape.empty() ? -1 : header.shape[0];
  if (header.type != "'<f8'" || header.fortran_order || header.shape != row_shape(rows, width))
    return -1;
  const std::int64_t needed = std::int64_t(header_size) + rows * width * 8;
  return file.size() >= needed ? rows : -1;
}

void append_npy_row(const std::string &path, std::int64_t row, const std::vector<double> &values)
{
  File file(path, O_RDWR);
  const auto width = static_cast<std::int64_t>(values.size());
  const std::int64_t bytes = width * std::int64_t(sizeof(double));
  const std::int64_t offset = std::int64_t(header_size) + row * bytes;
  file.write(values.data(), bytes, offset);
  const std::string header = header_bytes(row_shape(row + 1, width));
  file.write(header.data(), header.size(), 0);
  file.truncate(offset + bytes);  // what an interrupted append left behind
  file.sync();
}

}  // namespace dptrain
