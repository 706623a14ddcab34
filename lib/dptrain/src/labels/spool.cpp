#include "labels/spool.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/sha1.h"
#include "dptrain/base/error.h"
#include "io/file.h"
#include "labels/spool_answer.h"
#include "labels/structure_text.h"

namespace dptrain {

namespace {

// seconds
constexpr double shortest_pause = 2e-3, longest_pause = 1.0;  // between two looks at the files
constexpr double pause_growth = 0.1;  // of the time in which nothing has happened
constexpr double pause_per_look =
    20.0;  // of the time that a look takes: some file systems are slow

constexpr std::size_t hash_digits = 12, longest_reason = 200;
// bytes; a line of extended XYZ has some hundreds
constexpr std::int64_t smallest_limit = 1 << 16, limit_per_atom = 1 << 12;

std::string read_bounded(const std::string &path, std::size_t natoms)
{
  const std::int64_t limit = smallest_limit + limit_per_atom * static_cast<std::int64_t>(natoms);
  expect_regular_file(path);
  const std::int64_t size = File(path, O_RDONLY).size();
  if (size > limit)
    throw Error(fmt::format("{} has {} bytes, too many for the label of {} atoms: write one frame "
                            "with energy, forces and stress",
                            path, size, natoms));
  return read_file(path);
}

}  // namespace

Spool::Spool(const SpoolOptions &options, std::function<SpoolAtoms()> atoms, Messages messages) :
    options_(options),
    atoms_(std::move(atoms)),
    messages_(std::move(messages)),
    folder_(options.folder),
    last_event_(now()),
    next_look_(last_event_)
{
  messages_.info(fmt::format("labels are asked for in the folder {}", folder_.path()));
}

std::int64_t Spool::submit(const WholeFrame &frame)
{
  const SpoolAtoms atoms = atoms_();
  const auto step = static_cast<long long>(frame.step);
  const std::array<bool, 3> nowhere{};
  Request request;
  request.structure =
      structure_text(frame, atoms.elements, frame.periodic ? atoms.periodic : nowhere,
                     frame.periodic, fmt::format("step={}", step));
  request.name = fmt::format("{:09}-{}", step, sha1(request.structure).substr(0, hash_digits));
  request.frame = frame;
  request.elements = atoms.elements;
  request.start = last_event_ = next_look_ = now();
  const bool known = folder_.put(request.name, request.structure);
  if (known && !reported_answers_ && has(folder_.files(request.name), SpoolFolder::answer)) {
    messages_.info(fmt::format("the answer to {} is in the folder already: it is used, as are "
                               "others; where the settings of "
                               "the reference have changed since, use another folder",
                               request.name));
    reported_answers_ = true;
  }
  open_.emplace(++submitted_, std::move(request));
  return submitted_;
}

std::vector<LabelAnswer> Spool::poll(double seconds)
{
  const Time start = now(), end = start + seconds;
  std::vector<LabelAnswer> answers;
  for (;;) {
    if (now() >= next_look_) answers = look_at_all();
    if (!answers.empty() || now() >= end) break;
    options_.clock.sleep(std::max(std::min(next_look_, end) - now(), 0.0));
  }
  waited_ += now() - start;
  if (!answers.empty()) waited_ = 0.0;
  report_waiting();
  return answers;
}

void Spool::cancel(std::int64_t request)
{
  const auto place = open_.find(request);
  if (place == open_.end()) return;
  const std::string name = place->second.name;
  open_.erase(place);
  const auto same = [&name](const auto &entry) { return entry.second.name == name; };
  if (std::none_of(open_.begin(), open_.end(), same)) folder_.take_back(name);
}

std::vector<LabelAnswer> Spool::look_at_all()
{
  const Time start = now();
  std::vector<LabelAnswer> answers;
  for (auto place = open_.begin(); place != open_.end();) {
    std::optional<LabelAnswer> answer = look_at(place->second);
    if (!answer) {
      ++place;
      continue;
    }
    answer->request = place->first;
    answer->seconds = now() - place->second.start;
    answers.push_back(std::move(*answer));
    place = open_.erase(place);
  }
  const Time end = now();
  if (!answers.empty()) last_event_ = end;
  const double pause =
      std::clamp(pause_growth * (now() - last_event_), shortest_pause, longest_pause);
  next_look_ = end + std::max(pause, pause_per_look * (end - start));
  return answers;
}

// What cannot be read at the moment is no reason to end a run that has waited for days.
std::optional<LabelAnswer> Spool::look_at(Request &request)
{
  try {
    std::optional<LabelAnswer> answer = find_answer(request);
    if (answer) return answer;
  } catch (const Error &error) {
    if (is_settled(request.doubt, error.what()))
      messages_.warning(fmt::format("{}; the request stays open", error.what()));
  }
  if (options_.timeout == 0.0 || now() - request.start < options_.timeout) return {};
  LabelAnswer late;
  late.failure =
      fmt::format("no answer to {} within {:g} s: start dptrain label, or give a longer 'timeout'",
                  request.name, options_.timeout);
  return late;
}

std::optional<LabelAnswer> Spool::find_answer(Request &request)
{
  const std::vector<std::string> files = folder_.files(request.name);
  if (has(files, SpoolFolder::answer)) return read_answer(request);
  if (has(files, SpoolFolder::failure)) return read_failure(request);
  if (!has(files, SpoolFolder::request)) {
    folder_.put(request.name, request.structure);
    messages_.warning(fmt::format("the request {} had been removed and is there again; to refuse "
                                  "it, put a {} into its folder",
                                  request.name, SpoolFolder::failure));
  }
  return {};
}

std::optional<LabelAnswer> Spool::read_answer(Request &request)
{
  const std::string path = folder_.path(request.name, SpoolFolder::answer);
  const std::string text = read_bounded(path, request.frame.type.size());
  LabelAnswer answer;
  std::string why;
  try {
    answer.label = read_spool_answer(text, path, request.frame, request.elements, options_.virial);
  } catch (const Error &error) {
    why = error.what();
  }
  if (why.empty() && text.ends_with("\n")) return answer;
  if (!is_settled(request.doubt, sha1(text))) return {};
  if (why.empty()) return answer;  // a last line without end
  std::string aside;
  try {
    aside = fmt::format("it is now {}", folder_.put_aside(request.name));
    request.doubt = {};
  } catch (const Error &error) {
    aside = error.what();
  }
  messages_.warning(
      fmt::format("an answer is not usable: {}; {}, and the request stays open: write a new answer",
                  why, aside));
  return {};
}

LabelAnswer Spool::read_failure(const Request &request) const
{
  const std::string path = folder_.path(request.name, SpoolFolder::failure);
  std::string text;
  for (const char c : read_bounded(path, request.frame.type.size()).substr(0, longest_reason))
    text += c > ' ' && c <= '~' ? c : ' ';
  text.erase(text.find_last_not_of(' ') + 1);
  LabelAnswer failed;
  failed.failure =
      fmt::format("{} (see {}; 'dptrain label {} --again' computes again what has failed)",
                  text.empty() ? "no reason is given" : text, path, folder_.path());
  return failed;
}

void Spool::report_waiting()
{
  if (waited_ < options_.long_wait) reported_waiting_ = false;
  if (waited_ < options_.long_wait || reported_waiting_ || open_.empty()) return;
  reported_waiting_ = true;
  messages_.info(fmt::format("waiting for answers in the folder {}: {}{} open, the oldest is {}",
                             folder_.path(), open_.size(),
                             open_.size() == 1 ? " request is" : " requests are",
                             open_.begin()->second.name));
}

bool Spool::is_settled(Doubt &doubt, const std::string &sign) const
{
  if (doubt.sign != sign) doubt = {sign, now(), false};
  if (doubt.reported || now() - doubt.since < options_.settling) return false;
  return doubt.reported = true;
}

}  // namespace dptrain
