// Compiled without the thread sanitizer: to it, what lanes know of each other here must not order what they do.

#include "rehearsal/lanes.h"

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <boost/context/preallocated.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "dptrain/base/error.h"

// Of the sanitizers' libraries, where the program is linked with one.
extern "C" {
void *__tsan_get_current_fiber() __attribute__((weak));
void *__tsan_create_fiber(unsigned flags) __attribute__((weak));
void __tsan_switch_to_fiber(void *fiber, unsigned flags) __attribute__((weak));
void __tsan_acquire(void *address) __attribute__((weak));
void __tsan_release(void *address) __attribute__((weak));
void __sanitizer_start_switch_fiber(void **save, const void *bottom, std::size_t size)
    __attribute__((weak));
void __sanitizer_finish_switch_fiber(void *save, const void **bottom, std::size_t *size)
    __attribute__((weak));
}

namespace dptrain::rehearsal {

struct Meeting {
  int size = 0, arrived = 0;
  unsigned generation = 0;
  const char *what = nullptr;
  // even and odd meetings apart: a lane may come to the next one before another has left this one
  char order[2] = {};
  std::vector<std::uint64_t> given[2];
};

namespace {

namespace context = boost::context;

constexpr int teams_at_once = 2;
constexpr std::size_t stack_bytes = std::size_t(512) << 10;
constexpr unsigned no_order = 1;  // __tsan_switch_to_fiber_no_sync

void happens_before(void *address)
{
  if (__tsan_release) __tsan_release(address);
}

void happens_after(void *address)
{
  if (__tsan_acquire) __tsan_acquire(address);
}

// Another order of the lanes: DPTRAIN_REHEARSAL_SEED.
std::uint32_t seed()
{
  const char *text = std::getenv("DPTRAIN_REHEARSAL_SEED");
  if (!text) return 0;
  const std::size_t digits = std::strspn(text, "0123456789");
  if (digits == 0 || digits > 9 || text[digits] != 0)
    throw Error(
        fmt::format("DPTRAIN_REHEARSAL_SEED is '{}': use a number of up to nine digits", text));
  return static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

// What all lanes do in one launch.
struct Launch {
  const char *name = nullptr;
  int league = 0;
  std::size_t scratch = 0;
  LaneBody body = nullptr;
  RangeBody range = nullptr;
  long n = 0;
  const void *data = nullptr;
};

struct Lane {
  int index = 0, team = 0;  // of all lanes; which of the teams that run at once
  LaneOfTeam place;
  context::fiber fiber, scheduler;
  context::stack_context stack;
  void *tsan = nullptr;
  void *fake_stack = nullptr;  // address sanitizer
  bool done = true;
  Meeting *waits_for = nullptr;
  unsigned generation = 0;
  bool waits() const { return waits_for && waits_for->generation == generation; }
};

struct Team {
  Meeting meeting;
  std::vector<Meeting> threads;
  std::vector<double> scratch;
};

// All lanes of the device, and who runs next.
class Lanes {
 public:
  explicit Lanes(TeamShape shape) : shape_(shape), teams_(teams_at_once)
  {
    for (Team &team : teams_) {
      set_size(team.meeting, shape.size());
      team.threads.resize(shape.threads);
      for (Meeting &meeting : team.threads) set_size(meeting, shape.lanes);
    }
    for (int k = 0; k < teams_at_once * shape.size(); ++k) lanes_.push_back(make_lane(k));
    order_.resize(lanes_.size());
    std::iota(order_.begin(), order_.end(), 0);
  }
  Lanes(const Lanes &) = delete;
  Lanes &operator=(const Lanes &) = delete;

  void run(const Launch &launch);
  void meet(Meeting &meeting, const char *what, bool orders);

 private:
  static void set_size(Meeting &meeting, int size)
  {
    meeting.size = size;
    for (auto &given : meeting.given) given.resize(size);
  }
  std::unique_ptr<Lane> make_lane(int index);
  void live(Lane &lane);
  void work(Lane &lane);
  void begin_team(Lane &lane, int league_rank);
  void resume(Lane &lane);
  void suspend();
  void shuffle();

  TeamShape shape_;
  std::vector<Team> teams_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<int> order_;
  std::uint32_t random_ = 2463534242u + seed();
  Launch launch_;
  Lane *current_ = nullptr;
  std::string failure_;
  std::exception_ptr thrown_;
  char begin_ = 0, end_ = 0;  // of a launch, for the thread sanitizer
  void *host_ = nullptr;      // thread sanitizer's name of the scheduler
  void *host_fake_stack_ = nullptr;
  const void *host_bottom_ = nullptr;
  std::size_t host_size_ = 0;
};

std::unique_ptr<Lane> Lanes::make_lane(int index)
{
  auto lane = std::make_unique<Lane>();
  const int in_team = index % shape_.size();
  lane->index = index;
  lane->team = index / shape_.size();
  lane->place.shape = shape_;
  lane->place.thread = in_team / shape_.lanes;
  lane->place.lane = in_team % shape_.lanes;
  lane->place.team_meeting = &teams_[lane->team].meeting;
  lane->place.thread_meeting = &teams_[lane->team].threads[lane->place.thread];
  if (__tsan_create_fiber) lane->tsan = __tsan_create_fiber(0);
  lane->stack = context::protected_fixedsize_stack(stack_bytes).allocate();
  Lane *self = lane.get();
  // the stack is ours: the fiber must not give it back
  struct Keep {
    void deallocate(context::stack_context &) {}
  };
  lane->fiber = context::fiber(
      std::allocator_arg, context::preallocated(lane->stack.sp, lane->stack.size, lane->stack),
      Keep(), [this, self](context::fiber &&scheduler) {
        self->scheduler = std::move(scheduler);
        if (__sanitizer_finish_switch_fiber)
          __sanitizer_finish_switch_fiber(nullptr, &host_bottom_, &host_size_);
        live(*self);
        return std::move(self->scheduler);
      });
  return lane;
}

// The life of a lane: launch after launch.
void Lanes::live(Lane &lane)
{
  for (;;) {
    happens_after(&begin_);
    try {
      work(lane);
    } catch (...) {
      thrown_ = std::current_exception();
    }
    happens_before(&end_);
    lane.done = true;
    suspend();
  }
}

void Lanes::work(Lane &lane)
{
  if (launch_.range) {
    launch_.range(launch_.data, lane.index, launch_.n, static_cast<long>(lanes_.size()));
    return;
  }
  for (int rank = lane.team; rank < launch_.league; rank += teams_at_once) {
    begin_team(lane, rank);
    launch_.body(launch_.data, lane.place);
    meet(*lane.place.team_meeting, "the end of the kernel", true);
  }
}

void Lanes::begin_team(Lane &lane, int league_rank)
{
  std::vector<double> &scratch = teams_[lane.team].scratch;
  if (lane.place.thread == 0 && lane.place.lane == 0 && launch_.scratch > 0) {
    // Not memset, which the thread sanitizer would see. A place of its own size, so that the address sanitizer knows its end.
    const std::size_t size = (launch_.scratch + sizeof(double) - 1) / sizeof(double);
    if (scratch.size() != size) std::vector<double>(size).swap(scratch);
    volatile double *numbers = scratch.data();
    for (std::size_t k = 0; k < size; ++k) numbers[k] = __builtin_nan("");
  }
  meet(*lane.place.team_meeting, "the begin of the kernel", true);
  lane.place.league_rank = league_rank;
  lane.place.scratch = reinterpret_cast<char *>(scratch.data());
  lane.place.scratch_bytes = launch_.scratch;
}

void Lanes::meet(Meeting &meeting, const char *what, bool orders)
{
  if (meeting.arrived > 0 && std::strcmp(meeting.what, what) != 0) {
    failure_ = fmt::format("some lanes of a team are at {}, others at {}", meeting.what, what);
    happens_before(&end_);
    suspend();
  }
  meeting.what = what;
  const unsigned generation = meeting.generation;
  char *order = &meeting.order[generation % 2];
  if (orders) happens_before(order);
  if (++meeting.arrived == meeting.size) {
    meeting.arrived = 0;
    ++meeting.generation;
  } else {
    current_->waits_for = &meeting;
    current_->generation = generation;
    suspend();
  }
  if (orders) happens_after(order);
}

void Lanes::resume(Lane &lane)
{
  current_ = &lane;
  if (__tsan_switch_to_fiber) __tsan_switch_to_fiber(lane.tsan, no_order);
  if (__sanitizer_start_switch_fiber)
    __sanitizer_start_switch_fiber(
        &host_fake_stack_, static_cast<char *>(lane.stack.sp) - lane.stack.size, lane.stack.size);
  lane.fiber = std::move(lane.fiber).resume();
  if (__sanitizer_finish_switch_fiber)
    __sanitizer_finish_switch_fiber(host_fake_stack_, nullptr, nullptr);
}

// From a lane back to the scheduler.
void Lanes::suspend()
{
  Lane &lane = *current_;
  if (__tsan_switch_to_fiber) __tsan_switch_to_fiber(host_, no_order);
  if (__sanitizer_start_switch_fiber)
    __sanitizer_start_switch_fiber(&lane.fake_stack, host_bottom_, host_size_);
  lane.scheduler = std::move(lane.scheduler).resume();
  if (__sanitizer_finish_switch_fiber)
    __sanitizer_finish_switch_fiber(lane.fake_stack, &host_bottom_, &host_size_);
}

void Lanes::shuffle()
{
  for (std::size_t k = order_.size(); k-- > 1;) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 17;
    random_ ^= random_ << 5;
    std::swap(order_[k], order_[random_ % (k + 1)]);
  }
}

void Lanes::run(const Launch &launch)
{
  launch_ = launch;
  if (__tsan_get_current_fiber) host_ = __tsan_get_current_fiber();
  happens_before(&begin_);
  for (auto &lane : lanes_) {
    lane->done = false;
    lane->waits_for = nullptr;
  }
  for (bool all_done = false; !all_done && failure_.empty();) {
    shuffle();
    bool progress = false;
    all_done = true;
    for (const int k : order_) {
      Lane &lane = *lanes_[k];
      if (!lane.done && !lane.waits()) {
        resume(lane);
        progress = true;
        if (!failure_.empty()) break;
      }
      all_done = all_done && lane.done;
    }
    if (!progress && !all_done) failure_ = "some lanes of a team wait for others that never come";
    if (thrown_) break;
  }
  happens_after(&end_);
  if (thrown_) std::rethrow_exception(thrown_);
  if (!failure_.empty())
    throw Error(fmt::format(
        "rehearsal: {}: {}: all lanes of a team must come to each barrier and each reduction",
        launch.name, failure_));
}

Lanes *lanes_of_device = nullptr;  // lives as long as the process, as a device does

Lanes &device()
{
  if (!lanes_of_device) lanes_of_device = new Lanes(team_shape());
  return *lanes_of_device;
}

void run(const Launch &launch)
{
  try {
    device().run(launch);
  } catch (...) {
    lanes_of_device = nullptr;  // some are left in the middle of a kernel
    throw;
  }
}

}  // namespace

TeamShape team_shape()
{
  static const TeamShape shape = [] {
    TeamShape wanted;
    const char *text = std::getenv("DPTRAIN_REHEARSAL_TEAM");
    if (!text) return wanted;
    char times = 0, end = 0;
    if (std::sscanf(text, "%d%c%d%c", &wanted.threads, &times, &wanted.lanes, &end) != 3 ||
        times != 'x' || wanted.threads < 1 || wanted.threads > 1024 || wanted.lanes < 1 ||
        wanted.lanes > 32 || (wanted.lanes & (wanted.lanes - 1)) != 0 || wanted.size() < 2 ||
        wanted.size() > 1024)
      throw Error(fmt::format(
          "DPTRAIN_REHEARSAL_TEAM is '{}': use threads x lanes as a GPU may have them, for example "
          "4x32: lanes 1, 2, 4, 8, 16 or 32, and 2 to 1024 of both together",
          text));
    return wanted;
  }();
  return shape;
}

void run_league(const char *name, int league, std::size_t scratch, LaneBody body, const void *data)
{
  Launch launch;
  launch.name = name;
  launch.league = league;
  launch.scratch = scratch;
  launch.body = body;
  launch.data = data;
  run(launch);
}

void run_range(const char *name, long n, RangeBody body, const void *data)
{
  Launch launch;
  launch.name = name;
  launch.n = n;
  launch.range = body;
  launch.data = data;
  run(launch);
}

void barrier(const LaneOfTeam &lane)
{
  device().meet(*lane.team_meeting, "a barrier", true);
}

namespace {

void exchange(Meeting &meeting, int own, std::uint64_t mine, std::uint64_t *all)
{
  auto &given = meeting.given[meeting.generation % 2];
  given[own] = mine;
  device().meet(meeting, "a reduction", false);
  for (int k = 0; k < meeting.size; ++k) {
    volatile std::uint64_t *target = all + k;  // no memcpy, which the thread sanitizer would see
    *target = given[k];
  }
}

}  // namespace

void exchange_in_team(const LaneOfTeam &lane, std::uint64_t mine, std::uint64_t *all)
{
  exchange(*lane.team_meeting, lane.thread * lane.shape.lanes + lane.lane, mine, all);
}

void exchange_in_thread(const LaneOfTeam &lane, std::uint64_t mine, std::uint64_t *all)
{
  exchange(*lane.thread_meeting, lane.lane, mine, all);
}

}  // namespace dptrain::rehearsal
