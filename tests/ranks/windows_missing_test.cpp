// A rank that does not register while the others do (semantics A.3 step 17, A.4, A.5). Run with a
// short HCCLRUN_CONNECT_TIMEOUT.

#include "support/rank_session.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;

HcclResult Register(HcclComm comm, void* address, HcclCommSymWindow* window) {
  return HcclCommSymWinRegister(comm, address, 4096, window, 1);
}

std::string Missing(RankGroup& ranks) {
  return "missing: rank " + std::to_string(ranks.size() - 1);
}

// In the first round of a communicator: 4, and for ever.
RANK_TEST(MissingRank, InTheFirstRound) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  MappedMemory memory(session.device(), kGranularity);
  HcclCommSymWindow window = nullptr;
  const bool away = ranks.rank() == ranks.size() - 1;
  if (!away) {
    EXPECT_EQ(Register(session.comm(), memory.data(), &window), HCCL_E_INTERNAL);
    EXPECT_THAT(TakeMessages(), HasSubstr(Missing(ranks)));
    EXPECT_EQ(Register(session.comm(), memory.data(), &window), HCCL_E_INTERNAL) << "remembered";
  }
  ranks.Meet();
  // The one that stayed away finds that the round is over, rather than completing it too late.
  if (away) {
    EXPECT_EQ(Register(session.comm(), memory.data(), &window), HCCL_E_INTERNAL);
  }
  // Windows are out of use, operations are not.
  ASSERT_EQ(HcclBarrier(session.comm(), session.stream()), HCCL_SUCCESS);
  EXPECT_EQ(session.Synchronize(), 0) << TakeMessages();
}

// Later: 13, remembered as well.
RANK_TEST(MissingRank, InALaterRound) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  WindowMemory first(session, kGranularity);
  MappedMemory memory(session.device(), kGranularity);
  HcclCommSymWindow window = nullptr;
  if (ranks.rank() != ranks.size() - 1) {
    EXPECT_EQ(Register(session.comm(), memory.data(), &window), HCCL_E_TCP_TRANSFER);
    EXPECT_THAT(TakeMessages(), HasSubstr(Missing(ranks)));
    EXPECT_EQ(Register(session.comm(), memory.data(), &window), HCCL_E_TCP_TRANSFER);
  }
  ranks.Meet();
  // The window of the earlier round is still one.
  ASSERT_EQ(HcclAllGather(first.data(), first.data() + 4096, 10, HCCL_DATA_TYPE_INT8,
                          session.comm(), session.stream()),
            HCCL_SUCCESS);
  EXPECT_EQ(session.Synchronize(), 0) << TakeMessages();
  EXPECT_EQ(session.LastPath(), HCCLRUN_PATH_WINDOW);
}

// A rank that fails locally leaves the others waiting.
RANK_TEST(MissingRank, BecauseItsAddressWasRefused) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  MappedMemory memory(session.device(), kGranularity);
  HcclCommSymWindow window = nullptr;
  int local = 0;
  if (ranks.rank() == ranks.size() - 1) {
    EXPECT_EQ(Register(session.comm(), &local, &window), HCCL_E_PARA);
  } else {
    EXPECT_EQ(Register(session.comm(), memory.data(), &window), HCCL_E_INTERNAL);
    EXPECT_THAT(TakeMessages(), HasSubstr(Missing(ranks)));
  }
  ranks.Meet();
}

// One that has destroyed the communicator is known not to come.
RANK_TEST(MissingRank, BecauseItLeftTheCommunicator) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  HcclComm other = session.NewCommunicator();
  MappedMemory memory(session.device(), kGranularity);
  HcclCommSymWindow window = nullptr;
  if (ranks.rank() == ranks.size() - 1) {
    REQUIRE_OK(HcclCommDestroy(other));
    return ranks.Meet();
  }
  EXPECT_EQ(Register(other, memory.data(), &window), HCCL_E_INTERNAL);
  EXPECT_THAT(TakeMessages(), HasSubstr("has destroyed the communicator"));
  ranks.Meet();
  REQUIRE_OK(HcclCommDestroy(other));
}

// The other communicators of the process are not concerned.
RANK_TEST(MissingRank, OtherCommunicatorsGoOn) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  HcclComm other = session.NewCommunicator();
  {
    MappedMemory memory(session.device(), kGranularity);
    HcclCommSymWindow window = nullptr;
    if (ranks.rank() != 0) {
      EXPECT_EQ(Register(other, memory.data(), &window), HCCL_E_INTERNAL);
    }
    ranks.Meet();
    WindowMemory fine(session, kGranularity);
  }
  REQUIRE_OK(HcclCommDestroy(other));
}

// Run with an execution timeout that is shorter than the connect timeout. One rank goes to an
// operation, the others register, and each side waits for the other.
RANK_TEST(SkippedRegistration, OfARankThatIsInAnOperation) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  MappedMemory memory(session.device(), kGranularity);
  HcclCommSymWindow window = nullptr;
  if (session.rank() == session.size() - 1) {
    REQUIRE_OK(HcclAllReduce(memory.data(), memory.data(), 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                             session.comm(), session.stream()));
    EXPECT_NE(session.Synchronize(), 0);
  } else {
    EXPECT_EQ(Register(session.comm(), memory.data(), &window), HCCL_E_INTERNAL);
    EXPECT_THAT(TakeMessages(), HasSubstr(Missing(ranks) + " (last call HcclAllReduce #1"));
  }
  ranks.Meet();
}

}  // namespace
}  // namespace hcclrun::testing
