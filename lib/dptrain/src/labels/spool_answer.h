#pragma once

#include <string>
#include <vector>

#include "dptrain/frames/whole_frame.h"

namespace dptrain {

/// The label in an answer to a request: one frame of extended XYZ with energy, forces and, where `virial` asks for it, stress
/// or virial (of a frame without cell it follows from the forces). `elements` are the names of the request's types. Throws
/// Error that says why it is none: it is damaged, or does not have the atoms of the request in its box. `path` is its name
/// in messages.
Label read_spool_answer(const std::string &text, const std::string &path, const WholeFrame &frame,
                        const std::vector<std::string> &elements, bool virial);

}  // namespace dptrain
