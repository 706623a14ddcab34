#include "commands/separate_atoms.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "commands/system_view.h"
#include "dptrain/base/error.h"
#include "statistics/data/statistics_search.h"

namespace dptrain {

namespace {

constexpr double same_energy = 1e-3;  // eV; codes that converge are closer

bool is_alone(const WholeFrame &frame, const ModelConfig &config)
{
  FrameSearch search(frame, config.ntypes(), config.cutoff());
  search.for_each_atom(0, 1, 1, [](const Neighborhood &) {});
  return search.natoms() == 1 && !search.closest();
}

/// Energies of separate atoms, and where each of them comes from.
class SeparateAtoms {
 public:
  explicit SeparateAtoms(ModelConfig &config) :
      config_(config), from_(config.ntypes(), "atom_ener of the input")
  {
    config_.atom_ener.resize(config.ntypes());
  }

  /// Whether the frame is one of an atom alone, whose energy is then known.
  bool take(const DataSystem &system, std::int64_t frame, const Log &say)
  {
    const WholeFrame whole = system.read(frame);
    if (!whole.label.energy || !is_alone(whole, config_)) return false;
    const int type = whole.type.at(0);
    const double energy = *whole.label.energy;
    std::optional<double> &known = config_.atom_ener[type];
    const std::string &element = config_.type_map[type];
    if (known && std::abs(*known - energy) > same_energy)
      throw Error(fmt::format("a separate atom {} has an energy of {:.6f} eV in {} and of {:.6f} "
                              "eV in {}: keep the one of the calculation that the labels are from",
                              element, energy, system.place(frame), *known, from_[type]));
    if (known) return true;
    known = energy;
    from_[type] = system.place(frame);
    say(fmt::format("energy of a separate atom {}: {:.6f} eV, {}", element, energy, from_[type]));
    return true;
  }

 private:
  ModelConfig &config_;
  std::vector<std::string> from_;  // by type
};

}  // namespace

Systems split_separate_atoms(const Systems &systems, ModelConfig &config, const Log &say)
{
  SeparateAtoms atoms(config);
  Systems others;
  for (const auto &system : systems) {
    std::vector<std::int64_t> frames;
    for (std::int64_t k = 0; k < system->num_frames(); ++k)
      if (system->natoms(k) != 1 || !atoms.take(*system, k, say)) frames.push_back(k);
    const auto number = static_cast<std::int64_t>(frames.size());
    if (number == system->num_frames())
      others.push_back(system);
    else if (number > 0)
      others.push_back(std::make_shared<SomeFrames>(system, std::move(frames)));
  }
  const bool any = std::any_of(config.atom_ener.begin(), config.atom_ener.end(),
                               [](const auto &energy) { return energy.has_value(); });
  if (!any) config.atom_ener.clear();
  if (others.empty())
    throw Error("all frames are separate atoms, from which nothing can be learned but their "
                "energies: add frames with several atoms");
  return others;
}

}  // namespace dptrain
