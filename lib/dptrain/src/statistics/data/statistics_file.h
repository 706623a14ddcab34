#pragma once

#include <optional>
#include <string>
#include <vector>

#include "statistics/data/data_statistics.h"

namespace dptrain {

/// What DeePMD-kit keeps in its `stat_file`.
struct StoredStatistics {
  Statistics statistics;  ///< moments only: no distances and no numbers of neighbors
  std::vector<double> out_bias, out_std;  ///< [ntypes] eV
};

/// Reads a `stat_file` of DeePMD-kit 3.2, PyTorch backend: an HDF5 file or a folder, on the calling rank. The moments are
/// found under a hash of rcut and rcut_smth (two decimals) and sel, which must be given. Nothing, if the file does not
/// exist or has no complete statistics for this model; as in DeePMD-kit, excluded types and env_protection are not part
/// of the hash. Throws Error that names the file if it is damaged.
std::optional<StoredStatistics> read_deepmd_statistics(const std::string &path,
                                                       const ModelConfig &config);

/// The same, read by rank 0 for all. Collective.
std::optional<StoredStatistics> read_deepmd_statistics(const Communicator &comm,
                                                       const std::string &path,
                                                       const ModelConfig &config);

/// Writes or updates such a file: an HDF5 file if there is one, or if the name ends with .h5 or .hdf5, otherwise a folder.
/// Entries of other models in it stay. `config.sel` must be given.
void write_deepmd_statistics(const std::string &path, const ModelConfig &config,
                             const DataStatistics &found);

/// DeePMD-kit's name for the statistics of a descriptor.
std::string deepmd_statistics_hash(const ModelConfig &config);

}  // namespace dptrain
