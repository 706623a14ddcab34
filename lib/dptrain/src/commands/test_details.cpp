#include "commands/test_details.h"

#include <fcntl.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "commands/test_frame.h"

namespace dptrain {

namespace {

/// "data_vxx data_vxy ... pred_vzz" for the letter v.
std::string tensor_columns(char letter)
{
  std::string text;
  for (const char *kind : {"data", "pred"})
    for (const char *component : {"xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz"})
      text += (text.empty() ? "" : " ") + std::string(kind) + "_" + letter + component;
  return text;
}

/// The same numbers divided by `divisor`.
std::vector<double> divided(const double *values, std::size_t n, double divisor)
{
  std::vector<double> result(values, values + n);
  for (double &value : result) value /= divisor;
  return result;
}

}  // namespace

NumberTable::NumberTable(const std::string &path, const std::string &header) :
    file_(path, O_WRONLY | O_CREAT | O_TRUNC)
{
  write("# " + header + "\n");
}

void NumberTable::add(const double *values, std::size_t rows, std::size_t columns)
{
  std::string text;
  text.reserve(rows * columns * 26);
  char number[40];
  for (std::size_t k = 0; k < rows * columns; ++k) {
    text.append(number, std::snprintf(number, sizeof(number), "%.18e", values[k]));
    text += (k + 1) % columns ? ' ' : '\n';
  }
  write(text);
}

void NumberTable::write(const std::string &text)
{
  file_.write(text.data(), text.size(), size_);
  size_ += static_cast<std::int64_t>(text.size());
}

TestDetails::TestDetails(const std::string &prefix) : prefix_(prefix)
{
  // these are made only where there is something for them: those of another test must not stay
  for (const char *suffix : {".s.out", ".b.out", ".q.out"}) std::filesystem::remove(path(suffix));
}

std::string TestDetails::path(const char *suffix) const
{
  return std::filesystem::path(prefix_).replace_extension(suffix).string();
}

void TestDetails::open(const std::string &system)
{
  const auto table = [&](const char *suffix, const std::string &columns) {
    return std::make_unique<NumberTable>(path(suffix), system + ": " + columns);
  };
  energy_ = table(".e.out", "data_e pred_e");
  energy_per_atom_ = table(".e_peratom.out", "data_e pred_e");
  force_ = table(".f.out", "data_fx data_fy data_fz pred_fx pred_fy pred_fz");
  virial_ = table(".v.out", tensor_columns('v'));
  virial_per_atom_ = table(".v_peratom.out", tensor_columns('v'));
}

void TestDetails::add(const std::string &system, const double *row, std::int64_t natoms)
{
  if (!energy_) open(system);
  const double *energies = row + detail_row::energy, *virials = row + detail_row::virial;
  const double atoms = static_cast<double>(natoms);
  energy_->add(energies, 1, 2);
  energy_per_atom_->add(divided(energies, 2, atoms).data(), 1, 2);
  force_->add(row + detail_row::force, static_cast<std::size_t>(natoms), 6);
  virial_->add(virials, 1, 18);
  virial_per_atom_->add(divided(virials, 18, atoms).data(), 1, 18);
  const double volume = row[detail_row::volume];
  if (volume > 0.0) add_stress(system, virials, volume);
  add_bars(system, row, natoms);
  add_charges(system, row + detail_row::force + 7 * natoms, natoms);
}

void TestDetails::add_bars(const std::string &system, const double *row, std::int64_t natoms)
{
  const double *forces = row + detail_row::force, *bars = forces + 6 * natoms;
  std::vector<double> pairs;
  for (std::int64_t i = 0; i < natoms; ++i) {
    if (!(bars[i] > 0.0)) continue;
    const double *label = forces + 6 * i, *result = label + 3;
    pairs.push_back(bars[i]);
    pairs.push_back(std::hypot(result[0] - label[0], result[1] - label[1], result[2] - label[2]));
  }
  if (pairs.empty()) return;
  if (!bars_)
    bars_ = std::make_unique<NumberTable>(
        path(".b.out"), system + ": error bar of a force and length of its error (eV/\xc3\x85)");
  bars_->add(pairs.data(), pairs.size() / 2, 2);
}

void TestDetails::add_charges(const std::string &system, const double *charges, std::int64_t natoms)
{
  if (std::isnan(charges[0])) return;
  if (!charges_)
    charges_ = std::make_unique<NumberTable>(path(".q.out"), system + ": charge of an atom (e)");
  charges_->add(charges, static_cast<std::size_t>(natoms), 1);
}

void TestDetails::add_stress(const std::string &system, const double *virials, double volume)
{
  if (!stress_)
    stress_ = std::make_unique<NumberTable>(
        path(".s.out"), system + " (eV/\xc3\x85\xc2\xb3): " + tensor_columns('s'));
  stress_->add(divided(virials, 18, -volume).data(), 1, 18);
}

}  // namespace dptrain
