#include <algorithm>
#include <cctype>
#include <fmt/format.h>

#include "base/text.h"
#include "dptrain/base/error.h"
#include "dptrain/io/atomic_file.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/files/pth_file.h"
#include "dptrain/potential/model/model_data.h"
#include "io/file.h"
#include "potential/files/dp_format.h"

namespace dptrain {

namespace {

/// Text of printable characters, at the beginning at least.
bool looks_like_text(const std::string &bytes)
{
  const auto end = bytes.begin() + std::min<std::size_t>(bytes.size(), 256);
  return std::all_of(bytes.begin(), end, [](unsigned char c) {
    return std::isprint(c) || std::isspace(c) || c >= 0x80;
  });
}

/// What a file that is not HDF5 seems to be, and what to do with it.
std::string describe_foreign(const std::string &bytes, const std::string &path)
{
  const std::string convert = "convert it with DeePMD-kit: dp convert-backend ";
  const std::string targets = " model.pth (or model.dp, of descriptor se_e2_a)";
  if (bytes.empty()) return "the file is empty; write the model again";
  if (is_archive(bytes)) return "it is a PyTorch archive (.pth), where a .dp file is expected";
  if (starts_with(bytes, "\x80\x02"))
    return "it looks like a pickled PyTorch checkpoint; freeze it with DeePMD-kit: dp --pt freeze "
           "-o model.pth";
  const auto first = bytes.find_first_not_of(" \t\r\n");
  if (looks_like_text(bytes) && first != std::string::npos) {
    if (bytes[first] == '{')
      return "it looks like JSON text; a model file is a .dp file (an input file stands for a new, "
             "untrained model only)";
    if (bytes.find("@class") != std::string::npos || bytes.find("backend:") != std::string::npos)
      return fmt::format("it looks like a YAML model of DeePMD-kit; {}{}{}", convert, path,
                         targets);
    return "it looks like text; a model file is a .dp or a .pth file";
  }
  // a serialized TensorFlow GraphDef begins with a node: tag 0x0a and its length
  if (bytes[0] == '\x0a')
    return fmt::format("it looks like a TensorFlow graph (.pb); {}{}{}", convert, path, targets);
  return fmt::format("its format is unknown; a model file is a .dp or a .pth file ({}FILE{})",
                     convert, targets);
}

}  // namespace

Hdf5File open_model_file(const std::string &path)
{
  const std::string bytes = read_file(path);
  if (!Hdf5File::is_hdf5(bytes))
    throw Error(fmt::format("{}: not a .dp model file (HDF5), expected one: {}", path,
                            describe_foreign(bytes, path)));
  return Hdf5File::open(bytes, path);
}

ModelData read_dp(const std::string &path)
{
  return read_model_tree(open_model_file(path), path);
}

void write_dp(const std::string &path, const ModelData &data)
{
  Hdf5File file = Hdf5File::create(path);
  write_model_tree(file, data);
  const std::string bytes = file.bytes();
  write_atomically(path, [&](const std::string &name) { write_file(name, bytes); });
}

}  // namespace dptrain
