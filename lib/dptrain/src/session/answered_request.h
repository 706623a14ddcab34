#pragma once

#include "session/label_request.h"

namespace dptrain {

/// A request and the label that answers it.
struct AnsweredRequest {
  LabelRequest request;
  Label label;
  int run = 0;  ///< which of the runs that learn together has asked
};

}  // namespace dptrain
