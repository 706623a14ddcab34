#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

#include "dptrain/frames/whole_frame.h"

namespace dptrain {

/// What a reader of data sets has to know.
struct DataOptions {
  std::vector<std::string>
      type_map;  ///< of the model: types of the data are mapped onto it by name
  std::string set_prefix =
      "set";  ///< npy and HDF5: folders set.*, or another name in front of the dot
  int numb_generalized_coord = 0;  ///< columns of drdq; 0: not read
  int num_fparam = 0;  ///< of the model: if any, systems with frame parameters are refused
};

/// One system of a data set: labeled frames that are read one by one, so that a data set may be larger than the memory.
/// Any number of objects may read the same files. Functions throw Error that names the file, what was found and what is
/// allowed.
class DataSystem {
 public:
  virtual ~DataSystem() = default;
  /// As given by the user.
  virtual const std::string &name() const = 0;
  virtual std::int64_t num_frames() const = 0;
  /// Atoms of a frame; virtual atoms of mixed systems do not count.
  virtual std::int64_t natoms(std::int64_t frame) const = 0;
  /// True if every frame has the same atoms in the same order.
  virtual bool same_atoms() const = 0;
  /// Frame `frame` (from 0) with all labels that the data set has; step = frame.
  virtual WholeFrame read(std::int64_t frame) const = 0;
  /// A label of the same kinds as that of the frame; its numbers mean nothing. Cheaper than read() where it can be.
  virtual Label label_kinds(std::int64_t frame) const { return read(frame).label; }
  /// The time step of the frame in the run that it comes from; its number where the data do not tell.
  virtual std::int64_t time_step(std::int64_t frame) const { return frame; }
  /// Where the frame is, for messages.
  virtual std::string place(std::int64_t frame) const
  {
    return fmt::format("frame {} of {}", frame, name());
  }
  /// What looks like a label of this kind ("energies", "forces", "virials") under a name that is not read, in frames
  /// without such a label; empty if nothing does.
  virtual std::string unread_label(const std::string & /*kind*/) const { return ""; }

 protected:
  /// Throws an internal error where there is no such frame.
  void require(std::int64_t frame) const;
};

using Systems = std::vector<std::shared_ptr<const DataSystem>>;

/// Those of all systems together.
std::int64_t num_frames(const Systems &systems);

/// Opens one system: folder in DeePMD-kit's npy format (also mixed_type), FILE.hdf5#/GROUP in its HDF5 format, an
/// extended xyz file, or the labels of a run, FILE.frames. Checks names, shapes and types of all files; numbers are checked as frames are read.
std::shared_ptr<const DataSystem> open_system(const std::string &path, const DataOptions &options);

/// All systems that `systems` names, in DeePMD-kit's way and sorted: a system itself, a folder searched for systems below
/// it, an HDF5 file with systems as groups, an extxyz file, FILE.frames, or a pattern with * ? [ ] of such names. With
/// `rglob_patterns` the folders are searched for those names instead. Relative paths start at `base` (empty: the present
/// folder). Throws Error if a name gives no system.
std::vector<std::string> find_systems(const std::vector<std::string> &systems,
                                      const std::vector<std::string> &rglob_patterns = {},
                                      const std::string &base = "");

/// Names of all elements in the systems, in the order in which they appear: the type map of a data set for which no model
/// exists yet. Throws Error if a system does not name its elements.
std::vector<std::string> elements_of(const std::vector<std::string> &paths,
                                     const std::string &set_prefix = "set");

}  // namespace dptrain
