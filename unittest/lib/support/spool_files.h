#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "dptrain/frames/whole_frame.h"
#include "io/file.h"

namespace dptrain::test {

/// Names of the requests in a spool.
inline std::vector<std::string> requests_in(const std::string &spool)
{
  std::vector<std::string> names;
  for (const std::string &name : list_folder(spool))
    if (name != "spool.json" && name[0] != '.') names.push_back(name);
  return names;
}

/// A label whose numbers tell atoms and frames apart: energy -step, forces 1000 step + index in mV/Angstrom.
inline double force_of(const WholeFrame &frame, std::size_t index)
{
  return 1e-3 * (1000.0 * static_cast<double>(frame.step) + static_cast<double>(index));
}

/// An answer as a program other than this library would write it; `keys`: further ones of the comment line.
inline std::string answer_to(const WholeFrame &frame, const std::vector<std::string> &elements,
                             const std::string &keys)
{
  std::string text = std::to_string(frame.type.size()) + "\n";
  char words[400];
  if (frame.periodic) {
    const auto &b = frame.box;
    std::snprintf(words, sizeof words, "Lattice=\"%.8f %.8f %.8f %.8f %.8f %.8f %.8f %.8f %.8f\" ",
                  b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8]);
    text += words;
  }
  text += "Properties=species:S:1:pos:R:3:forces:R:3 pbc=\"";
  text += frame.periodic ? "T T T\"" : "F F F\"";
  std::snprintf(words, sizeof words, " energy=%.3f %s\n", -static_cast<double>(frame.step),
                keys.c_str());
  text += words;
  for (std::size_t i = 0; i < frame.type.size(); ++i) {
    const double *x = &frame.coord[3 * i];
    std::snprintf(words, sizeof words, "%s %.8f %.8f %.8f %.6f %.6f %.6f\n",
                  elements[frame.type[i]].c_str(), x[0], x[1], x[2], force_of(frame, 3 * i),
                  force_of(frame, 3 * i + 1), force_of(frame, 3 * i + 2));
    text += words;
  }
  return text;
}

/// Puts a file there at once, as programs do.
inline void put_file(const std::string &path, const std::string &text)
{
  const std::string temporary = path + ".tmp";
  write_file(temporary, text);
  ::rename(temporary.c_str(), path.c_str());
}

}  // namespace dptrain::test
