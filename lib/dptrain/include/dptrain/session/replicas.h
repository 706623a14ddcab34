#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// The runs that train one model together, such as the partitions of one LAMMPS job.
struct Replicas {
  const void *mpi_comm = nullptr;  ///< MPI_Comm of all ranks of all runs; null: this run is alone
  int index = 0;                   ///< of this run
  std::vector<int> first_rank;     ///< of each run, in that communicator

  int count() const { return mpi_comm ? static_cast<int>(first_rank.size()) : 1; }
};

}  // namespace dptrain
