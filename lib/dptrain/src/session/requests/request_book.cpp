#include "session/requests/request_book.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "base/elapsed.h"
#include "base/text.h"
#include "dptrain/base/error.h"
#include "dptrain/data/frames_file.h"

namespace dptrain {

namespace {

// A number that is not finite spoils the sum.
bool is_finite(const Label &label)
{
  double sum = label.energy.value_or(0.0);
  for (const double component : label.force) sum += component;
  if (label.virial)
    for (const double component : *label.virial) sum += component;
  return std::isfinite(sum);
}

}  // namespace

RequestBook::RequestBook(std::shared_ptr<const Communicator> comm, LabelSource &source,
                         const LearningOptions &options, const Messages &messages,
                         ReferenceCounts &counts, const TrainingCounts &training,
                         const std::vector<std::string> &elements, RunOfGroup run) :
    comm_(std::move(comm)),
    source_(source),
    options_(options),
    messages_(messages),
    counts_(counts),
    training_(training),
    file_(comm_, options.files.frames_path(), run),
    elements_(elements),
    check_(source.works_beside() ? elements : std::vector<std::string>())
{
}

void RequestBook::describe(Trajectory &run, LabelRequest &request) const
{
  request.frame = run.configuration();
  request.energy = total_energy(*comm_, run);
  if (!request.has_bars || request.ask == Ask::no) return;
  request.force = run.forces();
  request.feature_sum = total_features(*comm_, run);
}

void RequestBook::submit(LabelRequest &request)
{
  const auto start = std::chrono::steady_clock::now();
  source_.prepare(request.frame);
  request.id = source_.submit(request.frame);
  ++counts_.calls;
  ++new_calls_;
  counts_.seconds += seconds_since(start);
  if (!is_recorded(request)) return;
  open_[request.id] = {request, false};
  write_open();
}

void RequestBook::leave(LabelRequest &request)
{
  submit(request);
  open_.at(request.id).is_left = true;
}

// What is asked only to move the atoms is of no use to a later run. A source that ends with the program, in a run that waits
// for each answer, would be asked again for what the run comes to again; it does not come to copies again.
bool RequestBook::is_recorded(const LabelRequest &request) const
{
  return request.ask == Ask::prepare ||
         (request.ask != Ask::no && (options_.asynchronous > 0 || source_.outlives_program()));
}

void RequestBook::write_open() const
{
  std::vector<const LabelRequest *> requests;
  for (const auto &[id, open] : open_) requests.push_back(&open.request);
  file_.write(requests);
}

void RequestBook::poll()
{
  for (LabelAnswer &answer : source_.poll()) {
    const std::int64_t request = answer.request;
    arrived_[request] = std::move(answer);
  }
}

void RequestBook::wait()
{
  const auto start = std::chrono::steady_clock::now();
  source_.wait(one_wait_);
  counts_.seconds += seconds_since(start);
  meanwhile_();
}

std::optional<Label> RequestBook::await(const LabelRequest &request)
{
  const auto start = std::chrono::steady_clock::now();
  poll();  // a source inside the run computes now
  counts_.seconds += seconds_since(start);
  while (arrived_.count(request.id) == 0) {
    wait();
    poll();
  }
  LabelAnswer answer = std::move(arrived_.extract(request.id).mapped());
  std::optional<Label> label = usable(request, std::move(answer));
  if (!label) settle(request.id);
  return label;
}

// The label of an answer; else why there is none is told.
std::optional<Label> RequestBook::usable(const LabelRequest &request, LabelAnswer answer)
{
  const std::int64_t step = request.frame.step;
  std::string why = answer.failure;
  const bool needed =
      request.ask != Ask::prepare && !is_elsewhere_;  // the run can go on without a copy
  if (!why.empty() && options_.failure_stops && needed)
    throw Error(
        fmt::format("no label at step {}: {}; use 'failed skip' to go on without it", step, why));
  if (why.empty() && !is_finite(answer.label)) why = "energy, forces or virial are not finite";
  if (why.empty()) {
    if (!request.is_cutout()) check(request, answer.label);
    return request.learnable(std::move(answer.label));
  }
  if (options_.runs_model && !training_.trained && needed)
    throw Error(fmt::format(
        "no label at step {}: {}; the model is not trained yet, and the run needs the reference",
        step, why));
  discard(step, fmt::format("{}; see what the reference says", why));
  return std::nullopt;
}

void RequestBook::check(const LabelRequest &request, const Label &label)
{
  if (options_.label_check == LabelCheckMode::no) return;
  const LabelCheck::Finding finding = check_.add(request.frame, label);
  const std::int64_t step = request.frame.step;
  if (!finding.proof.empty() && options_.label_check == LabelCheckMode::stop)
    throw WrongLabels(
        fmt::format("step {}: {}. 'label_check warn' goes on all the same", step, finding.proof));
  if (!finding.proof.empty()) messages_.warning(fmt::format("step {}: {}", step, finding.proof));
  if (!finding.warning.empty())
    messages_.warning(fmt::format("step {}: {}", step, finding.warning));
  if (finding.doubt.empty()) return;
  const std::string path = options_.files.frames_path() + ".doubted";
  discard(step, fmt::format("{}; it is kept in {}", finding.doubt, path));
  doubted_.insert(request.id);
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    WholeFrame frame = request.frame;
    frame.label = label;
    FramesFile::append_to(path, elements_, frame);
  });
}

void RequestBook::settle(std::int64_t request)
{
  doubted_.erase(request);
  if (open_.erase(request) > 0) write_open();
}

bool RequestBook::is_left(std::int64_t request) const
{
  const auto place = open_.find(request);
  return place != open_.end() && place->second.is_left;
}

std::int64_t RequestBook::num_left() const
{
  return std::count_if(open_.begin(), open_.end(),
                       [](const auto &entry) { return entry.second.is_left; });
}

bool RequestBook::any_left(const std::function<bool(const LabelRequest &)> &is_so) const
{
  return std::any_of(open_.begin(), open_.end(), [&](const auto &entry) {
    return entry.second.is_left && is_so(entry.second.request);
  });
}

std::vector<AnsweredRequest> RequestBook::collect()
{
  poll();
  std::vector<AnsweredRequest> labels;
  for (auto it = arrived_.begin(); it != arrived_.end();) {
    if (!is_left(it->first)) {  // somebody awaits it, or it is no longer wanted
      ++it;
      continue;
    }
    const LabelRequest request = open_.at(it->first).request;
    LabelAnswer answer = std::move(it->second);
    it = arrived_.erase(it);
    if (std::optional<Label> label = usable(request, std::move(answer)))
      labels.push_back({request, std::move(*label)});
    else
      settle(request.id);
  }
  return labels;
}

void RequestBook::resume(const std::string &source, const std::string &frames)
{
  std::vector<LabelRequest> requests = file_.read(source, frames);
  if (source != options_.files.frames_path()) begin();
  if (requests.empty()) return;
  const std::string number = std::to_string(requests.size());
  if (!source_.works_beside())
    return messages_.warning(
        fmt::format("{} has {} configurations that wait for a label, which this reference cannot "
                    "compute: resume with the one that was asked, or do without them",
                    requests_path_of(source), number));
  const bool with_baseline = source_.prepares();
  for (const LabelRequest &request : requests)
    if (request.frame.baseline.has_value() != with_baseline)
      throw Error(fmt::format(
          "{}: configurations there were asked for {} 'baseline', and their labels would be of "
          "another kind: resume with the options that they were asked with, or put the file aside",
          requests_path_of(source), with_baseline ? "without" : "with"));
  for (LabelRequest &request : requests) {
    request.id = source_.submit(request.frame);
    const std::int64_t id = request.id;
    open_[id] = {std::move(request), true};
  }
  write_open();
  if (source == options_.files.frames_path()) file_.drop_orphans();
  messages_.info(fmt::format("{} configurations that wait for a label are {} again: {}", number,
                             source_.outlives_program() ? "looked for" : "asked for",
                             requests_path_of(source)));
}

// What the other model said of them does not tell how good this one is.
void RequestBook::take_over(const RequestBook &before, const std::vector<int> &types)
{
  for (const auto &[id, open] : before.open_) {
    LabelRequest request = open.request;
    for (int &type : request.frame.type) type = types.at(type);
    request.has_bars = false;
    request.force.clear();
    request.feature_sum.clear();
    request.distance.clear();
    request.bar.clear();
    open_[id] = {std::move(request), true};
  }
  arrived_ = before.arrived_;
  write_open();
}

void RequestBook::discard(std::int64_t step, const std::string &why)
{
  ++counts_.discarded;
  std::string text = fmt::format("label of step {} is discarded: {}", step, why);
  if (text == discarded_) return;  // copies of one configuration, for one reason
  messages_.warning(text);
  discarded_ = std::move(text);
}

bool RequestBook::within_limit(const LabelRequest &request, const Label &label)
{
  double largest = 0.0;
  for (std::size_t k = 0; k < label.force.size(); ++k)
    if (label.force_weight.empty() || label.force_weight[k / 3] > 0.0)
      largest = std::max(largest, std::fabs(label.force[k]));
  if (options_.force_limit == 0.0 || largest <= options_.force_limit) return true;
  const double unit = options_.units.force();
  discard(request.frame.step, fmt::format("the largest force component {:.6g} is above fmax "
                                          "{:.6g}; give a larger fmax if it is right",
                                          largest * unit, options_.force_limit * unit));
  return false;
}

}  // namespace dptrain
