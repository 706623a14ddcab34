#include "dptrain/base/range.h"

#include <fmt/format.h>

namespace dptrain {

bool Range::has(double value) const
{
  return (above ? value > least : value >= least) && (below ? value < most : value <= most);
}

std::string Range::words(const std::string &noun) const
{
  const std::string article = noun[0] == 'i' ? "an " : "a ";
  const bool has_least = least > -no_bound, has_most = most < no_bound;
  if (!has_most && above && least == 0.0) return fmt::format("a positive {}", noun);
  std::string text = article + noun;
  if (has_least && has_most && !above)
    return fmt::format("{} from {} to {}{}", text, least, below ? "below " : "", most);
  if (has_least) text += fmt::format(" {} {}", above ? "above" : "not below", least);
  if (has_most)
    text += fmt::format("{} {} {}", has_least ? " and" : "", below ? "below" : "not above", most);
  return text;
}

}  // namespace dptrain
