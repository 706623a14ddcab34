#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace dptrain::test {

/// A client of the i-PI protocol in a thread, with blocking calls, written after the protocol's description. Its potential is
/// harmonic, in atomic units: E = 1/2 sum x^2, F = -x, virial = -sum x (x) x.
class FakeClient {
 public:
  enum class Kind {
    good,
    needs_init,     // says so before each calculation
    dies,           // amid a calculation
    garbage,        // for an answer
    held,           // calculates until it is released
    nan,            // a force
    wrong_size,     // one atom more
    not_converged,  // says so in the extra string
    calculator_a,   // says what it computes with
    calculator_b,
    no_virial,    // zeros
    half_virial,  // zeros below the diagonal
    long_extra,   // announces 2 GB
    chatty,       // speaks before it is asked
    noise         // says what it should without listening, with random errors
  };

  /// `address`: the path of a socket file, or a port of this machine.
  FakeClient(const std::string &address, Kind kind) : kind_(kind), descriptor_(connect_to(address))
  {
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeClient()
  {
    released = true;
    ::shutdown(descriptor_, SHUT_RDWR);
    wait();
    ::close(descriptor_);
  }
  FakeClient(const FakeClient &) = delete;
  FakeClient &operator=(const FakeClient &) = delete;

  /// Returns when the server has let it go.
  void wait()
  {
    if (thread_.joinable()) thread_.join();
  }

  std::atomic<bool> begun{false};     // has a configuration
  std::atomic<bool> released{false};  // set by the test, for Kind::held

  // read these when the client has finished, or between two answers
  std::atomic<int> calculations{0};
  std::atomic<bool> told_to_exit{false};
  std::array<double, 9> cell{}, inverse{};
  std::vector<double> positions;

 private:
  Kind kind_;
  int descriptor_;
  std::thread thread_;

  static int connect_to(const std::string &address)
  {
    if (address[0] == '/') {
      sockaddr_un to{};
      to.sun_family = AF_UNIX;
      std::strncpy(to.sun_path, address.c_str(), sizeof(to.sun_path) - 1);
      const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
      if (::connect(descriptor, reinterpret_cast<sockaddr *>(&to), sizeof(to)) != 0) std::abort();
      return descriptor;
    }
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address)));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(descriptor, reinterpret_cast<sockaddr *>(&to), sizeof(to)) != 0) std::abort();
    return descriptor;
  }

  bool read(void *data, std::size_t bytes)
  {
    auto *to = static_cast<char *>(data);
    while (bytes > 0) {
      const ssize_t got = ::recv(descriptor_, to, bytes, 0);
      if (got <= 0) return false;
      to += got;
      bytes -= static_cast<std::size_t>(got);
    }
    return true;
  }
  void write(const void *data, std::size_t bytes)
  {
    const auto *from = static_cast<const char *>(data);
    while (bytes > 0) {
      const ssize_t sent = ::send(descriptor_, from, bytes, MSG_NOSIGNAL);
      if (sent <= 0) return;
      from += sent;
      bytes -= static_cast<std::size_t>(sent);
    }
  }
  void say(std::string word)
  {
    word.resize(12, ' ');
    write(word.data(), 12);
  }

  void serve()
  {
    const bool init = kind_ == Kind::needs_init;
    std::string state = init ? "NEEDINIT" : "READY";
    if (kind_ == Kind::chatty) say("HELLO");
    if (kind_ == Kind::noise) make_noise();
    char header[13] = {};
    while (read(header, 12)) {
      const std::string word = std::string(header).substr(0, std::string(header).find(' '));
      if (word == "STATUS") {
        say(kind_ == Kind::garbage && state == "HAVEDATA" ? "\x01\x02 what?" : state);
      } else if (word == "INIT" && state == "NEEDINIT") {
        std::int32_t numbers[2];
        read(numbers, sizeof(numbers));
        std::string text(static_cast<std::size_t>(numbers[1]), ' ');
        read(text.data(), text.size());
        state = "READY";
      } else if (word == "POSDATA" && state == "READY") {
        read_positions();
        state = "HAVEDATA";
        begun = true;
        if (kind_ == Kind::dies) break;
        while (kind_ == Kind::held && !released)
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
      } else if (word == "GETFORCE" && state == "HAVEDATA") {
        ++calculations;
        send_forces();
        state = init ? "NEEDINIT" : "READY";
      } else {
        told_to_exit = word == "EXIT";
        break;
      }
    }
    ::shutdown(descriptor_, SHUT_RDWR);
  }

  // An answer for two atoms, of which bytes are changed, left out or added.
  void make_noise()
  {
    static std::atomic<unsigned> seed{0};
    std::mt19937 random(seed++);
    std::string answer = "READY       HAVEDATA    FORCEREADY  ";
    answer.append(8, '\1');
    const std::int32_t natoms = 2, length = 20;
    answer.append(reinterpret_cast<const char *>(&natoms), 4);
    answer.append(8 * (6 + 9), '\1');
    answer.append(reinterpret_cast<const char *>(&length), 4);
    answer += R"({"converged": false})";
    for (unsigned k = random() % 3; k > 0; --k) {
      const std::size_t place = random() % answer.size();
      const auto byte = static_cast<char>(random());
      if (random() % 2)
        answer[place] = byte;
      else
        answer.replace(place, random() % 3, random() % 3, byte);
    }
    write(answer.data(), answer.size());
    ::shutdown(descriptor_, SHUT_WR);
  }

  void read_positions()
  {
    std::int32_t natoms = 0;
    read(cell.data(), 72);
    read(inverse.data(), 72);
    read(&natoms, 4);
    positions.resize(3 * static_cast<std::size_t>(natoms));
    read(positions.data(), 8 * positions.size());
  }

  std::string extra_string() const
  {
    switch (kind_) {
    case Kind::not_converged:
      return R"({"converged": false, "message": "SCF, 200 cycles"})";
    case Kind::calculator_a:
      return R"({"calculator": "a"})";
    case Kind::calculator_b:
      return R"({"calculator": "b"})";
    default:
      return "";
    }
  }

  void send_forces()
  {
    double energy = 0.0;
    std::array<double, 9> virial{};
    std::vector<double> forces;
    for (std::size_t k = 0; k < positions.size(); ++k) {
      energy += 0.5 * positions[k] * positions[k];
      forces.push_back(-positions[k]);
      for (std::size_t d = 0; d < 3 && kind_ != Kind::no_virial; ++d)
        virial[3 * (k % 3) + d] -= positions[k] * positions[k - k % 3 + d];
    }
    if (kind_ == Kind::half_virial) virial[3] = virial[6] = virial[7] = 0.0;
    if (kind_ == Kind::nan) forces[1] = std::nan("");
    if (kind_ == Kind::wrong_size) forces.insert(forces.end(), 3, 0.0);
    const std::string extra = extra_string();
    const auto natoms = static_cast<std::int32_t>(forces.size() / 3);
    const std::int32_t length =
        kind_ == Kind::long_extra ? 2000000000 : static_cast<std::int32_t>(extra.size());
    say("FORCEREADY");
    write(&energy, 8);
    write(&natoms, 4);
    write(forces.data(), 8 * forces.size());
    write(virial.data(), 72);
    write(&length, 4);
    write(extra.data(), extra.size());
  }
};

}  // namespace dptrain::test
