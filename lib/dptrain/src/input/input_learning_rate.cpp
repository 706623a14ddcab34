#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "input/input_sections.h"

namespace dptrain {

namespace {

constexpr double default_stop_lr = 5e-8;

void read_stop(JsonReader &reader, ScheduleConfig &schedule)
{
  const auto stop = reader.optional_number("stop_lr"),
             ratio = reader.optional_number("stop_lr_ratio");
  if (stop && ratio) reader.fail("stop_lr_ratio", "given beside stop_lr; keep one of them");
  if (stop || ratio) {
    schedule.stop_lr = stop;
    schedule.stop_lr_ratio = ratio;
  }
  const bool may_be_zero = schedule.type != ScheduleType::wsd;
  for (const char *key : {"stop_lr", "stop_lr_ratio"}) {
    const double value = reader.number(key, 1.0);
    if (value < 0.0 || (value == 0.0 && !may_be_zero))
      reader.expected(key, may_be_zero ? "a number not below 0" : "a positive number");
  }
  if (!schedule.stop_lr && !schedule.stop_lr_ratio) schedule.stop_lr = default_stop_lr;
}

void read_exponential(JsonReader &reader, ScheduleConfig &schedule)
{
  schedule.decay_steps = reader.integer("decay_steps", schedule.decay_steps, 1);
  schedule.decay_rate = reader.optional_number("decay_rate");
  if (schedule.decay_rate && !(*schedule.decay_rate > 0.0 && *schedule.decay_rate <= 1.0))
    reader.expected("decay_rate", "a number above 0 and not above 1");
  schedule.smooth = reader.boolean("smooth", schedule.smooth);
}

void read_wsd(JsonReader &reader, ScheduleConfig &schedule)
{
  schedule.decay_phase_ratio = reader.number("decay_phase_ratio", schedule.decay_phase_ratio);
  if (!(schedule.decay_phase_ratio > 0.0 && schedule.decay_phase_ratio <= 1.0))
    reader.expected("decay_phase_ratio", "a number above 0 and not above 1");
  schedule.decay_type =
      reader.choice("decay_type", schedule.decay_type, {"inverse_linear", "cosine", "linear"});
}

/// Keys of one type beside another.
void refuse_keys_of(const char *type, const std::vector<std::string> &keys, JsonReader &reader)
{
  for (const auto &key : keys)
    if (reader.has(key))
      reader.fail(key, fmt::format("belongs to learning rate type \"{}\"; remove it", type));
}

void read_warmup(JsonReader &section, JsonReader &training, ScheduleConfig &schedule)
{
  // the reader that has the key: DeePMD-kit before 3.2 had the warm-up in `training`
  const auto at = [&](const char *key) -> JsonReader & {
    if (!training.has(key)) return section;
    if (section.has(key)) training.fail(key, "given in learning_rate too; keep it there only");
    return training;
  };
  schedule.warmup_steps = at("warmup_steps").integer("warmup_steps", 0, 0);
  JsonReader &ratio = at("warmup_ratio");
  schedule.warmup_ratio = ratio.optional_number("warmup_ratio");
  if (schedule.warmup_steps != 0 && schedule.warmup_ratio)
    ratio.fail("warmup_ratio", "given beside warmup_steps; keep one of them");
  if (schedule.warmup_ratio && !(*schedule.warmup_ratio >= 0.0 && *schedule.warmup_ratio < 1.0))
    ratio.expected("warmup_ratio", "a number from 0 to below 1");
  schedule.warmup_start_factor = at("warmup_start_factor").not_negative("warmup_start_factor", 0.0);
}

}  // namespace

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
  const std::string type =
      reader.text("type", schedule.type == ScheduleType::cosine ? "cosine" : "exp");
  if (type == "cosine")
    schedule.type = ScheduleType::cosine;
  else if (type == "wsd")
    schedule.type = ScheduleType::wsd;
  else if (type != "exp")
    reader.fail(
        "type",
        fmt::format(
            "learning rate \"{}\" is not in this version; use \"exp\", \"cosine\" or \"wsd\"",
            type));
  input.start_lr_given = reader.has("start_lr");
  schedule.start_lr = reader.positive("start_lr", schedule.start_lr);
  read_stop(reader, schedule);
  if (schedule.type == ScheduleType::exponential)
    read_exponential(reader, schedule);
  else
    refuse_keys_of("exp", {"decay_steps", "decay_rate", "smooth"}, reader);
  if (schedule.type == ScheduleType::wsd)
    read_wsd(reader, schedule);
  else
    refuse_keys_of("wsd", {"decay_phase_ratio", "decay_type"}, reader);
  read_warmup(reader, training, schedule);
  if (!input.offline.num_epoch && schedule.warmup_steps >= input.training.numb_steps)
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
  ignore(reader, {{"scale_by_worker", "linear"}}, input);
  reader.finish();
}

std::string name_of(ScheduleType type)
{
  switch (type) {
  case ScheduleType::cosine:
    return "cosine";
  case ScheduleType::wsd:
    return "wsd";
  default:
    return "exp";
  }
}

}  // namespace dptrain
