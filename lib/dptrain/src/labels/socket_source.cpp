#include "dptrain/labels/socket_source.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

#include "labels/answer_bytes.h"

namespace dptrain {

namespace {

// While ranks wait they look more and more rarely whether something has come (seconds): MPI's own way of waiting would keep
// a core of each busy.
constexpr double shortest_nap = 20e-6, longest_nap = 10e-3, nap_growth = 1.1;

}  // namespace

SocketSource::SocketSource(std::shared_ptr<const Communicator> comm,
                           const LabelServerOptions &options, Log log) :
    comm_(std::move(comm))
{
  guarded(*comm_, [&] {
    if (comm_->rank() == 0) server_ = std::make_unique<LabelServer>(options, std::move(log));
  });
}

void SocketSource::name_types(const std::vector<std::string> &elements)
{
  if (server_) server_->name_types(elements);
}

std::int64_t SocketSource::submit(const WholeFrame &frame)
{
  if (server_) server_->submit(frame);
  open_.insert(++submitted_);  // the server counts them so too
  return submitted_;
}

std::vector<LabelAnswer> SocketSource::poll()
{
  guarded(*comm_, [&] { serve(0.0); });
  ByteArchive(*comm_).send(arrived_);
  for (const LabelAnswer &answer : arrived_) open_.erase(answer.request);
  return std::exchange(arrived_, {});
}

void SocketSource::wait(double seconds)
{
  using Seconds = std::chrono::duration<double>;
  bool done = false;
  double nap = shortest_nap;
  for (double waited = 0.0; !done && waited < seconds; waited += nap) {
    nap = std::min(nap * nap_growth, longest_nap);
    guarded(*comm_, [&] {
      if (!server_) return std::this_thread::sleep_for(Seconds(nap));
      serve(nap);
      done = !arrived_.empty();
    });
    comm_->broadcast(&done, sizeof(done), 0);
  }
}

// On rank 0; elsewhere nothing. A virial is symmetric, whatever a client has rounded.
void SocketSource::serve(double seconds)
{
  if (!server_) return;
  std::vector<LabelAnswer> latest = server_->poll(arrived_.empty() ? seconds : 0.0);
  for (LabelAnswer &answer : latest)
    if (answer.label.virial) {
      auto &w = *answer.label.virial;
      for (const auto &[a, b] : {std::pair(1, 3), std::pair(2, 6), std::pair(5, 7)})
        w[a] = w[b] = 0.5 * (w[a] + w[b]);
    }
  std::move(latest.begin(), latest.end(), std::back_inserter(arrived_));
}

void SocketSource::cancel(std::int64_t request)
{
  open_.erase(request);
  if (server_) server_->cancel(request);
  const auto is_it = [request](const LabelAnswer &answer) { return answer.request == request; };
  arrived_.erase(std::remove_if(arrived_.begin(), arrived_.end(), is_it), arrived_.end());
}

}  // namespace dptrain
