#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "dptrain/base/error.h"
#include "io/file.h"

namespace dptrain::test {

/// An empty folder that is removed at the end of the test.
class Scratch {
 public:
  Scratch()
  {
    std::string name = (std::filesystem::temp_directory_path() / "dptrain-XXXXXX").string();
    if (!mkdtemp(name.data())) throw Error("no temporary folder");
    path_ = name;
  }
  ~Scratch()
  {
    std::error_code ignored;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  std::string operator/(const std::string &name) const { return path_ + "/" + name; }
  const std::string &path() const { return path_; }
  /// Writes a file and returns its path.
  std::string with(const std::string &name, const std::string &content) const
  {
    write_file(*this / name, content);
    return *this / name;
  }

 private:
  std::string path_;
};

/// Text of the Error that `work` throws; fails the test if it throws none.
template <typename Work> std::string message_of(Work &&work)
{
  try {
    work();
  } catch (const Error &error) {
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

/// Fails unless `text` contains `part`.
inline void expect_in(const std::string &part, const std::string &text)
{
  EXPECT_NE(text.find(part), std::string::npos) << "expected \"" << part << "\" in: " << text;
}

}  // namespace dptrain::test
