# LibTorch out of the torch wheel: target dptrain_torch.
#
# find_package(Torch) of the wheel stops on a machine without CUDA libraries, and `import torch` fails in an
# installation without the wheel's optional dependencies. Both are avoided: the folder comes from the import
# system, the version from version.py, and the targets are made here.

set(DPTRAIN_TORCH_MIN 2.11)
dptrain_python_package(torch DPTRAIN_TORCH_DIR)
if(NOT DPTRAIN_TORCH_DIR)
  message(FATAL_ERROR "LibTorch: the Python package 'torch' is not installed for ${Python_EXECUTABLE}. "
    "Run tools/install, or: pip install --no-deps torch nvidia-cuda-runtime nvidia-cuda-cupti, "
    "or choose another interpreter with -DPython_EXECUTABLE=...")
endif()

file(STRINGS "${DPTRAIN_TORCH_DIR}/version.py" DPTRAIN_TORCH_LINE REGEX "^__version__ = ")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" DPTRAIN_TORCH_VERSION "${DPTRAIN_TORCH_LINE}")
if(NOT DPTRAIN_TORCH_VERSION OR DPTRAIN_TORCH_VERSION VERSION_LESS DPTRAIN_TORCH_MIN)
  message(FATAL_ERROR "LibTorch: found torch '${DPTRAIN_TORCH_VERSION}' in ${DPTRAIN_TORCH_DIR}; "
    "version ${DPTRAIN_TORCH_MIN} or newer is needed: pip install 'torch>=${DPTRAIN_TORCH_MIN}'")
endif()
message(STATUS "LibTorch: ${DPTRAIN_TORCH_VERSION} in ${DPTRAIN_TORCH_DIR}, C++${CMAKE_CXX_STANDARD}")

# libtorch_cpu.so of a CUDA wheel needs the CUDA runtime and CUPTI, which are wheels of their own
file(GLOB DPTRAIN_CUDA_LIBS "${DPTRAIN_TORCH_DIR}/../nvidia/*/lib/libcudart.so.*"
                            "${DPTRAIN_TORCH_DIR}/../nvidia/*/lib/libcupti.so.*")
set(DPTRAIN_TORCH_LIB_DIRS "${DPTRAIN_TORCH_DIR}/lib")
foreach(lib IN LISTS DPTRAIN_CUDA_LIBS)
  get_filename_component(dir "${lib}" DIRECTORY)
  get_filename_component(dir "${dir}" ABSOLUTE)
  list(APPEND DPTRAIN_TORCH_LIB_DIRS "${dir}")
endforeach()
list(REMOVE_DUPLICATES DPTRAIN_TORCH_LIB_DIRS)
if(EXISTS "${DPTRAIN_TORCH_DIR}/lib/libtorch_cuda.so" AND NOT DPTRAIN_CUDA_LIBS)
  message(WARNING "LibTorch: this wheel needs libcudart and libcupti at run time, and they are not beside it: "
    "pip install --no-deps nvidia-cuda-runtime nvidia-cuda-cupti")
endif()
list(APPEND DPTRAIN_RPATH_DIRS ${DPTRAIN_TORCH_LIB_DIRS})

# Options of the linker are items of target_link_libraries here: target_link_options of a static library's private
# dependency do not reach the program under the policies (CMP0099) that LAMMPS' tree sets.
add_library(dptrain_torch INTERFACE)
set(DPTRAIN_TORCH_LIBS torch_cpu c10)
if(DPTRAIN_CUDA)
  list(APPEND DPTRAIN_TORCH_LIBS torch_cuda c10_cuda)
  find_package(CUDAToolkit REQUIRED)
  target_include_directories(dptrain_torch SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
  target_compile_definitions(dptrain_torch INTERFACE DPTRAIN_CUDA)
  # nothing calls torch_cuda by name: the operators in it register themselves, and a linker that takes only what is needed
  # (nvcc sorts options behind libraries) would leave it out. What it needs itself (cuBLAS, cuDNN and more, wheels of their
  # own) is found when a program starts.
  target_link_libraries(dptrain_torch INTERFACE -Wl,--allow-shlib-undefined
    "-Wl,--push-state,--no-as-needed,${DPTRAIN_TORCH_DIR}/lib/libtorch_cuda.so,--pop-state")
  # sums between GPUs: the NCCL that this LibTorch uses itself, header and library of one folder
  set(DPTRAIN_NCCL_DIR "${DPTRAIN_TORCH_DIR}/../nvidia/nccl" CACHE PATH "NCCL: include/nccl.h and lib/libnccl.so.2")
  get_filename_component(DPTRAIN_NCCL "${DPTRAIN_NCCL_DIR}" ABSOLUTE)
  if(EXISTS "${DPTRAIN_NCCL}/include/nccl.h" AND EXISTS "${DPTRAIN_NCCL}/lib/libnccl.so.2")
    list(APPEND DPTRAIN_RPATH_DIRS "${DPTRAIN_NCCL}/lib")
  else()
    message(STATUS "NCCL: not in ${DPTRAIN_NCCL} (DPTRAIN_NCCL_DIR): gradients go from GPU to GPU over MPI")
    set(DPTRAIN_NCCL "")
  endif()
endif()
foreach(lib IN LISTS DPTRAIN_TORCH_LIBS)
  if(NOT EXISTS "${DPTRAIN_TORCH_DIR}/lib/lib${lib}.so")
    message(FATAL_ERROR "LibTorch: ${DPTRAIN_TORCH_DIR}/lib/lib${lib}.so is missing: reinstall torch")
  endif()
  add_library(dptrain_${lib} SHARED IMPORTED)
  set_target_properties(dptrain_${lib} PROPERTIES IMPORTED_LOCATION "${DPTRAIN_TORCH_DIR}/lib/lib${lib}.so")
  target_link_libraries(dptrain_torch INTERFACE dptrain_${lib})
endforeach()
target_include_directories(dptrain_torch SYSTEM INTERFACE
  "${DPTRAIN_TORCH_DIR}/include" "${DPTRAIN_TORCH_DIR}/include/torch/csrc/api/include")
target_compile_definitions(dptrain_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
foreach(dir IN LISTS DPTRAIN_TORCH_LIB_DIRS)
  target_link_libraries(dptrain_torch INTERFACE "-Wl,-rpath-link,${dir}")
endforeach()
