#pragma once

#include "session/requests/label_request.h"

namespace dptrain {

/// A request and the label that answers it.
struct AnsweredRequest {
  LabelRequest request;
  Label label;
  ForceErrors errors = {};  ///< of the model at the time of the request; zero without scores
  bool is_outlier = false;  ///< in trouble, and too far from all other labels to be learned
  bool is_doubted = false;  ///< contradicts other labels
  int run = 0;              ///< which of the runs that learn together has asked
};
DPTRAIN_FIELDS(AnsweredRequest, request, label, errors, is_outlier, is_doubted, run)

}  // namespace dptrain
