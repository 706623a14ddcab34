// main() of all tests, which are one program with a name for each file: called test_X it runs the tests of test_X.cpp,
// called otherwise those of all files. What is called test_mpi_X runs on several ranks: every rank runs every test, and the
// run fails if one rank fails.

#include <fnmatch.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>

namespace {

/// Whether a filter of GoogleTest (POSITIVE:PATTERNS-NEGATIVE:PATTERNS) lets a test pass.
bool passes(const std::string &filter, const std::string &test)
{
  const auto matches = [&test](const std::string &patterns) {
    std::istringstream words(patterns);
    for (std::string pattern; std::getline(words, pattern, ':');)
      if (fnmatch(pattern.c_str(), test.c_str(), 0) == 0) return true;
    return false;
  };
  const auto dash = filter.find('-');
  const std::string positive = filter.substr(0, dash);
  if (dash != std::string::npos && matches(filter.substr(dash + 1))) return false;
  return positive.empty() || matches(positive);
}

/// Narrows the filter of the command line to the tests of NAME.cpp. False if there are none in this program.
bool take_file(const std::string &name)
{
  const testing::UnitTest &all = *testing::UnitTest::GetInstance();
  bool found = false;
  std::string taken;
  for (int k = 0; k < all.total_test_suite_count(); ++k) {
    const testing::TestSuite &suite = *all.GetTestSuite(k);
    for (int n = 0; n < suite.total_test_count(); ++n) {
      const testing::TestInfo &test = *suite.GetTestInfo(n);
      if (std::filesystem::path(test.file()).stem() != name) continue;
      found = true;
      const std::string full = std::string(suite.name()) + "." + test.name();
      if (passes(testing::GTEST_FLAG(filter), full)) taken += full + ":";
    }
  }
  testing::GTEST_FLAG(filter) = taken.empty() ? "-*" : taken;
  return found;
}

int run_on_all_ranks()
{
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) {
    // one report is enough; failures of the other ranks still print through their own result printer
    testing::GTEST_FLAG(print_time) = false;
    testing::GTEST_FLAG(brief) = true;
  }
  int failed = RUN_ALL_TESTS();
  int failed_anywhere = 0;
  MPI_Allreduce(&failed, &failed_anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return failed_anywhere;
}

}  // namespace

int main(int argc, char **argv)
{
  const std::string name = std::filesystem::path(argv[0]).filename();
  const bool of_one_file = name.rfind("test_", 0) == 0;
  const bool on_ranks = name.rfind("test_mpi_", 0) == 0 || !of_one_file;
  if (on_ranks) MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  if (of_one_file && !take_file(name)) {
    std::fprintf(stderr, "%s: this program has no tests of a file %s.cpp\n", argv[0], name.c_str());
    if (on_ranks) MPI_Finalize();
    return 1;
  }
  if (!on_ranks) return RUN_ALL_TESTS();
  const int failed = run_on_all_ranks();
  MPI_Finalize();
  return failed;
}
