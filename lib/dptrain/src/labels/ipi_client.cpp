#include "labels/ipi_client.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace dptrain {

namespace {

constexpr std::size_t header_length = 12;
constexpr std::int32_t max_extra = 1 << 26;  // bytes; more is no text of a quantum code
constexpr double bohr = 0.529177210544;      // Angstrom, CODATA 2022
constexpr double hartree = 27.211386245981;  // eV, ditto

std::string padded(const std::string &text)
{
  return text + std::string(header_length - text.size(), ' ');
}

// What can be shown of bytes that may be anything.
std::string shown(const std::string &bytes)
{
  std::string text;
  for (const char c : bytes) text += c >= ' ' && c <= '~' ? c : '?';
  return text;
}

template <class Value> void append(std::string &bytes, const Value *values, std::size_t count)
{
  bytes.append(reinterpret_cast<const char *>(values), count * sizeof(Value));
}

template <class Value> Value read_one(const char *&data)
{
  Value value;
  std::memcpy(&value, data, sizeof(value));
  data += sizeof(value);
  return value;
}

using Matrix = std::array<double, 9>;

// Inverse of an upper triangular matrix.
Matrix inverse(const Matrix &h)
{
  const double x = 1.0 / h[0], y = 1.0 / h[4], z = 1.0 / h[8];
  return {x, -h[1] * x * y, (h[1] * h[5] * y - h[2]) * x * z, 0.0, y, -h[5] * y * z, 0.0, 0.0, z};
}

// Some clients, fix ipi of LAMMPS among them, send one triangle and leave zeros in the other.
void symmetrize(Matrix &virial)
{
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      double &a = virial[3 * i + j], &b = virial[3 * j + i];
      a = b = a == 0.0 ? b : b == 0.0 ? a : 0.5 * (a + b);
    }
}

// The cell vectors are columns in the protocol.
std::string position_message(const WholeFrame &frame)
{
  Matrix cell{};
  for (int k = 0; k < 3; ++k)
    for (int d = 0; d < 3; ++d) cell[3 * d + k] = frame.box[3 * k + d] / bohr;
  const Matrix inverted = inverse(cell);
  std::vector<double> coord(frame.coord);
  for (double &x : coord) x /= bohr;
  const auto natoms = static_cast<std::int32_t>(coord.size() / 3);
  std::string message = padded("POSDATA");
  append(message, cell.data(), cell.size());
  append(message, inverted.data(), inverted.size());
  append(message, &natoms, 1);
  append(message, coord.data(), coord.size());
  return message;
}

}  // namespace

void IpiClient::send_header(const char *text)
{
  connection_.send(padded(text).data(), header_length);
}

void IpiClient::start(const WholeFrame &frame, std::string about)
{
  about_ = std::move(about);
  positions_ = position_message(frame);
  natoms_ = static_cast<std::int32_t>(frame.coord.size() / 3);
  send_header("STATUS");
  state_ = State::status;
}

void IpiClient::exit()
{
  send_header("EXIT");
  connection_.transfer(0);
}

std::size_t IpiClient::awaited() const
{
  switch (state_) {
  case State::idle:
    return 0;
  case State::force_numbers:
    return sizeof(double) + sizeof(std::int32_t);
  case State::forces:
    return (3 * static_cast<std::size_t>(natoms_) + 9) * sizeof(double) + sizeof(std::int32_t);
  case State::extra:
    return static_cast<std::size_t>(extra_size_);
  default:
    return header_length;
  }
}

std::optional<IpiResult> IpiClient::advance()
{
  // one byte more than nothing: it shows whether an idle client says something or is gone
  connection_.transfer(std::max<std::size_t>(awaited(), 1));
  if (idle() && connection_.available() > 0)
    throw Error("it speaks without being asked; the i-PI protocol is needed");
  while (!idle() && connection_.available() >= awaited()) {
    handle();
    if (idle()) return std::move(result_);
    connection_.transfer(awaited());
  }
  return {};
}

// One complete message.
void IpiClient::handle()
{
  const std::size_t bytes = awaited();
  if (state_ == State::force_numbers) {
    read_count();
  } else if (state_ == State::forces) {
    read_forces();
  } else if (state_ == State::extra) {
    result_.extra.assign(connection_.data(), bytes);
    state_ = State::idle;
  } else {
    handle_status(std::string(connection_.data(), bytes));
  }
  connection_.drop(bytes);
}

void IpiClient::handle_status(const std::string &header)
{
  const std::string word = header.substr(0, header.find_last_not_of(std::string(" \0", 2)) + 1);
  if (state_ == State::status && word == "NEEDINIT") {
    send_init();
    send_header("STATUS");
  } else if (state_ == State::status && word == "READY") {
    connection_.send(positions_.data(), positions_.size());
    send_header("STATUS");  // blocking clients answer it when they have finished
    state_ = State::data_status;
  } else if (state_ == State::data_status && word == "HAVEDATA") {
    send_header("GETFORCE");
    state_ = State::force_header;
  } else if (state_ == State::force_header && word == "FORCEREADY") {
    state_ = State::force_numbers;
  } else {
    const char *expected = state_ == State::status        ? "READY or NEEDINIT"
                           : state_ == State::data_status ? "HAVEDATA"
                                                          : "FORCEREADY";
    throw Error(
        fmt::format("it said '{}' where the i-PI protocol needs {}", shown(word), expected));
  }
}

void IpiClient::send_init()
{
  std::string message = padded("INIT");
  const std::int32_t replica = 0;
  const auto length = static_cast<std::int32_t>(about_.size());
  append(message, &replica, 1);
  append(message, &length, 1);
  message += about_;
  connection_.send(message.data(), message.size());
}

void IpiClient::read_count()
{
  const char *data = connection_.data();
  result_ = IpiResult();
  result_.energy = read_one<double>(data) * hartree;
  const auto natoms = read_one<std::int32_t>(data);
  if (natoms != natoms_)
    throw WrongStructure(fmt::format("it sent forces of {} atoms for {}: start it with the "
                                     "structure of this run, in the same order of atoms",
                                     natoms, natoms_));
  state_ = State::forces;
}

void IpiClient::read_forces()
{
  const char *data = connection_.data();
  result_.force.resize(3 * static_cast<std::size_t>(natoms_));
  for (double &f : result_.force) f = read_one<double>(data) * (hartree / bohr);
  for (double &w : result_.virial) w = read_one<double>(data) * hartree;
  symmetrize(result_.virial);
  extra_size_ = read_one<std::int32_t>(data);
  if (extra_size_ < 0 || extra_size_ > max_extra)
    throw Error(fmt::format("it announced an extra string of {} bytes; the i-PI protocol is needed",
                            extra_size_));
  state_ = extra_size_ > 0 ? State::extra : State::idle;
}

}  // namespace dptrain
