// A spool on several ranks: rank 0 has the files, all have answers and errors.

#include <gtest/gtest.h>

#include <filesystem>

#include "dptrain/labels/spool_source.h"
#include "dptrain/parallel/broadcast.h"
#include "support/scratch.h"
#include "support/spool_files.h"
#include "support/whole_frame.h"
#include "support/world.h"

namespace dptrain::test {
namespace {

// The folder of rank 0, for all.
std::string common_folder(const Communicator &comm, const Scratch &scratch)
{
  std::string path = comm.rank() == 0 ? scratch / "spool" : "";
  broadcast(comm, path);
  return path;
}

SpoolAtoms atoms()
{
  return {{"O", "H"}, {true, true, true}};
}

TEST(SpoolSource, AllRanksGetTheAnswer)
{
  const auto comm = world();
  const Scratch scratch;
  SpoolOptions options;
  options.folder = common_folder(*comm, scratch);
  SpoolSource source(comm, options, atoms, no_messages());
  WholeFrame frame = random_whole_frame(5);
  EXPECT_EQ(source.submit(frame), 1);
  EXPECT_TRUE(source.poll().empty());
  source.wait(0.05);
  if (comm->rank() == 0)
    put_file(options.folder + "/" + requests_in(options.folder).at(0) + "/answer.xyz",
             answer_to(frame, atoms().elements, "virial=\"1 2 3 2 4 5 3 5 6\""));
  std::vector<LabelAnswer> answers;
  for (int k = 0; k < 100 && answers.empty(); ++k) {
    source.wait(1.0);
    answers = source.poll();
  }
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].request, 1);
  EXPECT_EQ(*answers[0].label.energy, -static_cast<double>(frame.step));
  ASSERT_EQ(answers[0].label.force.size(), frame.coord.size());
  for (std::size_t k = 0; k < frame.coord.size(); ++k)
    EXPECT_NEAR(answers[0].label.force[k], force_of(frame, k), 1e-9);
  EXPECT_EQ((*answers[0].label.virial)[5], 5.0);
  EXPECT_EQ(source.in_flight(), 0);
}

TEST(SpoolSource, ErrorsAreThoseOfAllRanks)
{
  const auto comm = world();
  const Scratch scratch;
  SpoolOptions options;
  options.folder = common_folder(*comm, scratch);
  if (comm->rank() == 0) {
    make_folder(options.folder);
    write_file(options.folder + "/other", "");
  }
  const auto open = [&] { SpoolSource(comm, options, atoms, no_messages()); };
  expect_in("is no spool", message_of(open));
  if (comm->rank() == 0) std::filesystem::remove_all(options.folder);
  SpoolSource source(comm, options, atoms, no_messages());
  if (comm->rank() == 0) std::filesystem::remove_all(options.folder);
  expect_in("check that the spool is there",
            message_of([&] { source.submit(random_whole_frame(5)); }));
  EXPECT_EQ(source.in_flight(), 0);
}

}  // namespace
}  // namespace dptrain::test
