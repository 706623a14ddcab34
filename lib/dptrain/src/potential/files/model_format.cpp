#include "dptrain/potential/files/model_format.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fstream>

#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/files/pth_file.h"
#include "input/nep_in.h"
#include "io/file.h"
#include "potential/files/dp_format.h"
#include "potential/files/nep_file.h"
#include "potential/files/stored_model.h"

namespace dptrain {

namespace {

/// The model of a checkpoint with its weights in float64: those of the optimizer or, where one is kept, their average.
ModelData read_model_of_checkpoint(const std::string &path, bool)
{
  StoredModel stored = read_stored_model(open_model_file(path), path);
  stored.model.parameters = std::move(stored.average.empty() ? stored.parameters : stored.average);
  return std::move(stored.model);
}

std::string not_dp_because(const ModelData &model)
{
  return model.kind == ModelKind::torchscript
             ? "a TorchScript model is written as .pth: choose a name that ends so"
             : "";
}

/// Text of printable characters, at the beginning at least.
bool looks_like_text(const std::string &bytes)
{
  const auto end = bytes.begin() + std::min<std::size_t>(bytes.size(), 256);
  return std::all_of(bytes.begin(), end, [](unsigned char c) {
    return std::isprint(c) || std::isspace(c) || c >= 0x80;
  });
}

/// The first character that is no blank.
char first_of(const std::string &bytes)
{
  const auto first = bytes.find_first_not_of(" \t\r\n");
  return first == std::string::npos ? '\0' : bytes[first];
}

}  // namespace

const std::vector<ModelFormat> &model_formats()
{
  static const std::vector<ModelFormat> formats{
      {"TorchScript archive", ".pth",
       [](const std::string &bytes, const std::string &) { return is_archive(bytes); }, read_pth,
       not_pth_because, write_pth},
      {"checkpoint", "",
       [](const std::string &bytes, const std::string &path) {
         return Hdf5File::is_hdf5(bytes) && Hdf5File::open(bytes, path).has(checkpoint_group);
       },
       read_model_of_checkpoint, nullptr, nullptr},
      {"NEP of GPUMD", ".txt",
       [](const std::string &bytes, const std::string &) { return is_nep(bytes); },
       [](const std::string &path, bool) { return read_nep(path); }, not_nep_because, write_nep},
      // after the checkpoint, which is one, too
      {"model of DeePMD-kit", ".dp",
       [](const std::string &bytes, const std::string &) { return Hdf5File::is_hdf5(bytes); },
       [](const std::string &path, bool) { return read_dp(path); }, not_dp_because, write_dp},
  };
  return formats;
}

const ModelFormat *format_of_file(const std::string &path)
{
  const std::string bytes = read_file(path);
  for (const ModelFormat &format : model_formats())
    if (format.matches(bytes, path)) return &format;
  return nullptr;
}

const ModelFormat *format_of_name(const std::string &path)
{
  for (const ModelFormat &format : model_formats())
    if (*format.ending && path.ends_with(format.ending)) return &format;
  return nullptr;
}

const ModelFormat &format_to_write(const std::string &path)
{
  const ModelFormat *format = format_of_name(path);
  return format ? *format : *format_of_name(".dp");
}

std::string describe_foreign(const std::string &bytes, const std::string &path)
{
  const auto convert = [](const std::string &file) {
    return fmt::format(
        "convert it with DeePMD-kit: dp convert-backend {} model.pth (or model.dp, of "
        "descriptor se_e2_a)",
        file);
  };
  const auto has = [&](const char *word) { return bytes.find(word) != std::string::npos; };
  const char first = looks_like_text(bytes) ? first_of(bytes) : '\0';
  const std::pair<bool, std::string> kinds[] = {
      {bytes.empty(), "the file is empty; write the model again"},
      {is_archive(bytes), "it is a PyTorch archive (.pth), where a .dp file is expected"},
      {bytes.starts_with("\x80\x02"),
       "it looks like a pickled PyTorch checkpoint; freeze it with DeePMD-kit: dp --pt freeze -o "
       "model.pth"},
      {first == '{',
       "it looks like JSON text; a model file is a .dp file (an input file stands for a new, "
       "untrained model only)"},
      {first && (has("@class") || has("backend:")),
       "it looks like a YAML model of DeePMD-kit; " + convert(path)},
      {first, "it looks like text; a model file is a .dp or a .pth file, or a nep.txt that begins "
              "with nep3, nep4 or nep5"},
      // a serialized GraphDef begins with a node: tag 0x0a and its length
      {bytes.starts_with("\x0a"), "it looks like a TensorFlow graph (.pb); " + convert(path)},
  };
  for (const auto &[is_it, text] : kinds)
    if (is_it) return text;
  return "its format is unknown; a model file is a .dp or a .pth file (" + convert("FILE") + ")";
}

bool is_input_file(const std::string &path)
{
  if (path.ends_with(".json")) return true;
  constexpr std::size_t most = 4096;
  std::ifstream file(path, std::ios::binary);
  std::string begin(most, '\0');
  file.read(begin.data(), most);
  begin.resize(static_cast<std::size_t>(file.gcount()));
  return first_of(begin) == '{' || is_nep_in(begin, path);
}

}  // namespace dptrain
