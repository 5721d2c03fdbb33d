// The machine that a job plays: its servers and SuperPoDs (hcclrun --servers, --superpods), and the
// names of its chip (HCCLRUN_SOC).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/soc.h"
#include "base/topology.h"

namespace hcclrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Topology Good(const std::string& servers, const std::string& superpods) {
  std::string error;
  Topology topology = Topology::Parse(servers, superpods, &error);
  EXPECT_EQ(error, "");
  return topology;
}

TEST(Topology, NotGivenIsOneServer) {
  const Topology none = Good("", "");
  EXPECT_FALSE(none.given());
  EXPECT_EQ(none.ranks(), 0u);
  EXPECT_EQ(none.largest_server(), 0u);
  for (uint32_t rank : {0u, 7u}) {
    EXPECT_EQ(none.Of(rank).server, 0u);
    EXPECT_EQ(none.Of(rank).superpod, 0u);
    EXPECT_EQ(none.Of(rank).local_rank, rank);
  }
}

TEST(Topology, RanksFillServersAndServersFillSuperPods) {
  const Topology t = Good("2,1,3", "1,2");
  EXPECT_TRUE(t.given());
  EXPECT_EQ(t.ranks(), 6u);
  EXPECT_EQ(t.largest_server(), 3u);
  std::vector<std::vector<uint32_t>> places;
  for (uint32_t rank = 0; rank < 6; ++rank) {
    const Place p = t.Of(rank);
    places.push_back({p.server, p.superpod, p.pod_server, p.local_rank});
  }
  EXPECT_THAT(places, ElementsAre(ElementsAre(0, 0, 0, 0), ElementsAre(0, 0, 0, 1),
                                  ElementsAre(1, 1, 0, 0), ElementsAre(2, 1, 1, 0),
                                  ElementsAre(2, 1, 1, 1), ElementsAre(2, 1, 1, 2)));
  EXPECT_EQ(t.Of(6).server, 0u) << "beyond the last";
  EXPECT_THAT(Good("4,4", "").superpods(), ElementsAre(2)) << "all in one SuperPoD";
}

TEST(Topology, MistakesAreNamed) {
  const auto bad = [](const char* servers, const char* superpods, const char* text) {
    std::string error;
    EXPECT_FALSE(Topology::Parse(servers, superpods, &error).given());
    EXPECT_THAT(error, HasSubstr(text));
  };
  for (const char* servers : {"0", "4,", ",4", "4 4", "-1", "1025", "4.5", "99999999999"})
    bad(servers, "", "the ranks of each server");
  bad("4,4", "x", "the servers of each SuperPoD");
  bad("4,4", "3", "has 3 servers, but --servers 4,4 has 2");
  bad("", "1", "needs --servers");
}

// Every name that clients know, and what their families are.
TEST(Soc, NamesAndFamilies) {
  for (const char* name : {"Ascend910_9391", "Ascend910_9392", "Ascend910_9381", "Ascend910_9382",
                           "Ascend910_9372", "Ascend910_9362", "Ascend910_9363"}) {
    EXPECT_TRUE(IsSocName(name)) << name;
    EXPECT_TRUE(IsAtlasA3(name)) << name;
    EXPECT_FALSE(IsAtlasA2(name)) << name;
    EXPECT_EQ(SocFamily(name), "Ascend910_93");
  }
  for (const char* name : {"Ascend910B1", "Ascend910B2", "Ascend910B3", "Ascend910B4",
                           "Ascend910B2C", "Ascend910B4-1"}) {
    EXPECT_TRUE(IsSocName(name)) << name;
    EXPECT_FALSE(IsAtlasA3(name)) << name;
    EXPECT_TRUE(IsAtlasA2(name)) << name;
  }
  for (const char* name :
       {"Ascend910PremiumA", "Ascend910ProA", "Ascend910A", "Ascend910ProB", "Ascend910B",
        "Ascend310P1", "Ascend310P7", "Ascend310B4", "Ascend950DT_9595"}) {
    EXPECT_TRUE(IsSocName(name)) << name;
    EXPECT_FALSE(IsAtlasA3(name) || IsAtlasA2(name)) << name;
  }
  EXPECT_EQ(SocFamily("Ascend910A"), "Ascend910A");
  EXPECT_EQ(SocFamily("Ascend950DT_9595"), "Ascend950");
  for (const char* name : {"", "Ascend", "910B3", "Ascend910B9", "ascend910b3"})
    EXPECT_FALSE(IsSocName(name)) << name;
}

}  // namespace
}  // namespace hcclrun
