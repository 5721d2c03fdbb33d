#include "launcher/environment.h"

#include <gtest/gtest.h>

#include "base/job.h"

namespace hcclrun {
namespace {

TEST(RankEnvironment, EveryNameOfRankAndSizeIsSet) {
  Environment e;
  e[kEnvServers] = "of an outer job";
  SetJobVariables({"job", "secret", "socket"}, 8, 8, Topology(), &e);
  SetRankVariables(3, 8, 8, Topology(), &e);
  for (const char* name : {"RANK", "LOCAL_RANK", "RANK_ID", "DEVICE_ID", kEnvRank})
    EXPECT_EQ(e[name], "3") << name;
  for (const char* name :
       {"WORLD_SIZE", "LOCAL_WORLD_SIZE", "RANK_SIZE", kEnvSize, kEnvDeviceCount}) {
    EXPECT_EQ(e[name], "8") << name;
  }
  EXPECT_EQ(e[kEnvJob], "job");
  EXPECT_EQ(e[kEnvSecret], "secret");
  EXPECT_EQ(e[kEnvLifeline], "socket");
  EXPECT_EQ(e.count(kEnvServers) + e.count(kEnvSuperPods), 0u);
}

TEST(RankEnvironment, OnServersOfItsOwn) {
  std::string error;
  const Topology topology = Topology::Parse("4,2", "1,1", &error);
  Environment e;
  SetJobVariables({"job", "secret", "socket"}, 6, 4, topology, &e);
  SetRankVariables(5, 6, 4, topology, &e);
  EXPECT_EQ(e[kEnvServers], "4,2");
  EXPECT_EQ(e[kEnvSuperPods], "1,1");
  EXPECT_EQ(e["RANK"], "5");
  EXPECT_EQ(e["WORLD_SIZE"], "6");
  EXPECT_EQ(e["LOCAL_RANK"], "1");
  EXPECT_EQ(e["LOCAL_WORLD_SIZE"], "2");
  EXPECT_EQ(e["DEVICE_ID"], "1");
}

TEST(RankEnvironment, RanksShareDevicesWhenThereAreFewer) {
  Environment e;
  SetRankVariables(5, 8, 4, Topology(), &e);
  EXPECT_EQ(e["DEVICE_ID"], "1");
  EXPECT_EQ(e["RANK"], "5");
}

TEST(RankEnvironment, UserVariablesWinAndAreSubstituted) {
  Environment e;
  SetRankVariables(2, 4, 4, Topology(), &e);
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
