# Builds the styles of this package into LAMMPS itself, without changing LAMMPS' sources:
#
#   cmake LAMMPS/cmake -DCMAKE_PROJECT_lammps_INCLUDE=THIS_FOLDER/DptrainInTree.cmake ...
#
# LAMMPS includes this file right after its project() command; the styles are added once its target exists.

set(DPTRAIN_ROOT "${CMAKE_CURRENT_LIST_DIR}/..")
set(DPTRAIN_BUILD_PLUGIN OFF CACHE BOOL "The styles are part of LAMMPS: no plugin")
set(DPTRAIN_BUILD_TESTS OFF CACHE BOOL "")
set(DPTRAIN_BUILD_PYTHON OFF CACHE BOOL "")
add_subdirectory("${DPTRAIN_ROOT}" "${CMAKE_CURRENT_BINARY_DIR}/dptrain" EXCLUDE_FROM_ALL)

macro(dptrain_add_styles_to_lammps)
  set(DPTRAIN_STYLE_DIR "${DPTRAIN_ROOT}/src/USER-DPTRAIN")
  file(GLOB_RECURSE DPTRAIN_STYLES CONFIGURE_DEPENDS "${DPTRAIN_STYLE_DIR}/*.cpp")
  list(FILTER DPTRAIN_STYLES EXCLUDE REGEX "/plugin/")
  target_sources(lammps PRIVATE ${DPTRAIN_STYLES})
  # LAMMPS includes the headers of styles by their names alone
  target_include_directories(lammps PRIVATE "${DPTRAIN_STYLE_DIR}" "${DPTRAIN_STYLE_DIR}/styles")
  target_link_libraries(lammps PRIVATE dptrain)
  RegisterStyles("${DPTRAIN_STYLE_DIR}/styles")
  GenerateStyleHeaders("${LAMMPS_STYLE_HEADERS_DIR}")
endmacro()
cmake_language(DEFER DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" CALL dptrain_add_styles_to_lammps)
