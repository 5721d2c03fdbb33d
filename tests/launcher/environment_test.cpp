#include "launcher/environment.h"

#include <gtest/gtest.h>

#include "base/job.h"

namespace hcclrun {
namespace {

TEST(RankEnvironment, EveryNameOfRankAndSizeIsSet) {
  Environment e;
  SetJobVariables({"job", "secret", "socket"}, 8, 8, &e);
  SetRankVariables(3, 8, &e);
  for (const char* name : {"RANK", "LOCAL_RANK", "RANK_ID", "DEVICE_ID", kEnvRank})
    EXPECT_EQ(e[name], "3") << name;
  for (const char* name :
       {"WORLD_SIZE", "LOCAL_WORLD_SIZE", "RANK_SIZE", kEnvSize, kEnvDeviceCount}) {
    EXPECT_EQ(e[name], "8") << name;
  }
  EXPECT_EQ(e[kEnvJob], "job");
  EXPECT_EQ(e[kEnvSecret], "secret");
  EXPECT_EQ(e[kEnvLifeline], "socket");
}

TEST(RankEnvironment, RanksShareDevicesWhenThereAreFewer) {
  Environment e;
  SetRankVariables(5, 4, &e);
  EXPECT_EQ(e["DEVICE_ID"], "1");
  EXPECT_EQ(e["RANK"], "5");
}

TEST(RankEnvironment, UserVariablesWinAndAreSubstituted) {
  Environment e;
  SetRankVariables(2, 4, &e);
  SetUserVariables({"RANK=own", "LOG=/tmp/{rank}-of-{size}"}, 2, 4, &e);
  EXPECT_EQ(e["RANK"], "own");
  EXPECT_EQ(e["LOG"], "/tmp/2-of-4");
}

TEST(RankEnvironment, SubstitutionReplacesOnlyKnownNames) {
  EXPECT_EQ(Substitute("{rank}{rank}/{size}", 7, 8), "77/8");
  EXPECT_EQ(Substitute("{Rank} {} {ranks} {", 7, 8), "{Rank} {} {ranks} {");
}

TEST(RankEnvironment, JobsHaveDifferentIdentities) {
  JobIdentity a = JobIdentity::Random(), b = JobIdentity::Random();
  EXPECT_NE(a.id, b.id);
  EXPECT_NE(a.secret, b.secret);
  EXPECT_NE(a.lifeline, b.lifeline);
  EXPECT_EQ(a.secret.size(), 32u);
}

}  // namespace
}  // namespace hcclrun
