#include "data/extxyz_text.h"
#include "dptrain/io/atomic_file.h"
#include "dptrain/labels/label_server.h"
#include "io/file.h"

namespace dptrain {

void write_structure(const std::string &path, const WholeFrame &frame,
                     const std::vector<std::string> &elements, const std::array<bool, 3> &periodic)
{
  std::string text = std::to_string(frame.type.size()) + "\nLattice=\"" +
                     extxyz_numbers(frame.box.data(), 9) +
                     "\" Properties=species:S:1:pos:R:3 pbc=\"";
  for (std::size_t k = 0; k < 3; ++k)
    text += std::string(k == 0 ? "" : " ") + (periodic[k] ? "T" : "F");
  text += "\"\n" + extxyz_atoms(frame, elements);
  write_atomically(path, [&text](const std::string &temporary) { write_file(temporary, text); });
}

}  // namespace dptrain
