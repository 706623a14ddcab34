# Where Python packages of the active environment lie, without importing them.
#
# The interpreter is, in this order: Python_EXECUTABLE (scikit-build-core sets it), the environment variables
# DPTRAIN_PYTHON and VIRTUAL_ENV, the first python3 on the PATH.

if(NOT Python_EXECUTABLE)
  if(DEFINED ENV{DPTRAIN_PYTHON})
    set(Python_EXECUTABLE "$ENV{DPTRAIN_PYTHON}" CACHE FILEPATH "Python interpreter")
  elseif(DEFINED ENV{VIRTUAL_ENV})
    set(Python_EXECUTABLE "$ENV{VIRTUAL_ENV}/bin/python" CACHE FILEPATH "Python interpreter")
  endif()
endif()
set(Python_FIND_STRATEGY LOCATION)
find_package(Python 3.9 COMPONENTS Interpreter REQUIRED)
message(STATUS "Python: ${Python_EXECUTABLE}")

# The folder of package NAME goes to OUT; empty when the interpreter does not know it. A namespace package
# (such as nvidia) has several folders: all are returned.
function(dptrain_python_package NAME OUT)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c
      "import importlib.util as u; s = u.find_spec('${NAME}'); print(';'.join(s.submodule_search_locations) if s else '')"
    OUTPUT_VARIABLE folders OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(${OUT} "${folders}" PARENT_SCOPE)
endfunction()
