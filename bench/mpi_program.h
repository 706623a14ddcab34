#pragma once

#include <mpi.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

/// The main function of a program of one rank: `run` gets the words of the command line and throws where it fails.
inline int mpi_program(int argc, char **argv, const char *name,
                       void (*run)(const std::vector<std::string> &words))
{
  MPI_Init(&argc, &argv);
  int status = 0;
  try {
    run({argv + 1, argv + argc});
  } catch (const std::exception &e) {
    std::fprintf(stderr, "%s: %s\n", name, e.what());
    status = 1;
  }
  MPI_Finalize();
  return status;
}
