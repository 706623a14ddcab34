#pragma once

#include <array>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/config.h"
#include "dptrain/frame.h"
#include "dptrain/trainer.h"

namespace dptrain {

/// Reads / writes DeePMD-kit's native .dp (HDF5) file on the calling rank.
ModelData read_dp(const std::string &path);
void write_dp(const std::string &path, const ModelData &data);

/// Whether the name of a file asks for a TorchScript archive.
bool is_pth(const std::string &path);
/// Writes a .pth or a .dp, as the name says. Throws Error where the model has no such form.
void write_model_file(const std::string &path, const ModelData &data);

/// Calls `write(temporary name)` beside `path`, fsyncs the result and renames it: the previous file stays intact on any failure.
void write_atomically(const std::string &path,
                      const std::function<void(const std::string &)> &write);

/// A frame as a whole, on one rank: what data sets and the frames file hold. Atoms in order of their ids.
struct WholeFrame {
  std::int64_t step = 0;
  std::vector<double> coord;  ///< [natoms][3] Angstrom
  std::vector<int> type;      ///< [natoms] model types
  std::array<double, 9> box{};
  bool periodic = true;
  bool held_out = false;  ///< for validation, not for training
  Label label;            ///< force [natoms][3]
};

/// Splits a whole frame (same on all ranks) over the ranks: owned atoms in bricks of equal numbers (recursive bisection),
/// ghosts by periodic images within rcut, cell list, halo plan. Cells smaller than the cutoff and single atoms work.
/// Collective.
Frame scatter_frame(std::shared_ptr<const Communicator> comm, const WholeFrame &whole, double rcut);

/// Append-only log of labelled frames beside a checkpoint, fsynced per frame. Used on rank 0.
class FramesFile {
 public:
  /// Opens for appending after the first `keep` frames (later ones are cut off); creates the file with keep = 0.
  FramesFile(const std::string &path, std::int64_t keep);
  ~FramesFile();
  void append(const WholeFrame &frame);
  /// The first `count` frames; with count = -1 all that are complete.
  static std::vector<WholeFrame> read(const std::string &path, std::int64_t count);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Everything a continued training needs besides the frames.
struct Checkpoint {
  ModelData model;                      ///< as exported for use: with the average, if there is one
  std::vector<double> parameters;       ///< master weights, raw float64
  std::vector<double> average;          ///< of the weights, float64; empty where none is kept
  std::vector<double> trainer_state;    ///< Trainer::state()
  std::vector<double> auxiliary_state;  ///< Model::auxiliary_state()
  std::int64_t num_frames = 0;          ///< index into FILE.frames
  std::vector<double> counters;         ///< numbers of the caller (labels, reference calls, ...)
  std::string training;  ///< training_text() of the settings; empty in files of version 0.1.0
};
void write_checkpoint(const std::string &path, const Checkpoint &checkpoint);
Checkpoint read_checkpoint(const std::string &path);
/// True if the file is a checkpoint of this library (an HDF5 file with its group), not a plain .dp.
/// `name` as for find_model_file.
bool is_checkpoint(const std::string &name);

/// The file that is meant by the name of a model or checkpoint: NAME, or NAME.dp. Throws Error if there is neither.
std::string find_model_file(const std::string &name);

/// A model file (.dp or TorchScript .pth), or the model of a checkpoint with its weights in float64: those of the optimizer
/// or, where one is kept, their average, which is the better model. `path` is a name as for find_model_file. With `native`,
/// archives that can be run by the native kernels become native models.
ModelData read_model_file(const std::string &path, bool native = true);

/// lcurve.out in DeePMD-kit's columns: the root of the loss and the errors of the active terms, of the training batch
/// alone or with those of validation data in front of them.
class LearningCurve {
 public:
  /// append = true continues an existing file (resume).
  LearningCurve(const std::string &path, const LossConfig &loss, bool validation, bool append);
  /// Adds a row; without `validation`, its columns hold nan.
  void write(const UpdateReport &training, const std::optional<UpdateReport> &validation = {});

 private:
  void choose_columns(const LossConfig &loss);

  std::ofstream file_;
  std::string path_;
  bool validation_;
  std::vector<std::pair<std::string, double UpdateReport::*>> columns_;  // name, place in a report
};

/// Appends frames to a deepmd npy data set: one system folder per composition (DIR/<formula>), set.000, type.raw, type_map.raw.
void append_to_dataset(const std::string &dir, const std::vector<std::string> &type_map,
                       const WholeFrame &frame);
/// Appends a frame to an extended xyz file, as ASE reads it: cell, species, positions and, where the label has them, energy,
/// forces and virial. `note` (key=value ...) joins the comment line.
void append_to_extxyz(const std::string &path, const std::vector<std::string> &type_map,
                      const WholeFrame &frame, const std::string &note = "");
/// Reads all frames of one deepmd npy system, types mapped by name onto `type_map`.
std::vector<WholeFrame> read_npy_system(const std::string &dir,
                                        const std::vector<std::string> &type_map);

}  // namespace dptrain
