#include "kernels/recorder.h"

#include <functional>
#include <vector>

#include "rehearsal/stream.h"

namespace dptrain::kernels::recorder {

using Tasks = std::vector<std::function<void()>>;

bool available()
{
  return true;
}

bool begin()
{
  rehearsal::begin_recording();
  return true;
}

std::shared_ptr<void> end()
{
  return std::make_shared<Tasks>(rehearsal::end_recording());
}

void launch(const std::shared_ptr<void> &recorded)
{
  for (const auto &task : *static_cast<const Tasks *>(recorded.get())) rehearsal::enqueue(task);
}

}  // namespace dptrain::kernels::recorder
