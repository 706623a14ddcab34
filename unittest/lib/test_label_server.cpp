// The server of the i-PI protocol against clients that behave and others that do not.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <set>
#include <thread>

#include "dptrain/frames/whole_frame.h"
#include "dptrain/labels/label_server.h"
#include "dptrain/labels/socket_source.h"
#include "dptrain/parallel/communicator.h"
#include "support/fake_client.h"
#include "support/scratch.h"

namespace dptrain::test {
namespace {

using Kind = FakeClient::Kind;

constexpr double BOHR = 0.529177210544, HARTREE = 27.211386245981;  // CODATA 2022

WholeFrame triclinic_frame()
{
  WholeFrame frame;
  frame.box = {6.0, 0.0, 0.0, 1.0, 5.0, 0.0, -0.5, 0.75, 7.0};
  frame.coord = {0.1, 0.2, 0.3, 1.0, -1.5, 2.0};
  frame.type = {0, 1};
  return frame;
}

bool exists(const std::string &path)
{
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

class LabelServerTest : public testing::Test {
 protected:
  const std::string name_ = "dptrain_test_" + std::to_string(::getpid());
  const std::string path_ = "/tmp/ipi_" + name_;
  std::vector<std::string> log_;
  double time_ = 0.0;  // of the server, where it has this clock
  std::unique_ptr<LabelServer> server_;
  std::vector<std::unique_ptr<FakeClient>> clients_;

  void TearDown() override { server_.reset(); }

  LabelServer &open(LabelServerOptions options = {})
  {
    if (options.address.empty()) options.address = "unix:" + name_;
    server_ = std::make_unique<LabelServer>(
        options, [this](const std::string &text) { log_.push_back(text); });
    return *server_;
  }
  FakeClient &connect(Kind kind)
  {
    const std::string &address = server_->address();
    const bool file = address.substr(0, 5) == "unix:";
    clients_.push_back(
        std::make_unique<FakeClient>(file ? path_ : address.substr(address.rfind(':') + 1), kind));
    return *clients_.back();
  }
  Clock clock()
  {
    Clock mine;
    mine.now = [this] { return time_; };
    return mine;
  }
  /// Serves the clients until this is true; no answer must come meanwhile. (A test that waits in vain is ended by ctest.)
  template <class Condition> void serve_until(const Condition &condition)
  {
    while (!condition()) {
      EXPECT_TRUE(server_->poll(0.0).empty());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  /// The next answer.
  LabelAnswer next()
  {
    std::vector<LabelAnswer> answers;
    while (answers.empty()) answers = server_->poll(0.01);
    EXPECT_EQ(answers.size(), 1u);
    return answers.front();
  }
  std::string log() const
  {
    std::string text;
    for (const std::string &line : log_) text += line + "\n";
    return text;
  }
};

// Energy, forces and virial of the harmonic potential in eV and Angstrom; rounding of a few unit conversions.
void expect_harmonic(const LabelAnswer &answer, const WholeFrame &frame)
{
  ASSERT_EQ(answer.failure, "");
  const double stiffness = HARTREE / (BOHR * BOHR);
  double energy = 0.0;
  std::array<double, 9> virial{};
  ASSERT_EQ(answer.label.force.size(), frame.coord.size());
  for (std::size_t k = 0; k < frame.coord.size(); ++k) {
    energy += 0.5 * stiffness * frame.coord[k] * frame.coord[k];
    EXPECT_NEAR(answer.label.force[k], -stiffness * frame.coord[k], 1e-12 * stiffness);
    for (std::size_t d = 0; d < 3; ++d)
      virial[3 * (k % 3) + d] -= stiffness * frame.coord[k] * frame.coord[k - k % 3 + d];
  }
  EXPECT_NEAR(*answer.label.energy, energy, 1e-13 * energy);
  ASSERT_TRUE(answer.label.virial);
  for (std::size_t k = 0; k < 9; ++k)
    EXPECT_NEAR((*answer.label.virial)[k], virial[k], 1e-12 * energy);
}

class LabelServerClient : public LabelServerTest,
                          public testing::WithParamInterface<std::pair<const char *, Kind>> {};

TEST_P(LabelServerClient, GetsTheFrameAndGivesTheLabel)
{
  LabelServerOptions options;
  options.address = GetParam().first[0] ? GetParam().first : "unix:" + name_;
  LabelServer &server = open(options);
  FakeClient &client = connect(GetParam().second);
  const WholeFrame frame = triclinic_frame();
  for (int round = 1; round <= 3; ++round) {
    EXPECT_EQ(server.submit(frame), round);
    EXPECT_EQ(server.num_requests(), 1);
    const LabelAnswer answer = next();
    EXPECT_EQ(answer.request, round);
    expect_harmonic(answer, frame);
    EXPECT_EQ(server.num_requests(), 0);
  }
  for (std::size_t k = 0; k < frame.coord.size(); ++k)
    EXPECT_NEAR(client.positions[k], frame.coord[k] / BOHR, 1e-14 * 10);
  // cell vectors are columns, and the second matrix is the inverse of the first
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_DOUBLE_EQ(client.cell[3 * i + j], frame.box[3 * j + i] / BOHR);
      double product = 0.0;
      for (std::size_t k = 0; k < 3; ++k)
        product += client.inverse[3 * i + k] * client.cell[3 * k + j];
      EXPECT_NEAR(product, i == j ? 1.0 : 0.0, 1e-15);
    }
  EXPECT_EQ(client.calculations, 3);
  server_.reset();
  clients_.clear();  // waits for the thread; the reference is gone
}

INSTANTIATE_TEST_SUITE_P(Addresses, LabelServerClient,
                         testing::Values(std::pair("", Kind::good), std::pair("", Kind::needs_init),
                                         std::pair("localhost:0", Kind::good),
                                         std::pair(":0", Kind::needs_init),
                                         std::pair("127.0.0.1:0", Kind::half_virial)));

TEST_F(LabelServerTest, ClientsAreToldToExitAndTheFileIsRemoved)
{
  open();
  FakeClient &idle = connect(Kind::good);
  server_->poll(0.0);
  FakeClient &at_the_door = connect(Kind::good);
  EXPECT_TRUE(exists(path_));
  server_.reset();
  EXPECT_FALSE(exists(path_));
  idle.wait();
  at_the_door.wait();
  EXPECT_TRUE(idle.told_to_exit);
  EXPECT_TRUE(at_the_door.told_to_exit);
}

TEST_F(LabelServerTest, TwoClientsTakeTurns)
{
  LabelServer &server = open();
  FakeClient &first = connect(Kind::good), &second = connect(Kind::good);
  server.poll(0.0);
  EXPECT_EQ(server.num_clients(), 2);
  const WholeFrame frame = triclinic_frame();
  for (int k = 0; k < 6; ++k) {
    server.submit(frame);
    expect_harmonic(next(), frame);
  }
  EXPECT_EQ(first.calculations, 3);
  EXPECT_EQ(second.calculations, 3);
}

TEST_F(LabelServerTest, SeveralRequestsAtOnce)
{
  LabelServer &server = open();
  FakeClient &first = connect(Kind::held), &second = connect(Kind::held);
  std::set<std::int64_t> asked, answered;
  for (int k = 0; k < 4; ++k) asked.insert(server.submit(triclinic_frame()));
  serve_until([&] { return first.begun && second.begun; });  // two at a time
  first.released = second.released = true;
  while (answered.size() < 4)
    for (const LabelAnswer &answer : server.poll(0.01)) {
      EXPECT_EQ(answer.failure, "");
      answered.insert(answer.request);
    }
  EXPECT_EQ(asked, answered);
}

TEST_F(LabelServerTest, CanceledRequestsHaveNoAnswer)
{
  LabelServer &server = open();
  const WholeFrame frame = triclinic_frame();
  const std::int64_t working = server.submit(frame), waiting = server.submit(frame),
                     wanted = server.submit(frame);
  FakeClient &client = connect(Kind::held);
  serve_until([&] { return client.begun.load(); });
  server.cancel(working);
  server.cancel(waiting);
  client.released = true;
  EXPECT_EQ(server.num_requests(), 1);
  EXPECT_EQ(next().request, wanted);
  EXPECT_EQ(server.num_requests(), 0);
  EXPECT_TRUE(server.poll(0.0).empty());
}

TEST_F(LabelServerTest, ASourceNeverWaitsInPoll)
{
  std::vector<std::string> said;
  SocketSource source(make_mpi_communicator(), {"unix:" + name_},
                      [&](const std::string &text) { said.push_back(text); });
  const WholeFrame frame = triclinic_frame();
  const std::int64_t first = source.submit(frame), second = source.submit(frame);
  FakeClient client(path_, Kind::held);  // a poll that waited for it would never end
  for (int k = 0; k < 20; ++k) EXPECT_TRUE(source.poll().empty());
  EXPECT_EQ(source.in_flight(), 2);
  source.cancel(second);
  EXPECT_EQ(source.in_flight(), 1);
  client.released = true;
  std::vector<LabelAnswer> answers;
  while (answers.empty()) {
    source.wait(10.0);
    answers = source.poll();
  }
  EXPECT_EQ(answers.front().request, first);
  expect_harmonic(answers.front(), frame);
  EXPECT_EQ(source.in_flight(), 0);
}

TEST_F(LabelServerTest, PollDoesNotBlockAndDoesNotSpin)
{
  LabelServer &server = open();
  FakeClient &client = connect(Kind::held);
  server.submit(triclinic_frame());
  serve_until([&] { return client.begun.load(); });
  const std::clock_t work = std::clock();
  EXPECT_TRUE(server.poll(1.0).empty());
  // of one second or more: time of the processor, whatever else it does
  EXPECT_LT(static_cast<double>(std::clock() - work) / CLOCKS_PER_SEC, 0.2);
  client.released = true;
  expect_harmonic(next(), triclinic_frame());
}

TEST_F(LabelServerTest, ADeadClientIsReplaced)
{
  LabelServer &server = open();
  connect(Kind::dies);
  server.submit(triclinic_frame());
  serve_until([&] { return log().find("is lost") != std::string::npos; });
  EXPECT_EQ(server.num_clients(), 0);
  expect_in("client 1 (process " + std::to_string(::getpid()) +
                ") is lost: it closed the connection (see its output); another client "
                "gets its configuration",
            log());
  connect(Kind::good);
  expect_harmonic(next(), triclinic_frame());
}

TEST_F(LabelServerTest, AttemptsAreCounted)
{
  LabelServerOptions options;
  options.retries = 1;
  LabelServer &server = open(options);
  connect(Kind::dies);
  connect(Kind::garbage);
  FakeClient &good = connect(Kind::good);
  for (int k = 0; k < 2; ++k) server.submit(triclinic_frame());
  std::string failures;
  int labels = 0;
  for (int k = 0; k < 2; ++k) {
    const LabelAnswer answer = next();
    failures += answer.failure;
    labels += answer.failure.empty() ? 1 : 0;
  }
  // one of them may meet both bad clients; whatever happens, the good one does the rest
  EXPECT_EQ(good.calculations, labels);
  EXPECT_GE(labels, 1);
  if (labels == 1) expect_in("attempt 2 was the last one", failures);
}

TEST_F(LabelServerTest, TheLastAttemptTellsWhy)
{
  LabelServerOptions options;
  options.retries = 0;
  LabelServer &server = open(options);
  connect(Kind::garbage);
  server.submit(triclinic_frame());
  expect_in("is lost: it said '?? what?", next().failure);
  expect_in("where the i-PI protocol needs HAVEDATA", log());
  connect(Kind::long_extra);
  server.submit(triclinic_frame());
  expect_in("extra string of 2000000000 bytes", next().failure);
  connect(Kind::chatty);
  serve_until([&] { return log().find("it speaks without being asked") != std::string::npos; });
  EXPECT_EQ(server.num_clients(), 0);
}

// Whether there ever was a client, which one and what it had to do are told apart.
TEST_F(LabelServerTest, NobodyThere)
{
  LabelServerOptions options;
  options.wait = 30.0;
  options.retries = 1;
  options.clock = clock();
  LabelServer &server = open(options);
  server.submit(triclinic_frame());
  EXPECT_TRUE(server.poll(0.0).empty());
  time_ = 31.0;
  EXPECT_EQ(next().failure, "no client has connected to unix:" + name_ +
                                " within 30 s: start one, or give a longer 'wait'");
  connect(Kind::dies);
  WholeFrame frame = triclinic_frame();
  frame.step = 170;
  server.submit(frame);
  serve_until([&] { return log().find("is lost") != std::string::npos; });
  time_ = 62.5;
  const std::string failure = next().failure;
  expect_in("client 1 (process ", failure);
  expect_in("), which had the configuration of step 170, was lost (it closed the connection",
            failure);
  expect_in(" 32 s ago, and no other one has connected to unix:" + name_ + " within 30 s", failure);
}

TEST_F(LabelServerTest, TimeOuts)
{
  LabelServerOptions options;
  options.timeout = 300.0;
  options.wait = 400.0;
  options.retries = 1;
  options.clock = clock();
  LabelServer &server = open(options);
  FakeClient &client = connect(Kind::held);
  server.submit(triclinic_frame());
  serve_until([&] { return client.begun.load(); });
  time_ = 299.0;
  EXPECT_TRUE(server.poll(0.0).empty());
  time_ = 300.0;
  EXPECT_TRUE(server.poll(0.0).empty());
  time_ = 699.0;
  EXPECT_TRUE(server.poll(0.0).empty());
  time_ = 702.5;
  const LabelAnswer answer = next();
  expect_in("no answer within 300 s: look into its output, or give a longer 'timeout'; another "
            "client gets "
            "its configuration",
            log());
  expect_in(" was lost (no answer within 300 s", answer.failure);
  expect_in(" 403 s ago, and no other one has connected to unix:" + name_ +
                " within 400 s: look into its output, start one, or give a longer 'wait'",
            answer.failure);
  // nobody was there: the next one does not wait again
  server.submit(triclinic_frame());
  EXPECT_EQ(server.poll(0.0).size(), 1u);
  connect(Kind::good);
  server.submit(triclinic_frame());
  expect_harmonic(next(), triclinic_frame());
}

class BadAnswer : public LabelServerTest,
                  public testing::WithParamInterface<std::tuple<Kind, const char *, int>> {};

TEST_P(BadAnswer, IsAFailureAndTheNextOneIsNot)
{
  LabelServer &server = open();
  connect(std::get<0>(GetParam()));
  server.submit(triclinic_frame());
  const LabelAnswer answer = next();
  expect_in(std::get<1>(GetParam()), answer.failure);
  EXPECT_TRUE(answer.label.force.empty());
  EXPECT_EQ(server.num_clients(), std::get<2>(GetParam()));
  clients_.clear();
  connect(Kind::good);
  server.submit(triclinic_frame());
  expect_harmonic(next(), triclinic_frame());
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, BadAnswer,
    testing::Values(std::tuple(Kind::nan, "energy or forces are not finite", 1),
                    std::tuple(Kind::wrong_size, "it sent forces of 3 atoms for 2", 0),
                    std::tuple(Kind::not_converged, "has not converged: SCF, 200 cycles", 1),
                    std::tuple(Kind::no_virial, "there is no virial", 1)));

TEST_F(LabelServerTest, AllLabelsComeFromOneCalculator)
{
  LabelServer &server = open();
  connect(Kind::calculator_a);
  server.submit(triclinic_frame());
  expect_harmonic(next(), triclinic_frame());
  connect(Kind::calculator_b);
  connect(Kind::good);  // codes do not say what they are
  server.submit(triclinic_frame());
  const std::string failure = next().failure;  // the new client has waited longest
  expect_in("it computes with b, and client 1 (process ", failure);
  expect_in(") with a: all labels must come from the same calculator: end the client that is not "
            "wanted",
            failure);
  for (int k = 0; k < 2; ++k) {  // the other two
    server.submit(triclinic_frame());
    expect_harmonic(next(), triclinic_frame());
  }
}

TEST_F(LabelServerTest, Noise)
{
  LabelServerOptions options;
  options.wait = 0.0;
  options.retries = 0;
  LabelServer &server = open(options);
  int failures = 0;
  for (int k = 0; k < 300; ++k) {
    connect(Kind::noise);
    server.poll(0.0);
    server.submit(triclinic_frame());
    const LabelAnswer answer =
        next();  // errors in the text of the extra string may make it a good one
    EXPECT_EQ(answer.label.force.size(), answer.failure.empty() ? 6u : 0u);
    failures += answer.failure.empty() ? 0 : 1;
    clients_.clear();
  }
  EXPECT_GT(failures, 200);
  server.poll(0.0);
  connect(Kind::good);
  server.poll(0.0);
  server.submit(triclinic_frame());
  expect_harmonic(next(), triclinic_frame());
}

TEST_F(LabelServerTest, WithoutVirial)
{
  LabelServerOptions options;
  options.virial = false;
  LabelServer &server = open(options);
  connect(Kind::no_virial);
  server.submit(triclinic_frame());
  const LabelAnswer answer = next();
  EXPECT_EQ(answer.failure, "");
  EXPECT_FALSE(answer.label.virial);
}

TEST_F(LabelServerTest, ClustersHaveTheVirialOfTheirForces)
{
  LabelServer &server = open();
  connect(Kind::no_virial);
  WholeFrame frame = triclinic_frame();
  frame.periodic = false;
  server.submit(frame);
  expect_harmonic(next(), frame);
}

TEST_F(LabelServerTest, LargeFrames)
{
  // more than the buffers of the system hold: both sides must read while they write
  LabelServer &server = open();
  connect(Kind::good);
  WholeFrame frame = triclinic_frame();
  frame.coord.resize(3 * 200000);
  for (std::size_t k = 0; k < frame.coord.size(); ++k)
    frame.coord[k] = std::sin(static_cast<double>(k));
  server.submit(frame);
  const LabelAnswer answer = next();
  ASSERT_EQ(answer.label.force.size(), frame.coord.size());
  const double stiffness = HARTREE / (BOHR * BOHR);
  for (std::size_t k = 0; k < frame.coord.size(); k += 997)
    EXPECT_NEAR(answer.label.force[k], -stiffness * frame.coord[k], 1e-12 * stiffness);
}

TEST_F(LabelServerTest, StaleSocketFile)
{
  // what a killed process leaves: a file that nobody listens to
  const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(dead, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
  ::close(dead);
  ASSERT_TRUE(exists(path_));
  LabelServer &server = open();
  connect(Kind::good);
  server.submit(triclinic_frame());
  expect_harmonic(next(), triclinic_frame());
}

TEST_F(LabelServerTest, LivingSocketsAreLeftAlone)
{
  for (const std::string &first : {"unix:" + name_, std::string("localhost:0")}) {
    LabelServerOptions options;
    options.address = first;
    LabelServer &server = open(options);
    options.address = server.address();
    const auto ignore = [](const std::string &) {};
    expect_in("another program listens at " + options.address,
              message_of([&] { LabelServer second(options, ignore); }));
    connect(Kind::good);
    server.submit(triclinic_frame());
    expect_harmonic(next(), triclinic_frame());
    clients_.clear();
  }
}

TEST_F(LabelServerTest, WrongAddresses)
{
  for (const char *address : {"", "unix:", "unix:a/b", "localhost", "localhost:", "localhost:port",
                              "localhost:70000", "localhost:123456789012"}) {
    LabelServerOptions options;
    options.address = address;
    expect_in("use HOST:PORT, :PORT",
              message_of([&] { LabelServer(options, [](const std::string &) {}); }));
  }
  LabelServerOptions options;
  options.address = "unix:" + std::string(200, 'x');
  expect_in("too long", message_of([&] { LabelServer(options, [](const std::string &) {}); }));
  options.address = "no.such.host.invalid:31415";
  expect_in("is not known here",
            message_of([&] { LabelServer(options, [](const std::string &) {}); }));
}

TEST_F(LabelServerTest, AFileThatIsNoSocketStays)
{
  write_file(path_, "precious");
  LabelServerOptions options;
  options.address = "unix:" + name_;
  expect_in("cannot make the socket file",
            message_of([&] { LabelServer(options, [](const std::string &) {}); }));
  EXPECT_EQ(read_file(path_), "precious");
  ::unlink(path_.c_str());
}

TEST(StructureFile, IsExtendedXyz)
{
  const Scratch scratch;
  write_structure(scratch / "a.xyz", triclinic_frame(), {"Si", "Ge"}, {true, true, false});
  EXPECT_EQ(read_file(scratch / "a.xyz"),
            "2\nLattice=\"6 0 0 1 5 0 -0.5 0.75 7\" Properties=species:S:1:pos:R:3 pbc=\"T T F\"\n"
            "Si 0.1 0.2 0.3\nGe 1 -1.5 2\n");
}

}  // namespace
}  // namespace dptrain::test
