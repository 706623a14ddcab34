#include "commands/baseline_system.h"

#include <fmt/format.h>
#include <utility>

#include "dptrain/base/error.h"

namespace dptrain {

namespace {

class BaselineSystem final : public DataSystem {
 public:
  BaselineSystem(std::shared_ptr<const DataSystem> system, const EvaluateBaseline &baseline) :
      system_(std::move(system)), baseline_(baseline)
  {
  }
  const std::string &name() const override { return system_->name(); }
  std::int64_t num_frames() const override { return system_->num_frames(); }
  std::int64_t natoms(std::int64_t frame) const override { return system_->natoms(frame); }
  bool same_atoms() const override { return system_->same_atoms(); }
  WholeFrame read(std::int64_t frame) const override
  {
    WholeFrame whole = system_->read(frame);
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
    Label kinds = system_->label_kinds(frame);
    kinds.atom_energy.clear();
    return kinds;
  }
  std::string place(std::int64_t frame) const override { return system_->place(frame); }
  std::string unread_label(const std::string &kind) const override
  {
    return system_->unread_label(kind);
  }

 private:
  std::shared_ptr<const DataSystem> system_;
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
