# Compile flags of everything that this project compiles itself: INTERFACE targets
#   dptrain_plain_flags  for any processor of the architecture: what has to run before the processor is known
#   dptrain_flags        the same for DPTRAIN_MARCH: all else

include(CheckCXXCompilerFlag)
add_library(dptrain_plain_flags INTERFACE)
target_compile_features(dptrain_plain_flags INTERFACE cxx_std_17)
target_compile_options(dptrain_plain_flags INTERFACE
  -Wall -Wextra
  # the kernels' vector loops: `omp simd` without the OpenMP runtime; sqrt must not set errno to vectorise
  -fopenmp-simd -fno-math-errno -fno-trapping-math)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(dptrain_plain_flags INTERFACE -Wno-restrict)  # wrong warnings of std::string in C++20, GCC bug 105651
endif()

# the instruction set: this machine's, or that of all processors since about 2013 (AVX2, FMA)
set(DPTRAIN_PORTABLE_MARCH "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(DPTRAIN_PORTABLE_MARCH x86-64-v3)
endif()
set(DPTRAIN_MARCH "${DPTRAIN_PORTABLE_MARCH}" CACHE STRING "Instruction set with DPTRAIN_NATIVE=OFF, as -march takes it; empty: the compiler's own")
set(DPTRAIN_USED_MARCH "${DPTRAIN_MARCH}")
if(DPTRAIN_NATIVE)
  set(DPTRAIN_USED_MARCH native)
endif()
check_cxx_compiler_flag(-mprefer-vector-width=512 DPTRAIN_HAS_VECTOR_WIDTH)
add_library(dptrain_arch INTERFACE)
if(DPTRAIN_USED_MARCH)
  target_compile_options(dptrain_arch INTERFACE -march=${DPTRAIN_USED_MARCH})
endif()
if(DPTRAIN_USED_MARCH AND DPTRAIN_HAS_VECTOR_WIDTH)
  target_compile_options(dptrain_arch INTERFACE -mprefer-vector-width=512)
endif()
add_library(dptrain_flags INTERFACE)
target_link_libraries(dptrain_flags INTERFACE dptrain_plain_flags dptrain_arch)

if(DPTRAIN_SANITIZE)
  target_compile_options(dptrain_plain_flags INTERFACE
    -fsanitize=${DPTRAIN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(dptrain_plain_flags INTERFACE -fsanitize=${DPTRAIN_SANITIZE})
endif()

# Release has -O3 already; CMake's own RelWithDebInfo has -O2
string(REPLACE "-O2" "-O3" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")

# With DPTRAIN_UNITY the sources of a folder are compiled as one: names in anonymous namespaces are unique in their folder.
function(dptrain_unity TARGET)
  get_target_property(sources ${TARGET} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(folder "${source}" DIRECTORY)
    file(RELATIVE_PATH folder "${CMAKE_CURRENT_SOURCE_DIR}" "${folder}")
    string(MAKE_C_IDENTIFIER "${folder}" group)
    set_property(SOURCE "${source}" PROPERTY UNITY_GROUP "${group}")
  endforeach()
  set_target_properties(${TARGET} PROPERTIES UNITY_BUILD ${DPTRAIN_UNITY} UNITY_BUILD_MODE GROUP)
endfunction()
