#include "session/learning/training_settings.h"

#include <fmt/format.h>

#include "base/text.h"
#include "dptrain/base/error.h"
#include "dptrain/parallel/broadcast.h"
#include "dptrain/potential/model/model_data.h"

namespace dptrain {

namespace {

constexpr double soap_start_lr = 1e-2;  // where the input gives none; measured, see the manual
constexpr std::int64_t disp_every =
    100;  // lines of lcurve.out, where neither options nor input say

// The model of a file that has been read for its training alone: another one than the new model of pair_coeff would not be made.
void refuse_other_model(const InputFile &input, const std::string &path, const ModelInUse &slot)
{
  if (!slot.input() || input.model_def_script.empty()) return;
  ModelConfig there = input.model, here = slot.input()->model;
  for (ModelConfig *model : {&there, &here})
    if (model->cutoff_source == CutoffSource::open) choose_cutoff(*model, slot.input()->model.rcut);
  const std::string differences = model_differences(there, here);
  if (!differences.empty())
    throw Error(fmt::format("{}: its section model is not that of the new model, which pair_coeff "
                            "makes of {}: {}; give {} in pair_coeff, or remove the section",
                            path, slot.path(), differences, path));
}

}  // namespace

TrainingSettings::TrainingSettings(const Communicator &comm, const LearningOptions &options,
                                   const ModelInUse &slot, const Log &say) :
    options_(options), slot_(slot), input_(slot.input())
{
  const DescriptorConfig *descriptor = slot.descriptor().get();
  if (!options.training.input.empty()) {
    std::string text;
    guarded(comm, [&] {
      if (comm.rank() == 0) text = read_input_file(options.training.input);
    });
    broadcast(comm, text);
    guarded(comm, [&] {
      input_ =
          read_input_text(text, options.training.input, {slot.from_archive(), descriptor, true});
      refuse_other_model(*input_, options.training.input, slot);
    });
  }
  if (input_ && !input_->ignored.empty())
    say(fmt::format("keys of the input file that have no meaning here: {}",
                    joined(input_->ignored)));
  InputFile defaults;
  defaults.training.disp_freq = disp_every;
  if (descriptor) descriptor->set_input_defaults(defaults, true);
  configure(input_.value_or(defaults));
}

void TrainingSettings::configure(const InputFile &input)
{
  config_ = input.training;
  if (options_.training.batch) config_.batch_size = *options_.training.batch;
  if (options_.training.seed) config_.seed = *options_.training.seed;
  if (options_.files.disp_every) config_.disp_freq = *options_.files.disp_every;
  if (!options_.files.disp.empty()) config_.disp_file = options_.files.disp;
  choose_optimizer(input);
  if (options_.training.ema) config_.ema_decay = *options_.training.ema;
  if (!options_.training.rules.empty()) config_.rules = options_.training.rules;
  config_.buffer_frames = options_.training.buffer;
  config_.weighted_replay = options_.active;
  config_.parallel = options_.training.parallel;
  config_.keeps_atom_energies = !slot_.model();
}

// SOAP, unless options or input say otherwise; what the input does not give of it suits this program.
void TrainingSettings::choose_optimizer(const InputFile &input)
{
  OptimizerConfig &optimizer = config_.optimizer;
  if (options_.training.optimizer)
    optimizer.type = *options_.training.optimizer;
  else if (!input.optimizer_given)
    optimizer.type = OptimizerType::soap;
  const bool is_double = slot_.settings().precision == Precision::float64;
  if (!optimizer.precision) optimizer.precision = is_double ? "float64" : "float32";
  if (!input.start_lr_given)
    config_.schedule.start_lr = optimizer.type == OptimizerType::soap
                                    ? input.soap_start_lr.value_or(soap_start_lr)
                                    : ScheduleConfig().start_lr;
}

void TrainingSettings::continue_from(const std::string &path, const std::string &training_text)
{
  const InputFile before = read_training_text(training_text, path);
  InputFile input = input_.value_or(before);
  if (!input.optimizer_given) {
    input.training.optimizer = before.training.optimizer;
    input.optimizer_given = true;
  }
  if (!input.start_lr_given) {
    input.training.schedule.start_lr = before.training.schedule.start_lr;
    input.start_lr_given = true;
  }
  if (!input.average_given) input.training.ema_decay = before.training.ema_decay;
  configure(input);
  const OptimizerType kept = before.training.optimizer.type;
  if (config_.optimizer.type != kept)
    throw Error(fmt::format(
        "resume: the training of {} goes on with its optimizer {}, here {} is asked for: remove "
        "that from keyword or input, or train the model of the checkpoint anew, without resume",
        path, name_of(kept), name_of(config_.optimizer.type)));
}

std::string TrainingSettings::summary() const
{
  const ScheduleConfig &schedule = config_.schedule;
  std::string text =
      fmt::format("optimizer {}, learning rate {:g} ({}), {} steps for a label, prefactors",
                  name_of(config_.optimizer.type), schedule.start_lr, name_of(schedule.type),
                  options_.training.steps);
  for (const auto &[term, prefactor] : config_.loss.prefactors) {
    if (!prefactor.is_on()) continue;
    text += fmt::format(" {} {:g}", term, prefactor.start);
    if (prefactor.limit != prefactor.start) text += fmt::format(" to {:g}", prefactor.limit);
  }
  if (!config_.loss.prefactor("v").is_on())
    text += "; the virial is not learned, so do not trust pressures";
  return text;
}

}  // namespace dptrain
