#include "resume_check.h"

#include <fstream>

#include "dptrain/base/error.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "dptrain/uncertainty/active_learning.h"
#include "fmt/format.h"
#include "training_session.h"

using namespace LAMMPS_NS;

namespace {

const std::string SUFFIX = ".ckpt";
constexpr std::size_t NUMBERS = 15,
                      NUMBERS_WITHOUT_PRECISION = 14,  // of a session, in a checkpoint
    ACTIVE_NUMBERS = 6;                                // more of mode active

bool exists(const std::string &path)
{
  return std::ifstream(path).good();
}

}  // namespace

std::string LAMMPS_NS::text_of(const std::vector<int> &values)
{
  std::vector<std::string> words;
  for (const int value : values) words.push_back(std::to_string(value));
  return joined(words);
}

std::string LAMMPS_NS::resume_path(const std::string &file)
{
  if (exists(file) && dptrain::is_checkpoint(file)) return file;
  if (exists(file + SUFFIX)) return file + SUFFIX;
  if (exists(frames_path_of(file))) return frames_path_of(file);
  throw dptrain::Error(fmt::format(
      exists(file)
          ? "resume: {0} is not a checkpoint, and there is no {0}{1} and no {2} beside it: "
            "'save N FILE' writes FILE{1} and FILE.frames"
          : "resume: there is no checkpoint {0} or {0}{1}, and no {2}: 'save N FILE' "
            "writes FILE{1} and FILE.frames",
      file, SUFFIX, frames_path_of(file)));
}

std::string LAMMPS_NS::frames_path_of(const std::string &checkpoint)
{
  const std::size_t size = checkpoint.size(), suffix = SUFFIX.size();
  const bool ends = size > suffix && checkpoint.compare(size - suffix, suffix, SUFFIX) == 0;
  return (ends ? checkpoint.substr(0, size - suffix) : checkpoint) + ".frames";
}

void LAMMPS_NS::check_same_model(const std::string &path, const dptrain::ModelData &found,
                                 const ModelSlot &slot)
{
  dptrain::ModelData wanted;
  if (slot.model)
    wanted = slot.model->data();
  else
    wanted.config = slot.input->model;
  const std::string differences = dptrain::model_differences(found, wanted);
  if (!differences.empty())
    throw dptrain::Error(fmt::format("resume: {} is a checkpoint of another model than {}: {}",
                                     path, slot.path, differences));
}

std::vector<double> LAMMPS_NS::pack(const SessionNumbers &session)
{
  const SessionCounters &counters = session.counters;
  const dptrain::UpdateReport &report = session.report;
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

void LAMMPS_NS::unpack(const std::vector<double> &numbers, const SessionNumbers &session)
{
  const std::size_t active = NUMBERS + ACTIVE_NUMBERS + dptrain::ActiveLearning::state_size();
  const bool fits = numbers.size() == NUMBERS || numbers.size() == NUMBERS_WITHOUT_PRECISION ||
                    numbers.size() > NUMBERS;
  // dptrain train marks its numbers, of which there may be as many, with a negative one
  if (!fits || numbers[0] < 0.0)
    throw dptrain::Error(
        fmt::format("resume: the checkpoint holds {} counters where fix dptrain writes {}: it was "
                    "written by another program (those of dptrain train go on with its --restart; "
                    "pair_coeff takes their model)",
                    numbers.size(), NUMBERS));
  SessionCounters &counters = session.counters;
  dptrain::UpdateReport &report = session.report;
  counters.reference_calls = static_cast<std::int64_t>(numbers[0]);
  counters.discarded = static_cast<std::int64_t>(numbers[1]);
  counters.trained = numbers[2] != 0.0;
  counters.label_step = static_cast<std::int64_t>(numbers[3]);
  counters.label_energy = numbers[4];
  counters.train_seconds = numbers[5];
  counters.reference_seconds = numbers[6];
  report.step = static_cast<std::int64_t>(numbers[7]);
  report.loss = numbers[8];
  report.terms.clear();
  if (report.step > 0) report.terms = {{"e", numbers[9]}, {"f", numbers[10]}, {"v", numbers[11]}};
  report.learning_rate = numbers[12];
  session.earned_steps = static_cast<std::int64_t>(numbers[13]);
  session.precision = numbers.size() >= NUMBERS ? static_cast<dptrain::Precision>(numbers[14])
                                                : dptrain::Precision::float64;
  session.given_whitening.clear();
  if (numbers.size() <= NUMBERS) return;
  if (numbers.size() < active ||
      numbers[NUMBERS] != static_cast<double>(dptrain::ActiveLearning::state_size()))
    throw dptrain::Error("resume: the checkpoint is one of 'mode active' of another version of "
                         "fix dptrain: start with its model in pair_coeff, without resume");
  session.buffer_error = numbers[NUMBERS + 1];
  counters.answer_step = static_cast<std::int64_t>(numbers[NUMBERS + 2]);
  counters.answer_energy = numbers[NUMBERS + 3];
  counters.reference_moved = numbers[NUMBERS + 4] != 0.0;
  counters.energy_jumps = numbers[NUMBERS + 5];
  const auto rest = numbers.begin() + static_cast<std::ptrdiff_t>(active);
  session.active.assign(numbers.begin() + NUMBERS + ACTIVE_NUMBERS, rest);
  session.given_whitening.assign(rest, numbers.end());
}
