#pragma once

#include <memory>

namespace dptrain::kernels::recorder {

// What Graphs (graph.h) asks of a device.

bool available();
/// From now on commands in the stream of the kernels are recorded, and not done; false: this cannot be.
bool begin();
/// What was recorded; null where the device could not record it.
std::shared_ptr<void> end();
void launch(const std::shared_ptr<void> &recorded);

}  // namespace dptrain::kernels::recorder
