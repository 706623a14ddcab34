# DPTRAIN_KIT: what tools/gpu-kit packs. Tests and programs are many and must be small: they share one library,
# libdptrain.so, with Kokkos inside. The plugin has a static library of the same objects, as in every other build.
# The kit is unpacked anywhere, and gpu-check tells the loader where libraries are: no rpath.

option(DPTRAIN_KIT "Build tests and programs on one shared library, for the archive of tools/gpu-kit" OFF)
mark_as_advanced(DPTRAIN_KIT)
set(DPTRAIN_LIBRARY_TYPE STATIC)
set(DPTRAIN_PLUGIN_LIBRARY dptrain)
if(DPTRAIN_KIT)
  set(DPTRAIN_LIBRARY_TYPE SHARED)
  set(DPTRAIN_PLUGIN_LIBRARY dptrain_static)
  set(CMAKE_CXX_VISIBILITY_PRESET default)
  set(CMAKE_VISIBILITY_INLINES_HIDDEN OFF)
  set(CMAKE_SKIP_RPATH ON)
endif()

# Completes the shared library `dptrain`, and makes the static one of its objects.
function(dptrain_kit_libraries)
  if(DPTRAIN_CUDA)
    # nvcc as the linker would put options behind libraries; without device code that spans files, it is not needed
    set_target_properties(Kokkos::kokkoscore PROPERTIES INTERFACE_LINK_OPTIONS "")
  endif()
  # all of Kokkos, because tests launch kernels of their own
  target_link_options(dptrain PRIVATE
    "LINKER:--push-state,--whole-archive,$<TARGET_FILE:Kokkos::kokkoscore>,--pop-state")
  # what the library needs itself is looked for when a program starts
  target_link_options(dptrain INTERFACE LINKER:--allow-shlib-undefined)
  add_library(dptrain_static STATIC $<TARGET_OBJECTS:dptrain> $<TARGET_OBJECTS:dptrain_host>)
  set_target_properties(dptrain_static PROPERTIES LINKER_LANGUAGE CXX)
  foreach(property INTERFACE_INCLUDE_DIRECTORIES LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
    get_target_property(value dptrain ${property})
    set_target_properties(dptrain_static PROPERTIES ${property} "${value}")
  endforeach()
  target_link_libraries(dptrain_static PRIVATE dptrain_flags dptrain_torch dptrain_kokkos dptrain_hdf5)
endfunction()
