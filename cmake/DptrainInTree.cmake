# Builds the package USER-DPTRAIN into LAMMPS itself; LAMMPS' sources stay as they are:
#
#   cmake LAMMPS/cmake -D CMAKE_PROJECT_lammps_INCLUDE=THIS_FOLDER/DptrainInTree.cmake -D PKG_USER-DPTRAIN=on ...
#
# tools/build-in-tree does it in one command. LAMMPS includes this file right after its project() command. The name of the
# package is then added to LAMMPS' list, which gives the option, `lmp -h` and `info config`; the styles are added at the end.

include_guard()
set(DPTRAIN_ROOT "${CMAKE_CURRENT_LIST_DIR}/..")
set(DPTRAIN_PACKAGE_DIR "${DPTRAIN_ROOT}/src/USER-DPTRAIN")
include("${CMAKE_CURRENT_LIST_DIR}/LammpsVersion.cmake")

# --- the version
set(DPTRAIN_OLDEST_LAMMPS 20250204)
set(DPTRAIN_NEWEST_LAMMPS 20260704)
dptrain_lammps_version_of_source("${CMAKE_CURRENT_SOURCE_DIR}/.." DPTRAIN_LAMMPS_NUMBER)
if(DPTRAIN_LAMMPS_NUMBER LESS DPTRAIN_OLDEST_LAMMPS)
  message(FATAL_ERROR "USER-DPTRAIN: this is LAMMPS ${DPTRAIN_LAMMPS_NUMBER} (year, month, day), and versions from "
    "${DPTRAIN_OLDEST_LAMMPS} (4 Feb 2025) to ${DPTRAIN_NEWEST_LAMMPS} (4 Jul 2026) are supported: take a newer release of LAMMPS")
elseif(DPTRAIN_LAMMPS_NUMBER GREATER DPTRAIN_NEWEST_LAMMPS)
  message(WARNING "USER-DPTRAIN: this is LAMMPS ${DPTRAIN_LAMMPS_NUMBER} (year, month, day), newer than 4 Jul 2026, the newest "
    "that was tried")
endif()

# --- the name: whenever LAMMPS sets its list of packages, this one is added
macro(dptrain_watch_packages VARIABLE ACCESS)
  if("${ACCESS}" STREQUAL "MODIFIED_ACCESS" AND NOT "USER-DPTRAIN" IN_LIST STANDARD_PACKAGES)
    list(APPEND STANDARD_PACKAGES USER-DPTRAIN)
  endif()
endmacro()
variable_watch(STANDARD_PACKAGES dptrain_watch_packages)

# --- the styles, which LAMMPS collects in global properties
if(PKG_USER-DPTRAIN)
  set_property(GLOBAL APPEND PROPERTY PAIR "${DPTRAIN_PACKAGE_DIR}/styles/pair_dptrain.h")
  set_property(GLOBAL APPEND PROPERTY FIX "${DPTRAIN_PACKAGE_DIR}/styles/fix_dptrain.h")
  set_property(GLOBAL APPEND PROPERTY COMPUTE "${DPTRAIN_PACKAGE_DIR}/styles/compute_dptrain_charge_atom.h")
  set_property(GLOBAL APPEND PROPERTY COMPUTE "${DPTRAIN_PACKAGE_DIR}/styles/compute_dptrain_uncertainty_atom.h")
  set_property(GLOBAL APPEND PROPERTY COMMAND "${DPTRAIN_PACKAGE_DIR}/styles/dptrain_command.h")
  if(PKG_KOKKOS)
    set_property(GLOBAL APPEND PROPERTY PAIR "${DPTRAIN_PACKAGE_DIR}/kokkos/pair_dptrain_kokkos.h")
    set_property(GLOBAL APPEND PROPERTY FIX "${DPTRAIN_PACKAGE_DIR}/kokkos/fix_dptrain_kokkos.h")
    set_property(GLOBAL APPEND PROPERTY COMPUTE "${DPTRAIN_PACKAGE_DIR}/kokkos/compute_dptrain_uncertainty_atom_kokkos.h")
  else()
    foreach(kind PAIR FIX COMPUTE)
      set_property(GLOBAL APPEND PROPERTY ${kind} "${DPTRAIN_PACKAGE_DIR}/styles/dptrain_without_kokkos.h")
    endforeach()
  endif()
endif()

# --- the library: CMake allows no folder to be added later, so that only its links to LAMMPS' Kokkos wait for that
if(PKG_USER-DPTRAIN)
  find_package(MPI QUIET COMPONENTS CXX)
  option(BUILD_MPI "Build MPI version" ${MPI_FOUND})
  # defaults of LAMMPS' options: an installed lmp finds LibTorch, and a BLAS that packages ask for does not take LibTorch's place
  option(LAMMPS_INSTALL_RPATH "Set runtime path for shared libraries linked to LAMMPS binaries" ON)
  option(USE_INTERNAL_LINALG "Prefer internal library for linear algebra" ON)
  if(LAMMPS_SIZES STREQUAL "smallsmall")
    message(FATAL_ERROR "USER-DPTRAIN: LAMMPS_SIZES=smallsmall is not supported: choose smallbig or bigbig")
  endif()
  # Debian's archives of LAMMPS have no copy of Kokkos
  get_filename_component(DPTRAIN_BUNDLED_KOKKOS "${CMAKE_CURRENT_SOURCE_DIR}/../lib/kokkos" ABSOLUTE)
  if(PKG_KOKKOS AND NOT DOWNLOAD_KOKKOS AND NOT EXTERNAL_KOKKOS AND NOT EXISTS "${DPTRAIN_BUNDLED_KOKKOS}")
    message(FATAL_ERROR "PKG_KOKKOS: there is no ${DPTRAIN_BUNDLED_KOKKOS}: add -D DOWNLOAD_KOKKOS=on, or -D EXTERNAL_KOKKOS=on "
      "-D Kokkos_ROOT=PREFIX")
  endif()
  set(DPTRAIN_IN_TREE ON)
  set(DPTRAIN_BUILD_PLUGIN OFF)
  set(DPTRAIN_BUILD_TESTS OFF)
  set(DPTRAIN_BUILD_PYTHON OFF)
  add_subdirectory("${DPTRAIN_ROOT}" "${CMAKE_CURRENT_BINARY_DIR}/dptrain" EXCLUDE_FROM_ALL)
endif()

macro(dptrain_add_package)
  if(PKG_USER-DPTRAIN)
    dptrain_link_lammps_libraries()
    file(GLOB_RECURSE DPTRAIN_STYLES CONFIGURE_DEPENDS "${DPTRAIN_PACKAGE_DIR}/*.cpp")
    list(FILTER DPTRAIN_STYLES EXCLUDE REGEX "/plugin/")
    if(NOT PKG_KOKKOS)
      list(FILTER DPTRAIN_STYLES EXCLUDE REGEX "/kokkos/")
    else()
      list(FILTER DPTRAIN_STYLES EXCLUDE REGEX "/dptrain_without_kokkos\\.cpp$")
    endif()
    target_sources(lammps PRIVATE ${DPTRAIN_STYLES})
    # as the library's headers; LAMMPS' own sources stay with its C++17
    set_source_files_properties(${DPTRAIN_STYLES} TARGET_DIRECTORY lammps PROPERTIES COMPILE_OPTIONS "-std=c++20")
    # LAMMPS includes the headers of styles by their names alone
    target_include_directories(lammps PRIVATE "${DPTRAIN_PACKAGE_DIR}" "${DPTRAIN_PACKAGE_DIR}/styles"
      $<$<BOOL:${PKG_KOKKOS}>:${DPTRAIN_PACKAGE_DIR}/kokkos>)
    target_link_libraries(lammps PRIVATE dptrain)
    # functions of LAMMPS' own linear algebra have the names of those in LibTorch, which would call them instead
    target_link_options(lammps PUBLIC "LINKER:--exclude-libs,liblammps_linalg${LAMMPS_MACHINE}.a")
    # models by their names: beside the program, and where LAMMPS installs its potentials
    file(GLOB DPTRAIN_MODELS CONFIGURE_DEPENDS "${DPTRAIN_ROOT}/potentials/*.dp")
    file(COPY ${DPTRAIN_MODELS} DESTINATION "${CMAKE_CURRENT_BINARY_DIR}/potentials")
    install(FILES ${DPTRAIN_MODELS} DESTINATION ${CMAKE_INSTALL_DATADIR}/lammps/potentials)
  endif()
endmacro()
cmake_language(DEFER DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" CALL dptrain_add_package)
