#include <array>
#include <cmath>
#include <fmt/format.h>
#include <fstream>

#include "data/extxyz_text.h"
#include "dptrain/base/error.h"
#include "dptrain/data/dataset_writer.h"
#include "dptrain/frames/whole_frame.h"

namespace dptrain {

namespace {

// eV/Angstrom^3, positive under tension: what ASE and others read
std::string stress_of(const WholeFrame &frame)
{
  const auto &[ax, ay, az, bx, by, bz, cx, cy, cz] = frame.box;
  const double volume =
      std::fabs(ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx));
  if (!frame.periodic || volume == 0.0) return "";
  std::array<double, 9> stress = *frame.label.virial;
  for (double &value : stress) value /= -volume;
  return " stress=\"" + extxyz_numbers(stress.data(), 9) + "\"";
}

std::string comment(const WholeFrame &frame, const std::string &note)
{
  const Label &label = frame.label;
  std::string text;
  if (frame.periodic) text += "Lattice=\"" + extxyz_numbers(frame.box.data(), 9) + "\" ";
  text +=
      fmt::format("Properties=species:S:1:pos:R:3{}{}", label.force.empty() ? "" : ":forces:R:3",
                  label.force_weight.empty() ? "" : ":force_weight:R:1");
  if (label.energy) text += fmt::format(" energy={}", extxyz_numbers(&*label.energy, 1));
  if (label.virial)
    text +=
        fmt::format(" virial=\"{}\"", extxyz_numbers(label.virial->data(), 9)) + stress_of(frame);
  if (frame.charge) text += fmt::format(" total_charge={}", extxyz_numbers(&*frame.charge, 1));
  if (label.frame_weight != 1.0)
    text += fmt::format(" weight={}", extxyz_numbers(&label.frame_weight, 1));
  text += frame.periodic ? " pbc=\"T T T\"" : " pbc=\"F F F\"";
  text += fmt::format(" step={}", frame.step);
  return note.empty() ? text : text + " " + note;
}

}  // namespace

void append_to_extxyz(const std::string &path, const std::vector<std::string> &type_map,
                      const WholeFrame &frame, const std::string &note)
{
  std::ofstream file(path, std::ios::app);
  file << frame.type.size() << "\n"
       << comment(frame, note) << "\n"
       << extxyz_atoms(frame, type_map, frame.label.force, frame.label.force_weight);
  file.flush();
  if (!file)
    throw Error(fmt::format("The file '{}' cannot be written: check space and permissions", path));
}

}  // namespace dptrain
