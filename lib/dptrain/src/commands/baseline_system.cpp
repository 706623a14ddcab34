#include "commands/baseline_system.h"

#include <fmt/format.h>
#include <utility>

#include "commands/system_view.h"
#include "dptrain/base/error.h"

namespace dptrain {

namespace {

class BaselineSystem final : public SystemView {
 public:
  BaselineSystem(std::shared_ptr<const DataSystem> system, const EvaluateBaseline &baseline) :
      SystemView(std::move(system)), baseline_(baseline)
  {
  }
  WholeFrame read(std::int64_t frame) const override
  {
    WholeFrame whole = SystemView::read(frame);
    whole.label.atom_energy.clear();  // a baseline has none
    try {
      dptrain::add(whole.label, baseline_(whole), -1.0);
    } catch (const Error &error) {
      throw Error(fmt::format("baseline of {}: {}", place(frame), error.what()));
    }
    return whole;
  }
  Label label_kinds(std::int64_t frame) const override
  {
    Label kinds = SystemView::label_kinds(frame);
    kinds.atom_energy.clear();
    return kinds;
  }

 private:
  EvaluateBaseline baseline_;
};

}  // namespace

Systems less_baseline(const Systems &systems, const EvaluateBaseline &baseline)
{
  Systems result;
  for (const auto &system : systems)
    result.push_back(std::make_shared<BaselineSystem>(system, baseline));
  return result;
}

}  // namespace dptrain
