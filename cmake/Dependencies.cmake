# What the library stands on. Targets made here:
#   dptrain_torch   LibTorch of the installed torch wheel      dptrain_kokkos  Kokkos, by one of three ways
#   dptrain_mpi     the MPI that LAMMPS runs with              dptrain_hdf5    the HDF5 C library
#   nlohmann_json::nlohmann_json                          CLI11::CLI11    command lines
#   dptrain_fmt     fmt, headers only: texts with values in them
# Variables: DPTRAIN_RPATH_DIRS, folders where the loader finds the shared libraries at run time.

include(PythonPackages)
set(DPTRAIN_RPATH_DIRS "")

include(FindLibTorch)
if(DPTRAIN_IN_TREE)
  include(LibrariesOfLammps)
else()
  include(FindMpiOfPython)
  include(FindKokkosOrBuild)
endif()

# LibTorch's headers bring those of fmt; a LibTorch without them needs the system's
add_library(dptrain_fmt INTERFACE)
target_compile_definitions(dptrain_fmt INTERFACE FMT_HEADER_ONLY)
if(NOT EXISTS "${DPTRAIN_TORCH_DIR}/include/fmt/format.h")
  find_package(fmt 9 REQUIRED)
  target_link_libraries(dptrain_fmt INTERFACE fmt::fmt-header-only)
endif()

find_package(HDF5 REQUIRED COMPONENTS C)
# a shared libhdf5 knows what it needs itself; the compiler wrapper's list of further libraries is for static ones
set(DPTRAIN_HDF5_LIBS ${HDF5_C_LIBRARIES})
if(NOT HDF5_C_LIBRARIES MATCHES "libhdf5[^;]*\\.a")
  list(FILTER DPTRAIN_HDF5_LIBS INCLUDE REGEX "hdf5[^/]*$")
endif()
add_library(dptrain_hdf5 INTERFACE)
target_include_directories(dptrain_hdf5 SYSTEM INTERFACE ${HDF5_C_INCLUDE_DIRS})
target_compile_definitions(dptrain_hdf5 INTERFACE ${HDF5_C_DEFINITIONS})
target_link_libraries(dptrain_hdf5 INTERFACE ${DPTRAIN_HDF5_LIBS})

find_package(nlohmann_json 3.9 REQUIRED)
find_package(CLI11 2.1 REQUIRED)

list(REMOVE_DUPLICATES DPTRAIN_RPATH_DIRS)
