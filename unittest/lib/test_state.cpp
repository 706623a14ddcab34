// Named values that a checkpoint keeps: what went in comes out, to the last bit, and messages name the place.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "dptrain/base/state.h"
#include "io/hdf5_state.h"
#include "support/scratch.h"

namespace dptrain::test {

namespace {

State example()
{
  State buffer, trainer, all;
  buffer.set_integer("epoch", 9007199254740993);  // a double has not this one
  buffer.set_array("none", {});
  trainer.set_group("buffer", std::move(buffer));
  trainer.set_flag("is_fitted", true);
  trainer.set_flag("is_late", false);
  trainer.set_array("moments", {0.1, 1.0 / 3.0, 5e-324, std::numeric_limits<double>::infinity()});
  all.set_group("trainer", std::move(trainer));
  all.set_number("rate", -0.0);
  all.set_number("error", std::numeric_limits<double>::denorm_min());
  all.set_text("program", "a \"b\"\n\xc3\x85");
  all.set_text("nothing", "");
  all.set_group("empty", {});
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
    EXPECT_EQ(state.group("trainer").group("buffer").integer("epoch"), 9007199254740993);
    EXPECT_TRUE(state.group("trainer").group("buffer").array("none").empty());
    EXPECT_TRUE(state.group("trainer").flag("is_fitted"));
    EXPECT_FALSE(state.group("trainer").flag("is_late"));
    EXPECT_EQ(state.group("trainer").array("moments"),
              (std::vector<double>{0.1, 1.0 / 3.0, 5e-324, HUGE_VAL}));
    EXPECT_TRUE(std::signbit(state.number("rate")));
    EXPECT_EQ(state.number("error"), 5e-324);
    EXPECT_EQ(state.text("program"), "a \"b\"\n\xc3\x85");
    EXPECT_EQ(state.text("nothing"), "");
    EXPECT_TRUE(state.group("empty").empty());
    EXPECT_TRUE(state.has("empty"));
    EXPECT_FALSE(state.has("epoch"));
    EXPECT_EQ(state, example());
  }
}

TEST(State, AValueIsReplaced)
{
  State state;
  state.set_integer("a", 1);
  state.set_integer("b", 2);
  state.set_number("a", 0.5);
  EXPECT_EQ(state.number("a"), 0.5);
  EXPECT_EQ(state.integer("b"), 2);
}

TEST(State, StatesThatDifferAreNotEqual)
{
  State more = example(), other = example(), deep = example();
  more.set_flag("more", true);
  other.set_number("rate", 1.0);
  State trainer = deep.group("trainer");
  trainer.set_flag("is_late", true);
  deep.set_group("trainer", trainer);
  for (const State &state : {more, other, deep}) EXPECT_NE(state, example());
}

TEST(State, NamesWhatIsMissingOrOfAnotherKind)
{
  for (const State &state : {example(), by_file(example())}) {
    const State &buffer = state.group("trainer").group("buffer");
    expect_in("The state in the checkpoint has no trainer/buffer/position; ",
              message_of([&] { buffer.integer("position"); }));
    expect_in("The state in the checkpoint: trainer/buffer/epoch is not a number; ",
              message_of([&] { buffer.number("epoch"); }));
    expect_in("rate is not an integer", message_of([&] { state.integer("rate"); }));
    expect_in("rate is not true or false", message_of([&] { state.flag("rate"); }));
    expect_in("rate is not a text", message_of([&] { state.text("rate"); }));
    expect_in("rate is not an array", message_of([&] { state.array("rate"); }));
    expect_in("rate is not a group", message_of([&] { state.group("rate"); }));
    expect_in("(trainer/buffer) is damaged: no room", message_of([&] { buffer.fail("no room"); }));
  }
  State state;
  state.set_integer("steps", -1);
  expect_in("steps is -1", message_of([&] { state.count("steps"); }));
}

TEST(State, AGroupThatIsMovedTellsItsNewPlace)
{
  State again;
  again.set_group("copy", example().group("trainer"));
  expect_in("copy/buffer/position",
            message_of([&] { again.group("copy").group("buffer").integer("position"); }));
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
  EXPECT_EQ(state.group("b").integer("epoch"), 7);
  EXPECT_EQ(state.array("values"), (std::vector<double>{1.0, 2.0}));
  expect_in("/missing", message_of([&] { read_state(file, "/missing"); }));
  std::string path = "/a";
  for (int depth = 0; depth < 12; ++depth) file.make_group(path += "/deeper");
  expect_in("too deep", message_of([&] { read_state(file, "/a"); }));
}

}  // namespace dptrain::test
