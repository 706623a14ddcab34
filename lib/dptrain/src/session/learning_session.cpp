#include "dptrain/session/learning_session.h"

#include <cmath>
#include <optional>
#include <utility>

#include "dptrain/base/error.h"
#include "dptrain/parallel/memory_table.h"
#include "session/active_mode.h"
#include "session/passive_mode.h"

namespace dptrain {

struct LearningSession::Impl {
  Impl(std::shared_ptr<const Communicator> c, std::shared_ptr<ModelSlot> s,
       const LearningOptions &o, const Messages &m) :
      comm(std::move(c)),
      slot(std::move(s)),
      options(o),
      messages(m),
      generation(slot->generation),
      training(comm, slot, options, messages)
  {
  }

  std::shared_ptr<const Communicator> comm;
  std::shared_ptr<ModelSlot> slot;
  LearningOptions options;
  Messages messages;
  int generation;
  OnlineTraining training;
  LabelSource *source = nullptr;
  std::optional<ReferenceDesk> desk;
  std::optional<ActiveMode> active;  // else labels come at regular steps
};

LearningSession::LearningSession(std::shared_ptr<const Communicator> comm,
                                 std::shared_ptr<ModelSlot> slot, const LearningOptions &options,
                                 const Messages &messages, LabelSource *source)
{
  check(options);
  const Messages own_messages = comm->rank() == 0 ? messages : no_messages();
  impl_ = std::make_unique<Impl>(std::move(comm), std::move(slot), options, own_messages);
  impl_->source = source;
}

void LearningSession::start(const LearningSession *before)
{
  Impl &s = *impl_;
  if (before)
    s.training.take_frames(before->impl_->training);
  else if (!s.options.resume.empty())
    s.training.resume(s.options.resume);
  if (s.source) s.desk.emplace(s.comm, *s.source, s.options, s.messages, s.training.counters());
  if (s.options.active)
    s.active.emplace(s.comm, s.slot, s.training, s.desk ? &*s.desk : nullptr, s.options,
                     s.messages);
}

LearningSession::~LearningSession() = default;

void LearningSession::begin_run(std::int64_t step)
{
  if (impl_->active) impl_->active->begin_run(step);
}

void LearningSession::step(Trajectory &run)
{
  if (!impl_->active)
    passive_step(run, impl_->training, *impl_->desk, impl_->options);
  else if (impl_->options.selects)
    impl_->active->selection_step(run);
  else
    impl_->active->step(run);
}

void LearningSession::rescue(Trajectory &run, const std::string &why)
{
  if (!impl_->active) throw Error(why);
  impl_->active->rescue(run, why);
}

void LearningSession::minimization_step(Trajectory &run)
{
  if (impl_->active && !impl_->options.selects) impl_->active->minimization_step(run);
}

void LearningSession::end_run(std::int64_t step, const std::string &name)
{
  if (impl_->active) impl_->active->end_run(step, name);
  save();
}

void LearningSession::on_update(std::function<void()> work)
{
  impl_->training.on_update(std::move(work));
}

void LearningSession::save()
{
  if (!impl_->options.selects) impl_->training.save();
}

LearningReport LearningSession::report() const
{
  const OnlineTraining &training = impl_->training;
  const SessionCounters &counters = training.counters();
  LearningReport report;
  report.frames = counters.frames;
  report.reference_calls = counters.reference_calls;
  report.discarded = counters.discarded;
  report.steps = training.steps();
  report.batch = training.report();
  report.train_seconds = counters.train_seconds;
  report.reference_seconds = counters.reference_seconds;
  report.overflow = training.health().overflow();
  report.shortages = training.health().shortages();
  report.trained = counters.trained;
  if (!impl_->active) return report;
  const ActiveMode &active = *impl_->active;
  report.expected_error = active.expected_error();
  report.threshold = active.learning().threshold();
  report.model_moves = active.model_moves();
  report.held_out_error = active.held_out_error();
  report.found_error = active.found_error();
  report.audits = active.learning().audits();
  report.audits_above = active.learning().audits_above();
  report.energy_jumps = active.jumps();
  report.rewinds = active.rewinds();
  return report;
}

double LearningSession::distance(const Trajectory &run) const
{
  return impl_->active ? impl_->active->distance(run) : HUGE_VAL;
}

bool LearningSession::needs_guard() const
{
  return impl_->active && impl_->active->model_moves() && impl_->active->learning().is_growing();
}

int LearningSession::generation() const
{
  return impl_->generation;
}

std::vector<std::pair<std::string, std::string>> LearningSession::outputs() const
{
  return impl_->training.outputs();
}

std::string LearningSession::memory_table() const
{
  return dptrain::memory_table(*impl_->comm, impl_->training.memory(true));
}

double LearningSession::largest_memory(const char *purpose) const
{
  return impl_->training.health().largest(purpose);
}

std::size_t LearningSession::memory_bytes() const
{
  return total_bytes(impl_->training.memory(false));
}

}  // namespace dptrain
