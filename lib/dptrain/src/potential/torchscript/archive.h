// TorchScript archives (.pth, zip files with source text and tensors) as bytes in memory.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace dptrain {

/// A file inside an archive, without the archive's own folder: "code/__torch__/...py", "data.pkl", "extra/NAME".
struct ArchiveRecord {
  std::string name;
  std::string bytes;
};

/// Names of all files inside. Throws Error that names `path` if the bytes are no archive of PyTorch, or a damaged one.
std::vector<std::string> record_names(const std::string &bytes, const std::string &path);

/// The files whose names begin so.
std::vector<ArchiveRecord> read_records(const std::string &bytes, const std::string &path,
                                        const std::string &beginning);

/// The same archive with the source text of its code passed through `edit`. What only a debugger reads (which text an
/// instruction comes from) is left out.
std::string with_edited_code(const std::string &bytes, const std::string &path,
                             const std::function<void(std::string &)> &edit);

}  // namespace dptrain
