#include "potential/torchscript/operators.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/library.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <utility>

#include "dptrain/base/error.h"
#include "potential/torchscript/archive.h"

namespace dptrain {

namespace {

const std::string real_prefix = "ops.deepmd.";
const std::string stand_in_prefix = "ops.dptrain_stand_in.";

/// Signatures of DeePMD-kit's operators (versions 3.0 to 3.2), by name.
const std::vector<std::pair<std::string, std::string>> &deepmd_operators()
{
  static const std::string table =
      "(Tensor table, Tensor info, Tensor em_x, Tensor em, int last) -> Tensor[]";
  static const std::vector<std::pair<std::string, std::string>> operators{
      {"tabulate_fusion_se_a", table},
      {"tabulate_fusion_se_t", table},
      {"tabulate_fusion_se_t_tebd", table},
      {"tabulate_fusion_se_r", "(Tensor table, Tensor info, Tensor em, int last) -> Tensor[]"},
      {"tabulate_fusion_se_atten", "(Tensor table, Tensor info, Tensor em_x, Tensor em, Tensor "
                                   "two_embed, int last, bool sorted) -> Tensor[]"},
      {"border_op",
       "(Tensor send_list, Tensor send_proc, Tensor recv_proc, Tensor send_num, Tensor recv_num, "
       "Tensor values, Tensor communicator, Tensor nlocal, Tensor nghost) -> Tensor[]"}};
  return operators;
}

void refuse_call(const c10::OperatorHandle &op, torch::jit::Stack * /*arguments*/)
{
  TORCH_CHECK(false, "the operator ", op.schema().name(),
              " stands for one of DeePMD-kit's operator library, which is not loaded");
}

/// Registered once, at the first archive that needs them.
void register_stand_ins()
{
  static const torch::Library library = [] {
    torch::Library made(torch::Library::DEF, "dptrain_stand_in", std::nullopt, __FILE__, __LINE__);
    for (const auto &[name, signature] : deepmd_operators())
      made.def((name + signature).c_str(),
               torch::CppFunction::makeFromBoxedFunction<&refuse_call>());
    return made;
  }();
}

bool is_registered(const std::string &name_space, const std::string &name)
{
  const auto symbol = c10::Symbol::fromQualString(name_space + "::" + name);
  return !torch::jit::getAllOperatorsFor(symbol).empty();
}

/// Operators that the code calls and nobody has registered, as NAMESPACE.NAME.
std::set<std::string> unknown_operators(const std::string &bytes, const std::string &path)
{
  static const std::regex call("\\bops\\.([A-Za-z_0-9]+)\\.([A-Za-z_0-9]+)");
  std::set<std::string> unknown;
  for (const ArchiveRecord &record : read_records(bytes, path, "code/")) {
    if (std::filesystem::path(record.name).extension() != ".py") continue;
    for (std::sregex_iterator it(record.bytes.begin(), record.bytes.end(), call), end; it != end;
         ++it)
      if (!is_registered((*it)[1], (*it)[2])) unknown.insert((*it)[1].str() + "." + (*it)[2].str());
  }
  return unknown;
}

void replace_all(std::string &text, const std::string &from, const std::string &to)
{
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at))
    text.replace(at, from.size(), to), at += to.size();
}

/// The folder of the Python packages of which LibTorch is one.
std::filesystem::path packages_folder()
{
  Dl_info info{};
  const auto *address = reinterpret_cast<const void *>(&torch::jit::getAllOperatorsFor);
  if (dladdr(address, &info) == 0 || !info.dli_fname) return {};
  std::error_code ignored;
  return std::filesystem::canonical(info.dli_fname, ignored)
      .parent_path()
      .parent_path()
      .parent_path();
}

}  // namespace

LoadableArchive loadable(const std::string &bytes, const std::string &path)
{
  const std::set<std::string> unknown = unknown_operators(bytes, path);
  if (unknown.empty()) return {bytes, false};
  const auto &known = deepmd_operators();
  std::string foreign;
  for (const std::string &name : unknown)
    if (std::none_of(known.begin(), known.end(),
                     [&](const auto &op) { return "deepmd." + op.first == name; }))
      foreign += (foreign.empty() ? "" : ", ") + name;
  if (!foreign.empty())
    throw Error(
        fmt::format("{}: a TorchScript archive that calls operators which are neither LibTorch's "
                    "nor among those of DeePMD-kit 3.0 to 3.2: {}. Load the library that has them "
                    "before (plugin load), or freeze the model with DeePMD-kit 3.0 to 3.2",
                    path, foreign));
  register_stand_ins();
  return {
      with_edited_code(bytes, path,
                       [](std::string &text) { replace_all(text, real_prefix, stand_in_prefix); }),
      true};
}

std::string with_real_names(const std::string &bytes, const std::string &path)
{
  return with_edited_code(
      bytes, path, [](std::string &text) { replace_all(text, stand_in_prefix, real_prefix); });
}

std::string load_deepmd_operators()
{
  if (is_registered("deepmd", deepmd_operators().front().first)) return "";
  const std::filesystem::path folder = packages_folder();
  const std::filesystem::path library = folder / "deepmd" / "lib" / "libdeepmd_op_pt.so";
  if (!std::filesystem::exists(library))
    return fmt::format("there is no {}: install deepmd-kit there", library.string());
  for (const auto &file : {folder / "torch" / "lib" / "libtorch.so", library})
    if (!dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL)) return dlerror();
  return "";
}

}  // namespace dptrain
