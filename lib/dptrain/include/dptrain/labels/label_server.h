#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dptrain/base/clock.h"
#include "dptrain/base/messages.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/labels/rank_zero_source.h"

namespace dptrain {

/// How a LabelServer deals with its clients.
struct LabelServerOptions {
  std::string
      address;  ///< host:port, :port (all interfaces) or unix:NAME (the file /tmp/ipi_NAME); port 0: a free one
  double timeout = 3600.0;  ///< seconds that one calculation may take; 0: no limit
  double wait = 600.0;      ///< seconds without a client; then requests fail until one connects
  int retries = 2;          ///< further attempts after a client was lost amid a calculation
  bool virial = true;       ///< clients send virials
  Clock clock = {};         ///< of the limits above
};

/// Sends configurations to quantum codes and collects energies, forces and virials: the server of the socket protocol of
/// i-PI (Ceriotti, More, Manolopoulos, Comput. Phys. Commun. 185, 1019 (2014); Kapil et al., ibid. 236, 214 (2019)), to
/// which many codes connect as clients. Clients may come and go at any time; each is a worker that does one request at a
/// time, and the one that has waited longest gets the next request. Used on one rank; no threads.
///
/// A client that dies, is silent for longer than the time-out or sends what is not the protocol is dropped, and its
/// request goes to another one. Numbers that are not finite, a wrong number of atoms and {"converged": false} in the
/// extra string make the request fail, and so does another {"calculator": "..."} than that of earlier answers. Both are reported by answers and by `log`, never by exceptions.
///
/// The virial of a frame without cell is sum_i F_i (x) x_i, whatever the client says.
///
/// The protocol has no species: clients know them from a file (write_structure) with the atoms in the same order. Where frames
/// have different atoms (name_types), clients must say NEEDINIT before each of them, and take elements and periodicity from
/// the text of INIT: {"species": ["Si", ...], "pbc": [true, true, true]}.
class LabelServer final : public LocalSource {
 public:
  /// Listens at the address. A socket file that a dead process has left is replaced. Throws Error if the address makes
  /// no sense or somebody listens there already.
  LabelServer(const LabelServerOptions &options, Log log);
  /// Tells the clients to exit and removes the socket file.
  ~LabelServer() override;
  LabelServer(const LabelServer &) = delete;
  LabelServer &operator=(const LabelServer &) = delete;

  /// From now on the text of INIT names the elements of the atoms, the names of the frames' types, and the directions in
  /// which a periodic frame is so.
  void name_types(const std::vector<std::string> &elements, const std::array<bool, 3> &periodic);
  /// Queues a frame (box, coord, periodic) and returns the number of the request. Does not block. The rows a, b, c of the
  /// box must be lower triangular, as the protocol wants them.
  std::int64_t submit(const WholeFrame &frame) override;
  /// Serves the clients until there is an answer, at most so many seconds (0: what can be done now). The process sleeps
  /// while nothing happens.
  std::vector<LabelAnswer> poll(double seconds) override;

  /// Forgets a request: no client gets it any more, and what one that works on it will send is thrown away.
  void cancel(std::int64_t request) override;

  int num_clients() const;
  int num_requests() const;  ///< submitted and not answered
  /// The address with its real port, such as "localhost:31415".
  const std::string &address() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Writes box, elements and positions as one frame of extended XYZ, atomically: what clients start from. `elements` are
/// the names of the frame's types; `periodic` says in which directions of the box the frame is.
void write_structure(const std::string &path, const WholeFrame &frame,
                     const std::vector<std::string> &elements, const std::array<bool, 3> &periodic);

}  // namespace dptrain
