#include "session/session_state.h"

#include <fstream>

#include "base/text.h"
#include "dptrain/base/error.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "dptrain/uncertainty/active_learning.h"

namespace dptrain {

namespace {

const std::string suffix = ".ckpt";
constexpr std::size_t all_numbers = 15,
                      numbers_without_precision = 14,  // of a session, in a checkpoint
    active_numbers = 6;                                // more of mode active

bool exists(const std::string &path)
{
  return std::ifstream(path).good();
}

}  // namespace

std::string resume_path(const std::string &file)
{
  if (exists(file) && is_checkpoint(file)) return file;
  if (exists(file + suffix)) return file + suffix;
  if (exists(frames_path_of(file))) return frames_path_of(file);
  const std::string checkpoint = file + suffix, frames = frames_path_of(file),
                    how = "'save N FILE' writes FILE" + suffix + " and FILE.frames";
  throw Error(exists(file) ? "resume: " + file + " is not a checkpoint, and there is no " +
                                 checkpoint + " and no " + frames + " beside it: " + how
                           : "resume: there is no checkpoint " + file + " or " + checkpoint +
                                 ", and no " + frames + ": " + how);
}

std::string frames_path_of(const std::string &checkpoint)
{
  const std::string name = ends_with(checkpoint, suffix)
                               ? checkpoint.substr(0, checkpoint.size() - suffix.size())
                               : checkpoint;
  return name + ".frames";
}

void check_same_model(const std::string &path, const ModelData &found, const ModelSlot &slot)
{
  ModelData wanted;
  if (slot.model)
    wanted = slot.model->data();
  else
    wanted.config = slot.input->model;
  const std::string differences = model_differences(found, wanted);
  if (!differences.empty())
    throw Error("resume: " + path + " is a checkpoint of another model than " + slot.path + ": " +
                differences);
}

std::vector<double> pack(const SessionState &session)
{
  const SessionCounters &counters = session.counters;
  const UpdateReport &report = session.report;
  std::vector<double> numbers{static_cast<double>(counters.reference_calls),
                              static_cast<double>(counters.discarded),
                              counters.trained ? 1.0 : 0.0,
                              static_cast<double>(counters.label_step),
                              counters.label_energy,
                              counters.train_seconds,
                              counters.reference_seconds,
                              static_cast<double>(report.step),
                              report.loss,
                              report.rmse("e"),
                              report.rmse("f"),
                              report.rmse("v"),
                              report.learning_rate,
                              static_cast<double>(session.earned_steps),
                              static_cast<double>(session.precision)};
  if (session.active.empty()) return numbers;
  for (const double number : {static_cast<double>(session.active.size()), session.buffer_error,
                              static_cast<double>(counters.answer_step), counters.answer_energy,
                              counters.reference_moved ? 1.0 : 0.0, counters.energy_jumps})
    numbers.push_back(number);
  for (const auto *part : {&session.active, &session.given_whitening})
    numbers.insert(numbers.end(), part->begin(), part->end());
  return numbers;
}

SessionState unpack(const std::vector<double> &numbers)
{
  const std::size_t active = all_numbers + active_numbers + ActiveLearning::state_size();
  const bool fits = numbers.size() == all_numbers || numbers.size() == numbers_without_precision ||
                    numbers.size() > all_numbers;
  // dptrain train marks its numbers, of which there may be as many, with a negative one
  if (!fits || numbers[0] < 0.0)
    throw Error("resume: the checkpoint holds " + std::to_string(numbers.size()) +
                " counters where fix dptrain writes " + std::to_string(all_numbers) +
                ": it was written by another program (those of dptrain train go on with its "
                "--restart; pair_coeff takes their model)");
  SessionState session;
  SessionCounters &counters = session.counters;
  UpdateReport &report = session.report;
  counters.reference_calls = static_cast<std::int64_t>(numbers[0]);
  counters.discarded = static_cast<std::int64_t>(numbers[1]);
  counters.trained = numbers[2] != 0.0;
  counters.label_step = static_cast<std::int64_t>(numbers[3]);
  counters.label_energy = numbers[4];
  counters.train_seconds = numbers[5];
  counters.reference_seconds = numbers[6];
  report.step = static_cast<std::int64_t>(numbers[7]);
  report.loss = numbers[8];
  if (report.step > 0) report.terms = {{"e", numbers[9]}, {"f", numbers[10]}, {"v", numbers[11]}};
  report.learning_rate = numbers[12];
  session.earned_steps = static_cast<std::int64_t>(numbers[13]);
  session.precision =
      numbers.size() >= all_numbers ? static_cast<Precision>(numbers[14]) : Precision::float64;
  if (numbers.size() <= all_numbers) return session;
  if (numbers.size() < active ||
      numbers[all_numbers] != static_cast<double>(ActiveLearning::state_size()))
    throw Error("resume: the checkpoint is one of 'mode active' of another version of "
                "fix dptrain: start with its model in pair_coeff, without resume");
  session.buffer_error = numbers[all_numbers + 1];
  counters.answer_step = static_cast<std::int64_t>(numbers[all_numbers + 2]);
  counters.answer_energy = numbers[all_numbers + 3];
  counters.reference_moved = numbers[all_numbers + 4] != 0.0;
  counters.energy_jumps = numbers[all_numbers + 5];
  const auto rest = numbers.begin() + static_cast<std::ptrdiff_t>(active);
  session.active.assign(numbers.begin() + all_numbers + active_numbers, rest);
  session.given_whitening.assign(rest, numbers.end());
  return session;
}

}  // namespace dptrain
