#include "data/extxyz_text.h"

#include "dptrain/io/atomic_file.h"
#include "dptrain/labels/label_server.h"
#include "io/file.h"
#include "labels/structure_text.h"
#include <fmt/format.h>

namespace dptrain {

std::string structure_text(const WholeFrame &frame, const std::vector<std::string> &elements,
                           const std::array<bool, 3> &periodic, bool with_box,
                           const std::string &note)
{
  std::string text = fmt::format("{}\n", frame.type.size());
  if (with_box) text += "Lattice=\"" + extxyz_numbers(frame.box.data(), 9) + "\" ";
  text += "Properties=species:S:1:pos:R:3 pbc=\"";
  for (std::size_t k = 0; k < 3; ++k)
    text += std::string(k == 0 ? "" : " ") + (periodic[k] ? "T" : "F");
  text += "\"";
  if (frame.charge) text += " total_charge=" + extxyz_numbers(&*frame.charge, 1);
  text += (note.empty() ? "" : " " + note) + "\n";
  return text + extxyz_atoms(frame, elements);
}

void write_structure(const std::string &path, const WholeFrame &frame,
                     const std::vector<std::string> &elements, const std::array<bool, 3> &periodic)
{
  const std::string text = structure_text(frame, elements, periodic, true);
  write_atomically(path, [&text](const std::string &temporary) { write_file(temporary, text); });
}

}  // namespace dptrain
