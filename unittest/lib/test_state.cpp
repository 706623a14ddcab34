// Named values that a checkpoint keeps: what went in comes out, to the last bit, and messages name the place.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "dptrain/base/state.h"
#include "io/hdf5_state.h"
#include "support/scratch.h"

namespace dptrain::test {

namespace {

State example()
{
  State buffer, trainer, all;
  buffer.set("epoch", 9007199254740993);  // a double has not this one
  buffer.set("none", std::vector<double>());
  trainer.set("buffer", std::move(buffer));
  trainer.set("is_fitted", true);
  trainer.set("is_late", false);
  trainer.set("moments",
              std::vector<double>{0.1, 1.0 / 3.0, 5e-324, std::numeric_limits<double>::infinity()});
  all.set("trainer", std::move(trainer));
  all.set("rate", -0.0);
  all.set("error", std::numeric_limits<double>::denorm_min());
  all.set("program", "a \"b\"\n\xc3\x85");
  all.set("nothing", "");
  all.set("empty", State());
  return all;
}

/// Written to a file and read again.
State by_file(const State &state)
{
  Hdf5File file = Hdf5File::create("a file");
  file.make_group("/dptrain");
  write_state(file, "/dptrain/state", state);
  return read_state(Hdf5File::open(file.bytes(), "a file"), "/dptrain/state");
}

}  // namespace

TEST(State, GivesBackWhatWasSet)
{
  for (const State &state : {example(), by_file(example())}) {
    const State &trainer = state.at<State>("trainer"), &buffer = trainer.at<State>("buffer");
    EXPECT_EQ(buffer.get<std::int64_t>("epoch"), 9007199254740993);
    EXPECT_TRUE(buffer.get<std::vector<double>>("none").empty());
    EXPECT_TRUE(trainer.get<bool>("is_fitted"));
    EXPECT_FALSE(trainer.get<bool>("is_late"));
    EXPECT_EQ(trainer.get<std::vector<double>>("moments"),
              (std::vector<double>{0.1, 1.0 / 3.0, 5e-324, HUGE_VAL}));
    EXPECT_TRUE(std::signbit(state.get<double>("rate")));
    EXPECT_EQ(state.get<double>("error"), 5e-324);
    EXPECT_EQ(state.get<std::string>("program"), "a \"b\"\n\xc3\x85");
    EXPECT_EQ(state.get<std::string>("nothing"), "");
    EXPECT_TRUE(state.get<State>("empty").empty());
    EXPECT_TRUE(state.has("empty"));
    EXPECT_FALSE(state.has("epoch"));
    EXPECT_EQ(state, example());
  }
}

TEST(State, AValueIsReplaced)
{
  State state;
  state.set("a", 1);
  state.set("b", 2);
  state.set("a", 0.5);
  EXPECT_EQ(state.get<double>("a"), 0.5);
  EXPECT_EQ(state.get<int>("b"), 2);
}

TEST(State, StatesThatDifferAreNotEqual)
{
  State more = example(), other = example(), deep = example();
  more.set("more", true);
  other.set("rate", 1.0);
  State trainer = deep.at<State>("trainer");
  trainer.set("is_late", true);
  deep.set("trainer", trainer);
  for (const State &state : {more, other, deep}) EXPECT_NE(state, example());
}

TEST(State, NamesWhatIsMissingOrOfAnotherKind)
{
  const auto message = [](const State &state, const char *name, auto kind) {
    return message_of([&] { state.get<decltype(kind)>(name); });
  };
  for (const State &state : {example(), by_file(example())}) {
    const State &buffer = state.at<State>("trainer").at<State>("buffer");
    expect_in("trainer/buffer/position is missing", message(buffer, "position", 0));
    expect_in("before the first release", message(buffer, "position", 0));
    expect_in("trainer/buffer/epoch is not a number; ", message(buffer, "epoch", 0.0));
    expect_in("epoch is out of its range", message(buffer, "epoch", 0));
    expect_in("rate is not an integer", message(state, "rate", 0));
    expect_in("rate is not true or false", message(state, "rate", true));
    expect_in("rate is not a text", message(state, "rate", std::string()));
    expect_in("rate is not an array", message(state, "rate", std::vector<int>()));
    expect_in("rate is not a group", message(state, "rate", State()));
    expect_in("trainer/buffer is damaged: no room", message_of([&] { buffer.fail("no room"); }));
  }
  State state;
  state.set("steps", -1);
  expect_in("steps is out of its range", message(state, "steps", std::uint64_t()));
  state.set("types", std::vector<double>{1.0, 0.5});
  expect_in("types has 0.5, which is no integer", message(state, "types", std::vector<int>()));
  expect_in("another length", message(state, "types", std::array<double, 3>()));
}

TEST(State, AGroupThatIsMovedTellsItsNewPlace)
{
  State again;
  again.set("copy", example().at<State>("trainer"));
  expect_in("copy/buffer/position is missing",
            message_of([&] { again.at<State>("copy").at<State>("buffer").get<int>("position"); }));
}

enum class Color { red, green };
std::string name_of(Color color)
{
  return color == Color::red ? "red" : color == Color::green ? "green" : "";
}

struct Part {
  std::int64_t step = 0;
  std::optional<double> energy;
  std::array<double, 2> box{};
};
DPTRAIN_FIELDS(Part, step, energy, box)

struct Whole {
  int count = 0;
  std::uint64_t draws = 0;
  Color color = Color::red;
  std::vector<int> type;
  std::vector<Part> parts;
  Part part;
};
DPTRAIN_FIELDS(Whole, count, draws, color, type, parts, part)

Whole whole()
{
  Whole whole{7, 1, Color::green, {3, 1, 2}, {}, {4, 0.5, {1.0, 2.0}}};
  for (int k = 0; k < 12; ++k) whole.parts.push_back({k, std::nullopt, {}});
  return whole;
}

/// Fields are stored under their own names, structs as groups, and what a file has beyond them does not matter.
TEST(State, KeepsTheFieldsOfAStruct)
{
  State state = by_file(state_of(whole()));
  EXPECT_EQ(state.get<int>("count"), 7);
  EXPECT_EQ(state.get<std::string>("color"), "green");
  EXPECT_EQ(state.at<State>("part").get<double>("energy"), 0.5);
  EXPECT_FALSE(state.at<State>("parts").at<State>("00000011").has("energy"));
  state.set("unknown", 1);
  Whole found;
  state.read(found);
  EXPECT_EQ(state_of(found), state_of(whole()));
  EXPECT_EQ(found.parts.at(11).step, 11);
  EXPECT_EQ(found.parts.at(11).energy, std::nullopt);
}

TEST(State, LeavesAStructThatItCannotFill)
{
  const State good = by_file(state_of(whole()));
  Whole found;
  for (const auto &[name, message] :
       {std::pair("color", "color is 'blue', which is not known"),
        std::pair("part", "a file: dptrain/state/part is not a group")}) {
    State state = good;
    state.set(name, "blue");
    expect_in(message, message_of([&] { state.read(found); }));
  }
  State part = good.at<State>("part"), without;
  part.for_each([&](const std::string &name, const auto &value) {
    if (name != "box") without.set(name, value);
  });
  State state = good;
  state.set("part", without);
  expect_in("a file: dptrain/state/part/box is missing", message_of([&] { state.read(found); }));
  EXPECT_EQ(state_of(found), state_of(Whole()));
}

TEST(State, FilesAreReadByTheirNames)
{
  Hdf5File file = Hdf5File::create("a file");
  file.make_group("/a");
  file.make_group("/a/b");
  file.write_value("/a/b/epoch", std::int64_t(7));
  const double values[] = {1.0, 2.0};
  file.write_array("/a/values", values, {2});
  const State state = read_state(file, "/a");
  EXPECT_EQ(state.at<State>("b").get<int>("epoch"), 7);
  EXPECT_EQ(state.get<std::vector<double>>("values"), (std::vector<double>{1.0, 2.0}));
  expect_in("/missing", message_of([&] { read_state(file, "/missing"); }));
  std::string path = "/a";
  for (int depth = 0; depth < 12; ++depth) file.make_group(path += "/deeper");
  expect_in("too deep", message_of([&] { read_state(file, "/a"); }));
}

}  // namespace dptrain::test
