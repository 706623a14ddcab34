# A device that is played on the host (doc/developer/gpu.md): has a memory, a stream and lanes of its own, and takes the place of some
# headers and sources of lib/dptrain/src/kernels. For tests; slow.

if(DPTRAIN_CUDA)
  message(FATAL_ERROR "DPTRAIN_REHEARSAL=ON rehearses a GPU on the host: not together with DPTRAIN_CUDA=ON")
endif()
if(NOT (CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 11))
  message(FATAL_ERROR "DPTRAIN_REHEARSAL=ON needs GCC 11 or newer (__builtin_clear_padding), found "
    "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}: give -DCMAKE_CXX_COMPILER=g++")
endif()
find_package(Boost 1.74 CONFIG REQUIRED COMPONENTS context)
target_link_libraries(dptrain PRIVATE Boost::context)

get_target_property(sources dptrain SOURCES)
list(FILTER sources EXCLUDE REGEX "/kernels/(gpus|memory_space|recorder)\\.cpp$")
file(GLOB_RECURSE played CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/*.cpp")
set_property(TARGET dptrain PROPERTY SOURCES ${sources} ${played})
set(folders "${CMAKE_CURRENT_LIST_DIR}" "${CMAKE_CURRENT_LIST_DIR}/..")
target_include_directories(dptrain_host BEFORE PRIVATE ${folders})
target_include_directories(dptrain BEFORE PRIVATE ${folders})
target_include_directories(dptrain_internal BEFORE INTERFACE ${folders})
# what lanes know of each other is not what orders them
if(DPTRAIN_SANITIZE MATCHES thread)
  set_source_files_properties("${CMAKE_CURRENT_LIST_DIR}/lanes.cpp" PROPERTIES COMPILE_OPTIONS "-fno-sanitize=thread")
endif()
