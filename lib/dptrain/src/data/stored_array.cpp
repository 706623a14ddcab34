#include "data/stored_array.h"

#include <atomic>

namespace dptrain {

namespace {

constexpr int max_open = 256;
std::atomic<int> places_in_use{0};

}  // namespace

std::int64_t StoredArray::size() const
{
  // only an array without numbers may have extents whose product is not representable
  std::int64_t product = 1;
  for (const auto extent : shape())
    if (extent == 0) return 0;
  for (const auto extent : shape()) product *= extent;
  return product;
}

std::string StoredArray::shape_text() const
{
  std::string text;
  for (const auto extent : shape()) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "(" + text + (shape().size() == 1 ? ",)" : ")");
}

OpenPlace::OpenPlace() : granted_(places_in_use.fetch_add(1) < max_open)
{
  if (!granted_) --places_in_use;
}

OpenPlace::~OpenPlace()
{
  if (granted_) --places_in_use;
}

}  // namespace dptrain
