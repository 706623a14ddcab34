#include "session/legacy_state.h"

#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>
#include <string>

#include "base/advice.h"
#include "dptrain/base/error.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/training/update_report.h"
#include "dptrain/uncertainty/active_learning.h"
#include "optimizer/optimizer.h"
#include "training/parameter_rules.h"

namespace dptrain {

namespace {

constexpr std::size_t active_numbers = 122;  // of ActiveLearning::state() in that format

std::string precision_name(std::int64_t number)
{
  if (number < 0 || number > 2)
    throw Error(fmt::format("The precision in the checkpoint is damaged: it is {}{}", number,
                            checkpoint_advice()));
  return name_of(static_cast<Precision>(number));
}

/// Takes an array apart from its beginning.
class Numbers {
 public:
  Numbers(const std::vector<double> &values, std::string what) :
      values_(values), what_(std::move(what))
  {
  }
  std::size_t left() const { return values_.size() - next_; }
  double number() { return array(1)[0]; }
  std::int64_t integer()
  {
    const double value = number();
    if (!(std::abs(value) < 9e15)) fail();  // a double counts up to there
    return static_cast<std::int64_t>(value);
  }
  std::vector<double> array(std::size_t size)
  {
    if (size > left()) fail();
    const auto begin = values_.begin() + static_cast<std::ptrdiff_t>(next_);
    next_ += size;
    return {begin, begin + static_cast<std::ptrdiff_t>(size)};
  }
  /// So many numbers as the next one says, or less by `of_them`, which it counts too.
  std::vector<double> counted(double of_them = 0.0)
  {
    const double size = number() - of_them;
    if (!(size >= 0.0 && size <= static_cast<double>(left()))) fail();
    return array(static_cast<std::size_t>(size));
  }
  [[noreturn]] void fail() const
  {
    throw Error(fmt::format("The {} in the checkpoint is damaged: it has {} numbers{}", what_,
                            values_.size(), checkpoint_advice()));
  }

 private:
  const std::vector<double> &values_;
  std::string what_;
  std::size_t next_ = 0;
};

// Draws of weighted replay: their number with itself, draws, how many latest frames, these, the errors.
State replay_weights(const std::vector<double> &values)
{
  Numbers numbers(values, "state of the weighted replay");
  State state;
  state.set_integer("draws", numbers.integer());
  state.set_array("latest", numbers.counted());
  state.set_array("errors", numbers.array(numbers.left()));
  return state;
}

/// What the optimizer of these settings keeps beside two moments of each parameter.
std::size_t further_numbers(const Checkpoint &checkpoint)
{
  // files of version 0.1.0 have no settings: there was no optimizer but Adam
  if (checkpoint.training.empty()) return 0;
  const TrainingConfig training =
      read_training_text(checkpoint.training, "settings of the checkpoint").training;
  if (training.optimizer.type != OptimizerType::soap) return 0;
  const auto model = make_model(checkpoint.model, "checkpoint");
  const auto optimizer =
      make_optimizer(training.optimizer, apply_rules(model->parameters(), training.rules),
                     make_mpi_communicator());
  return optimizer->state().array("extra").size();
}

// Draws, then number of frames, epoch and position of each system.
State batch_plan(const std::vector<double> &values)
{
  State state;
  if (values.empty()) return state;
  Numbers numbers(values, "order of the batches");
  state.set_integer("draws", numbers.integer());
  std::vector<double> frames, epochs, positions;
  while (numbers.left() > 0)
    for (auto *part : {&frames, &epochs, &positions}) part->push_back(numbers.number());
  state.set_array("frames", std::move(frames));
  state.set_array("epochs", std::move(epochs));
  state.set_array("positions", std::move(positions));
  return state;
}

// Step, learning rate, then sum and weight of the loss, of each rmse, and of each mae.
State report_mean(const std::vector<double> &values)
{
  State state, terms;
  if (values.empty()) return state;
  Numbers numbers(values, "mean of the errors");
  const auto mean = [&] {
    State group;
    group.set_number("sum", numbers.number());
    group.set_number("weight", numbers.number());
    return group;
  };
  state.set_integer("step", numbers.integer());
  state.set_number("learning_rate", numbers.number());
  state.set_group("loss", mean());
  constexpr const char *names[] = {"e", "f", "v", "ae", "pf", "gf"};
  State errors[std::size(names)];
  for (const char *kind : {"rmse", "mae"})
    for (State &of_term : errors) of_term.set_group(kind, mean());
  for (std::size_t k = 0; k < std::size(names); ++k)
    terms.set_group(names[k], std::move(errors[k]));
  state.set_group("terms", std::move(terms));
  return state;
}

State session_of_train(Numbers numbers)
{
  std::size_t sizes[4];
  for (std::size_t &size : sizes) size = static_cast<std::size_t>(numbers.integer());
  State state;
  state.set_text("program", program_train);
  if (sizes[0] != 1) numbers.fail();
  state.set_text("precision", precision_name(numbers.integer()));
  state.set_group("training", batch_plan(numbers.array(sizes[1])));
  state.set_group("validation", batch_plan(numbers.array(sizes[2])));
  state.set_group("means", report_mean(numbers.array(sizes[3])));
  return state;
}

UpdateReport report(Numbers &numbers)
{
  UpdateReport report;
  report.step = numbers.integer();
  report.loss = numbers.number();
  for (const char *term : {"e", "f", "v"}) report.terms.push_back({term, numbers.number()});
  report.learning_rate = numbers.number();
  if (report.step == 0) report.terms.clear();
  return report;
}

State active(Numbers &numbers)
{
  const std::size_t size = active_numbers;
  if (numbers.number() != static_cast<double>(size))
    throw Error("The checkpoint is one of 'mode active' of another version of fix dptrain: start "
                "with its model in pair_coeff, without resume");
  State state;
  state.set_number("buffer_error", numbers.number());
  state.set_integer("answer_step", numbers.integer());
  state.set_number("answer_energy", numbers.number());
  state.set_flag("reference_moved", numbers.number() != 0.0);
  state.set_number("energy_jumps", numbers.number());
  state.set_array("learning", numbers.array(size));
  state.set_array("given_whitening", numbers.array(numbers.left()));
  return state;
}

State session_of_fix(Numbers numbers)
{
  State state;
  state.set_text("program", program_fix);
  state.set_integer("reference_calls", numbers.integer());
  state.set_integer("discarded", numbers.integer());
  state.set_flag("trained", numbers.number() != 0.0);
  state.set_integer("label_step", numbers.integer());
  state.set_number("label_energy", numbers.number());
  state.set_number("train_seconds", numbers.number());
  state.set_number("reference_seconds", numbers.number());
  state.set_group("report", report(numbers).state());
  state.set_integer("earned_steps", numbers.integer());
  // version 0.1.0 wrote no precision: it was double
  state.set_text("precision", precision_name(numbers.left() > 0 ? numbers.integer() : 0));
  if (numbers.left() > 0) state.set_group("active", active(numbers));
  return state;
}

}  // namespace

// Steps, flags (1: the energy bias is fitted, 2: draws are weighted), three numbers of the buffer, those of the draws,
// those of the optimizer, the average with the weight before it, the gradient that waits for further batches.
State trainer_of_version_1(const std::vector<double> &values, const Checkpoint &checkpoint)
{
  Numbers numbers(values, "state of the training");
  const std::size_t n = checkpoint.parameters.size();
  State state, buffer, optimizer, average, gradient;
  state.set_integer("steps", numbers.integer());
  const std::int64_t flags = numbers.integer();
  state.set_flag("bias_is_fitted", flags % 2 == 1);
  for (const char *name : {"epoch", "position", "frames"})
    buffer.set_integer(name, numbers.integer());
  state.set_group("buffer", std::move(buffer));
  if (flags >= 2) state.set_group("weights", replay_weights(numbers.counted(1.0)));
  optimizer.set_integer("steps", numbers.integer());
  optimizer.set_array("mean", numbers.array(n));
  optimizer.set_array("square", numbers.array(n));
  optimizer.set_array("extra", numbers.array(further_numbers(checkpoint)));
  state.set_group("optimizer", std::move(optimizer));
  if (numbers.left() > n) {
    average.set_number("weight", numbers.number());
    average.set_array("mean", numbers.array(n));
  }
  if (numbers.left() > 0) gradient.set_array("kept", numbers.array(n));
  if (numbers.left() > 0) numbers.fail();
  state.set_group("average", std::move(average));
  state.set_group("gradient", std::move(gradient));
  return state;
}

// dptrain train begins with a mark that no counter has.
State session_of_version_1(const std::vector<double> &values)
{
  Numbers numbers(values, "state of the session");
  if (numbers.left() == 0) return {};
  if (values.front() >= 0.0) return session_of_fix(numbers);
  numbers.number();
  return session_of_train(numbers);
}

}  // namespace dptrain
