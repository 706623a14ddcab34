#include "training/shown_errors.h"

#include "training/loss/loss_term.h"

namespace dptrain {

std::vector<ShownError> shown_errors(const LossConfig &loss)
{
  std::vector<ShownError> shown;
  for (const auto &term : make_loss_terms(loss)) {
    const LossTerm::Traits &traits = term->traits();
    if (traits.prefactor.is_on()) shown.push_back({traits.name, traits.shows_mae});
  }
  return shown;
}

}  // namespace dptrain
