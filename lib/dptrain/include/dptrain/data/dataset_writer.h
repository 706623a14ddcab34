#pragma once

#include <string>
#include <vector>

#include "dptrain/frames/whole_frame.h"

namespace dptrain {

/// Appends frames to a deepmd npy data set: one system folder per composition (DIR/<formula>), set.000, type.raw, type_map.raw.
/// Weights of the forces become atom_pref.npy.
void append_to_dataset(const std::string &dir, const std::vector<std::string> &type_map,
                       const WholeFrame &frame);
/// Appends a frame to an extended xyz file, as ASE reads it: cell, species, positions and, where the label has them, energy,
/// forces, virial and stress. `note` (key=value ...) joins the comment line.
void append_to_extxyz(const std::string &path, const std::vector<std::string> &type_map,
                      const WholeFrame &frame, const std::string &note = "");
/// Reads all frames of one deepmd npy system, types mapped by name onto `type_map`.
std::vector<WholeFrame> read_npy_system(const std::string &dir,
                                        const std::vector<std::string> &type_map);

}  // namespace dptrain
