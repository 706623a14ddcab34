#include <cstdio>
#include <fstream>

#include "dptrain/error.h"
#include "dptrain/files.h"

namespace dptrain {

namespace {

// Numbers that read back to the same bits.
template <class Numbers> std::string joined(const Numbers &values)
{
  std::string text;
  char number[32];
  for (const double value : values) {
    std::snprintf(number, sizeof number, "%.17g", value);
    text += (text.empty() ? "" : " ") + std::string(number);
  }
  return text;
}

std::string comment(const WholeFrame &frame, const std::string &note)
{
  const Label &label = frame.label;
  std::string text;
  if (frame.periodic) text += "Lattice=\"" + joined(frame.box) + "\" ";
  text +=
      std::string("Properties=species:S:1:pos:R:3") + (label.force.empty() ? "" : ":forces:R:3");
  if (label.energy) text += " energy=" + joined(std::vector<double>{*label.energy});
  if (label.virial) text += " virial=\"" + joined(*label.virial) + "\"";
  text += frame.periodic ? " pbc=\"T T T\"" : " pbc=\"F F F\"";
  text += " step=" + std::to_string(frame.step);
  return note.empty() ? text : text + " " + note;
}

}  // namespace

void append_to_extxyz(const std::string &path, const std::vector<std::string> &type_map,
                      const WholeFrame &frame, const std::string &note)
{
  std::ofstream file(path, std::ios::app);
  file << frame.type.size() << "\n" << comment(frame, note) << "\n";
  for (std::size_t i = 0; i < frame.type.size(); ++i) {
    const double *x = &frame.coord[3 * i];
    file << type_map.at(frame.type[i]) << " " << joined(std::vector<double>(x, x + 3));
    if (!frame.label.force.empty()) {
      const double *f = &frame.label.force[3 * i];
      file << " " << joined(std::vector<double>(f, f + 3));
    }
    file << "\n";
  }
  file.flush();
  if (!file) throw Error("The file '" + path + "' cannot be written: check space and permissions");
}

}  // namespace dptrain
