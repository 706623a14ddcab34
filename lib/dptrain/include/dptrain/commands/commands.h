#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dptrain/base/messages.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/input/config.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/parallel/device.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/uncertainty/bar_calibration.h"

// The work of the command `dptrain`: trainings, tests and statistics from data sets. All functions are collective; `log` is
// called on rank 0 with one line of text.

namespace dptrain {

/// Energy, forces and virial of a frame, in eV and Angstrom, with a baseline. This rank alone; throws Error.
using EvaluateBaseline = std::function<Label(const WholeFrame &)>;
/// Makes that of a potential, whose types are the names given. Collective. The engine knows how.
using MakeBaseline = std::function<EvaluateBaseline(const std::vector<Baseline> &,
                                                    const std::vector<std::string> &type_map)>;

struct TrainOptions {
  std::string input;       ///< input.json
  std::string init_model;  ///< .dp or checkpoint: its parameters, everything else new
  std::string restart;     ///< checkpoint: everything goes on
  std::string finetune;    ///< .dp or checkpoint: like init_model, energy bias refitted to the data
  bool use_pretrain_script = false;  ///< model section of that file instead of the input's
  bool skip_neighbor_stat = false;
  bool dry_run = false;   ///< checks input and data, prints estimates, trains nothing
  bool terminal = false;  ///< progress as a bar that is drawn over itself
  std::function<void(const std::string &)>
      draw;                         ///< text without line end, for that bar, on rank 0
  std::string output = "out.json";  ///< the input with all defaults; empty: not written
  Precision precision = Precision::float64;
  ParallelConfig parallel;
  DeviceRequest device;
  MakeBaseline make_baseline;  ///< none: models with a baseline cannot be trained
};

/// What a training has come to.
struct TrainSummary {
  std::int64_t steps = 0;
  double seconds = 0.0;
  bool interrupted = false;  ///< by a signal; a checkpoint was saved
};

TrainSummary run_training(std::shared_ptr<const Communicator> comm, const TrainOptions &options,
                          const Log &log);

struct TestOptions {
  std::string model;  ///< .dp or checkpoint
  std::vector<std::string>
      systems;            ///< as in find_systems; nothing named at all: the present folder
  std::string data_file;  ///< a list of systems, one in a line, instead
  std::string train_data, valid_data;  ///< input.json whose systems are tested, instead
  std::int64_t numb_test = 0;          ///< frames per system; 0: all
  std::optional<std::uint64_t> seed;   ///< of the order of the frames; none: 0
  bool shuffle = false;                ///< frames in random order
  std::string detail_file;             ///< PREFIX of the detail files; empty: none
  bool atomic = false;                 ///< errors of atomic energies too
  Precision precision = Precision::float64;
  DeviceRequest device;
  MakeBaseline make_baseline;  ///< none: models with a baseline cannot be tested
};

/// Mean absolute and root mean square error of one quantity.
struct TestError {
  double mae = 0.0, rmse = 0.0;
  double weight = 0.0;  ///< number of values, or sum of their weights
  bool found = false;   ///< false: no frame has the label
};

struct TestErrors {
  TestError energy, energy_per_atom;  ///< eV
  TestError force, weighted_force;    ///< eV/Angstrom, of components; weights: atom_pref
  TestError virial, virial_per_atom;  ///< eV, of components
  TestError stress;                   ///< eV/Angstrom^3, of components
  TestError atomic_energy;            ///< eV
};

struct TestReport {
  struct System {
    std::string name;
    std::int64_t frames = 0;
    TestErrors errors;
    BarCoverage bars;  ///< of the forces
  };
  std::vector<System> systems;
  TestErrors total;  ///< over all values of all systems; without atomic energies, as `dp test`
  BarCoverage bars;  ///< of all forces
  std::int64_t overflow = 0;  ///< atoms with more neighbors of a type than sel keeps
};

/// Errors of a model on data sets, printed and written as `dp test` does. Frames go whole to the ranks, and results come
/// together in the order of the frames: numbers and files do not depend on the number of ranks. A system with fewer frames
/// than ranks is evaluated frame by frame by all ranks together (equal to rounding). The report is the same on all ranks.
/// Throws Error on all ranks if a model, system or frame cannot be read or evaluated, or a file cannot be written.
TestReport run_test(std::shared_ptr<const Communicator> comm, const TestOptions &options,
                    const Log &log);

struct StatOptions {
  std::vector<std::string> systems;    ///< as in find_systems
  double rcut = 0.0, rcut_smth = 0.5;  ///< Angstrom
  std::vector<std::string> type_map;   ///< empty: from the data
  std::vector<int> sel;                ///< for davg and dstd; empty: the recommended one
  double sel_factor = 1.1;
  std::string output;  ///< JSON file; empty: none
};

/// Neighbor and descriptor statistics and energy bias of data sets, split over the ranks, frames read once.
void run_statistics(std::shared_ptr<const Communicator> comm, const StatOptions &options,
                    const Log &log);

struct ConvertOptions {
  std::string from, to;  ///< model files, or a checkpoint to read; or data sets
};

/// Writes a model file or the model of a checkpoint as .dp or .pth, as the name says, or a data set as extended XYZ, as FILE.frames or
/// as a folder in DeePMD-kit's format. Throws Error for other formats, which need other programs, and where a checkpoint would be lost.
void run_convert(std::shared_ptr<const Communicator> comm, const ConvertOptions &options,
                 const Log &log);

}  // namespace dptrain
