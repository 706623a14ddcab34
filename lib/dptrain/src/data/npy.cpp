#include "data/npy.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "dptrain/base/error.h"

namespace dptrain {

namespace {

constexpr std::size_t written_header_size = 128;  // of files written here: room for any shape
constexpr std::size_t max_header = 1 << 16;
const std::string npy_magic("\x93NUMPY", 6);

[[noreturn]] void fail(const std::string &path, const std::string &what)
{
  throw Error(path + ": " + what);
}

[[noreturn]] void damaged(const std::string &path, const std::string &what)
{
  fail(path, fmt::format("damaged .npy header: {}; write the file again with numpy.save", what));
}

/// Where the text of the header begins and how long it is.
struct Extent {
  std::size_t start = 0, length = 0;
};

Extent header_extent(const std::string &bytes, const std::string &path)
{
  if (bytes.size() < 12 || bytes.compare(0, npy_magic.size(), npy_magic) != 0)
    fail(path, "not a NumPy .npy file; write it with numpy.save");
  const auto byte = [&](std::size_t i) {
    return std::size_t(static_cast<unsigned char>(bytes[i]));
  };
  if (byte(6) < 1 || byte(6) > 3)
    fail(path, fmt::format(
                   ".npy format {}.{}, known are 1.0 to 3.0; write the file again with numpy.save",
                   byte(6), byte(7)));
  if (byte(6) == 1) return {10, byte(8) | byte(9) << 8};
  return {12, byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24};
}

/// Text of the value that follows 'key': in the Python dictionary of the header; of a tuple what stands inside.
std::string entry(const std::string &text, const std::string &key, const std::string &path)
{
  const auto start = text.find("'" + key + "':");
  if (start == std::string::npos) damaged(path, fmt::format("no '{}'", key));
  const auto value = text.find_first_not_of(' ', start + key.size() + 3);
  const bool tuple = value != std::string::npos && text[value] == '(';
  const auto end = value == std::string::npos ? value
                   : tuple                    ? text.find(')', value)
                                              : text.find_first_of(",}", value);
  if (end == std::string::npos) damaged(path, fmt::format("no value of '{}'", key));
  const auto first = tuple ? value + 1 : value;
  return text.substr(first, end - first);
}

std::vector<std::int64_t> parse_shape(const std::string &text, const std::string &path)
{
  std::vector<std::int64_t> shape;
  std::size_t position = 0;
  while (position < text.size()) {
    std::size_t end = std::min(text.find(',', position), text.size());
    const std::string item = text.substr(position, end - position);
    position = end + 1;
    const auto first = item.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    const auto last = item.find_first_not_of("0123456789", first);
    if (last == first || item.find_first_not_of(" L", last) != std::string::npos ||
        item.substr(first, last - first).size() > 18)
      damaged(path, fmt::format("shape ({}), expected a tuple of integers", text));
    shape.push_back(std::stoll(item.substr(first)));
  }
  if (shape.size() > 32) damaged(path, fmt::format("{} dimensions", shape.size()));
  return shape;
}

std::int64_t checked_count(const NpyHeader &header, std::int64_t file_size, const std::string &path)
{
  const std::int64_t available =
      (file_size - header.data) / static_cast<std::int64_t>(header.type.size);
  for (const auto extent : header.shape)
    if (extent == 0) return 0;
  std::int64_t count = 1;
  for (const auto extent : header.shape) {
    if (extent > available / count) {
      std::string text;
      for (const auto number : header.shape)
        text += (text.empty() ? "" : ", ") + std::to_string(number);
      fail(path, fmt::format("truncated: the header tells the shape ({}), but only {} numbers "
                             "follow; copy or write the file again",
                             text, available));
    }
    count *= extent;
  }
  if (count > available)
    fail(path, "truncated: no number follows the header; copy or write the file again");
  return count;
}

std::string header_bytes(const std::vector<std::int64_t> &shape)
{
  std::string text = "{'descr': '<f8', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  text += shape.size() == 1 ? ",), }" : "), }";
  text.resize(written_header_size - 11, ' ');
  const std::size_t length = written_header_size - 10;
  return npy_magic + std::string("\1\0", 2) + static_cast<char>(length & 0xFF) +
         static_cast<char>(length >> 8) + text + "\n";
}

std::vector<std::int64_t> row_shape(std::int64_t rows, std::int64_t width)
{
  if (width == 1) return {rows};
  return {rows, width};
}

}  // namespace

NpyHeader parse_npy_header(const std::string &start, std::int64_t file_size,
                           const std::string &path)
{
  const Extent extent = header_extent(start, path);
  if (extent.length > max_header)
    damaged(path, fmt::format("it has a length of {} bytes", extent.length));
  if (start.size() < extent.start + extent.length)
    fail(path, "truncated: the file ends within the .npy header; copy or write it again");
  const std::string text = start.substr(extent.start, extent.length);
  NpyHeader header;
  header.data = static_cast<std::int64_t>(extent.start + extent.length);
  header.type_name = entry(text, "descr", path);
  const std::size_t length = header.type_name.size();
  const auto type = number_type(length > 2 ? header.type_name.substr(1, length - 2) : "");
  if (!type)
    fail(path, fmt::format(
                   "holds values of type {}, expected float16, float32, float64, integers or bool",
                   header.type_name));
  header.type = *type;
  const std::string order = entry(text, "fortran_order", path);
  if (order != "True" && order != "False") damaged(path, fmt::format("fortran_order is {}", order));
  header.fortran_order = order == "True";
  header.shape = parse_shape(entry(text, "shape", path), path);
  header.count = checked_count(header, file_size, path);
  return header;
}

NpyHeader read_npy_header(const File &file)
{
  std::string start(written_header_size, '\0');
  start.resize(file.read(start.data(), start.size(), 0));
  const Extent extent = header_extent(start, file.path());
  const std::size_t needed = extent.start + std::min(extent.length, max_header);
  if (needed > start.size()) {
    start.resize(needed);
    start.resize(file.read(start.data(), start.size(), 0));
  }
  return parse_npy_header(start, file.size(), file.path());
}

std::int64_t fortran_position(const std::vector<std::int64_t> &shape, std::int64_t index)
{
  std::int64_t position = 0, stride = 1;
  for (const auto extent : shape) stride *= extent;
  for (std::size_t d = shape.size(); d-- > 0;) {
    stride /= shape[d];
    position += index % shape[d] * stride;
    index /= shape[d];
  }
  return position;
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
  std::string bytes(written_header_size, '\0');
  if (file.read(bytes.data(), written_header_size, 0) != written_header_size) return -1;
  // only a header that would be written here is trusted
  if (bytes.compare(0, npy_magic.size(), npy_magic) != 0 || bytes[6] != 1) return -1;
  if (static_cast<unsigned char>(bytes[8]) != written_header_size - 10 || bytes[9] != 0) return -1;
  try {
    const NpyHeader header = parse_npy_header(bytes, file.size(), path);
    const std::int64_t rows = header.shape.empty() ? -1 : header.shape[0];
    const bool same = header.type_name == "'<f8'" && !header.fortran_order &&
                      header.shape == row_shape(rows, width);
    return same ? rows : -1;
  } catch (const Error &) {
    return -1;
  }
}

void append_npy_row(const std::string &path, std::int64_t row, const std::vector<double> &values)
{
  File file(path, O_RDWR);
  const auto width = static_cast<std::int64_t>(values.size());
  const std::int64_t bytes = width * std::int64_t(sizeof(double));
  const std::int64_t offset = std::int64_t(written_header_size) + row * bytes;
  file.write(values.data(), bytes, offset);
  const std::string header = header_bytes(row_shape(row + 1, width));
  file.write(header.data(), header.size(), 0);
  file.truncate(offset + bytes);  // what an interrupted append left behind
  file.sync();
}

}  // namespace dptrain
