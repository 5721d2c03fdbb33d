// Communicators that do not come about because a rank stays away, and operations that a rank never
// calls (semantics D.2, C.5). Run with a short HCCLRUN_CONNECT_TIMEOUT and HCCLRUN_EXEC_TIMEOUT.

#include "support/rank_session.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

RANK_TEST(MissingRank, ListsWhoCameAndWhoDidNot) {
  if (ranks.size() == 1) return;
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  HcclRootInfo info;
  if (ranks.rank() == 0) REQUIRE_OK(HcclGetRootInfo(&info));
  ranks.ShareRootInfo(&info);
  HcclComm comm = nullptr;
  const uint32_t last = ranks.size() - 1;
  const std::string arrived = ranks.size() == 2   ? "arrived: rank 0;"
                              : ranks.size() == 3 ? "arrived: ranks 0-1;"
                                                  : "arrived: ranks 0-" + std::to_string(last - 1) + ";";
  if (ranks.rank() != last) {
    EXPECT_EQ(HcclCommInitRootInfo(ranks.size(), &info, ranks.rank(), &comm), HCCL_E_INTERNAL);
    const std::string text = TakeMessages();
    EXPECT_THAT(text, HasSubstr(arrived));
    EXPECT_THAT(text, HasSubstr("missing: rank " + std::to_string(last)));
  }
  ranks.Meet();
  // One that comes after the others gave up learns why.
  if (ranks.rank() == last) {
    EXPECT_NE(HcclCommInitRootInfo(ranks.size(), &info, ranks.rank(), &comm), HCCL_SUCCESS);
  }
  EXPECT_EQ(comm, nullptr);
  ranks.Meet();
}

// Everybody but the one whose process serves the root info.
RANK_TEST(MissingRank, TheRootItself) {
  if (ranks.size() == 1) return;
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  HcclRootInfo info;
  if (ranks.rank() == 0) REQUIRE_OK(HcclGetRootInfo(&info));
  ranks.ShareRootInfo(&info);
  HcclComm comm = nullptr;
  if (ranks.rank() != 0) {
    EXPECT_EQ(HcclCommInitRootInfo(ranks.size(), &info, ranks.rank(), &comm), HCCL_E_INTERNAL);
    EXPECT_THAT(TakeMessages(), HasSubstr("missing: rank 0"));
  }
  ranks.Meet();
}

// An operation that one rank never calls: the others' streams fail after the execution timeout,
// with the missing rank and its last call named, and the communicator is out of use on all ranks.
RANK_TEST(MissingCall, FailsAfterTheExecutionTimeout) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  DeviceMemory memory(4096);
  ASSERT_EQ(HcclBarrier(session.comm(), session.stream()), HCCL_SUCCESS);
  ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
  const uint32_t last = ranks.size() - 1;
  const auto all_reduce = [&] {
    return HcclAllReduce(memory.data(), memory.data(), 8, HCCL_DATA_TYPE_INT8, HCCL_REDUCE_SUM,
                         session.comm(), session.stream());
  };
  if (ranks.rank() != last) {
    ASSERT_EQ(all_reduce(), HCCL_SUCCESS);
    EXPECT_EQ(session.Synchronize(), 507017);
    const std::string text = TakeMessages();
    EXPECT_THAT(text, HasSubstr("missing: rank " + std::to_string(last)));
    EXPECT_THAT(text, HasSubstr("last call HcclBarrier #1"));
  }
  ranks.Meet();
  EXPECT_NE(all_reduce(), HCCL_SUCCESS) << "out of use everywhere, also for the late rank";
  // And says again why, although those that waited have taken their calls back.
  EXPECT_THAT(TakeMessages(), AllOf(HasSubstr("HcclAllReduce(count 8, int8, sum)"),
                                    HasSubstr("missing: rank " + std::to_string(last))));
}

// A barrier waits for ever (semantics C.2): longer than the execution timeout, measured
// by another timeout.
RANK_TEST(MissingCall, BarrierHasNoTimeout) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  const uint32_t last = ranks.size() - 1;
  if (ranks.rank() != last) {
    ASSERT_EQ(HcclBarrier(session.comm(), session.stream()), HCCL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(session.stream(), 900), 507046);
  }
  ranks.Meet();
  if (ranks.rank() == last) {
    ASSERT_EQ(HcclBarrier(session.comm(), session.stream()), HCCL_SUCCESS);
  }
  EXPECT_EQ(session.Synchronize(), 0) << TakeMessages();
}

// A rank that has destroyed the communicator is known not to come: no timeout is waited for.
RANK_TEST(MissingCall, RankHasDestroyedTheCommunicator) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  HcclComm other = session.NewCommunicator();
  DeviceMemory memory(4096);
  // What was called before the destruction still happens.
  ASSERT_EQ(HcclAllReduce(memory.data(), memory.data(), 8, HCCL_DATA_TYPE_INT8, HCCL_REDUCE_SUM,
                          other, session.stream()),
            HCCL_SUCCESS);
  const uint32_t last = ranks.size() - 1;
  if (ranks.rank() == last) REQUIRE_OK(HcclCommDestroy(other));
  EXPECT_EQ(session.Synchronize(), 0) << TakeMessages();
  ranks.Meet();
  if (ranks.rank() != last) {
    ASSERT_EQ(HcclBarrier(other, session.stream()), HCCL_SUCCESS);  // even a barrier
    EXPECT_NE(session.Synchronize(), 0);
    EXPECT_THAT(TakeMessages(), HasSubstr("rank " + std::to_string(last)));
  }
  ranks.Meet();
  if (ranks.rank() != last) REQUIRE_OK(HcclCommDestroy(other));
}

}  // namespace
}  // namespace hcclrun::testing
