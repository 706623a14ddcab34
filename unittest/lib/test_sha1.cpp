// SHA-1, from which the names of requests in a spool are made, against the examples of the standard (FIPS 180-4).

#include <gtest/gtest.h>

#include "base/sha1.h"

namespace dptrain::test {

TEST(Sha1, NumbersOfTheStandard)
{
  EXPECT_EQ(sha1("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(sha1(std::string(1000000, 'a')), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

}  // namespace dptrain::test
