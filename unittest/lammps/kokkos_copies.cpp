// A tool for Kokkos (KOKKOS_TOOLS_LIBS): at the end it says how many bytes were copied between its views, and how many kernels of
// this package ran.

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

struct SpaceHandle {
  char name[64];
};
unsigned long long copied = 0, kernels = 0;

}  // namespace

extern "C" {

void kokkosp_init_library(const int, const std::uint64_t, const std::uint32_t, void *) {}

void kokkosp_begin_parallel_for(const char *name, const std::uint32_t, std::uint64_t *id)
{
  *id = 0;
  kernels += std::strstr(name, "dptrain::") != nullptr;
}

// Kokkos calls it for a view that gets one number, too; such a source has one of these names.
void kokkosp_begin_deep_copy(SpaceHandle, const char *, const void *, SpaceHandle,
                             const char *source, const void *, std::uint64_t size)
{
  if (std::strcmp(source, "(none)") != 0 && std::strcmp(source, "Scalar") != 0) copied += size;
}

void kokkosp_finalize_library()
{
  std::printf("RESULT copied %llu\nRESULT kernels %llu\n", copied, kernels);
}

}  // extern "C"
