#pragma once

#include <mpi.h>

#include <memory>

#include "dptrain/parallel/communicator.h"

namespace dptrain::test {

/// All ranks of the test.
inline std::shared_ptr<const Communicator> world()
{
  const MPI_Comm comm = MPI_COMM_WORLD;
  return make_mpi_communicator(&comm);
}

}  // namespace dptrain::test
