// What is said when ranks wait too long.

#include <gtest/gtest.h>

#include "dptrain/parallel/communicator.h"
#include "parallel/watchdog.h"

namespace dptrain::test {

TEST(Watchdog, NamesTheRanksThatHaveNotCome)
{
  RankStatus status[3];
  for (int k = 0; k < 3; ++k) {
    status[k].rank = k;
    status[k].process = 100 + k;
    status[k].since = node_milliseconds() - 5000;
    status[k].alive = node_milliseconds();
    status[k].operation = static_cast<int>(Operation::all_reduce);
    status[k].number = 8;
    status[k].waits = 1;
  }
  status[1].number = 7;
  status[1].waits = 0;
  const std::string text =
      timeout_text({&status[0], &status[1], &status[2]}, status[0], 12.0, 10.0);
  EXPECT_NE(
      text.find("rank 0 has waited 12 s for other ranks in all_reduce, its operation number 8"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("Rank 1 (process 101) has not come: its latest operation, number 7"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("Rank 2"), std::string::npos);
  status[1].number = 8;
  status[1].waits = 1;
  EXPECT_NE(timeout_text({&status[0], &status[1]}, status[0], 12.0, 10.0).find("other nodes"),
            std::string::npos);
  // one that came and then was stopped
  status[1].alive = node_milliseconds() - 11000;
  EXPECT_NE(timeout_text({&status[0], &status[1]}, status[0], 12.0, 10.0)
                .find("Rank 1 (process 101) has given no sign of life for 11 s"),
            std::string::npos);
}

TEST(Watchdog, TheTimeCanBeSet)
{
  EXPECT_EQ(communication_timeout(), 1800.0);
  set_communication_timeout(5.0);
  EXPECT_EQ(communication_timeout(), 5.0);
  set_communication_timeout(1800.0);
}

}  // namespace dptrain::test
