// A job in which one rank never comes: hang_rank SECONDS RANK. Run by the test Watchdog.EndsAJobThatHangs.

#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "dptrain/parallel/communicator.h"

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  const MPI_Comm world = MPI_COMM_WORLD;
  const auto comm = dptrain::make_mpi_communicator(&world);
  dptrain::set_communication_timeout(std::atof(argv[1]));
  double number = 1.0;
  for (int k = 0; k < 3; ++k) comm->all_reduce_sum(&number, 1);
  if (comm->rank() == std::atoi(argv[2])) std::this_thread::sleep_for(std::chrono::seconds(60));
  comm->all_reduce_max(&number, 1);
  MPI_Finalize();
  return 0;
}
