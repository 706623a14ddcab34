// What a build computes from a model and labeled frames, for comparison with another build, such as that of another device.
//   agreement INPUT.json MODEL SYSTEM STEPS
// INPUT.json as in `dptrain train` (its training counts), MODEL as in pair_coeff, SYSTEM a folder in DeePMD-kit's npy layout.
// One line of JSON for each precision: energies of the frames, forces and virial of the first one, gradient of the loss
// over all frames, and how the parameters have changed after STEPS optimizer steps with all frames in each batch. Of long
// arrays an evenly spaced sample, and the root of the mean square of the whole.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "dptrain/base/error.h"
#include "dptrain/data/dataset_writer.h"
#include "dptrain/frames/distribution.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/training/trainer.h"
#include "mpi_program.h"

namespace {

using dptrain::Frame;
using nlohmann::json;

constexpr std::size_t SAMPLE = 1000;

json summary(const std::vector<double> &values)
{
  double square_sum = 0.0;
  for (double v : values) square_sum += v * v;
  std::vector<double> sample;
  const std::size_t stride = std::max<std::size_t>(1, values.size() / SAMPLE);
  for (std::size_t k = 0; k < values.size(); k += stride) sample.push_back(values[k]);
  return {{"size", values.size()},
          {"rms", std::sqrt(square_sum / static_cast<double>(values.size()))},
          {"sample", sample}};
}

/// Energies of all frames, forces and virial of the first one.
json evaluate(dptrain::Model &model, const std::vector<Frame> &frames)
{
  std::vector<double> energies;
  json result;
  for (const Frame &frame : frames) {
    std::vector<double> force(3 * static_cast<std::size_t>(frame.nall()), 0.0);
    dptrain::ForwardOutput out;
    out.force = force.data();
    model.forward(frame.domain(), out);
    frame.halo->reduce(force.data(), 3);
    force.resize(3 * static_cast<std::size_t>(frame.nlocal));
    energies.push_back(out.energy);
    if (energies.size() > 1) continue;
    result["force"] = summary(force);
    result["virial"] = summary({out.virial.begin(), out.virial.end()});
  }
  result["energy"] = summary(energies);
  return result;
}

struct Task {
  dptrain::TrainingConfig training;
  std::string model_file, system;
  int steps = 0;
};

json compute(const Task &task, dptrain::Precision precision)
{
  const MPI_Comm all = MPI_COMM_SELF;
  const auto alone = dptrain::make_mpi_communicator(&all);
  const auto model = dptrain::load_model(task.model_file);
  dptrain::TrainingConfig config = task.training;
  config.fit_energy_bias = false;
  if (precision != dptrain::Precision::float64) config.optimizer.precision = "float32";

  std::vector<Frame> frames;
  const auto whole = dptrain::read_npy_system(task.system, model->type_map());
  config.batch_size = static_cast<int>(whole.size());
  dptrain::Distributor distributor(alone, dptrain::Distribution::space, config.batch_size, 1);
  dptrain::Trainer trainer(model, alone, config);
  model->set_precision(precision);
  std::vector<std::int64_t> places;
  for (const auto &frame : whole) {
    frames.push_back(distributor.share(frame, model->cutoff()));
    places.push_back(trainer.add(distributor.share(frame, model->cutoff())));
  }

  json result = evaluate(*model, frames);
  std::vector<double> gradient(model->parameters().size());
  trainer.loss_gradient(places, gradient);
  result["gradient"] = summary(gradient);
  std::vector<double> change = model->parameters().values();
  for (int step = 0; step < task.steps; ++step) trainer.update();
  for (std::size_t k = 0; k < change.size(); ++k)
    change[k] = model->parameters().values()[k] - change[k];
  result["change"] = summary(change);
  return result;
}

void run(const std::vector<std::string> &words)
{
  if (words.size() != 4) throw dptrain::Error("usage: agreement INPUT.json MODEL SYSTEM STEPS");
  const Task task{dptrain::read_input(words[0]).training, words[1], words[2], std::stoi(words[3])};
  using dptrain::Precision;
  for (const auto &[name, precision] :
       {std::pair("double", Precision::float64), std::pair("single", Precision::single),
        std::pair("mixed", Precision::mixed)}) {
    json result = compute(task, precision);
    result["precision"] = name;
    std::cout << result
              << std::endl;  // at once: a crash in the next precision does not lose this one
  }
}

}  // namespace

int main(int argc, char **argv)
{
  return mpi_program(argc, argv, "agreement", run);
}
