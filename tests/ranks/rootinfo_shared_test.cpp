// hcclrun --shared-root-info: the n-th HcclGetRootInfo of every rank gives the same bytes, so that
// a program in which every rank asks for its own needs no other channel.

#include "support/rank_session.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

RANK_TEST(SharedRootInfo, IsTheSameEverywhereAndMakesACommunicator) {
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  std::string before;
  for (int turn = 0; turn < 3; ++turn) {
    HcclRootInfo info;
    std::memset(&info, 0, sizeof info);
    ASSERT_EQ(HcclGetRootInfo(&info), HCCL_SUCCESS) << TakeMessages();
    const std::string mine(info.internal, sizeof info.internal);
    EXPECT_NE(mine, before) << "each call gives another one";
    before = mine;
    // Ranks come in any order; whoever is first serves.
    HcclComm comm = nullptr;
    ASSERT_EQ(HcclCommInitRootInfo(ranks.size(), &info, ranks.rank(), &comm), HCCL_SUCCESS)
        << TakeMessages();
    for (const std::string& other : ranks.Exchange(mine)) EXPECT_EQ(other, mine);
    ExpectSum(comm, session.stream(), ranks.size());
    EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
  }
}

}  // namespace
}  // namespace hcclrun::testing
