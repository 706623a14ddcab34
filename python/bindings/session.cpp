// Learning beside a run of a Python program. The package around it (python/dptrain/session.py) checks arguments and documents
// what users see.

#include <nanobind/stl/array.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>

#include "conversions.h"
#include "dptrain/session/frame_run.h"
#include "dptrain/session/learning_session.h"

namespace {

using dptrain::LabelAnswer;
using dptrain::LearningOptions;

/// A Python function as the source of labels: (positions, types, cell) -> (energy, forces, virial or None), all as NumPy
/// arrays or lists. What it raises is why there is no label.
class FunctionSource final : public dptrain::LabelSource {
 public:
  /// The function from now on; the caller keeps it alive.
  void set(nb::handle function) { function_ = function; }

  std::int64_t submit(const dptrain::WholeFrame &frame) override
  {
    LabelAnswer &answer = answers_[++submitted_];
    answer.request = submitted_;
    try {
      call(frame, answer.label);
    } catch (nb::python_error &error) {
      if (!error.matches(PyExc_Exception)) throw;  // Ctrl-C is no failure of the reference
      answer.failure = nb::cast<std::string>(error.type().attr("__name__")) + ": " +
                       nb::str(error.value()).c_str();
    }
    return submitted_;
  }
  std::vector<LabelAnswer> poll() override
  {
    std::vector<LabelAnswer> answers;
    for (auto &[request, answer] : answers_) answers.push_back(std::move(answer));
    answers_.clear();
    return answers;
  }
  void cancel(std::int64_t request) override { answers_.erase(request); }
  std::int64_t in_flight() const override { return static_cast<std::int64_t>(answers_.size()); }

 private:
  void call(const dptrain::WholeFrame &frame, dptrain::Label &label) const
  {
    const std::size_t n = frame.type.size();
    const nb::object cell =
        frame.periodic ? array({frame.box.begin(), frame.box.end()}, {3, 3}) : nb::none();
    const nb::object result =
        function_(array(std::vector<double>(frame.coord), {n, 3}), nb::cast(frame.type), cell);
    const auto [energy, force, virial] =
        nb::cast<std::tuple<double, std::vector<double>, std::optional<Cell>>>(result);
    label.energy = energy;
    label.force = force;
    label.virial = virial;
  }

  nb::handle function_;
  std::int64_t submitted_ = 0;
  std::map<std::int64_t, LabelAnswer> answers_;
};

/// Sets one option by its name; the names are those of the fields.
void set_option(LearningOptions &o, const std::string &name, const nb::handle &value)
{
  const auto number = [&] { return nb::cast<double>(value); };
  const auto count = [&] { return nb::cast<std::int64_t>(value); };
  const auto small = [&] { return nb::cast<int>(value); };
  const auto text = [&] { return nb::cast<std::string>(value); };
  const auto flag = [&] { return nb::cast<bool>(value); };
  const std::map<std::string, std::function<void()>> options{
      {"active", [&] { o.active = flag(); }},
      {"every", [&] { o.every = count(); }},
      {"follow_reference", [&] { o.follow_reference = flag(); }},
      {"failure_stops", [&] { o.failure_stops = flag(); }},
      {"fmax", [&] { o.force_limit = number(); }},
      {"threshold", [&] { o.threshold = number(); }},
      {"limit", [&] { o.limit = number(); }},
      {"limit_stops", [&] { o.limit_stops = flag(); }},
      {"audit", [&] { o.audit = count(); }},
      {"holdout", [&] { o.holdout = small(); }},
      {"duplicate", [&] { o.duplicate = number(); }},
      {"input", [&] { o.input = text(); }},
      {"train", [&] { o.train = small(); }},
      {"warmup", [&] { o.warmup = small(); }},
      {"target", [&] { o.target = number(); }},
      {"train_seconds", [&] { o.train_seconds = number(); }},
      {"batch", [&] { o.batch = small(); }},
      {"seed", [&] { o.seed = static_cast<std::uint64_t>(count()); }},
      {"buffer", [&] { o.buffer = count(); }},
      {"optimizer", [&] { o.optimizer = text(); }},
      {"ema", [&] { o.ema = number(); }},
      {"stat", [&] { o.stat = text(); }},
      {"save", [&] { o.save = text(); }},
      {"save_every", [&] { o.save_every = count(); }},
      {"frames", [&] { o.frames = text(); }},
      {"resume", [&] { o.resume = text(); }},
      {"dataset", [&] { o.dataset = text(); }},
      {"disp", [&] { o.disp = text(); }},
      {"disp_every", [&] { o.disp_every = count(); }},
      {"composition", [&] { o.composition = text(); }}};
  options.at(name)();
}

class Session {
 public:
  Session(const std::string &model, const std::string &precision, const nb::dict &options) :
      comm_(dptrain::make_mpi_communicator()),
      slot_(std::make_shared<dptrain::ModelSlot>()),
      run_(slot_)
  {
    start_kernels();
    slot_->settings.precision = precision_of(precision);
    slot_->load(*comm_, model, {});
    for (const auto &[name, value] : options)
      set_option(options_, nb::cast<std::string>(name), value);
  }

  std::vector<std::string> type_map() const { return slot_->type_map; }
  double cutoff() const { return slot_->cutoff; }

  // Python's functions come with each call: kept here they would be a cycle that no garbage collector sees.
  nb::tuple step(const Positions &positions, const Types &types, const std::optional<Cell> &cell,
                 nb::handle reference, nb::handle log)
  {
    source_.set(reference);
    log_ = log;
    dptrain::WholeFrame frame = frame_of(positions, types, cell);
    frame.step = step_;
    open();
    run_.show(frame);
    session_->step(run_);
    ++step_;
    const dptrain::FrameValues &values = run_.values();
    const std::size_t n = frame.type.size();
    return nb::make_tuple(values.energy, array(std::vector<double>(values.force), {n, 3}),
                          array({values.virial.begin(), values.virial.end()}, {3, 3}),
                          run_.model_moves());
  }

  void end(const std::string &name, nb::handle log)
  {
    log_ = log;
    if (!session_) return;
    session_->end_run(step_ > 0 ? step_ - 1 : 0, name);
    open_ = false;
  }

  nb::dict report() const
  {
    nb::dict result;
    if (!session_) return result;
    const dptrain::LearningReport r = session_->report();
    result["frames"] = r.frames;
    result["reference_calls"] = r.reference_calls;
    result["discarded"] = r.discarded;
    result["steps"] = r.steps;
    result["loss"] = r.loss;
    result["rmse_e"] = r.rmse_e;
    result["rmse_f"] = r.rmse_f;
    result["train_seconds"] = r.train_seconds;
    result["reference_seconds"] = r.reference_seconds;
    result["trained"] = r.trained;
    result["expected_error"] = r.expected_error;
    result["threshold"] = r.threshold;
    result["model_moves"] = r.model_moves;
    result["held_out_error"] = r.held_out_error;
    result["energy_jumps"] = r.energy_jumps;
    return result;
  }

 private:
  // The files are not touched before the first step.
  void open()
  {
    if (!session_) {
      const auto say = [this](const std::string &start) {
        return [this, start](const std::string &text) { log_(start + text); };
      };
      session_ = std::make_unique<dptrain::LearningSession>(
          comm_, slot_, options_, dptrain::Messages{say(""), say("WARNING: "), say("")}, &source_);
      session_->start();
    }
    if (!open_) session_->begin_run(step_);
    open_ = true;
  }

  std::shared_ptr<const dptrain::Communicator> comm_;
  std::shared_ptr<dptrain::ModelSlot> slot_;
  FunctionSource source_;
  dptrain::FrameRun run_;
  nb::handle log_;
  LearningOptions options_;
  std::unique_ptr<dptrain::LearningSession> session_;
  std::int64_t step_ = 0;
  bool open_ = false;
};

}  // namespace

void add_session(nb::module_ &m)
{
  nb::class_<Session>(m, "Session")
      .def(nb::init<const std::string &, const std::string &, const nb::dict &>())
      .def("step", &Session::step, nb::arg("positions"), nb::arg("types"), nb::arg("cell").none(),
           nb::arg("reference"), nb::arg("log"))
      .def("end", &Session::end)
      .def("report", &Session::report)
      .def_prop_ro("type_map", &Session::type_map)
      .def_prop_ro("cutoff", &Session::cutoff);
}
