#include "training/schedule.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string>

#include "dptrain/base/error.h"

namespace dptrain {

namespace {

constexpr double default_stop_lr = 5e-8;
constexpr double PI = 3.14159265358979323846;

void check_rate(bool good, const std::string &message)
{
  if (!good) throw Error("learning_rate: " + message);
}

void check_config(const ScheduleConfig &config, std::int64_t numb_steps)
{
  check_rate(config.start_lr > 0.0 && std::isfinite(config.start_lr),
             fmt::format("start_lr must be a positive number, found {}", config.start_lr));
  check_rate(!config.stop_lr || !config.stop_lr_ratio, "give stop_lr or stop_lr_ratio, not both");
  check_rate(config.warmup_steps == 0 || !config.warmup_ratio,
             "give warmup_steps or warmup_ratio, not both");
  check_rate(config.decay_steps > 0,
             fmt::format("decay_steps must be positive, found {}", config.decay_steps));
  check_rate(numb_steps >= 0,
             fmt::format("numb_steps of `training` must not be negative, found {}", numb_steps));
  check_rate(!config.decay_rate || *config.decay_rate > 0.0, "decay_rate must be positive");
}

void check_wsd(const ScheduleConfig &config, double stop)
{
  check_rate(stop > 0.0, "stop_lr must be positive for the type wsd");
  check_rate(config.decay_phase_ratio > 0.0 && config.decay_phase_ratio <= 1.0,
             fmt::format("decay_phase_ratio must be above 0 and at most 1, found {}",
                         config.decay_phase_ratio));
  check_rate(config.decay_type == "inverse_linear" || config.decay_type == "cosine" ||
                 config.decay_type == "linear",
             fmt::format("decay_type must be inverse_linear, cosine or linear, found '{}'",
                         config.decay_type));
}

/// Half a cosine from start to stop as `progress` goes from 0 to 1.
double half_cosine(double start, double stop, double progress)
{
  return stop + 0.5 * (start - stop) * (1.0 + std::cos(PI * progress));
}

}  // namespace

Schedule::Schedule(const ScheduleConfig &config, std::int64_t numb_steps) : config_(config)
{
  check_config(config, numb_steps);
  stop_ = config.stop_lr_ratio ? config.start_lr * *config.stop_lr_ratio
                               : config.stop_lr.value_or(default_stop_lr);
  check_rate(stop_ >= 0.0 && std::isfinite(stop_), "stop_lr must not be negative");
  warmup_ = config.warmup_ratio ? static_cast<std::int64_t>(*config.warmup_ratio * numb_steps)
                                : config.warmup_steps;
  check_rate(
      warmup_ >= 0 && (warmup_ < numb_steps || warmup_ == 0),
      fmt::format("the warm-up of {} steps must be shorter than the {} steps of the training",
                  warmup_, numb_steps));
  length_ = numb_steps - warmup_;
  if (config.type == ScheduleType::wsd) {
    check_wsd(config, stop_);
    const auto asked = static_cast<std::int64_t>(config.decay_phase_ratio * numb_steps);
    decay_ = std::max<std::int64_t>(1, std::min(asked, length_));
  }

  stair_ = config.decay_steps;
  if (config.decay_rate) {
    factor_ = *config.decay_rate;
  } else {
    // DeePMD shortens stairs that are longer than the whole training
    if (stair_ >= length_) stair_ = length_ / 10 > 100 ? 100 : length_ / 100 + 1;
    if (length_ > 0)
      factor_ = std::exp(std::log(std::max(stop_, 1e-10) / config.start_lr) * stair_ / length_);
  }
}

double Schedule::rate(std::int64_t step) const
{
  if (step >= warmup_) return decayed(step - warmup_);
  const double first = config_.warmup_start_factor * config_.start_lr;
  return first + (config_.start_lr - first) * (static_cast<double>(step) / warmup_);
}

double Schedule::decayed(std::int64_t step) const
{
  if (config_.type == ScheduleType::exponential) return exponential(step);
  if (config_.type == ScheduleType::wsd) return stable_then_decayed(step);
  if (step >= length_) return length_ > 0 ? stop_ : config_.start_lr;
  return half_cosine(config_.start_lr, stop_, static_cast<double>(step) / length_);
}

double Schedule::exponential(std::int64_t step) const
{
  const double stairs =
      config_.smooth ? static_cast<double>(step) / stair_ : static_cast<double>(step / stair_);
  return std::max(config_.start_lr * std::pow(factor_, stairs), stop_);
}

double Schedule::stable_then_decayed(std::int64_t step) const
{
  const std::int64_t stable = length_ - decay_;
  if (step >= length_) return stop_;
  if (step < stable) return config_.start_lr;
  const double progress = static_cast<double>(step - stable) / decay_;
  if (config_.decay_type == "cosine") return half_cosine(config_.start_lr, stop_, progress);
  if (config_.decay_type == "linear")
    return config_.start_lr + (stop_ - config_.start_lr) * progress;
  return 1.0 / (progress / stop_ + (1.0 - progress) / config_.start_lr);
}

}  // namespace dptrain
