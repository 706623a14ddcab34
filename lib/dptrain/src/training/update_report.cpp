#include "dptrain/training/update_report.h"

namespace dptrain {

State UpdateReport::state() const
{
  State state, errors_by_term;
  state.set_integer("step", step);
  state.set_number("loss", loss);
  state.set_number("learning_rate", learning_rate);
  for (const TermErrors &of_term : terms) {
    State group;
    group.set_number("rmse", of_term.rmse);
    group.set_number("mae", of_term.mae);
    errors_by_term.set_group(of_term.term, std::move(group));
  }
  state.set_group("terms", std::move(errors_by_term));
  return state;
}

UpdateReport UpdateReport::from(const State &state)
{
  UpdateReport report;
  report.step = state.integer("step");
  report.loss = state.number("loss");
  report.learning_rate = state.number("learning_rate");
  state.group("terms").for_each_group([&](const std::string &term, const State &errors) {
    report.terms.push_back({term, errors.number("rmse"), errors.number("mae")});
  });
  return report;
}

}  // namespace dptrain
