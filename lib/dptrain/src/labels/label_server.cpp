#include "dptrain/labels/label_server.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

#include "dptrain/base/error.h"
#include "labels/ipi_client.h"
#include "labels/label_virial.h"
#include "labels/listener.h"
#include "labels/result_check.h"

namespace dptrain {

namespace {

using Time = double;  // of the clock, seconds
constexpr double forever = std::numeric_limits<double>::infinity();
constexpr double patience = 60.0;  // seconds without a client after which the log says so
constexpr double accept_pause =
    1.0;  // seconds without new clients where the system has no descriptor left

double rounded(double seconds)
{
  return seconds < 10.0 ? std::round(10.0 * seconds) / 10.0 : std::round(seconds);
}

}  // namespace

struct LabelServer::Impl {
  struct Request {
    std::int64_t id = 0;
    WholeFrame frame;
    int losses = 0;         // clients that were lost over it
    bool canceled = false;  // while a client works on it
    Time waiting_since = 0.0;
  };

  struct Worker {
    IpiClient client;
    std::string name;
    std::int64_t last_turn = 0;
    std::optional<Request> request;  // in work
    Time start = 0.0;
  };

  LabelServerOptions options;
  Log log;
  Listener listener;
  std::vector<std::unique_ptr<Worker>> workers;
  std::deque<Request> queue;
  std::vector<LabelAnswer> answers;
  std::vector<std::string> elements;  // of the types; empty: clients know them
  std::array<bool, 3> periodic{};     // of frames that are periodic
  std::int64_t num_requests = 0, num_clients = 0, turn = 0;
  Time no_client_since;
  std::optional<Time> accept_paused;
  std::string last_loss;                    // of the latest client; empty: there was none
  std::string calculator, calculator_from;  // what a client computes with, and its name
  // since there is no client
  bool reported_waiting = false, waited_in_vain = false;

  Impl(const LabelServerOptions &given, Log given_log) :
      options(given), log(std::move(given_log)), listener(given.address), no_client_since(now())
  {
  }

  Time now() const { return options.clock.now(); }
  std::string about(const WholeFrame &frame) const;
  void accept_clients();
  void assign();
  void expire();
  double next_expiry() const;
  void wait_for_events(double seconds);
  void serve(Worker &worker);
  void lose(Worker &worker, const std::string &why, bool retry);
  void answer(Request &request, LabelAnswer answer);
  void fail(Request &request, const std::string &why);
  std::string other_calculator(const Worker &worker, const IpiResult &result);
  double waited(const Request &request) const
  {
    return now() - std::max(request.waiting_since, no_client_since);
  }
};

LabelServer::LabelServer(const LabelServerOptions &options, Log log) :
    impl_(std::make_unique<Impl>(options, std::move(log)))
{
  const std::string &path = impl_->listener.path();
  impl_->log(fmt::format("listening at {}{}", address(), path.empty() ? "" : " (" + path + ")"));
}

LabelServer::~LabelServer()
{
  impl_->accept_clients();
  for (auto &worker : impl_->workers) {
    try {
      worker->client.exit();
    } catch (const Error &) {
      continue;  // the client has disconnected
    }
  }
}

void LabelServer::name_types(const std::vector<std::string> &elements,
                             const std::array<bool, 3> &periodic)
{
  impl_->elements = elements;
  impl_->periodic = periodic;
}

std::int64_t LabelServer::submit(const WholeFrame &frame)
{
  Impl::Request request;
  request.id = ++impl_->num_requests;
  request.frame = frame;
  request.waiting_since = impl_->now();
  impl_->queue.push_back(std::move(request));
  return impl_->num_requests;
}

std::vector<LabelAnswer> LabelServer::poll(double seconds)
{
  Impl &impl = *impl_;
  const Time start = impl.now();
  double left = 0.0;  // first, what has happened meanwhile
  do {
    impl.wait_for_events(std::min(left, impl.next_expiry()));
    impl.expire();
    impl.assign();
    left = seconds - (impl.now() - start);
  } while (impl.answers.empty() && left > 0.0);
  return std::exchange(impl.answers, {});
}

void LabelServer::cancel(std::int64_t request)
{
  const auto is_it = [request](const auto &entry) { return entry.id == request; };
  auto &queue = impl_->queue;
  queue.erase(std::remove_if(queue.begin(), queue.end(), is_it), queue.end());
  auto &answers = impl_->answers;
  answers.erase(std::remove_if(answers.begin(), answers.end(),
                               [request](const auto &entry) { return entry.request == request; }),
                answers.end());
  // the protocol cannot stop a calculation
  for (const auto &worker : impl_->workers)
    if (worker->request && is_it(*worker->request)) worker->request->canceled = true;
}

int LabelServer::num_clients() const
{
  return static_cast<int>(impl_->workers.size());
}

int LabelServer::num_requests() const
{
  auto count = static_cast<int>(impl_->queue.size() + impl_->answers.size());
  for (const auto &worker : impl_->workers)
    count += worker->request && !worker->request->canceled ? 1 : 0;
  return count;
}

const std::string &LabelServer::address() const
{
  return impl_->listener.address();
}

void LabelServer::Impl::accept_clients()
{
  try {
    for (;;) {
      Listener::Visitor visitor = listener.accept();
      if (!visitor.socket.is_open()) return;
      const std::string name = fmt::format("client {} ({})", ++num_clients, visitor.from);
      workers.push_back(
          std::make_unique<Worker>(Worker{IpiClient(std::move(visitor.socket)), name, 0, {}, {}}));
      log(fmt::format("{} has connected", name));
      reported_waiting = waited_in_vain = false;
      serve(*workers.back());  // it may have disconnected while it waited
    }
  } catch (const Error &error) {
    log(error.what());
    accept_paused = now();
  }
}

// Codes ignore the text of INIT, but some cannot read an empty one.
std::string LabelServer::Impl::about(const WholeFrame &frame) const
{
  if (elements.empty()) return " ";
  std::string species;
  for (const int type : frame.type)
    species += (species.empty() ? "\"" : ", \"") + elements.at(type) + "\"";
  std::string pbc;
  for (const bool is : periodic)
    pbc += fmt::format("{}{}", pbc.empty() ? "" : ", ", frame.periodic && is);
  return fmt::format("{{\"species\": [{}], \"pbc\": [{}]}}", species, pbc);
}

// The idle client whose turn is longest ago gets the oldest request.
void LabelServer::Impl::assign()
{
  while (!queue.empty()) {
    Worker *next = nullptr;
    for (const auto &worker : workers)
      if (worker->client.idle() && (!next || worker->last_turn < next->last_turn))
        next = worker.get();
    if (!next) return;
    next->request = std::move(queue.front());
    queue.pop_front();
    next->last_turn = ++turn;
    next->start = now();
    next->client.start(next->request->frame, about(next->request->frame));
    serve(*next);
  }
}

void LabelServer::Impl::answer(Request &request, LabelAnswer answer)
{
  if (request.canceled) return;
  answer.request = request.id;
  answers.push_back(std::move(answer));
}

void LabelServer::Impl::fail(Request &request, const std::string &why)
{
  LabelAnswer failed;
  failed.failure = why;
  answer(request, std::move(failed));
}

// A client of an earlier run may still be there. Empty: it computes with the same as others.
std::string LabelServer::Impl::other_calculator(const Worker &worker, const IpiResult &result)
{
  const std::string found = calculator_of(result);
  if (found.empty() || found == calculator) return "";
  if (calculator.empty()) {
    calculator = found;
    calculator_from = worker.name;
    return "";
  }
  return fmt::format("it computes with {}, and {} with {}: all labels must come from the same "
                     "calculator: end the client that is not wanted",
                     found, calculator_from, calculator);
}

// Moves one client on.
void LabelServer::Impl::serve(Worker &worker)
{
  std::optional<IpiResult> result;
  try {
    result = worker.client.advance();
  } catch (const WrongStructure &error) {
    return lose(worker, error.what(), false);
  } catch (const Error &error) {
    return lose(worker, error.what(), true);
  }
  if (!result) return;
  LabelAnswer done;
  done.seconds = now() - worker.start;
  done.failure = why_unusable(*result, worker.request->frame, options.virial);
  if (done.failure.empty()) done.failure = other_calculator(worker, *result);
  if (done.failure.empty()) {
    done.label.energy = result->energy;
    done.label.force = std::move(result->force);
    // codes have no virial of a frame without cell; there it follows from the forces
    if (options.virial && !worker.request->frame.periodic)
      done.label.virial = virial_of_forces(done.label.force, worker.request->frame.coord);
    else if (options.virial)
      done.label.virial = result->virial;
  } else {
    done.failure = worker.name + ": " + done.failure;
  }
  done.extra = std::move(result->extra);
  answer(*worker.request, std::move(done));
  worker.request.reset();
}

// Lets a client go; the caller must not use it afterwards.
void LabelServer::Impl::lose(Worker &worker, const std::string &why, bool retry)
{
  const std::string text = fmt::format("{} is lost: {}", worker.name, why);
  last_loss = worker.name;
  if (worker.request)
    last_loss +=
        fmt::format(", which had the configuration of step {},", worker.request->frame.step);
  last_loss += fmt::format(" was lost ({})", why);
  if (worker.request) {
    Request &request = *worker.request;
    ++request.losses;
    if (!retry || request.canceled) {
      log(text);
      fail(request, text);
    } else if (request.losses > options.retries) {
      log(fmt::format("{}; no further attempt", text));
      fail(request, fmt::format("{}; attempt {} was the last one: raise 'retries' for more", text,
                                request.losses));
    } else {
      log(fmt::format("{}; another client gets its configuration", text));
      request.waiting_since = now();
      queue.push_front(std::move(request));
    }
  } else {
    log(text);
  }
  const auto place = std::find_if(workers.begin(), workers.end(),
                                  [&](const auto &w) { return w.get() == &worker; });
  workers.erase(place);
  if (workers.empty()) no_client_since = now();
}

// What takes too long.
void LabelServer::Impl::expire()
{
  if (options.timeout > 0.0)
    for (std::size_t k = workers.size(); k-- > 0;) {
      Worker &worker = *workers[k];
      if (worker.request && now() - worker.start >= options.timeout)
        lose(
            worker,
            fmt::format("no answer within {:g} s: look into its output, or give a longer 'timeout'",
                        options.timeout),
            true);
    }
  if (workers.empty() && !queue.empty() && !reported_waiting && waited(queue.front()) >= patience) {
    log(fmt::format("no client at {} for {:g} s; waiting for one, {:g} s at most",
                    listener.address(), patience, options.wait));
    reported_waiting = true;
  }
  while (workers.empty() && !queue.empty() &&
         (waited_in_vain || waited(queue.front()) >= options.wait)) {
    waited_in_vain = true;
    fail(
        queue.front(),
        last_loss.empty()
            ? fmt::format(
                  "no client has connected to {} within {:g} s: start one, or give a longer 'wait'",
                  listener.address(), options.wait)
            : fmt::format(
                  "{} {:g} s ago, and no other one has connected to {} within {:g} s: look into "
                  "its output, start one, or give a longer 'wait'",
                  last_loss, rounded(now() - no_client_since), listener.address(), options.wait));
    queue.pop_front();
  }
}

// Seconds until expire() may have something to do.
double LabelServer::Impl::next_expiry() const
{
  double next = forever;
  if (options.timeout > 0.0)
    for (const auto &worker : workers)
      if (worker->request) next = std::min(next, options.timeout - (now() - worker->start));
  if (workers.empty() && !queue.empty()) {
    next = waited_in_vain ? 0.0 : std::min(next, options.wait - waited(queue.front()));
    if (!reported_waiting) next = std::min(next, patience - waited(queue.front()));
  }
  return std::max(next, 0.0);
}

// Sleeps until something comes or the time is over, then moves on each client that it concerns.
void LabelServer::Impl::wait_for_events(double seconds)
{
  if (accept_paused && now() - *accept_paused >= accept_pause) accept_paused.reset();
  std::vector<pollfd> events;
  for (const auto &worker : workers) {
    const short what = worker->client.has_output() ? POLLIN | POLLOUT : POLLIN;
    events.push_back({worker->client.descriptor(), what, 0});
  }
  events.push_back({accept_paused ? -1 : listener.descriptor(), POLLIN, 0});
  if (accept_paused) seconds = std::min(seconds, accept_pause);
  const double longest = 1.0e6;  // seconds, that int has room for milliseconds
  const int milliseconds = static_cast<int>(std::ceil(std::clamp(seconds, 0.0, longest) * 1000.0));
  if (::poll(events.data(), events.size(), milliseconds) <= 0) return;
  // new clients come to the end, and those that are lost leave a gap: backwards, the places stay right
  for (std::size_t k = workers.size(); k-- > 0;)
    if (events[k].revents != 0) serve(*workers[k]);
  if (events.back().revents != 0) accept_clients();
}

}  // namespace dptrain
