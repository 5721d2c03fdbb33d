// Sub-communicators whose members do not all come, or do not agree (semantics D.6). Run with a
// short HCCLRUN_CONNECT_TIMEOUT.

#include "support/rank_session.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// Rank 0 and 1 mean different communicators: making them succeeds, the first operation names who is
// missing, and the communicator works once everybody has come.
RANK_TEST(SubCommMissing, InconsistentListsSurfaceInTheFirstOperation) {
  if (ranks.size() < 3) return;
  Session session(ranks);
  HcclComm sub = nullptr, right = nullptr;
  const uint32_t me = ranks.rank();
  if (me == 0) {
    ASSERT_EQ(CreateSubComm(session.comm(), {0, 1}, 4, 0, &sub), HCCL_SUCCESS);
  }
  if (me == 1) {
    ASSERT_EQ(CreateSubComm(session.comm(), {0, 1, 2}, 4, 1, &sub), HCCL_SUCCESS);
  }
  if (me < 2) {
    EXPECT_EQ(HcclBarrier(sub, session.stream()), HCCL_E_TIMEOUT);
    const std::string text = TakeMessages();
    EXPECT_THAT(text, HasSubstr(me == 0 ? "arrived: rank 0; missing: rank 1"
                                        : "arrived: rank 1; missing: ranks 0,2"));
    EXPECT_THAT(text, HasSubstr("EI0006"));
    EXPECT_THAT(text, HasSubstr("same rankIds"));
    HcclResult background = HCCL_E_INTERNAL;
    EXPECT_EQ(HcclGetCommAsyncError(sub, &background), HCCL_SUCCESS);
    EXPECT_EQ(background, HCCL_SUCCESS);
  }
  ranks.Meet();
  if (me == 1) {
    EXPECT_EQ(HcclCommDestroy(sub), HCCL_SUCCESS);
    ASSERT_EQ(CreateSubComm(session.comm(), {0, 1}, 4, 1, &sub), HCCL_SUCCESS);
  }
  if (me < 2) {
    EXPECT_EQ(HcclBarrier(sub, session.stream()), HCCL_SUCCESS) << TakeMessages();
    EXPECT_EQ(session.Synchronize(), 0) << TakeMessages();
    EXPECT_EQ(HcclCommDestroy(sub), HCCL_SUCCESS);
  }
  EXPECT_EQ(right, nullptr);
  // The parent is none the worse.
  ASSERT_EQ(HcclBarrier(session.comm(), session.stream()), HCCL_SUCCESS);
  EXPECT_EQ(session.Synchronize(), 0) << TakeMessages();
}

// What is wrong with the arguments is told at once, in the order of semantics C.1: nobody waits for
// members, of which one never comes here.
RANK_TEST(SubCommMissing, ArgumentErrorsDoNotWait) {
  if (ranks.size() < 2) return;
  Session session(ranks);
  if (ranks.rank() == 0) {
    HcclComm sub = nullptr;
    ASSERT_EQ(CreateSubComm(session.comm(), {0, 1}, 9, 0, &sub), HCCL_SUCCESS);
    DeviceMemory memory(4096);
    void* const buf = memory.data();
    aclrtStream stream = session.stream();
    int32_t host[4] = {};
    uint64_t counts[4] = {1, 1, 1, 1}, displs[4] = {0, 1, 2, 3};
    const auto type = HCCL_DATA_TYPE_INT32;
    EXPECT_EQ(HcclBroadcast(buf, 1, type, 2, sub, stream), HCCL_E_PARA);
    EXPECT_EQ(HcclReduce(buf, buf, 1, type, HCCL_REDUCE_SUM, 7, sub, stream), HCCL_E_PARA);
    EXPECT_EQ(HcclScatter(nullptr, buf, 1, type, 0, sub, stream), HCCL_E_PTR);
    EXPECT_EQ(HcclAllReduce(host, buf, 1, type, HCCL_REDUCE_SUM, sub, stream), HCCL_E_PARA);
    EXPECT_EQ(HcclAllGather(buf, host, 1, type, sub, stream), HCCL_E_PARA);
    EXPECT_EQ(HcclAllGatherV(buf, 2, buf, counts, displs, type, sub, stream), HCCL_E_PARA);
    EXPECT_EQ(HcclAllGatherV(host, 1, buf, counts, displs, type, sub, stream), HCCL_E_PARA);
    EXPECT_EQ(HcclSend(buf, 1, type, 2, sub, stream), HCCL_E_PARA);
    EXPECT_EQ(HcclSend(buf, 1, type, 0, sub, stream), HCCL_E_PARA) << "to itself";
    EXPECT_EQ(HcclRecv(host, 1, type, 1, sub, stream), HCCL_E_PARA);
    HcclSendRecvItem item{HCCL_SEND, buf, 1, type, 5};
    EXPECT_EQ(HcclBatchSendRecv(&item, 1, sub, stream), HCCL_E_PARA);
    HcclCommSymWindow window = nullptr;
    size_t offset = 0;
    EXPECT_EQ(HcclCommSymWinGet(sub, buf, 4, &window, &offset), HCCL_E_NOT_FOUND);
    EXPECT_EQ(HcclCommSuspend(sub), HCCL_SUCCESS);
    EXPECT_EQ(HcclAllReduce(buf, buf, 1, type, HCCL_REDUCE_SUM, sub, stream), HCCL_E_SUSPENDING);
    EXPECT_EQ(HcclCommDestroy(sub), HCCL_SUCCESS);
    TakeMessages();
  }
  ranks.Meet();
}

// A member that destroys the communicator before it has met the others is known not to come.
RANK_TEST(SubCommMissing, AMemberHasDestroyedIt) {
  if (ranks.size() < 2) return;
  Session session(ranks);
  HcclComm sub = nullptr;
  const uint32_t me = ranks.rank();
  // A third member that never comes keeps the first two waiting.
  std::vector<uint32_t> members = {0, 1};
  if (ranks.size() > 2) members.push_back(2);
  if (me < 2) {
    ASSERT_EQ(CreateSubComm(session.comm(), members, 1, me, &sub), HCCL_SUCCESS);
  }
  ranks.Meet();
  if (me == 1) {
    EXPECT_EQ(HcclCommDestroy(sub), HCCL_SUCCESS);
  }
  ranks.Meet();
  if (me == 0) {
    if (ranks.size() > 2) {
      const HcclResult result = HcclBarrier(sub, session.stream());
      EXPECT_NE(result, HCCL_SUCCESS);
      EXPECT_THAT(TakeMessages(), AnyOf(HasSubstr("rank 1"), HasSubstr("missing: ranks 1")));
    }
    EXPECT_EQ(HcclCommDestroy(sub), HCCL_SUCCESS);
  }
  ranks.Meet();
}

}  // namespace
}  // namespace hcclrun::testing
