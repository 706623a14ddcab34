#pragma once

#include <memory>
#include <string>

#include "io/file.h"

namespace dptrain {

/// A text file of numbers as numpy.savetxt writes it: one row of %.18e in a line.
class NumberTable {
 public:
  /// Replaces an existing file.
  NumberTable(const std::string &path, const std::string &header);
  /// `rows` rows of `columns` numbers.
  void add(const double *values, std::size_t rows, std::size_t columns);

 private:
  void write(const std::string &text);
  File file_;
  std::int64_t size_ = 0;
};

/// The detail files of a test, in the format of `dp test -d PREFIX`: labels and results of energy (PREFIX.e.out), force
/// (.f.out), virial (.v.out), energy and virial per atom (.e_peratom.out, .v_peratom.out) and stress (.s.out, where a frame
/// has one), frame after frame; the header names the first system. As there, an extension of PREFIX is replaced. Of this program:
/// error bars of forces beside the lengths of their errors (.b.out, where the model has bars), and the charges of the atoms (.q.out,
/// where it has charges).
/// Used on rank 0. Throws Error with the system's reason if a file cannot be written.
class TestDetails {
 public:
  explicit TestDetails(const std::string &prefix);
  /// The files are made with the first frame. `row`: frame_details() of the frame.
  void add(const std::string &system, const double *row, std::int64_t natoms);

 private:
  std::string path(const char *suffix) const;
  void open(const std::string &system);
  void add_stress(const std::string &system, const double *virials, double volume);
  void add_bars(const std::string &system, const double *row, std::int64_t natoms);
  void add_charges(const std::string &system, const double *charges, std::int64_t natoms);

  std::string prefix_;
  std::unique_ptr<NumberTable> energy_, energy_per_atom_, force_, virial_, virial_per_atom_,
      stress_, bars_, charges_;
};

}  // namespace dptrain
