#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dptrain/base/error.h"
#include "dptrain/frames/whole_frame.h"
#include "labels/connection.h"

namespace dptrain {

/// What a client has computed, in eV and Angstrom.
struct IpiResult {
  double energy = 0.0;
  std::vector<double> force;       ///< [natoms][3]
  std::array<double, 9> virial{};  ///< sum_i F_i (x) x_i, row-major
  std::string extra;
};

/// An answer that belongs to another structure than the one that was sent.
class WrongStructure : public Error {
 public:
  using Error::Error;
};

/// The server's end of the i-PI protocol for one client, as a state machine that never blocks:
/// STATUS, [INIT, STATUS,] POSDATA, STATUS, GETFORCE. Headers have 12 bytes; numbers are in atomic units, 4-byte integers
/// and doubles of the machine. Functions throw Error with a text about "it" when the client is lost or says something else.
class IpiClient {
 public:
  explicit IpiClient(Socket socket) : connection_(std::move(socket)) {}

  /// Starts a calculation; the client must be idle. A client that needs it gets `about` in INIT, which must not be empty.
  void start(const WholeFrame &frame, std::string about);
  /// Moves bytes and the protocol on. Returns the result when it is complete; the client is idle then.
  std::optional<IpiResult> advance();
  bool idle() const { return state_ == State::idle; }
  int descriptor() const { return connection_.descriptor(); }
  bool has_output() const { return connection_.has_output(); }
  /// Tells the client to end; nothing may be asked afterwards.
  void exit();

 private:
  // what the client is to send next
  enum class State { idle, status, data_status, force_header, force_numbers, forces, extra };
  State state_ = State::idle;
  Connection connection_;
  std::string positions_, about_;  // the message POSDATA, the text of INIT
  std::int32_t natoms_ = 0, extra_size_ = 0;
  IpiResult result_;

  std::size_t awaited() const;
  void handle();
  void send_header(const char *text);
  void send_init();
  void handle_status(const std::string &header);
  void read_count();
  void read_forces();
};

}  // namespace dptrain
