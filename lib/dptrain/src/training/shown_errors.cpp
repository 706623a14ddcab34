#include "training/shown_errors.h"

namespace dptrain {

namespace {

/// A term of the loss, and where a report has its error.
struct Term {
  double start, limit;
  const char *name;
  double UpdateReport::*rmse;
  double UpdateReport::*mae;
};

}  // namespace

std::vector<ShownError> shown_errors(const LossConfig &loss)
{
  using R = UpdateReport;
  const bool mae = loss.function == LossFunction::mae;
  std::vector<ShownError> shown;
  for (const Term &term :
       {Term{loss.start_pref_e, loss.limit_pref_e, "e", &R::rmse_e, &R::mae_e},
        Term{loss.start_pref_f, loss.limit_pref_f, "f", &R::rmse_f, &R::mae_f},
        Term{loss.start_pref_v, loss.limit_pref_v, "v", &R::rmse_v, &R::mae_v},
        Term{loss.start_pref_ae, loss.limit_pref_ae, "ae", &R::rmse_ae, &R::mae_ae},
        Term{loss.start_pref_pf, loss.limit_pref_pf, "pf", &R::rmse_pf, &R::mae_pf},
        Term{loss.start_pref_gf, loss.limit_pref_gf, "gf", &R::rmse_gf, nullptr}}) {
    if (term.start == 0.0 || term.limit == 0.0) continue;
    if (mae && term.mae)
      shown.push_back({term.name, std::string("mae_") + term.name, term.mae});
    else
      shown.push_back({term.name, std::string("rmse_") + term.name, term.rmse});
  }
  return shown;
}

}  // namespace dptrain
