#include "labels/spool_answer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string_view>

#include "data/extxyz_file.h"
#include "data/extxyz_header.h"
#include "dptrain/base/error.h"
#include "labels/label_virial.h"
#include "neighbor/lattice.h"

namespace dptrain {

namespace {

// Angstrom. Files of other programs have four digits or more, and so small a displacement changes forces by less than
// 0.01 eV/Angstrom, even of a stiff bond (50 eV/Angstrom^2); one time step of a simulation moves atoms further.
constexpr double position_tolerance = 1e-4;

class AnswerReader {
 public:
  AnswerReader(const std::string &text, const std::string &path, const WholeFrame &frame,
               const std::vector<std::string> &elements) :
      text_(text), path_(path), frame_(frame), elements_(elements)
  {
  }

  Label read(bool virial)
  {
    const WholeFrame answer = parse();
    expect_atoms(answer);
    if (frame_.periodic) expect_box();
    expect_positions(answer.coord);
    Label label;
    if (!answer.label.energy)
      throw Error(fmt::format("{} has no energy: add energy=... to its comment line", path_));
    if (answer.label.force.empty())
      throw Error(fmt::format("{} has no forces: add the columns forces:R:3", path_));
    label.energy = answer.label.energy;
    label.force = answer.label.force;
    if (!virial) return label;
    label.virial =
        frame_.periodic ? answer.label.virial : virial_of_forces(label.force, frame_.coord);
    if (!label.virial || is_left_out(*label.virial, label.force, frame_))
      throw Error(
          fmt::format("{} has no stress or virial: compute it, or choose 'virial no'", path_));
    return label;
  }

 private:
  WholeFrame parse()
  {
    const ReadAt from_text = [this](char *data, std::size_t bytes, std::int64_t offset) {
      const auto start = std::min(static_cast<std::size_t>(offset), text_.size());
      const std::size_t count = std::min(bytes, text_.size() - start);
      std::memcpy(data, text_.data() + start, count);
      return count;
    };
    const ExtxyzIndex index = scan_extxyz(from_text, path_);
    if (index.frames.size() != 1)
      throw Error(fmt::format("{} has {} frames, expected one", path_, index.frames.size()));
    const auto start = static_cast<std::size_t>(index.frames.front().offset);
    std::string_view lines(text_);
    lines = lines.substr(start, static_cast<std::size_t>(index.end) - start);
    std::map<std::string, int, std::less<>> types;
    for (std::size_t type = 0; type < elements_.size(); ++type) {
      types.emplace(elements_[type], static_cast<int>(type));
      types.emplace(element_name(elements_[type], false), static_cast<int>(type));
    }
    const std::int64_t line = index.frames.front().line;
    const WholeFrame answer = parse_extxyz_frame(lines, line, path_, types);
    take_line(lines);
    header_ = parse_extxyz_header(take_line(lines), path_);
    return answer;
  }

  void expect_atoms(const WholeFrame &answer) const
  {
    if (answer.type.size() != frame_.type.size())
      throw Error(fmt::format("{} has {} atoms, the request has {}: write all atoms of the request",
                              path_, answer.type.size(), frame_.type.size()));
    for (std::size_t i = 0; i < frame_.type.size(); ++i)
      if (answer.type[i] != frame_.type[i])
        throw Error(fmt::format("{}: atom {} is {}, in the request {}: keep the order of the atoms",
                                path_, i + 1, elements_.at(answer.type[i]),
                                elements_.at(frame_.type[i])));
  }

  void expect_box() const
  {
    const auto &periodic = header_.periodic;
    const bool any = periodic[0] || periodic[1] || periodic[2];
    if (!header_.lattice || !any)
      throw Error(fmt::format("{} has no periodic box (Lattice, pbc), the request has one: keep it",
                              path_));
    for (std::size_t k = 0; k < 9; ++k) {
      const double found = (*header_.lattice)[k];
      if (!(std::abs(found - frame_.box[k]) <= position_tolerance))
        throw Error(fmt::format("{}: component {} of Lattice is {:.6f}, in the request {:.6f}: the "
                                "box must be that of the request",
                                path_, static_cast<int>(k) + 1, found, frame_.box[k]));
    }
  }

  // Codes may wrap atoms into the box.
  void expect_positions(const std::vector<double> &coord) const
  {
    std::optional<Lattice> lattice;
    if (frame_.periodic) lattice.emplace(frame_.box);
    for (std::size_t i = 0; i < coord.size(); i += 3) {
      std::array<double, 3> d;
      for (std::size_t k = 0; k < 3; ++k) d[k] = coord[i + k] - frame_.coord[i + k];
      if (lattice) to_nearest_image(*lattice, d);
      const double distance = std::hypot(d[0], d[1], d[2]);
      if (!(distance <= position_tolerance))
        throw Error(fmt::format(
            "{}: atom {} is {:.6g} Angstrom from where the request has it: keep the positions",
            path_, i / 3 + 1, distance));
    }
  }

  void to_nearest_image(const Lattice &lattice, std::array<double, 3> &d) const
  {
    const std::array<double, 3> s = lattice.fractional(d.data());
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t c = 0; c < 3; ++c) d[c] -= std::round(s[k]) * frame_.box[3 * k + c];
  }

  const std::string &text_, &path_;
  const WholeFrame &frame_;
  const std::vector<std::string> &elements_;
  ExtxyzHeader header_;
};

}  // namespace

Label read_spool_answer(const std::string &text, const std::string &path, const WholeFrame &frame,
                        const std::vector<std::string> &elements, bool virial)
{
  return AnswerReader(text, path, frame, elements).read(virial);
}

}  // namespace dptrain
