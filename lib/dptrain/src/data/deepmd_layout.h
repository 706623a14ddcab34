#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/stored_array.h"
#include "dptrain/data/data_set.h"

namespace dptrain {

/// Arrays of a set, in the order of the table in deepmd_layout.cpp.
enum class Item {
  coord,
  box,
  energy,
  force,
  virial,
  charge,
  frame_weight,
  atom_energy,
  atom_pref,
  atom_ener_coeff,
  drdq,
  real_types,
  count
};

/// A folder set.*: its arrays, null where the set has none.
struct DataSet {
  std::int64_t frames = 0;
  std::array<std::shared_ptr<const StoredArray>, static_cast<std::size_t>(Item::count)> arrays;
  const StoredArray *get(Item item) const { return arrays[static_cast<std::size_t>(item)].get(); }
};

/// What a system in DeePMD-kit's layout consists of. Types are those of the data.
struct DeepmdLayout {
  /// Reads type.raw, type_map.raw and the shapes of all arrays. Throws Error if they do not fit together.
  DeepmdLayout(const SystemTree &tree, const DataOptions &options);

  std::int64_t width(Item item) const;  ///< numbers of one frame
  static bool is_atomic(Item item);     ///< as many for each atom
  std::int64_t rows() const { return static_cast<std::int64_t>(types.size()); }
  /// Types of one frame of a system with mixed types; -1: no atom.
  std::vector<int> real_types(const DataSet &set, std::int64_t row) const;

  std::string type_path, names_path, root_path;  ///< for messages
  std::vector<int> types;                        ///< type.raw
  std::vector<std::string> names;                ///< type_map.raw; empty without the file
  bool periodic = true;
  bool mixed = false;
  int numb_generalized_coord = 0, num_fparam = 0;
  std::vector<DataSet> sets;

 private:
  void read_types(const SystemTree &tree);
  DataSet read_set(const SystemTree &tree, const std::string &folder) const;
  void check_shape(const StoredArray &array, Item item, std::int64_t frames) const;
};

}  // namespace dptrain
