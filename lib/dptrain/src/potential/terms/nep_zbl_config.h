#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "dptrain/input/config.h"
#include "dptrain/input/energy_term_config.h"

namespace dptrain {

/// Of a pair of elements: where the repulsion is switched off, Angstrom, and amplitudes and decays of its screening function.
struct NepZblPair {
  double inner = 0.0, outer = 0.0;
  std::array<double, 4> part{}, decay{};
};

/// The term "nep_zbl" of a NEP, from the words of its line zbl (INNER OUTER, or INNER OUTER FACTOR) and, where both are 0, ten numbers
/// for each pair of elements (0,0), (0,1), ... (1,1), ...
std::unique_ptr<EnergyTermConfig> nep_zbl(const std::vector<double> &line,
                                          const std::vector<double> &numbers,
                                          const ModelConfig &model);
bool is_nep_zbl(const EnergyTermConfig &config);

/// What a nep.txt has of it.
struct NepZblText {
  std::string line;
  std::vector<double> numbers;
};
NepZblText nep_zbl_text(const EnergyTermConfig &config, const ModelConfig &model);

}  // namespace dptrain
