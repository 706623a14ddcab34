// What the environment says about threads.
#pragma once

namespace dptrain {

/// The number of threads that the text of OMP_NUM_THREADS asks for on the outer level, at most 1024; 0: nothing valid.
int asked_threads(const char *text);

}  // namespace dptrain
