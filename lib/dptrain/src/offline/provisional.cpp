// run_statistics is written elsewhere.

#include "dptrain/error.h"
#include "dptrain/offline.h"

namespace dptrain {

void run_statistics(std::shared_ptr<const Communicator>, const StatOptions &, const Log &)
{
  throw Error("not yet");
}

}  // namespace dptrain
