#pragma once

#include "session/requests/label_request.h"

namespace dptrain {

/// A request and the label that answers it.
struct AnsweredRequest {
  LabelRequest request;
  Label label;
  ForceErrors errors = {};  ///< of the model at the time of the request; zero without scores
  bool is_outlier =
      false;    ///< the run was in trouble, and the label is too far from all others to be learned
  int run = 0;  ///< which of the runs that learn together has asked
};
DPTRAIN_FIELDS(AnsweredRequest, request, label, errors, is_outlier, run)

}  // namespace dptrain
