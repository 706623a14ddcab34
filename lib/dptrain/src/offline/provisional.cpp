#include "dptrain/error.h"
#include "dptrain/offline.h"
#include "dptrain/trainer.h"
namespace dptrain {
void run_test(std::shared_ptr<const Communicator>, const TestOptions &, const Log &)
{
  throw Error("not yet");
}
void run_statistics(std::shared_ptr<const Communicator>, const StatOptions &, const Log &)
{
  throw Error("not yet");
}
UpdateReport Trainer::update(const std::vector<const Frame *> &)
{
  throw Error("not yet");
}
UpdateReport Trainer::errors(const std::vector<const Frame *> &)
{
  throw Error("not yet");
}
}  // namespace dptrain
