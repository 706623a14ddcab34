#pragma once

#include <string>

namespace dptrain {

/// Whether a text is an input of GPUMD's program nep (nep.in): a line begins with `type` and a number.
bool is_nep_in(const std::string &text);

/// The same as the text of an input.json: elements, descriptor, net and ZBL, and the data sets train.xyz and, where it is there, test.xyz
/// of this folder. Keywords of an evolution strategy and of its loss have no meaning here, and are listed under ignored_of_nep_in.
/// Throws Error "PATH: line N: ..." for what cannot be done.
std::string json_of_nep_in(const std::string &text, const std::string &path);
constexpr const char *ignored_of_nep_in = "_ignored of nep.in";

}  // namespace dptrain
