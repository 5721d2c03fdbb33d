// Memory that is given back while an operation on it is queued (semantics A.7, C.5 item 3): nothing
// crashes, nobody waits for ever, and memory of others stays as it is.

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "support/rank_session.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

// Rank 0 queues an operation, gives its memory back and lets the others come only then.
void GiveBackWhileQueued(RankGroup& ranks, size_t bytes,
                         const std::function<HcclResult(Session&, void*)>& call) {
  if (ranks.size() == 1) return;
  Session s(ranks);
  DeviceMemory other(4096);
  const std::vector<uint8_t> before(4096, 0x42);
  UploadValues(other.data(), before);
  void* memory = nullptr;
  REQUIRE_OK(HcclMemAlloc(&memory, bytes));
  if (s.rank() == 0) {
    ASSERT_EQ(call(s, memory), HCCL_SUCCESS);
    REQUIRE_OK(HcclMemFree(memory));
    ranks.Meet();
    (void)s.Synchronize();  // either is right: the values are nobody's any more
  } else {
    ranks.Meet();
    ASSERT_EQ(call(s, memory), HCCL_SUCCESS);
    (void)s.Synchronize();
    REQUIRE_OK(HcclMemFree(memory));
  }
  EXPECT_EQ(Download(other.data(), before.size()), before);
}

RANK_TEST(InFlight, FreedUnderABufferedCollective) {
  GiveBackWhileQueued(ranks, 4 << 20, [](Session& s, void* memory) {
    return HcclAllReduce(memory, memory, 1 << 20, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, s.comm(),
                         s.stream());
  });
}

RANK_TEST(InFlight, FreedUnderASmallCollective) {
  GiveBackWhileQueued(ranks, 4096, [](Session& s, void* memory) {
    return HcclBroadcast(memory, 16, HCCL_DATA_TYPE_FP32, 0, s.comm(), s.stream());
  });
}

RANK_TEST(InFlight, FreedUnderATransfer) {
  GiveBackWhileQueued(ranks, 4 << 20, [](Session& s, void* memory) {
    if (s.rank() == 0)
      return HcclSend(memory, 1 << 20, HCCL_DATA_TYPE_FP32, 1, s.comm(), s.stream());
    if (s.rank() == 1)
      return HcclRecv(memory, 1 << 20, HCCL_DATA_TYPE_FP32, 0, s.comm(), s.stream());
    return HCCL_SUCCESS;
  });
}

// Run with a short execution timeout. Rank 0 comes to an operation when the others have given it up
// and use their buffers for something else: it fails there, too, and writes nothing.
void ComeAfterTheOthersGaveUp(RankGroup& ranks, uint64_t count) {
  if (ranks.size() == 1) return;
  Session s(ranks);
  DeviceMemory in(count * 4), out(count * 4);
  const std::vector<int32_t> reused(count, 0x55);
  UploadValues(in.data(), std::vector<int32_t>(count, 1));
  std::atomic<bool> go{false};
  if (s.rank() == 0) {
    REQUIRE_OK(aclrtLaunchHostFunc(
        s.stream(),
        [](void* flag) {
          while (!static_cast<std::atomic<bool>*>(flag)->load(std::memory_order_acquire))
            std::this_thread::yield();
        },
        &go));
  }
  ranks.Meet();  // who comes later than the timeout is refused at once
  ASSERT_EQ(HcclAllReduce(in.data(), out.data(), count, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                          s.comm(), s.stream()),
            HCCL_SUCCESS);
  if (s.rank() != 0) {
    EXPECT_EQ(s.Synchronize(), 507017);
  }
  UploadValues(out.data(), reused);
  ranks.Meet();
  go.store(true, std::memory_order_release);
  if (s.rank() == 0) {
    EXPECT_EQ(s.Synchronize(), 507017);
  }
  ranks.Meet();
  EXPECT_EQ(DownloadValues<int32_t>(out.data(), count), reused);
}

RANK_TEST(GivenUp, ShortOperation) { ComeAfterTheOthersGaveUp(ranks, 2); }
RANK_TEST(GivenUp, SharedOperation) { ComeAfterTheOthersGaveUp(ranks, 20'000); }
RANK_TEST(GivenUp, LongOperation) { ComeAfterTheOthersGaveUp(ranks, 1'000'000); }

}  // namespace
}  // namespace hcclrun::testing
