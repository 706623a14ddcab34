// Operators that TorchScript archives call and LibTorch does not have. All operators of an archive must be known when it is
// loaded, also those in branches that are never run: a model that was frozen where DeePMD-kit's operator library was loaded
// names its operators, whether it uses them or not.
#pragma once

#include <string>

namespace dptrain {

/// How an archive is loaded here.
struct LoadableArchive {
  std::string bytes;
  bool has_stand_ins = false;  ///< calls of absent operators go to operators that only say so
};

/// The archive in a form that can be loaded: as it is where all its operators are known; else the calls of those of
/// DeePMD-kit are renamed to stand-ins in a namespace of ours, so that DeePMD-kit's library can still be loaded later.
/// Throws Error that names operators which nobody knows.
LoadableArchive loadable(const std::string &bytes, const std::string &path);

/// Undoes the renaming, in an archive that is to be written.
std::string with_real_names(const std::string &bytes, const std::string &path);

/// Loads DeePMD-kit's operator library from its package beside that of LibTorch, unless it is loaded already. Returns why
/// that is not possible; empty if it is.
std::string load_deepmd_operators();

}  // namespace dptrain
