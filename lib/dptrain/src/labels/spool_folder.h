#pragma once

#include <string>
#include <vector>

namespace dptrain {

/// The folder of a spool: a file that says what it is, and a folder for each request. Users know this layout
/// (doc/src/dptrain_label.rst), and python/dptrain/spool.py works with it:
///   spool.json                  {"format": "dptrain spool", "version": 1}
///   NAME/request.xyz            what is asked; a folder without it is no request
///   NAME/answer.xyz             the label
///   NAME/failed.txt             why there is none
///   NAME/answer.xyz.bad1, ...   answers that could not be used
///   NAME/claim                  of the process that works on it
/// Files appear by renaming. Others may look at the folder over a network, so a file is there when it is in the list of its
/// folder: what the system remembers of single names may be old.
class SpoolFolder {
 public:
  static constexpr const char *request = "request.xyz", *answer = "answer.xyz",
                              *failure = "failed.txt";

  /// Takes a new or empty folder, or goes on with a spool that is there. Throws Error where something else is in it, or a
  /// spool of a newer version.
  explicit SpoolFolder(const std::string &path);

  const std::string &path() const { return path_; }
  /// Of a file of a request.
  std::string path(const std::string &name, const std::string &file) const;

  /// Puts a request there, unless it is there already. Returns whether it was. Throws Error where it cannot be written.
  bool put(const std::string &name, const std::string &structure) const;
  /// Names of the files of a request, without hidden ones; none where the spool has no such folder. Throws Error where that
  /// cannot be known.
  std::vector<std::string> files(const std::string &name) const;
  /// Renames the answer to answer.xyz.badN, the first N that is free, and returns that name. Throws Error.
  std::string put_aside(const std::string &name) const;
  /// Removes a request that nobody has begun to work on; else nothing.
  void take_back(const std::string &name) const;

 private:
  std::string path_;
};

/// Whether a list of names has this one.
bool has(const std::vector<std::string> &names, const std::string &name);

}  // namespace dptrain
