#pragma once

#include <cstdint>
#include <string>

#include "io/file.h"

namespace dptrain {

// HDF5 1.10 trusts the lengths in its global heap, where strings of variable length are: a damaged one makes it read or
// write outside its memory, or run for ever. These functions look first. (Format: HDF5 File Format Specification 3.0,
// III.E Global Heap; VIII.C of a variable-length element: length, address of the collection, index.)

/// A string as a data set or an attribute stores it.
struct HeapReference {
  static constexpr std::size_t bytes = 16;
  std::uint32_t length = 0;
  std::uint64_t address = 0;  ///< of the collection; 0: no string
  std::uint32_t index = 0;    ///< of the object in it
  explicit HeapReference(const char *stored);
};

/// True if an HDF5 file starts at the first byte and has addresses and lengths of 8 bytes, as all that are made today.
bool is_sound_hdf5_start(const ReadAt &read);

/// True if HDF5 can read the string without harm.
bool is_sound_string(const ReadAt &read, std::int64_t file_size, const HeapReference &reference);

/// The same for all collections and all references to them in a file that is in memory.
bool are_sound_strings(const std::string &bytes);

}  // namespace dptrain
