// Which GPU a rank takes, and what is said of them: the rules, with GPUs that are not there.

#include <gtest/gtest.h>

#include "dptrain/base/error.h"
#include "dptrain/parallel/device.h"

namespace dptrain::test {

namespace {

RankDevice on_gpu(const std::string &node, int local, const std::string &id)
{
  RankDevice rank;
  rank.node = node;
  rank.local_rank = local;
  rank.visible = 4;
  rank.device = local % 4;
  rank.name = "NVIDIA H100";
  rank.id = id;
  rank.memory = std::int64_t(80) << 30;
  rank.major = 9;
  rank.gpu_numa = rank.cpu_numa = 0;
  return rank;
}

bool has(const DeviceReport &report, const std::string &words)
{
  for (const std::string &warning : report.warnings)
    if (warning.find(words) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST(Device, WordsOfTheUser)
{
  EXPECT_EQ(read_device("auto").kind, DeviceRequest::Kind::automatic);
  EXPECT_EQ(read_device("cpu").kind, DeviceRequest::Kind::cpu);
  EXPECT_EQ(read_device("cuda:3").kind, DeviceRequest::Kind::gpu);
  EXPECT_EQ(read_device("cuda:3").index, 3);
  for (const char *text :
       {"", "gpu", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:1 ", "cuda:99999999"})
    EXPECT_THROW(read_device(text), Error) << text;
}

TEST(Device, OneGpuForEachRankOfANode)
{
  const DeviceRequest automatic;
  for (int local = 0; local < 8; ++local) EXPECT_EQ(choose_device(automatic, 4, local), local % 4);
  EXPECT_EQ(choose_device(automatic, 1, 5), 0);   // the launcher shows each rank its own
  EXPECT_EQ(choose_device(automatic, 0, 5), -1);  // there are none
  EXPECT_EQ(choose_device(read_device("cuda:2"), 4, 0), 2);
  EXPECT_THROW(choose_device(read_device("cuda:2"), 2, 0), Error);
}

TEST(Device, GoodOnesGiveOneLineAndNoWarning)
{
  const DeviceReport report = describe_devices(
      {on_gpu("a", 0, "1"), on_gpu("a", 1, "2"), on_gpu("b", 0, "3"), on_gpu("b", 1, "4")});
  EXPECT_EQ(report.text,
            "4 ranks on 4 GPUs of 2 nodes: NVIDIA H100 (80 GiB, compute capability 9.0)");
  EXPECT_TRUE(report.warnings.empty());
}

TEST(Device, WhatIsWrongIsSaid)
{
  std::vector<RankDevice> ranks{on_gpu("a", 0, "1"), on_gpu("a", 1, "2"), on_gpu("a", 2, "2")};
  EXPECT_TRUE(has(describe_devices(ranks), "ranks 1 2 share a GPU"));
  ranks[0].memory /= 2;
  EXPECT_TRUE(has(describe_devices(ranks), "not the same"));
  ranks[1].cpu_numa = 1;
  EXPECT_TRUE(has(describe_devices(ranks), "rank 1 run on cores far from their GPU"));
  ranks[2].peers = false;
  EXPECT_TRUE(has(describe_devices(ranks), "rank 2 cannot reach"));
}

TEST(Device, ProcessorsAreNamed)
{
  RankDevice rank;
  rank.node = "a";
  EXPECT_EQ(describe_devices({rank}).text, "1 rank on processors of 1 node");
}

}  // namespace dptrain::test
