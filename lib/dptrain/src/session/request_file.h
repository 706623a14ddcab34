#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dptrain/base/messages.h"
#include "dptrain/parallel/communicator.h"
#include "session/label_request.h"

namespace dptrain {

/// The configurations that are with the reference, on the disk: a run that ends before the answers come is continued with
/// them. Collective; rank 0 has the file, which does not exist while there are none.
class RequestFile {
 public:
  RequestFile(std::shared_ptr<const Communicator> comm, std::string path);

  const std::string &path() const { return path_; }
  /// Replaces the content, which is on the disk when this returns.
  void write(const std::vector<const LabelRequest *> &requests) const;
  /// What is in a file of this kind, the same on all ranks; nothing where there is none. Requests whose configurations are
  /// among the frames of a frames file have been answered, and are left out.
  std::vector<LabelRequest> read(const std::string &path, const std::string &frames) const;
  /// A file of an earlier run, which is not continued, is kept under another name.
  void put_aside(const Log &log) const;

 private:
  std::shared_ptr<const Communicator> comm_;
  std::string path_;
};

/// FILE.requests, which belongs to FILE.frames.
std::string requests_path_of(const std::string &frames);

}  // namespace dptrain
