# Kokkos: target dptrain_kokkos.
#
#   1. Kokkos_ROOT (an installation) or FETCHCONTENT_SOURCE_DIR_KOKKOS (a source tree), when given;
#   2. the pinned release, downloaded and built here: static, hidden symbols (two Kokkos versions with visible
#      symbols abort in one process, and LAMMPS' KOKKOS package brings its own);
#   3. the release that the source archive of the Python package pykokkos-base contains, built in the same way, where
#      only PyPI can be reached (not for CUDA: it is too old);
#   4. the system's libtrilinos-kokkos-dev (shared, Serial), when nothing can be downloaded. The plugin then refuses
#      to run beside a LAMMPS with KOKKOS (DPTRAIN_KOKKOS_SHARED).

set(DPTRAIN_KOKKOS auto CACHE STRING "Kokkos: auto, download (never the system's) or system (never download)")
set_property(CACHE DPTRAIN_KOKKOS PROPERTY STRINGS auto download system)
if(NOT DPTRAIN_KOKKOS MATCHES "^(auto|download|system)$")
  message(FATAL_ERROR "DPTRAIN_KOKKOS is '${DPTRAIN_KOKKOS}': use auto, download or system")
endif()

set(DPTRAIN_KOKKOS_VERSION 4.7.01)
set(DPTRAIN_KOKKOS_URL
  "https://github.com/kokkos/kokkos/releases/download/${DPTRAIN_KOKKOS_VERSION}/kokkos-${DPTRAIN_KOKKOS_VERSION}.tar.gz"
  CACHE STRING "Where the Kokkos release is downloaded from (a mirror or file:// works too)")
set(DPTRAIN_KOKKOS_SHA256 404cf33e76159e83b8b4ad5d86f6899d442b5da4624820ab457412116cdcd201
  CACHE STRING "SHA-256 of that archive")
mark_as_advanced(DPTRAIN_KOKKOS_URL DPTRAIN_KOKKOS_SHA256)

set(DPTRAIN_PYKOKKOS_VERSION 0.0.7)
set(DPTRAIN_PYKOKKOS_SHA256 6339daced1e81a2748f381847d8717cd77d824407da3c263b9491b5630c642b0)

option(DPTRAIN_OPENMP "Threads inside an MPI rank, where Kokkos is built here and the compiler has OpenMP" ON)

add_library(dptrain_kokkos INTERFACE)

# Kokkos of source tree DIR, compiled as a part of this build.
function(dptrain_kokkos_from_source DIR)
  set(BUILD_SHARED_LIBS OFF)
  set(Kokkos_ENABLE_SERIAL ON CACHE BOOL "")
  if(DPTRAIN_OPENMP AND NOT DPTRAIN_CUDA)
    find_package(OpenMP QUIET COMPONENTS CXX)
    set(Kokkos_ENABLE_OPENMP ${OpenMP_CXX_FOUND} CACHE BOOL "")
  endif()
  set(Kokkos_ENABLE_CUDA ${DPTRAIN_CUDA} CACHE BOOL "")
  set(Kokkos_ENABLE_TESTS OFF CACHE BOOL "")
  set(Kokkos_ENABLE_EXAMPLES OFF CACHE BOOL "")
  set(CMAKE_MESSAGE_LOG_LEVEL WARNING)
  add_subdirectory("${DIR}" "${PROJECT_BINARY_DIR}/kokkos" EXCLUDE_FROM_ALL)
  if(CMAKE_CXX_STANDARD GREATER 17)  # which older Kokkos does not write, and GCC warns of
    target_compile_options(kokkoscore PUBLIC $<$<CXX_COMPILER_ID:GNU>:-Wno-volatile -Wno-deprecated-enum-enum-conversion>)
  endif()
  target_link_libraries(dptrain_kokkos INTERFACE Kokkos::kokkos)
endfunction()

# Downloads and unpacks the release once; OUT is its folder, or empty when it could not be had.
function(dptrain_kokkos_download OUT)
  set(${OUT} "" PARENT_SCOPE)
  set(dir "${PROJECT_BINARY_DIR}/_download/kokkos-${DPTRAIN_KOKKOS_VERSION}")
  set(archive "${dir}.tar.gz")
  if(NOT EXISTS "${dir}/CMakeLists.txt")
    message(STATUS "Kokkos: downloading release ${DPTRAIN_KOKKOS_VERSION}")
    file(DOWNLOAD "${DPTRAIN_KOKKOS_URL}" "${archive}" STATUS status INACTIVITY_TIMEOUT 10 TIMEOUT 60)
    list(GET status 0 code)
    if(code EQUAL 0)
      file(SHA256 "${archive}" sum)
    endif()
    if(NOT code EQUAL 0 OR NOT sum STREQUAL DPTRAIN_KOKKOS_SHA256)
      list(GET status 1 reason)
      if(code EQUAL 0)
        set(reason "the archive has another checksum: ${sum}")
      endif()
      message(STATUS "Kokkos: download failed (${reason})")
      file(REMOVE "${archive}")
      return()
    endif()
    file(ARCHIVE_EXTRACT INPUT "${archive}" DESTINATION "${PROJECT_BINARY_DIR}/_download")
  endif()
  set(${OUT} "${dir}" PARENT_SCOPE)
endfunction()

# The same from PyPI.
function(dptrain_kokkos_pypi OUT)
  set(${OUT} "" PARENT_SCOPE)
  set(dir "${PROJECT_BINARY_DIR}/_download")
  set(package "${dir}/pykokkos-base-${DPTRAIN_PYKOKKOS_VERSION}")
  if(NOT EXISTS "${package}/external/kokkos/CMakeLists.txt")
    message(STATUS "Kokkos: taking the one of pykokkos-base ${DPTRAIN_PYKOKKOS_VERSION} from PyPI")
    execute_process(
      COMMAND "${Python_EXECUTABLE}" -m pip download -q --no-deps --no-binary pykokkos-base -d "${dir}"
        pykokkos-base==${DPTRAIN_PYKOKKOS_VERSION}
      TIMEOUT 300 RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
    set(archive "${package}.tar.gz")
    if(code EQUAL 0 AND EXISTS "${archive}")
      file(SHA256 "${archive}" sum)
    endif()
    if(NOT code EQUAL 0 OR NOT sum STREQUAL DPTRAIN_PYKOKKOS_SHA256)
      message(STATUS "Kokkos: there is no pykokkos-base to be had, or not the known one")
      return()
    endif()
    file(ARCHIVE_EXTRACT INPUT "${archive}" DESTINATION "${dir}" PATTERNS "*/external/kokkos/*")
  endif()
  set(${OUT} "${package}/external/kokkos" PARENT_SCOPE)
endfunction()

# An installed Kokkos found by its CMake package: 4.x by its target, 3.x by its variables (the target of Debian's
# 3.4 names a folder that does not exist).
function(dptrain_kokkos_installed)
  find_package(Kokkos ${ARGN} QUIET)
  if(NOT Kokkos_FOUND)
    message(FATAL_ERROR "Kokkos: no installation found. Give -DKokkos_ROOT=PREFIX, or a source tree with "
      "-DFETCHCONTENT_SOURCE_DIR_KOKKOS=FOLDER, or install the Debian package libtrilinos-kokkos-dev "
      "(DPTRAIN_KOKKOS=${DPTRAIN_KOKKOS})")
  endif()
  if(DPTRAIN_CUDA AND NOT CUDA IN_LIST Kokkos_DEVICES)
    message(FATAL_ERROR "Kokkos: the installation in ${Kokkos_DIR} has no CUDA (it has ${Kokkos_DEVICES}), which "
      "DPTRAIN_CUDA=ON needs: give -DKokkos_ROOT=PREFIX of one that was built with -DKokkos_ENABLE_CUDA=ON")
  elseif(NOT DPTRAIN_CUDA AND CUDA IN_LIST Kokkos_DEVICES)
    message(FATAL_ERROR "Kokkos: the installation in ${Kokkos_DIR} runs kernels with CUDA: configure with "
      "-DDPTRAIN_CUDA=ON, or give -DKokkos_ROOT=PREFIX of another one")
  endif()
  if(Kokkos_INCLUDE_DIRS)
    target_include_directories(dptrain_kokkos SYSTEM INTERFACE ${Kokkos_INCLUDE_DIRS})
    target_link_libraries(dptrain_kokkos INTERFACE ${Kokkos_LIBRARIES})
    target_compile_definitions(dptrain_kokkos INTERFACE DPTRAIN_KOKKOS_SHARED)
  else()
    target_link_libraries(dptrain_kokkos INTERFACE Kokkos::kokkos)
    get_target_property(type Kokkos::kokkoscore TYPE)
    if(type STREQUAL SHARED_LIBRARY)
      target_compile_definitions(dptrain_kokkos INTERFACE DPTRAIN_KOKKOS_SHARED)
    endif()
  endif()
  message(STATUS "Kokkos: ${Kokkos_VERSION} (${Kokkos_DEVICES}) installed in ${Kokkos_DIR}")
endfunction()

if(FETCHCONTENT_SOURCE_DIR_KOKKOS)
  message(STATUS "Kokkos: built from ${FETCHCONTENT_SOURCE_DIR_KOKKOS}")
  dptrain_kokkos_from_source("${FETCHCONTENT_SOURCE_DIR_KOKKOS}")
elseif(Kokkos_ROOT OR DEFINED ENV{Kokkos_ROOT})
  dptrain_kokkos_installed(REQUIRED)
else()
  if(NOT DPTRAIN_KOKKOS STREQUAL system AND NOT DPTRAIN_KOKKOS_UNREACHABLE)
    if(NOT EXISTS "${PROJECT_BINARY_DIR}/_download/pykokkos-base-${DPTRAIN_PYKOKKOS_VERSION}")
      dptrain_kokkos_download(DPTRAIN_KOKKOS_SOURCE)
    endif()
    if(NOT DPTRAIN_KOKKOS_SOURCE AND NOT DPTRAIN_CUDA)
      dptrain_kokkos_pypi(DPTRAIN_KOKKOS_SOURCE)
    endif()
    if(NOT DPTRAIN_KOKKOS_SOURCE AND DPTRAIN_KOKKOS STREQUAL auto)
      set(DPTRAIN_KOKKOS_UNREACHABLE ON CACHE BOOL "Kokkos could not be downloaded: do not try again")
    endif()
  endif()
  if(DPTRAIN_KOKKOS_SOURCE)
    message(STATUS "Kokkos: ${DPTRAIN_KOKKOS_SOURCE}, built static with hidden symbols")
    dptrain_kokkos_from_source("${DPTRAIN_KOKKOS_SOURCE}")
  elseif(DPTRAIN_KOKKOS STREQUAL download)
    message(FATAL_ERROR "Kokkos: release ${DPTRAIN_KOKKOS_VERSION} could not be downloaded (DPTRAIN_KOKKOS=download). "
      "Give its source with -DFETCHCONTENT_SOURCE_DIR_KOKKOS=FOLDER, or use DPTRAIN_KOKKOS=auto")
  else()
    dptrain_kokkos_installed()
  endif()
endif()
