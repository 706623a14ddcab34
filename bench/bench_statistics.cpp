// Times the neighbor statistics of one frame, repeated K times along each edge of its cell.
//   bench_statistics INPUT.json SYSTEM K REPEATS
// One line of JSON: atoms, seconds of each repetition (all on the host), largest numbers of neighbors.

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "dptrain/base/error.h"
#include "dptrain/data/dataset_writer.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/input/config.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/native/deep_pot.h"
#include "dptrain/statistics/statistics.h"
#include "mpi_program.h"
#include "replicated.h"

namespace {

double now()
{
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void run(const std::vector<std::string> &words)
{
  if (words.size() != 4)
    throw dptrain::Error("usage: bench_statistics INPUT.json SYSTEM K REPEATS");
  const dptrain::ModelConfig config = dptrain::read_input(words[0]).model;
  const MPI_Comm all = MPI_COMM_SELF;
  const auto frames = dptrain::read_npy_system(words[1], config.type_map);
  const dptrain::Frame frame =
      dptrain::scatter_frame(dptrain::make_mpi_communicator(&all),
                             replicated(frames.at(0), std::stoi(words[2])), config.rcut);
  std::vector<double> seconds;
  std::vector<int> neighbors;
  for (int k = 0; k < std::stoi(words[3]); ++k) {
    dptrain::StatisticsSettings settings = dptrain::statistics_settings(config);
    settings.sel.clear();
    dptrain::Statistics statistics(config.ntypes(), settings);
    const double begin = now();
    statistics.add(frame.domain());
    seconds.push_back(now() - begin);
    neighbors = statistics.max_neighbors();
  }
  std::cout << nlohmann::json{{"atoms", frame.natoms},
                              {"seconds", seconds},
                              {"max_neighbors", neighbors}}
            << std::endl;
}

}  // namespace

int main(int argc, char **argv)
{
  return mpi_program(argc, argv, "bench_statistics", run);
}
