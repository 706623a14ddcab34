#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "dptrain/base/fields.h"

namespace dptrain {

/// Errors of one term of the loss. Those of energies and virials are per atom (eV), those of forces in eV/Angstrom, those
/// of atomic energies in eV.
struct TermErrors {
  std::string term;  ///< e, f, v, ae, pf, gf
  double rmse = std::numeric_limits<double>::quiet_NaN();
  double mae = std::numeric_limits<double>::quiet_NaN();
};
DPTRAIN_FIELDS(TermErrors, term, rmse, mae)

/// What one optimizer step saw, before the step. Same on all ranks. Errors of a batch are means over all its numbers, NaN
/// where no frame of the batch has the label.
struct UpdateReport {
  std::int64_t step = 0;  ///< steps done, this one included
  double loss = 0.0;
  double learning_rate = 0.0;
  std::vector<TermErrors> terms;

  /// Those of a term; NaN where the loss has none of this name.
  TermErrors errors(const std::string &term) const
  {
    for (const TermErrors &errors : terms)
      if (errors.term == term) return errors;
    return {term};
  }
  double rmse(const std::string &term) const { return errors(term).rmse; }
  double mae(const std::string &term) const { return errors(term).mae; }
};
DPTRAIN_FIELDS(UpdateReport, step, loss, learning_rate, terms)

}  // namespace dptrain
