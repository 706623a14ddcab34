// A checkpoint gives back every bit, is a model file too, and is told from other files.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "dptrain/checkpoint/checkpoint.h"
#include "dptrain/potential/files/model_file.h"
#include "io/hdf5_file.h"
#include "support/scratch.h"
#include "support/tiny_model.h"

namespace dptrain {
namespace {

using test::expect_in;
using test::message_of;
using test::Scratch;

Checkpoint example()
{
  ModelConfig config = test::tiny_config();
  se_e2_a(config).precision = config.fitting_precision = "float32";
  Checkpoint checkpoint;
  checkpoint.model = test::tiny_model(config);
  checkpoint.parameters = checkpoint.model.parameters;
  // bits that a text or a float would lose
  checkpoint.trainer.set("moments",
                         std::vector<double>{0.1, 1.0 / 3.0, -0.0, 5e-324, 9007199254740993.0,
                                             std::numeric_limits<double>::infinity()});
  checkpoint.trainer.set("steps", 12);
  checkpoint.session.set("seconds", 3.5);
  checkpoint.num_frames = 5000000000;
  checkpoint.training = R"({"training": {"seed": 3}})";
  return checkpoint;
}

TEST(Checkpoint, GivesBackEveryBit)
{
  const Scratch scratch;
  const Checkpoint written = example();
  write_checkpoint(scratch / "run.ckpt", written);
  const Checkpoint read = read_checkpoint(scratch / "run.ckpt");
  EXPECT_EQ(read.parameters, written.parameters);  // float64, though the model stores float32
  EXPECT_EQ(read.trainer, written.trainer);
  EXPECT_TRUE(std::signbit(read.trainer.at<std::vector<double>>("moments")[2]));
  EXPECT_TRUE(read.auxiliary_state.empty());
  EXPECT_EQ(read.session, written.session);
  EXPECT_EQ(read.num_frames, written.num_frames);
  EXPECT_EQ(read.training, written.training);
  EXPECT_EQ(read.model.parameters[0], double(float(written.parameters[0])));
}

TEST(Checkpoint, HoldsTheAverageWhereOneIsKept)
{
  const Scratch scratch;
  Checkpoint written = example();
  write_checkpoint(scratch / "run.ckpt", written);
  EXPECT_TRUE(read_checkpoint(scratch / "run.ckpt").average.empty());
  written.average = written.parameters;
  written.average[3] = 1.0 / 3.0;
  write_checkpoint(scratch / "run.ckpt", written);
  const Checkpoint read = read_checkpoint(scratch / "run.ckpt");
  EXPECT_EQ(read.average, written.average);
  EXPECT_EQ(read.parameters, written.parameters);
  written.average.pop_back();
  write_checkpoint(scratch / "run.ckpt", written);
  expect_in("damaged checkpoint", message_of([&] { read_checkpoint(scratch / "run.ckpt"); }));
}

TEST(Checkpoint, IsAModelFileToo)
{
  const Scratch scratch;
  const Checkpoint written = example();
  write_checkpoint(scratch / "run.ckpt", written);
  EXPECT_EQ(read_dp(scratch / "run.ckpt").out_bias, written.model.out_bias);
}

TEST(Checkpoint, IsToldFromOtherFiles)
{
  const Scratch scratch;
  write_checkpoint(scratch / "run.ckpt", example());
  write_dp(scratch / "model.dp", example().model);
  EXPECT_TRUE(is_checkpoint(scratch / "run.ckpt"));
  EXPECT_FALSE(is_checkpoint(scratch / "model.dp"));
  EXPECT_FALSE(is_checkpoint(scratch.with("text", "hello")));
  EXPECT_FALSE(is_checkpoint(scratch.with("input.json", "{}")));
  expect_in("there is no file", message_of([&] { is_checkpoint(scratch / "nothing"); }));
  expect_in("not a checkpoint", message_of([&] { read_checkpoint(scratch / "model.dp"); }));
  expect_in("not a .dp", message_of([&] { read_checkpoint(scratch / "text"); }));
  const std::string bytes = read_file(scratch / "run.ckpt");
  scratch.with("cut", bytes.substr(0, bytes.size() - 100));
  expect_in("truncated", message_of([&] { read_checkpoint(scratch / "cut"); }));
}

/// Message for a file whose group says something else.
std::string message_with(std::int64_t version, const std::string &kind)
{
  Hdf5File file = Hdf5File::create("test");
  file.write_text("/", "json", "{}");
  file.make_group("/dptrain");
  file.write_integer("/dptrain", "format_version", version);
  file.write_text("/dptrain", "kind", kind);
  const Scratch scratch;
  scratch.with("run.ckpt", file.bytes());
  return message_of([&] { read_checkpoint(scratch / "run.ckpt"); });
}

TEST(Checkpoint, RefusesOtherFormats)
{
  expect_in("checkpoint format 5", message_with(5, "deep_pot"));
  expect_in("checkpoint format unknown", message_with(0, "deep_pot"));
  for (const std::int64_t version : {1, 2, 3})
    for (const char *part : {"before the first release", "pair_coeff", ".frames", "--init-model"})
      expect_in(part, message_with(version, "deep_pot"));
  expect_in("\"graph_net\"", message_with(4, "graph_net"));
}

TEST(Checkpoint, RefusesWeightsOfAnotherModel)
{
  const Scratch scratch;
  Checkpoint checkpoint = example();
  checkpoint.parameters.pop_back();
  write_checkpoint(scratch / "run.ckpt", checkpoint);
  expect_in("raw weights", message_of([&] { read_checkpoint(scratch / "run.ckpt"); }));
}

}  // namespace
}  // namespace dptrain
