#include "dptrain/session/run/learning_session.h"

#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "dptrain/base/error.h"
#include "dptrain/parallel/broadcast.h"
#include "dptrain/parallel/memory_table.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/session/option_table.h"
#include "session/asking/active_mode.h"
#include "session/asking/passive_mode.h"

namespace dptrain {

namespace {

std::string model_text(const ModelInUse &slot)
{
  if (slot.model()) return fmt::format("parameters with hash {}\n", slot.hash());
  std::string text = fmt::format("a new model with cutoff {:g}", slot.cutoff());
  for (const AnyEnergyTermConfig &term : slot.input()->model.terms) text += ", " + term->text();
  return fmt::format("{}, of the input\n{}", text, slot.input_text());
}

/// Of what the option `resume` names; empty: frames without a checkpoint. Collective.
std::string checkpoint_of_resume(const Communicator &comm, const std::string &resume)
{
  std::string path;
  guarded(comm, [&] {
    if (comm.rank() == 0) path = resume_path(resume);
    if (path == frames_path_of(resume)) path.clear();
  });
  broadcast(comm, path);
  return path;
}

}  // namespace

std::optional<double> resumed_cutoff(const Communicator &comm, const std::string &resume)
{
  const std::string path = checkpoint_of_resume(comm, resume);
  if (path.empty()) return std::nullopt;
  double rcut = 0.0;
  guarded(comm, [&] {
    if (comm.rank() == 0) rcut = read_model_file(path).config.rcut;
  });
  comm.broadcast(&rcut, sizeof(rcut), 0);
  return rcut;
}

struct LearningSession::Impl {
  Impl(std::shared_ptr<const Communicator> c, std::shared_ptr<ModelInUse> s,
       const LearningOptions &o, const Messages &m, const Replicas &replicas) :
      comm(std::move(c)),
      slot(std::move(s)),
      options(o),
      messages(m),
      generation(slot->generation()),
      group(make_group(replicas)),
      training(group ? group->everyone() : comm, slot, options,
               !group || group->index() == 0 ? messages : no_messages())
  {
  }

  std::unique_ptr<ReplicaGroup> make_group(const Replicas &replicas) const
  {
    if (!replicas.mpi_comm) return nullptr;
    auto made = std::make_unique<ReplicaGroup>(comm, replicas);
    made->require_same("options",
                       fmt::format("elements {}\nprecision {}\nbaseline {}\n{}",
                                   joined(slot->type_map()), name_of(slot->settings().precision),
                                   text_of(slot->baseline()), common_options(options)));
    made->require_same("model", model_text(*slot));
    return made;
  }

  void start_book(const Impl *before);
  template <class Work> void learn_from_right_labels(const Work &work);

  std::shared_ptr<const Communicator> comm;
  std::shared_ptr<ModelInUse> slot;
  LearningOptions options;
  Messages messages;
  int generation;
  std::unique_ptr<ReplicaGroup> group;  // of runs that learn together; null: this run alone
  OnlineTraining training;
  LabelSource *source = nullptr;
  std::optional<RequestBook> book;
  std::optional<ActiveMode> active;  // else labels come at regular steps
  BarCalibration passive_bars{options.coverage, BarCalibration::Memory()};  // of such labels
  bool failed = false;  // a step has not come to its end
};

// Where the reference is proved wrong, nothing that came from it stays in use. Runs that learn together end one by one: what they have is
// left to those that go on.
template <class Work> void LearningSession::Impl::learn_from_right_labels(const Work &work)
{
  try {
    work();
  } catch (const WrongLabels &error) {
    const std::string done = group ? "" : training.take_back();
    throw Error(fmt::format("{}{}{}", error.what(), done.empty() ? "" : "; ", done));
  }
}

// What rounding leaves of forces is no error that can be learned away.
static void check_accuracy(const Accuracy &accuracy, Precision precision)
{
  const double least = precision == Precision::float64 ? 1e-10 : 1e-5;
  if (accuracy.is_relative && accuracy.value < least)
    throw Error(
        fmt::format("accuracy {:g}% is below what precision {} can reach: use {:g}% or more",
                    100.0 * accuracy.value, name_of(precision), 100.0 * least));
}

LearningSession::LearningSession(std::shared_ptr<const Communicator> comm,
                                 std::shared_ptr<ModelInUse> slot, const LearningOptions &options,
                                 const Messages &messages, LabelSource *source,
                                 const Replicas &replicas)
{
  check(options);
  check_accuracy(options.accuracy, slot->settings().precision);
  if (replicas.mpi_comm && (!options.active || options.selects))
    throw Error("share needs mode active and a reference: runs learn together there");
  if (replicas.mpi_comm && options.explore.steps > 0)
    throw Error("share and explore do not work together: remove explore, and let one of the runs "
                "be hotter than the others");
  if (options.explore.steps > 0 && !slot->baseline().empty())
    throw Error("explore does not know the baseline of the potential: remove explore, and let runs "
                "at other temperatures and volumes learn");
  if (options.asynchronous > 0 && source && !source->works_beside())
    throw Error("asynchronous: this reference computes labels at once, while the run waits: use "
                "one of another program (socket or spool), or remove asynchronous");
  slot->set_charges(options.training.charges);
  if (slot->has_charges() && !slot->total_charge())
    throw Error(fmt::format("{}: charges whose total is that of each frame of the data are learned "
                            "by dptrain train: a run has one total, give its number (terms)",
                            slot->path()));
  const Messages own_messages = comm->rank() == 0 ? messages : no_messages();
  impl_ = std::make_unique<Impl>(std::move(comm), std::move(slot), options, own_messages, replicas);
  impl_->source = source;
}

bool LearningSession::begins_anew(const LearningSession *before) const
{
  const Impl &s = *impl_;
  const std::string &resume = s.options.files.resume;
  if (s.slot->model() || before || resume.empty()) return !s.slot->model();
  return checkpoint_of_resume(*s.comm, resume).empty();
}

void LearningSession::start(const LearningSession *before)
{
  Impl &s = *impl_;
  if (before && s.group)
    throw Error("share: a model that is trained by several runs together cannot be given again: "
                "remove the second pair_coeff");
  if (before)
    s.training.take_frames(before->impl_->training);
  else if (!s.options.files.resume.empty())
    s.training.resume(s.options.files.resume);
  if (s.source) s.start_book(before ? before->impl_.get() : nullptr);
  if (s.options.active)
    s.active.emplace(s.comm, s.slot, s.training, s.book ? &*s.book : nullptr, s.group.get(),
                     s.options, s.messages);
}

// What was with the reference goes with the frames.
void LearningSession::Impl::start_book(const Impl *before)
{
  const RunOfGroup run = group ? RunOfGroup{group->index(), group->count()} : RunOfGroup{};
  book.emplace(comm, *source, options, messages, training.counters().reference,
               training.counters().training, slot->type_map(), run);
  if (before && before->book)
    book->take_over(*before->book, training.types_of(before->training));
  else if (!options.files.resume.empty())
    book->resume(frames_path_of(options.files.resume), options.files.frames_path());
  else
    book->begin();
}

// After an error nobody waits for the others.
LearningSession::~LearningSession()
{
  if (!impl_ || !impl_->group || !impl_->active || impl_->failed) return;
  try {
    impl_->active->leave_group();
  } catch (const std::exception &error) {
    impl_->messages.warning(fmt::format(
        "the others learn on without this run, look up what has failed: {}", error.what()));
  }
}

void LearningSession::begin_run(std::int64_t step)
{
  if (impl_->active) return impl_->active->begin_run(step);
  const std::int64_t every = impl_->options.every;  // of labels, which the bars are compared with
  impl_->slot->set_bars_due([every](std::int64_t now) { return now % every == 0; });
}

void LearningSession::step(Trajectory &run)
{
  impl_->failed = true;
  impl_->learn_from_right_labels([&] {
    if (!impl_->active)
      passive_step(run, impl_->training, *impl_->book, *impl_->slot, impl_->passive_bars,
                   impl_->options);
    else if (impl_->options.selects)
      impl_->active->selection_step(run);
    else
      impl_->active->step(run);
  });
  impl_->failed = false;
}

void LearningSession::rescue(Trajectory &run, const std::string &why)
{
  if (!impl_->active) throw Error(why);
  impl_->active->rescue(run, why);
}

void LearningSession::minimization_step(Trajectory &run)
{
  if (impl_->active && !impl_->options.selects)
    impl_->learn_from_right_labels([&] { impl_->active->minimization_step(run); });
}

void LearningSession::explore(Trajectory &run)
{
  if (!impl_->active || impl_->options.explore.steps == 0) return;
  save();  // what the run has learned, whatever happens to the reference
  impl_->learn_from_right_labels([&] { impl_->active->explore(run); });
}

void LearningSession::end_run(std::int64_t step, const std::string &name)
{
  if (impl_->active) impl_->learn_from_right_labels([&] { impl_->active->end_run(step, name); });
  if (impl_->group) return;  // all of them have saved together, and others may go on
  save();
  impl_->training.release_files();
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
  report.frames = counters.frames.stored;
  report.reference_calls = counters.reference.calls;
  report.discarded = counters.reference.discarded;
  report.steps = training.steps();
  report.batch = training.report();
  report.train_seconds = counters.training.seconds;
  report.reference_seconds = counters.reference.seconds;
  report.overflow = training.health().overflow();
  report.shortages = training.health().shortages();
  report.trained = counters.training.trained;
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
  report.in_flight = active.in_flight();
  report.rewinds = active.rewinds();
  return report;
}

double LearningSession::distance(const Trajectory &run) const
{
  return impl_->active ? impl_->active->distance(run) : HUGE_VAL;
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
