// Prints the gradient of the loss of a model and its parameters after some steps, for tests that compare them with other
// programs.
//   loss_gradient MODEL SYSTEM INPUT STEPS [distribution] [chunk]      the batch of each step is all frames of the system
// MODEL as in pair_coeff, SYSTEM a folder in DeePMD-kit's npy layout, INPUT an input.json of which the training counts.
// One line of JSON: loss, gradient and parameters by name. Runs on any number of ranks.

#include <mpi.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "dptrain/base/error.h"
#include "dptrain/data/dataset_writer.h"
#include "dptrain/frames/distribution.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/training/trainer.h"

namespace {

using dptrain::Model;
using nlohmann::json;

json by_name(const Model &model, const std::vector<double> &values)
{
  json named;
  for (const auto &block : model.parameters().blocks()) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(block.offset);
    named[block.name] = std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(block.size));
  }
  return named;
}

void run(const std::vector<std::string> &arguments)
{
  const MPI_Comm all = MPI_COMM_WORLD;
  const auto world = dptrain::make_mpi_communicator(&all);
  const auto model = dptrain::load_model(arguments.at(0));
  dptrain::TrainingConfig config =
      dptrain::read_input_text(dptrain::read_input_file(arguments.at(2)), arguments.at(2),
                               {true, nullptr, false})
          .training;
  const std::vector<dptrain::WholeFrame> frames =
      dptrain::read_npy_system(arguments.at(1), model->type_map());
  config.batch_size = static_cast<int>(frames.size());
  config.fit_energy_bias = false;
  if (arguments.size() > 5) model->set_chunk(std::stoi(arguments[5]));
  const auto distribution = arguments.size() > 4 && arguments[4] == "frames"
                                ? dptrain::Distribution::frames
                                : dptrain::Distribution::space;
  dptrain::Distributor distributor(world, distribution, config.batch_size, 1);
  dptrain::Trainer trainer(model, world, config);
  std::vector<std::int64_t> places;
  for (const auto &frame : frames)
    places.push_back(trainer.add(distributor.share(frame, model->cutoff())));
  std::vector<double> gradient(model->parameters().size());
  const dptrain::UpdateReport report = trainer.loss_gradient(places, gradient);
  for (int step = 0; step < std::stoi(arguments.at(3)); ++step) trainer.update();
  if (world->rank() != 0) return;
  std::cout << json{{"loss", report.loss},
                    {"gradient", by_name(*model, gradient)},
                    {"parameters", by_name(*model, model->parameters().values())}}
            << std::endl;
}

}  // namespace

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int status = 0;
  try {
    run({argv + 1, argv + argc});
  } catch (const std::exception &e) {
    std::cerr << "loss_gradient: " << e.what() << "\n";
    status = 1;
  }
  MPI_Finalize();
  return status;
}
