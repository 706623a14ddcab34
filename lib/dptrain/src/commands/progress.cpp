#include "commands/progress.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>

#include "base/elapsed.h"
#include "training/shown_errors.h"

namespace dptrain {

namespace {

constexpr int bar_width = 30;
constexpr double draw_seconds = 0.2;
const char clear_line[] = "\r\033[K";

std::string errors(const LossConfig &loss, const UpdateReport &report)
{
  std::string text = fmt::format("rmse {:.2e}", std::sqrt(report.loss));
  for (const ShownError &error : shown_errors(loss))
    text += fmt::format(" {} {:.2e}", error.term, error.value(report));
  return text;
}

}  // namespace

std::string duration_text(double seconds)
{
  const long long s = std::llround(std::max(seconds, 0.0));
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

double peak_memory_mib(const Communicator &comm)
{
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  double mib = static_cast<double>(usage.ru_maxrss) / 1024.0;  // Linux counts in KiB
  comm.all_reduce_max(&mib, 1);
  return mib;
}

Progress::Progress(std::shared_ptr<const Communicator> comm, const LossConfig &loss,
                   std::int64_t first, std::int64_t total, Log log,
                   std::function<void(const std::string &)> draw) :
    comm_(std::move(comm)),
    loss_(loss),
    first_(first),
    total_(total),
    line_step_(first),
    log_(std::move(log)),
    draw_(std::move(draw)),
    start_(Clock::now()),
    line_time_(start_),
    draw_time_(start_)
{
}

double Progress::seconds() const
{
  return seconds_since(start_);
}

std::string Progress::remaining(std::int64_t step) const
{
  const double done = static_cast<double>(step - first_);
  // the first step makes tables and buffers
  return done > 1.0 ? duration_text(seconds() / done * static_cast<double>(total_ - step)) : "?";
}

void Progress::step(std::int64_t step)
{
  if (!draw_ || comm_->rank() != 0) return;
  if (seconds_since(draw_time_) < draw_seconds) return;
  draw_time_ = Clock::now();
  const double part =
      static_cast<double>(step) / static_cast<double>(std::max<std::int64_t>(total_, 1));
  const int filled = static_cast<int>(part * bar_width);
  draw_(fmt::format("{}{}] {:3.0f} %  step {} of {}  {} left", clear_line,
                    "[" + std::string(filled, '#') + std::string(bar_width - filled, '.'),
                    100.0 * part, step, total_, remaining(step)));
  drawn_ = true;
}

void Progress::line(const UpdateReport &training, const std::optional<UpdateReport> &validation,
                    bool times)
{
  const double memory = peak_memory_mib(*comm_);
  if (comm_->rank() != 0) return;
  end();
  const double elapsed = seconds_since(line_time_);
  std::string text = fmt::format("step {:7}  trn: {}", training.step, errors(loss_, training));
  if (validation) text += fmt::format("  val: {}", errors(loss_, *validation));
  text += fmt::format("  lr {:.1e}", training.learning_rate);
  if (times)
    text += fmt::format("  {:.3g} steps/s  {} left",
                        static_cast<double>(training.step - line_step_) / std::max(elapsed, 1e-9),
                        remaining(training.step));
  text += fmt::format("  {:.0f} MiB per rank", memory);
  log_(text);
  line_time_ = Clock::now();
  line_step_ = training.step;
}

void Progress::end()
{
  if (drawn_) draw_(clear_line);
  drawn_ = false;
}

}  // namespace dptrain
