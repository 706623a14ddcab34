#pragma once

#include <string>

namespace dptrain {

/// Whether a text is an input of GPUMD's program nep: a line begins with the word `type`, and has another one, or its file is a nep.in that
/// is not JSON.
bool is_nep_in(const std::string &text, const std::string &path);

/// The same as the text of an input.json: elements, descriptor, net and ZBL, and the data set train.xyz of this folder. Keywords of an
/// evolution strategy and of its loss have no meaning here, and are listed under ignored_of_nep_in.
/// Throws Error "PATH: line N: ..." for what cannot be done.
std::string json_of_nep_in(const std::string &text, const std::string &path);
constexpr int most_nep_neurons = 120;  ///< of a potential that GPUMD reads
constexpr const char *ignored_of_nep_in = "_ignored of nep.in";

}  // namespace dptrain
