#include "data/extxyz_text.h"

#include <charconv>

namespace dptrain {

std::string extxyz_numbers(const double *values, std::size_t n)
{
  std::string text;
  char number[32];
  for (std::size_t k = 0; k < n; ++k) {
    if (k > 0) text += " ";
    text.append(number, std::to_chars(number, number + sizeof number, values[k]).ptr);
  }
  return text;
}

std::string extxyz_atoms(const WholeFrame &frame, const std::vector<std::string> &elements,
                         const std::vector<double> &force, const std::vector<double> &weight)
{
  std::string text;
  for (std::size_t i = 0; i < frame.type.size(); ++i) {
    text += elements.at(frame.type[i]) + " " + extxyz_numbers(&frame.coord[3 * i], 3);
    if (!force.empty()) text += " " + extxyz_numbers(&force[3 * i], 3);
    if (!weight.empty()) text += " " + extxyz_numbers(&weight[i], 1);
    text += "\n";
  }
  return text;
}

}  // namespace dptrain
