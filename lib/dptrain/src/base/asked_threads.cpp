#include "base/asked_threads.h"

#include <algorithm>
#include <cstdlib>

namespace dptrain {

int asked_threads(const char *text)
{
  constexpr long most = 1024;  // cores of a node
  if (!text) return 0;
  char *end = nullptr;
  const long number = std::strtol(text, &end, 10);
  const bool valid = end != text && (*end == '\0' || *end == ',') && number > 0;
  return valid ? static_cast<int>(std::min(number, most)) : 0;
}

}  // namespace dptrain
