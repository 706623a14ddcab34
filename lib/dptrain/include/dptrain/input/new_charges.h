#pragma once

#include <map>
#include <string>

#include "dptrain/input/config.h"

namespace dptrain {

/// Which charges a model gets where no input file says so.
struct NewCharges {
  enum class Kind {
    search,  ///< those of its elements that make it better
    none,
    environment,  ///< a net tells them from the surroundings
    fixed         ///< `values`
  };
  Kind kind = Kind::search;
  std::map<std::string, double> values;  ///< e, by element
  double total = 0.0;                    ///< e, of all atoms

  bool are_given() const { return kind == Kind::environment || kind == Kind::fixed; }
};

/// The term of a model of these elements. Throws Error where charges that are given are not those of its elements.
AnyEnergyTermConfig term_of(const NewCharges &charges, const ModelConfig &config);

}  // namespace dptrain
