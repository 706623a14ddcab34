// Prints what the reader of data sets finds, for tests that compare it with other programs.
//   dump_system [--count] [--drdq N] [--types "O H"] NAME...      NAME as in the `systems` of an input file
// One line of JSON per frame, or with --count one line that sums all frames up.

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text_words.h"
#include "dptrain/base/error.h"
#include "dptrain/data/data_set.h"
#include "dptrain/frames/whole_frame.h"

namespace {

using dptrain::WholeFrame;
using nlohmann::json;

json describe(const std::string &name, const WholeFrame &frame,
              const std::vector<std::string> &type_map)
{
  json line{{"system", name}, {"step", frame.step}, {"coord", frame.coord}};
  for (const int type : frame.type) line["species"].push_back(type_map.at(type));
  line["box"] = frame.periodic ? json(frame.box) : json();
  const dptrain::Label &label = frame.label;
  if (label.energy) line["energy"] = *label.energy;
  if (label.virial) line["virial"] = *label.virial;
  const std::pair<const char *, const std::vector<double> &> others[] = {
      {"force", label.force},
      {"atom_ener", label.atom_energy},
      {"atom_pref", label.atom_pref},
      {"atom_ener_coeff", label.atom_ener_coeff},
      {"drdq", label.drdq}};
  for (const auto &[key, values] : others)
    if (!values.empty()) line[key] = values;
  return line;
}

void dump(const std::vector<std::string> &names, dptrain::DataOptions options, bool count)
{
  const auto start = std::chrono::steady_clock::now();
  const auto systems = dptrain::find_systems(names);
  if (options.type_map.empty()) options.type_map = dptrain::elements_of(systems);
  std::int64_t frames = 0, atoms = 0;
  double energy = 0.0;
  for (const auto &name : systems) {
    const auto system = dptrain::open_system(name, options);
    for (std::int64_t k = 0; k < system->num_frames(); ++k) {
      const WholeFrame frame = system->read(k);
      ++frames;
      atoms += static_cast<std::int64_t>(frame.type.size());
      energy += frame.label.energy.value_or(0.0);
      if (!count) std::cout << describe(system->name(), frame, options.type_map) << "\n";
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (count)
    std::cout << json{{"systems", systems.size()},
                      {"frames", frames},
                      {"atoms", atoms},
                      {"energy", energy},
                      {"type_map", options.type_map},
                      {"seconds", seconds.count()}}
              << "\n";
}

}  // namespace

int main(int argc, char **argv)
{
  std::vector<std::string> names;
  dptrain::DataOptions options;
  bool count = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--count")
      count = true;
    else if (word == "--drdq" && i + 1 < argc)
      options.numb_generalized_coord = std::stoi(argv[++i]);
    else if (word == "--types" && i + 1 < argc)
      options.type_map = dptrain::words_of(argv[++i]);
    else
      names.push_back(word);
  }
  try {
    dump(names, options, count);
  } catch (const dptrain::Error &error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
