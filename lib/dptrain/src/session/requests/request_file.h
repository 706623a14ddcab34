#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dptrain/base/messages.h"
#include "dptrain/parallel/communicator.h"
#include "session/requests/label_request.h"

namespace dptrain {

/// Which of the runs that learn together: `index` of `count`.
struct RunOfGroup {
  int index = 0, count = 1;
};

/// The configurations that are with the reference, on the disk: a run that ends before the answers come is continued with
/// them. Collective; rank 0 has the file, which does not exist while there are none. Of runs that learn together the first one
/// has FILE.requests, the others FILE.requests.1, ...; a number of runs that has changed is made up for.
class RequestFile {
 public:
  /// `frames`: the file of the labeled frames, FILE.frames.
  RequestFile(std::shared_ptr<const Communicator> comm, const std::string &frames, RunOfGroup run);

  /// Replaces the content, which is on the disk when this returns.
  void write(const std::vector<const LabelRequest *> &requests) const;
  /// What is in the files beside the frames of an earlier program, this run's part, the same on all ranks. Requests whose
  /// configurations are among those in the file `frames` have been answered, and are left out.
  std::vector<LabelRequest> read(const std::string &source, const std::string &frames) const;
  /// Removes files beside those of this program that belong to none of its runs: their content has been taken over.
  void drop_orphans() const;
  /// A file of an earlier run, which is not continued, is kept under another name.
  void put_aside(const Log &log) const;

 private:
  bool is_mine(int number) const { return number % run_.count == run_.index; }

  std::shared_ptr<const Communicator> comm_;
  RunOfGroup run_;
  std::string first_path_, path_;
};

/// FILE.requests, which belongs to FILE.frames.
std::string requests_path_of(const std::string &frames);

}  // namespace dptrain
