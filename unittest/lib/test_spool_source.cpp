// Labels from a folder: what stands in it, and answers of all kinds.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <map>

#include "dptrain/labels/spool_source.h"
#include "support/scratch.h"
#include "support/spool_files.h"

namespace dptrain::test {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> elements = {"O", "H"};
const std::string STRESS = "stress=\"0.01 0.006 0.005 0.006 0.02 0.004 0.005 0.004 0.03\"";

WholeFrame triclinic_frame(std::int64_t step = 42)
{
  WholeFrame frame;
  frame.step = step;
  frame.box = {6.0, 0.0, 0.0, 1.0, 5.0, 0.0, -0.5, 0.75, 7.0};
  frame.coord = {0.1, 0.2, 0.3, 1.0, -1.5, 2.0};
  frame.type = {0, 1};
  return frame;
}

class SpoolTest : public testing::Test {
 protected:
  Scratch scratch_;
  SpoolOptions options_;
  std::array<bool, 3> periodic_ = {true, true, true};
  std::vector<std::string> said_, warned_;
  double time_ = 0.0;  // seconds; goes on where somebody sleeps

  SpoolTest()
  {
    options_.clock.now = [this] { return time_; };
    options_.clock.sleep = [this](double seconds) { time_ += seconds; };
    options_.folder = scratch_ / "spool";
    options_.settling = 0.5;
  }

  std::unique_ptr<SpoolSource> open()
  {
    Messages messages = no_messages();
    messages.info = [this](const std::string &text) { said_.push_back(text); };
    messages.warning = [this](const std::string &text) { warned_.push_back(text); };
    return std::make_unique<SpoolSource>(
        make_mpi_communicator(), options_,
        [this] {
          return SpoolAtoms{elements, periodic_};
        },
        messages);
  }
  std::string path(const std::string &name, const std::string &file) const
  {
    return options_.folder + "/" + name + "/" + file;
  }
  /// Name of the request of this step; there is one.
  std::string request_of(std::int64_t step) const
  {
    std::string found;
    for (const std::string &name : requests_in(options_.folder))
      if (std::stoll(name) == step) {
        EXPECT_EQ(found, "");
        found = name;
      }
    EXPECT_NE(found, "");
    return found;
  }
  void answer(const WholeFrame &frame, const std::string &keys = STRESS) const
  {
    put_file(path(request_of(frame.step), "answer.xyz"), answer_to(frame, elements, keys));
  }
  /// The answers that come within ten seconds, at least one.
  static std::vector<LabelAnswer> wait_for_answers(LabelSource &source)
  {
    source.wait(10.0);
    std::vector<LabelAnswer> answers = source.poll();
    EXPECT_FALSE(answers.empty());
    answers.resize(std::max<std::size_t>(answers.size(), 1));
    return answers;
  }
  /// Polls for some seconds, in which no answer must come.
  void expect_nothing(LabelSource &source, double seconds)
  {
    for (const double end = time_ + seconds; time_ < end; time_ += 0.01)
      EXPECT_TRUE(source.poll().empty());
  }
};

void expect_label(const LabelAnswer &answer, const WholeFrame &frame, bool virial = true)
{
  EXPECT_EQ(answer.failure, "");
  ASSERT_TRUE(answer.label.energy);
  EXPECT_EQ(*answer.label.energy, -static_cast<double>(frame.step));
  ASSERT_EQ(answer.label.force.size(), frame.coord.size());
  for (std::size_t k = 0; k < frame.coord.size(); ++k)
    EXPECT_NEAR(answer.label.force[k], force_of(frame, k), 1e-9);
  EXPECT_EQ(answer.label.virial.has_value(), virial);
}

// ASE: stress = -virial / volume, Voigt xx yy zz yz xz xy; the volume of the triclinic frame is 6 * 5 * 7.
void expect_virial(const LabelAnswer &answer)
{
  ASSERT_TRUE(answer.label.virial);
  const double expected[] = {-2.1, -1.26, -1.05, -1.26, -4.2, -0.84, -1.05, -0.84, -6.3};
  for (std::size_t k = 0; k < 9; ++k) EXPECT_NEAR((*answer.label.virial)[k], expected[k], 1e-12);
}

TEST_F(SpoolTest, ARequestIsAFileAndSoIsItsAnswer)
{
  periodic_ = {true, true, false};
  const auto source = open();
  EXPECT_TRUE(source->outlives_program());
  const WholeFrame frame = triclinic_frame();
  EXPECT_EQ(source->submit(frame), 1);
  EXPECT_EQ(source->in_flight(), 1);
  // the name is the step, and the beginning of what sha1sum says of the file
  ASSERT_EQ(requests_in(options_.folder), std::vector<std::string>{"000000042-964eff787e2c"});
  EXPECT_EQ(read_file(path("000000042-964eff787e2c", "request.xyz")),
            "2\nLattice=\"6 0 0 1 5 0 -0.5 0.75 7\" Properties=species:S:1:pos:R:3 pbc=\"T T F\" "
            "step=42\nO 0.1 0.2 0.3\nH 1 -1.5 2\n");
  EXPECT_EQ(read_file(options_.folder + "/spool.json"),
            "{\"format\":\"dptrain spool\",\"version\":1}\n");
  expect_nothing(*source, 0.05);
  answer(frame);
  const LabelAnswer found = wait_for_answers(*source).front();
  EXPECT_EQ(found.request, 1);
  expect_label(found, frame);
  expect_virial(found);
  EXPECT_EQ(source->in_flight(), 0);
  EXPECT_TRUE(source->poll().empty());
  EXPECT_EQ(list_folder(options_.folder + "/000000042-964eff787e2c"),
            (std::vector<std::string>{"answer.xyz", "request.xyz"}));
  EXPECT_TRUE(warned_.empty());
}

// ase.io.write of Atoms with a SinglePointCalculator, wrapped into the box: ASE 3.29.
TEST_F(SpoolTest, AseWritesAnswers)
{
  const auto source = open();
  const WholeFrame frame = triclinic_frame();
  source->submit(frame);
  put_file(path(request_of(42), "answer.xyz"),
           "2\nLattice=\"6.0 0.0 0.0 1.0 5.0 0.0 -0.5 0.75 7.0\" "
           "Properties=species:S:1:pos:R:3:forces:R:3 step=42 energy=-1.5 free_energy=-1.75 "
           "stress=\"0.01 0.006 0.005 0.006 0.02 0.004 0.005 0.004 0.03\" pbc=\"T T F\"\n"
           "O        0.10000000       0.20000000       0.30000000       0.10000000      "
           "-0.20000000       0.30000000\n"
           "H        2.00000000       3.50000000       2.00000000      -0.10000000       "
           "0.20000000      -0.30000000\n");
  const LabelAnswer found = wait_for_answers(*source).front();
  ASSERT_EQ(found.failure, "");
  EXPECT_EQ(*found.label.energy, -1.75);  // the energy that the forces are derivatives of
  EXPECT_EQ(found.label.force, (std::vector<double>{0.1, -0.2, 0.3, -0.1, 0.2, -0.3}));
  expect_virial(found);
}

TEST_F(SpoolTest, VirialsAreSymmetricAndMayBeLeftOut)
{
  const auto source = open();
  source->submit(triclinic_frame());
  answer(triclinic_frame(), "virial=\"1 2 3 4 5 6 7 8 9\"");
  const LabelAnswer found = wait_for_answers(*source).front();
  EXPECT_EQ(*found.label.virial, (std::array<double, 9>{1, 3, 5, 3, 5, 7, 5, 7, 9}));
  options_.virial = false;
  const auto without = open();
  without->submit(triclinic_frame(43));
  answer(triclinic_frame(43), "");
  expect_label(wait_for_answers(*without).front(), triclinic_frame(43), false);
}

TEST_F(SpoolTest, AFrameWithoutCellHasTheVirialOfItsForces)
{
  const auto source = open();
  WholeFrame frame = triclinic_frame(3);
  frame.periodic = false;
  source->submit(frame);
  EXPECT_EQ(read_file(path(request_of(3), "request.xyz")),
            "2\nProperties=species:S:1:pos:R:3 pbc=\"F F F\" step=3\nO 0.1 0.2 0.3\nH 1 -1.5 2\n");
  answer(frame, "");
  const LabelAnswer found = wait_for_answers(*source).front();
  expect_label(found, frame);
  EXPECT_NEAR((*found.label.virial)[0], 0.1 * force_of(frame, 0) + 1.0 * force_of(frame, 3), 1e-12);
  EXPECT_NEAR((*found.label.virial)[8], 0.3 * force_of(frame, 2) + 2.0 * force_of(frame, 5), 1e-12);
  // codes that know no other boundaries give it a box
  WholeFrame in_a_box = frame;
  in_a_box.periodic = true;
  source->submit(frame);
  answer(in_a_box);
  expect_label(wait_for_answers(*source).front(), frame);
}

TEST_F(SpoolTest, ALaterProgramFindsRequestAndAnswer)
{
  const WholeFrame first = triclinic_frame(1), second = triclinic_frame(2);
  {
    const auto source = open();
    source->submit(first);
    source->submit(second);
    answer(first);
    expect_label(wait_for_answers(*source).front(), first);
  }
  answer(second);
  struct stat before {
  }, after{};
  ::stat(path(request_of(2), "request.xyz").c_str(), &before);
  const auto source = open();
  EXPECT_EQ(source->submit(second), 1);
  EXPECT_EQ(source->submit(first), 2);
  const std::vector<LabelAnswer> answers = wait_for_answers(*source);
  ASSERT_EQ(answers.size(), 2u);
  expect_label(answers[0], second);
  expect_label(answers[1], first);
  ::stat(path(request_of(2), "request.xyz").c_str(), &after);
  EXPECT_EQ(before.st_ino, after.st_ino);  // it was not written again
  EXPECT_EQ(requests_in(options_.folder).size(), 2u);
  ASSERT_EQ(said_.size(), 3u);  // two folders, and once that there was an answer
  expect_in("is in the folder already", said_.back());
}

TEST_F(SpoolTest, SeveralProgramsShareAFolder)
{
  const auto one = open(), other = open();
  WholeFrame moved = triclinic_frame();
  moved.coord[0] += 1e-6;
  const WholeFrame frame = triclinic_frame(), common = triclinic_frame(7);
  one->submit(frame);
  other->submit(moved);  // the same step of another run
  one->submit(common);
  other->submit(common);
  other->submit(common);  // and once more
  ASSERT_EQ(requests_in(options_.folder).size(), 3u);
  answer(common);
  expect_label(wait_for_answers(*one).front(), common);
  const std::vector<LabelAnswer> both = wait_for_answers(*other);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].request, 2);
  EXPECT_EQ(both[1].request, 3);
  EXPECT_EQ(one->in_flight(), 1);
  EXPECT_EQ(other->in_flight(), 1);
}

TEST_F(SpoolTest, CancelTakesBackWhatNobodyHasBegun)
{
  const auto source = open();
  for (std::int64_t step = 1; step <= 4; ++step) source->submit(triclinic_frame(step));
  const std::int64_t again = source->submit(triclinic_frame(1));
  const std::string claimed = request_of(2), answered = request_of(3);
  write_file(path(claimed, "claim"), "{}");
  answer(triclinic_frame(3));
  source->cancel(1);
  EXPECT_EQ(requests_in(options_.folder).size(), 4u);  // it was asked for twice
  for (const std::int64_t request : {again, std::int64_t(2), std::int64_t(3), std::int64_t(4)})
    source->cancel(request);
  source->cancel(17);
  EXPECT_EQ(requests_in(options_.folder), (std::vector<std::string>{claimed, answered}));
  EXPECT_EQ(source->in_flight(), 0);
  EXPECT_TRUE(source->poll().empty());
}

TEST_F(SpoolTest, WhatAnotherProgramTakesBackIsAskedForAgain)
{
  const auto one = open(), other = open();
  one->submit(triclinic_frame());
  other->submit(triclinic_frame());
  one->cancel(1);
  EXPECT_TRUE(requests_in(options_.folder).empty());
  expect_nothing(*other, 0.1);
  ASSERT_EQ(warned_.size(), 1u);
  expect_in("had been removed and is there again", warned_.front());
  answer(triclinic_frame());
  expect_label(wait_for_answers(*other).front(), triclinic_frame());
}

// A place in a text, and what stands there in its place.
std::string replaced(std::string text, const std::string &old, const std::string &by)
{
  const auto place = text.find(old);
  EXPECT_NE(place, std::string::npos) << old;
  return text.replace(place, old.size(), by);
}

TEST_F(SpoolTest, UnusableAnswersArePutAside)
{
  const auto good = [](std::int64_t step) {
    return answer_to(triclinic_frame(step), elements, STRESS);
  };
  std::string zeros = "stress=\"0 0 0 0 0 0 0 0 0\"";
  using Change = std::function<std::string(const std::string &)>;
  const auto change = [](const std::string &old, const std::string &by) {
    return [=](const std::string &text) { return replaced(text, old, by); };
  };
  const std::vector<std::pair<std::string, Change>> cases = {
      {"found 'no", [](const std::string &) { return "no label\n"; }},
      {"the file has no frame", [](const std::string &) { return ""; }},
      {"", [](const std::string &text) { return text.substr(0, text.size() / 2) + "\n"; }},
      {"has 2 frames", [](const std::string &text) { return text + text; }},
      {"has 1 atoms, the request has 2",
       [](const std::string &text) { return "1" + text.substr(1, text.rfind("\nH ")); }},
      {"atom 1 is H, in the request O: keep the order", change("\nO ", "\nH ")},
      {"found 'Fe', which is no element of the model", change("\nO ", "\nFe ")},
      {"atom 2 is 0.002 Angstrom from where the request has it",
       change("-1.50000000", "-1.50200000")},
      {"component 5 of Lattice is 5.010000, in the request 5.000000", change("5.0", "5.01")},
      {"has no periodic box", change("T T T", "F F F")},
      {"has no energy", change("energy=", "power=")},
      {"has no forces", change("forces:R:3", "velo:R:3")},
      {"not a finite number", change("energy=-", "energy=nan old=")},
      {"has no stress or virial", change(STRESS, "")},
      {"has no stress or virial", change(STRESS, zeros)},
      {"expected 9 or 6", change("0.03\"", "0.03 1\"")}};
  const auto source = open();
  const auto count = static_cast<std::int64_t>(cases.size());
  for (std::int64_t step = 1; step <= count; ++step) {
    source->submit(triclinic_frame(step));
    put_file(path(request_of(step), "answer.xyz"), cases[step - 1].second(good(step)));
  }
  expect_nothing(*source, 2.0);
  ASSERT_EQ(warned_.size(), cases.size());
  for (std::int64_t step = 1; step <= count; ++step) {
    const std::string name = request_of(step);
    expect_in(cases[step - 1].first, warned_[step - 1]);
    expect_in(path(name, "answer.xyz"), warned_[step - 1]);
    expect_in("it is now answer.xyz.bad1, and the request stays open", warned_[step - 1]);
    EXPECT_EQ(list_folder(options_.folder + "/" + name),
              (std::vector<std::string>{"answer.xyz.bad1", "request.xyz"}));
  }
  // somebody puts the right ones there; and, for two of them, the wrong ones once more
  put_file(path(request_of(1), "answer.xyz"), "no label\n");
  put_file(path(request_of(2), "answer.xyz"), "");
  for (std::int64_t step = 3; step <= count; ++step) answer(triclinic_frame(step));
  std::vector<LabelAnswer> answers = wait_for_answers(*source);
  ASSERT_EQ(answers.size(), cases.size() - 2);
  for (const LabelAnswer &found : answers) expect_label(found, triclinic_frame(found.request));
  expect_nothing(*source, 2.0);
  EXPECT_EQ(warned_.size(), cases.size() + 2);
  EXPECT_TRUE(fs::exists(path(request_of(1), "answer.xyz.bad2")));
}

// Somebody writes the files in place, slowly. Without its end the last number of a file is another one, but a number.
TEST_F(SpoolTest, AnAnswerMayBeInTheMaking)
{
  options_.settling = 1.0;
  const auto source = open();
  const std::vector<WholeFrame> frames = {triclinic_frame(1), triclinic_frame(2)};
  for (const WholeFrame &frame : frames) source->submit(frame);
  const std::string first = answer_to(frames[0], elements, STRESS),
                    second = answer_to(frames[1], elements, STRESS);
  for (std::size_t part = 0; part < 6; ++part) {
    write_file(path(request_of(1), "answer.xyz"), first.substr(0, part * first.size() / 6));
    write_file(path(request_of(2), "answer.xyz"), second.substr(0, second.size() - 8 + part));
    expect_nothing(*source, 0.3);
  }
  write_file(path(request_of(1), "answer.xyz"), first);
  write_file(path(request_of(2), "answer.xyz"), second);
  while (source->in_flight() > 0)
    for (const LabelAnswer &found : wait_for_answers(*source))
      expect_label(found, frames.at(found.request - 1));
  EXPECT_TRUE(warned_.empty());
}

TEST_F(SpoolTest, ALastLineMayHaveNoEnd)
{
  const auto source = open();
  source->submit(triclinic_frame());
  std::string text = answer_to(triclinic_frame(), elements, STRESS);
  text.pop_back();
  write_file(path(request_of(42), "answer.xyz"), text);
  const double start = time_;
  expect_label(wait_for_answers(*source).front(), triclinic_frame());
  EXPECT_GE(time_ - start, 0.5);
}

TEST_F(SpoolTest, FailuresHaveAReason)
{
  const auto source = open();
  for (std::int64_t step = 1; step <= 2; ++step) source->submit(triclinic_frame(step));
  put_file(path(request_of(1), "failed.txt"),
           "RuntimeError: no self-consistency\tafter\n100 cycles\n");
  put_file(path(request_of(2), "failed.txt"), "");
  const std::vector<LabelAnswer> answers = wait_for_answers(*source);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].failure, "RuntimeError: no self-consistency after 100 cycles (see " +
                                    path(request_of(1), "failed.txt") + "; 'dptrain label " +
                                    options_.folder + " --again' computes again what has failed)");
  expect_in("no reason is given (see ", answers[1].failure);
}

TEST_F(SpoolTest, AnswersThatComeTooLateAreForTheNextProgram)
{
  options_.timeout = 0.3;
  const auto source = open();
  source->submit(triclinic_frame());
  const double start = time_;
  const LabelAnswer late = wait_for_answers(*source).front();
  EXPECT_EQ(late.failure, "no answer to 000000042-" + request_of(42).substr(10) +
                              " within 0.3 s: start dptrain label, or give a longer 'timeout'");
  EXPECT_LT(time_ - start, 2.0);
  answer(triclinic_frame());
  EXPECT_TRUE(source->poll().empty());
  source->submit(triclinic_frame());
  expect_label(wait_for_answers(*source).front(), triclinic_frame());
}

TEST_F(SpoolTest, OtherFoldersAreRefused)
{
  options_.folder = scratch_.with("file", "text");
  expect_in("file", message_of([&] { open(); }));
  options_.folder = scratch_ / "data";
  fs::create_directory(options_.folder);
  write_file(options_.folder + "/type.raw", "0");
  expect_in("is no spool, but not empty either (it has 'type.raw')", message_of([&] { open(); }));
  const std::string description = options_.folder + "/spool.json";
  for (const char *text :
       {"", "[]", "{\"format\": 1, \"version\": 1}", "{\"format\": \"dptrain spool\"}"}) {
    write_file(description, text);
    expect_in("does not describe a spool of dptrain", message_of([&] { open(); }));
  }
  write_file(description, "{\"format\": \"dptrain spool\", \"version\": 2}");
  expect_in("has format version 2, this program knows 1", message_of([&] { open(); }));
  write_file(description, "{\"format\": \"dptrain spool\", \"version\": 1, \"more\": 0}");
  open();
}

WholeFrame large_frame(std::int64_t step)
{
  WholeFrame frame = triclinic_frame(step);
  for (int k = 0; k < 9; ++k) {
    frame.coord.insert(frame.coord.end(), frame.coord.begin(), frame.coord.end());
    frame.type.insert(frame.type.end(), frame.type.begin(), frame.type.end());
  }
  return frame;
}

// A limit on the size of files fails amid writing, as a full disk does.
TEST_F(SpoolTest, AFullDiskIsAnErrorAndNothingIsLost)
{
  const auto source = open();
  source->submit(triclinic_frame(1));
  rlimit before{}, small{};
  getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  small.rlim_cur = 4096;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string text = message_of([&] { source->submit(large_frame(2)); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  expect_in("File too large", text);
  expect_in("request.xyz", text);
  EXPECT_EQ(source->in_flight(), 1);
  EXPECT_TRUE(list_folder(options_.folder + "/" + request_of(2)).empty());  // nothing half
  answer(triclinic_frame(1));
  expect_label(wait_for_answers(*source).front(), triclinic_frame(1));
  EXPECT_EQ(source->submit(large_frame(2)), 2);
  answer(large_frame(2));
  expect_label(wait_for_answers(*source).front(), large_frame(2));
}

TEST_F(SpoolTest, AFolderWithoutRightsOrGoneIsAnError)
{
  const auto source = open();
  source->submit(triclinic_frame(1));
  if (::geteuid() != 0) {
    fs::permissions(options_.folder, fs::perms::owner_read | fs::perms::owner_exec);
    expect_in("Permission denied", message_of([&] { source->submit(triclinic_frame(2)); }));
    fs::permissions(options_.folder, fs::perms::owner_all);
  }
  fs::rename(options_.folder, scratch_ / "away");
  expect_in("check that the spool is there",
            message_of([&] { source->submit(triclinic_frame(2)); }));
  expect_nothing(*source, 2.0);  // a disk that is not there at the moment
  ASSERT_EQ(warned_.size(), 1u);
  expect_in("No such file or directory", warned_.front());
  expect_in("; the request stays open", warned_.front());
  EXPECT_FALSE(fs::exists(options_.folder));
  fs::rename(scratch_ / "away", options_.folder);
  answer(triclinic_frame(1));
  expect_label(wait_for_answers(*source).front(), triclinic_frame(1));
}

TEST_F(SpoolTest, WhatIsNoFileIsNotRead)
{
  const auto source = open();
  source->submit(triclinic_frame(1));
  source->submit(triclinic_frame(2));
  ASSERT_EQ(::mkfifo(path(request_of(1), "answer.xyz").c_str(), 0600), 0);
  fs::resize_file(scratch_.with("spool/" + request_of(2) + "/answer.xyz", ""), 1 << 30);
  expect_nothing(*source, 2.0);
  ASSERT_EQ(warned_.size(), 2u);
  expect_in("is not a regular file, expected one; the request stays open", warned_[0]);
  expect_in("has 1073741824 bytes, too many for the label of 2 atoms", warned_[1]);
}

TEST_F(SpoolTest, ALongWaitIsToldOnce)
{
  options_.long_wait = 0.3;
  const auto source = open();
  for (std::int64_t step = 1; step <= 2; ++step) source->submit(triclinic_frame(step));
  expect_nothing(*source, 0.5);  // the run goes on meanwhile
  EXPECT_EQ(said_.size(), 1u);
  for (int k = 0; k < 3; ++k) source->wait(0.3);
  ASSERT_EQ(said_.size(), 2u);
  EXPECT_EQ(said_.back(), "waiting for answers in the folder " + options_.folder +
                              ": 2 requests are open, the oldest is " + request_of(1));
  answer(triclinic_frame(1));
  wait_for_answers(*source);
  EXPECT_EQ(said_.size(), 2u);
  source->wait(0.5);
  expect_in("1 request is open, the oldest is " + request_of(2), said_.back());
}

// A run polls at each of its steps; the folder is looked at much less often.
TEST_F(SpoolTest, PollingIsCheap)
{
  const auto source = open();
  source->submit(triclinic_frame());
  EXPECT_TRUE(source->poll().empty());
  answer(triclinic_frame());
  for (int k = 0; k < 20000; ++k) EXPECT_TRUE(source->poll().empty());
  time_ += 0.1;
  EXPECT_EQ(source->poll().size(), 1u);
}

}  // namespace
}  // namespace dptrain::test
