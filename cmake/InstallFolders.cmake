# Where the plugin and the Python module are installed, and where they look for shared libraries then:
# DPTRAIN_PLUGIN_DIR and DPTRAIN_INSTALL_RPATH.

if(SKBUILD)
  # beside the Python package; what lies in the same environment is found relative to it, wherever that is moved
  set(DPTRAIN_PLUGIN_DIR dptrain)
  get_filename_component(DPTRAIN_SITE "${DPTRAIN_TORCH_DIR}" DIRECTORY)
  get_filename_component(DPTRAIN_ENVIRONMENT "${DPTRAIN_PYTHON_BIN}" DIRECTORY)
  set(DPTRAIN_INSTALL_RPATH "")
  foreach(dir IN LISTS DPTRAIN_RPATH_DIRS)
    string(FIND "${dir}/" "${DPTRAIN_ENVIRONMENT}/" inside)
    if(inside EQUAL 0)
      file(RELATIVE_PATH dir "${DPTRAIN_SITE}/dptrain" "${dir}")
      set(dir "$ORIGIN/${dir}")
    endif()
    list(APPEND DPTRAIN_INSTALL_RPATH "${dir}")
  endforeach()
else()
  set(DPTRAIN_PLUGIN_DIR lib/dptrain)
  set(DPTRAIN_INSTALL_RPATH ${DPTRAIN_RPATH_DIRS})
endif()
