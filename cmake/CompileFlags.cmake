# Compile flags of everything that this project compiles itself: INTERFACE target dptrain_flags.

include(CheckCXXCompilerFlag)
add_library(dptrain_flags INTERFACE)
target_compile_features(dptrain_flags INTERFACE cxx_std_17)
target_compile_options(dptrain_flags INTERFACE
  -Wall -Wextra
  # the kernels' vector loops: `omp simd` without the OpenMP runtime; sqrt must not set errno to vectorise
  -fopenmp-simd -fno-math-errno -fno-trapping-math)
check_cxx_compiler_flag(-mprefer-vector-width=512 DPTRAIN_HAS_VECTOR_WIDTH)

if(DPTRAIN_NATIVE)
  target_compile_options(dptrain_flags INTERFACE -march=native)
  if(DPTRAIN_HAS_VECTOR_WIDTH)
    target_compile_options(dptrain_flags INTERFACE -mprefer-vector-width=512)
  endif()
endif()

if(DPTRAIN_SANITIZE)
  target_compile_options(dptrain_flags INTERFACE
    -fsanitize=${DPTRAIN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(dptrain_flags INTERFACE -fsanitize=${DPTRAIN_SANITIZE})
endif()

# Release has -O3 already; CMake's own RelWithDebInfo has -O2
string(REPLACE "-O2" "-O3" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
