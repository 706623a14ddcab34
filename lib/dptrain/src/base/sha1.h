#pragma once

#include <string>

namespace dptrain {

/// SHA-1 of a text (FIPS 180-4), as 40 hexadecimal digits. For names of things in files, where nothing is to be kept
/// secret: not worth a library of cryptography.
std::string sha1(const std::string &text);

}  // namespace dptrain
