#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "input/input_sections.h"

namespace dptrain {

namespace {

constexpr double default_stop_lr = 5e-8;

const Kinds<ScheduleType> schedule_types{"learning rate",
                                         {{"exp", ScheduleType::exponential},
                                          {"cosine", ScheduleType::cosine},
                                          {"wsd", ScheduleType::wsd}}};

bool is_exponential(const ScheduleConfig &schedule)
{
  return schedule.type == ScheduleType::exponential;
}

bool is_wsd(const ScheduleConfig &schedule)
{
  return schedule.type == ScheduleType::wsd;
}

bool counts_warmup_steps(const ScheduleConfig &schedule)
{
  return !schedule.warmup_ratio || schedule.warmup_steps == 0;
}

const char *const of_exponential = "belongs to learning rate type \"exp\"; remove it";
const char *const of_wsd = "belongs to learning rate type \"wsd\"; remove it";

void read_stop(JsonReader &reader, ScheduleConfig &schedule)
{
  if (reader.has("stop_lr") && reader.has("stop_lr_ratio"))
    reader.fail("stop_lr_ratio", "given beside stop_lr; keep one of them");
  if (reader.has("stop_lr")) schedule.stop_lr_ratio.reset();
  if (reader.has("stop_lr_ratio")) schedule.stop_lr.reset();
  for (const char *key : {"stop_lr", "stop_lr_ratio"})
    if (is_wsd(schedule) && reader.number(key, 1.0) == 0.0)
      reader.expected(key, "a positive number");
  if (!schedule.stop_lr && !schedule.stop_lr_ratio) schedule.stop_lr = default_stop_lr;
}

/// DeePMD-kit before 3.2 had the warm-up in `training`.
void read_warmup(JsonReader &section, JsonReader &training, ScheduleConfig &schedule)
{
  for (const char *key : {"warmup_steps", "warmup_ratio", "warmup_start_factor"}) {
    if (training.has(key) && section.has(key))
      training.fail(key, "given in learning_rate too; keep it there only");
    schedule_keys().read_one(training, schedule, key, key);
  }
  if (!counts_warmup_steps(schedule))
    (training.has("warmup_ratio") ? training : section)
        .fail("warmup_ratio", "given beside warmup_steps; keep one of them");
}

}  // namespace

const Keys<ScheduleConfig> &schedule_keys()
{
  using K = Key<ScheduleConfig>;
  using C = ScheduleConfig;
  static const Keys<C> keys{
      K("type", &C::type, schedule_types),
      K("start_lr", &C::start_lr, positive),
      K("stop_lr", &C::stop_lr, not_negative),
      K("stop_lr_ratio", &C::stop_lr_ratio, not_negative),
      K("warmup_ratio", &C::warmup_ratio, zero_to_below_1),
      K("warmup_steps", &C::warmup_steps, not_negative),
      K("warmup_start_factor", &C::warmup_start_factor, not_negative),
      K("decay_steps", &C::decay_steps, at_least_1).only(is_exponential, of_exponential),
      K("decay_rate", &C::decay_rate, above_0_to_1).only(is_exponential, of_exponential),
      K("smooth", &C::smooth).only(is_exponential, of_exponential),
      K("decay_phase_ratio", &C::decay_phase_ratio, above_0_to_1).only(is_wsd, of_wsd),
      K("decay_type", &C::decay_type, Choice{"inverse_linear", "cosine", "linear"})
          .only(is_wsd, of_wsd),
  };
  return keys;
}

void read_learning_rate_section(JsonReader reader, JsonReader &training, InputFile &input)
{
  ScheduleConfig &schedule = input.training.schedule;
  // keys of a law of decay replace that of a default schedule
  const std::vector<std::string> shape{"type", "decay_steps", "decay_rate", "smooth"};
  if (std::any_of(shape.begin(), shape.end(), [&](const auto &key) { return reader.has(key); })) {
    const double start = schedule.start_lr;
    schedule = {};
    schedule.start_lr = start;
  }
  input.start_lr_given = reader.has("start_lr");
  schedule_keys().read(reader, schedule);
  read_stop(reader, schedule);
  read_warmup(reader, training, schedule);
  if (!input.offline.num_epoch && schedule.warmup_steps > 0 &&
      schedule.warmup_steps >= input.training.numb_steps)
    (training.has("warmup_steps") ? training : reader)
        .fail("warmup_steps", fmt::format("must be smaller than training/numb_steps ({})",
                                          input.training.numb_steps));
  // DeePMD-kit 1: the rate of the decay gives where it ends
  if (training.has("systems") && schedule.decay_rate) {
    schedule.stop_lr = schedule.start_lr * std::pow(*schedule.decay_rate,
                                                    static_cast<double>(input.training.numb_steps) /
                                                        schedule.decay_steps);
    schedule.stop_lr_ratio.reset();
    schedule.decay_rate.reset();
  }
  // DeePMD-kit's PyTorch backend does not scale either
  read_foreign(reader, {{"scale_by_worker", "linear"}}, input.ignored);
  reader.finish();
}

std::string name_of(ScheduleType type)
{
  return schedule_types.name(type);
}

}  // namespace dptrain
