#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// Model deviation of DP-GEN (Y. Zhang et al., Comput. Phys. Commun. 253, 107206 (2020)), as DeePMD-kit's pair style
/// computes and writes it: how far the predictions of n models for the same configuration lie apart. All standard
/// deviations are those of the n models themselves (divided by n).

/// Largest and smallest of some deviations, and their average.
struct DeviationRange {
  double max = 0.0, min = 0.0, average = 0.0;
};

/// [natoms] sqrt(mean_k |F_k - <F>|^2) of each atom, in the unit of the forces. `forces`: one array [natoms][3] (or longer)
/// for each model. With `level`, in the same unit, the relative deviation: that divided by |<F>| + level, a plain number.
std::vector<double> force_deviation(const std::vector<const double *> &forces, std::size_t natoms,
                                    std::optional<double> level = {});

/// Range of the values [count] of this rank and those of all other ranks; the average is their mean. Zeros where no rank
/// has any. Collective.
DeviationRange range_of_atoms(const Communicator &comm, const double *values, std::size_t count);

/// Of the nine components of the virials per atom, one for each model: range of their standard deviations, the average
/// being the root mean square. With `level`, each is divided by |mean of its component| + level before.
DeviationRange virial_deviation(const std::vector<std::array<double, 9>> &virials_per_atom,
                                std::optional<double> level = {});

/// One line of model_devi.out.
struct ModelDeviationRow {
  std::int64_t step = 0;
  DeviationRange virial, force;
  std::vector<double>
      atoms;  ///< force deviation of each atom, by id; empty: these columns are left out
  std::vector<std::int64_t> ids;  ///< of these atoms, in rising order; empty: 1, 2, ...
};

/// model_devi.out in the layout of DeePMD-kit's pair style: step (12 characters), then columns of 18 behind a blank, and a
/// comment line with their names. Columns of atoms are those of the first row in the file, where it goes on of the first row
/// before; a comment line names their ids where these are not 1, 2, .... An atom that is not there any more is nan. Used on
/// rank 0.
class ModelDeviationFile {
 public:
  /// `append` goes on in an existing file, as after a restart; otherwise it is replaced. `atomic`: rows have columns of
  /// atoms. Throws Error where the file cannot be written.
  ModelDeviationFile(const std::string &path, bool atomic, bool append);
  /// Adds a row, which is in the file when this returns. The number of its atoms that have no column, because they were not
  /// there in the first row. Throws Error (disk full).
  std::size_t write(const ModelDeviationRow &row);

 private:
  void name_columns(const std::vector<std::int64_t> &ids);

  std::vector<std::int64_t> ids_;  // of the atoms that have columns; empty: not known yet
  std::ofstream file_;
  std::string path_;
};

}  // namespace dptrain
