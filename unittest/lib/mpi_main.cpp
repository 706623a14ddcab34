// main() of the tests that run on several ranks: every rank runs every test; the run fails if one rank fails.

#include <gtest/gtest.h>
#include <mpi.h>

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  ::testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) {
    // one report is enough; failures of the other ranks still print through their own result printer
    ::testing::FLAGS_gtest_print_time = false;
    ::testing::FLAGS_gtest_brief = true;
  }
  int failed = RUN_ALL_TESTS();
  int failed_anywhere = 0;
  MPI_Allreduce(&failed, &failed_anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed_anywhere;
}
