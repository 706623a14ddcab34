# The release date of LAMMPS as LAMMPS itself numbers it (20250722), from its texts.

# 2025.7.22.4 (since May 2025) or 20250204 (before) -> number YYYYMMDD
function(dptrain_lammps_number TEXT OUT)
  if(TEXT MATCHES "^([0-9][0-9][0-9][0-9])([0-9][0-9])([0-9][0-9])")
    set(${OUT} "${CMAKE_MATCH_1}${CMAKE_MATCH_2}${CMAKE_MATCH_3}" PARENT_SCOPE)
  elseif(TEXT MATCHES "^([0-9]+)\\.([0-9]+)\\.([0-9]+)")
    math(EXPR number "${CMAKE_MATCH_1} * 10000 + ${CMAKE_MATCH_2} * 100 + ${CMAKE_MATCH_3}")
    set(${OUT} "${number}" PARENT_SCOPE)
  else()
    message(FATAL_ERROR "LAMMPS: cannot read the version '${TEXT}'")
  endif()
endfunction()

# Of the source tree in FOLDER, from src/version.h.
function(dptrain_lammps_version_of_source FOLDER OUT)
  file(STRINGS "${FOLDER}/src/version.h" line REGEX "LAMMPS_VERSION" LIMIT_COUNT 1)
  if(NOT line MATCHES "\"([0-9]+) ([A-Z][a-z][a-z])[a-z]* ([0-9]+)\"")
    message(FATAL_ERROR "LAMMPS: cannot read the version in ${FOLDER}/src/version.h")
  endif()
  set(months Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec)
  list(FIND months "${CMAKE_MATCH_2}" month)
  math(EXPR number "${CMAKE_MATCH_3} * 10000 + (${month} + 1) * 100 + ${CMAKE_MATCH_1}")
  set(${OUT} ${number} PARENT_SCOPE)
endfunction()
