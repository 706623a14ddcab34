// Learning beside a run of a Python program. The package around it (python/dptrain/session.py) checks arguments and documents
// what users see.

#include <nanobind/stl/array.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "conversions.h"
#include "dptrain/session/frame_run.h"
#include "dptrain/session/option_table.h"
#include "dptrain/session/run/learning_session.h"

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
    const nb::gil_scoped_acquire interpreter;
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

class Session {
 public:
  Session(const std::string &model, const std::string &precision,
          const std::map<std::string, std::string> &options, bool failure_stops, nb::handle log) :
      log_(log),
      comm_(dptrain::make_mpi_communicator()),
      slot_(std::make_shared<dptrain::ModelInUse>(
          dptrain::ModelSettings{.precision = dptrain::precision_of(precision)})),
      run_(slot_)
  {
    start_kernels();
    slot_->load(*comm_, model, {});
    if (!slot_->baseline().empty())
      throw dptrain::Error(model + " has the baseline " + name_of(slot_->baseline()) +
                           ", which LAMMPS evaluates: train it in LAMMPS (fix dptrain), or with "
                           "'dptrain train'");
    options_.files.frames = "dptrain.frames";
    options_.failure_stops = failure_stops;
    set_options(options_, options);
    if (options_.explore.steps > 0 && !options_.explore.temperature)
      throw dptrain::Error("explore needs explore_temperature here, in K: a session does not know "
                           "the velocities of the atoms");
    make_session();
    for (const auto &[keyword, path] : session_->outputs()) outputs_.push_back(path);
  }

  std::vector<std::string> type_map() const { return slot_->type_map(); }
  /// The longest possible one, as long as it is open.
  double cutoff() const { return slot_->cutoff(); }
  /// Full paths of the files that the session writes.
  const std::vector<std::string> &outputs() const { return outputs_; }

  // Python's functions come with each call: kept here they would be a cycle that no garbage collector sees.
  nb::tuple step(const Positions &positions, const Types &types, const std::optional<Cell> &cell,
                 nb::handle reference, nb::handle log)
  {
    start_kernels();
    source_.set(reference);
    log_ = log;
    dptrain::WholeFrame frame = frame_of(positions, types, cell);
    frame.step = step_;
    {
      nb::gil_scoped_release others_may_run;
      open(frame);
      run_.show(frame);
      session_->step(run_);
    }
    ++step_;
    report_ = session_->report();
    const dptrain::FrameValues &values = run_.values();
    const std::size_t n = frame.type.size();
    return nb::make_tuple(values.energy, array(std::vector<double>(values.force), {n, 3}),
                          values.has_virial
                              ? array({values.virial.begin(), values.virial.end()}, {3, 3})
                              : nb::none(),
                          run_.model_moves());
  }

  void end(const std::string &name, nb::handle reference, nb::handle log)
  {
    source_.set(reference);
    log_ = log;
    if (!open_) return;
    start_kernels();
    {
      nb::gil_scoped_release others_may_run;
      session_->explore(run_);
      session_->end_run(std::max<std::int64_t>(step_ - 1, 0), name);
    }
    open_ = false;
    report_ = session_->report();
  }

  void save(nb::handle log)
  {
    log_ = log;
    if (!started_) return;
    start_kernels();
    const nb::gil_scoped_release others_may_run;
    session_->save();
  }

  nb::dict report() const
  {
    nb::dict result;
    if (!report_) return result;
    const dptrain::LearningReport &r = *report_;
    result["frames"] = r.frames;
    result["reference_calls"] = r.reference_calls;
    result["discarded"] = r.discarded;
    result["steps"] = r.steps;
    result["loss"] = r.batch.loss;
    result["rmse_e"] = result["rmse_f"] = 0.0;
    for (const dptrain::TermErrors &errors : r.batch.terms)
      result[("rmse_" + errors.term).c_str()] = errors.rmse;
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
  void make_session()
  {
    const auto say = [this](const std::string &start) {
      return [this, start](const std::string &text) {
        const nb::gil_scoped_acquire interpreter;
        log_(start + text);
      };
    };
    session_ = std::make_unique<dptrain::LearningSession>(
        comm_, slot_, options_, dptrain::Messages{say(""), say("WARNING: "), say("")}, &source_);
    session_->on_update([] {  // Ctrl-C
      const nb::gil_scoped_acquire interpreter;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    });
  }

  // Of a new model, where the input leaves it to the structure.
  void choose_cutoff(const dptrain::WholeFrame &frame)
  {
    if (!slot_->cutoff_is_open()) return;
    std::optional<double> resumed;
    if (!options_.files.resume.empty())
      resumed = dptrain::resumed_cutoff(*comm_, options_.files.resume);
    if (resumed) return slot_->choose_cutoff(*resumed);
    const std::string text = slot_->choose_cutoff(frame);
    if (comm_->rank() != 0) return;
    const nb::gil_scoped_acquire interpreter;
    log_(text);
    if (!slot_->warning().empty()) log_("WARNING: " + slot_->warning());
  }

  // The files are not touched before the first step.
  void open(const dptrain::WholeFrame &frame)
  {
    if (!started_) {
      choose_cutoff(frame);
      if (!session_) make_session();
      try {
        session_->start();
      } catch (...) {
        session_.reset();  // half made
        throw;
      }
      started_ = true;
    }
    if (!open_) session_->begin_run(step_);
    open_ = true;
  }

  nb::handle log_;  // of the present call
  std::shared_ptr<const dptrain::Communicator> comm_;
  std::shared_ptr<dptrain::ModelInUse> slot_;
  FunctionSource source_;
  dptrain::FrameRun run_;
  LearningOptions options_;
  std::vector<std::string> outputs_;
  std::unique_ptr<dptrain::LearningSession> session_;
  std::optional<dptrain::LearningReport> report_;  // after the latest step, for all threads
  std::int64_t step_ = 0;
  bool started_ = false, open_ = false;
};

}  // namespace

void add_session(nb::module_ &m)
{
  nb::class_<Session>(m, "Session")
      .def(nb::init<const std::string &, const std::string &,
                    const std::map<std::string, std::string> &, bool, nb::handle>())
      .def("step", &Session::step, nb::arg("positions"), nb::arg("types"), nb::arg("cell").none(),
           nb::arg("reference"), nb::arg("log"))
      .def("end", &Session::end)
      .def("save", &Session::save)
      .def("report", &Session::report)
      .def_prop_ro("type_map", &Session::type_map)
      .def_prop_ro("cutoff", &Session::cutoff)
      .def_prop_ro("outputs", &Session::outputs);
  m.def("session_options", &dptrain::session_options);
  m.def("option_rows", &dptrain::option_rows);
}
