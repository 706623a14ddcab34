#include <cstdio>

#include "dptrain/label_server.h"
#include "io/file.h"

namespace dptrain {

namespace {

void append(std::string &text, const char *format, double value)
{
  char number[40];
  std::snprintf(number, sizeof number, format, value);
  text += number;
}

}  // namespace

void write_structure(const std::string &path, const WholeFrame &frame,
                     const std::vector<std::string> &elements, const std::array<bool, 3> &periodic)
{
  const std::size_t natoms = frame.type.size();
  std::string text = std::to_string(natoms) + "\nLattice=\"";
  for (std::size_t k = 0; k < 9; ++k) append(text, k == 0 ? "%.16g" : " %.16g", frame.box[k]);
  text += "\" Properties=species:S:1:pos:R:3 pbc=\"";
  for (std::size_t k = 0; k < 3; ++k)
    text += std::string(k == 0 ? "" : " ") + (periodic[k] ? "T" : "F");
  text += "\"\n";
  for (std::size_t i = 0; i < natoms; ++i) {
    text += elements.at(frame.type[i]);
    for (std::size_t k = 0; k < 3; ++k) append(text, " %.16g", frame.coord[3 * i + k]);
    text += "\n";
  }
  write_atomically(path, [&text](const std::string &temporary) { write_file(temporary, text); });
}

}  // namespace dptrain
