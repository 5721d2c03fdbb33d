// Memory that is given back while an operation on it is queued (semantics A.7, C.5 item 3): nothing
// crashes, nobody waits for ever, and memory of others stays as it is.

#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "support/gate.h"
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

// One end gives a long message up while both move parts of it. Where it was too late the other has all
// of it; nobody writes to or needs a buffer after its owner has it back.
RANK_TEST(InFlight, TransferGivenUpWhileItMoves) {
  if (ranks.size() == 1) return;
  constexpr uint64_t kCount = 2 << 20;
  for (int round = 0; round < 8; round++) {
    Session s(ranks);
    const bool gives_up = s.rank() == uint32_t(round % 2),
               sends = s.rank() == uint32_t(round / 2 % 2);
    if (s.rank() < 2) {
      DeviceMemory memory(kCount * 4);
      std::vector<int32_t> message(kCount);
      for (uint64_t i = 0; i < kCount; i++) message[i] = static_cast<int32_t>(i * 3 + 1) + round;
      const std::vector<int32_t> reused(kCount, -1);
      UploadValues(memory.data(), sends ? message : std::vector<int32_t>(kCount, -2));
      const uint32_t peer = 1 - s.rank();
      ranks.Meet();
      const HcclResult result =
          sends ? HcclSend(memory.data(), kCount, HCCL_DATA_TYPE_INT32, peer, s.comm(), s.stream())
                : HcclRecv(memory.data(), kCount, HCCL_DATA_TYPE_INT32, peer, s.comm(), s.stream());
      if (gives_up && result == HCCL_SUCCESS) {
        std::thread driver([&] {
          REQUIRE_OK(aclrtSetDevice(s.device()));
          (void)s.Synchronize();  // may begin when all is over
        });
        // Somewhere in the two or three milliseconds that it takes, perhaps.
        const auto until =
            std::chrono::steady_clock::now() + std::chrono::microseconds(round * 350);
        while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
        EXPECT_EQ(aclrtStreamAbort(s.stream()), 0);
        driver.join();
      } else if (!gives_up && result == HCCL_SUCCESS && s.Synchronize() == 0 && !sends) {
        EXPECT_TRUE(DownloadValues<int32_t>(memory.data(), kCount) == message) << "round " << round;
      }
      UploadValues(memory.data(), reused);
      TakeMessages();
      ranks.Meet();
      EXPECT_TRUE(DownloadValues<int32_t>(memory.data(), kCount) == reused) << "round " << round;
    } else {
      ranks.Meet();
      ranks.Meet();
    }
    ranks.Meet();
  }
}

// Run with a short execution timeout. Rank 0 comes to an operation when the others have given it up
// and use their buffers for something else: it fails there, too, and writes nothing.
void ComeAfterTheOthersGaveUp(RankGroup& ranks, uint64_t count) {
  if (ranks.size() == 1) return;
  Session s(ranks);
  DeviceMemory in(count * 4), out(count * 4);
  const std::vector<int32_t> reused(count, 0x55);
  UploadValues(in.data(), std::vector<int32_t>(count, 1));
  std::optional<Gate> gate;
  if (s.rank() == 0) gate.emplace(s.stream());
  ranks.Meet();  // who comes later than the timeout is refused at once
  ASSERT_EQ(HcclAllReduce(in.data(), out.data(), count, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                          s.comm(), s.stream()),
            HCCL_SUCCESS);
  if (s.rank() != 0) {
    EXPECT_EQ(s.Synchronize(), 507017);
  }
  UploadValues(out.data(), reused);
  ranks.Meet();
  if (gate) gate->Unlock();
  if (s.rank() == 0) {
    EXPECT_EQ(s.Synchronize(), 507017);
  }
  ranks.Meet();
  EXPECT_EQ(DownloadValues<int32_t>(out.data(), count), reused);
}

RANK_TEST(GivenUp, ShortOperation) { ComeAfterTheOthersGaveUp(ranks, 2); }
RANK_TEST(GivenUp, SharedOperation) { ComeAfterTheOthersGaveUp(ranks, 20'000); }
RANK_TEST(GivenUp, LongOperation) { ComeAfterTheOthersGaveUp(ranks, 1'000'000); }

// Rank 0 destroys the stream of an operation that waits, and uses the buffers for something else at
// once; the others come only then.
void ComeAfterItWasDropped(RankGroup& ranks, uint64_t count) {
  if (ranks.size() == 1) return;
  Session s(ranks);
  DeviceMemory in(count * 4), out(count * 4);
  const std::vector<int32_t> reused(count, 0x55);
  UploadValues(in.data(), std::vector<int32_t>(count, 1));
  auto call = [&](aclrtStream stream) {
    return HcclAllReduce(in.data(), out.data(), count, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                         s.comm(), stream);
  };
  if (s.rank() == 0) {
    aclrtStream stream = nullptr;
    REQUIRE_OK(aclrtCreateStream(&stream));
    ASSERT_EQ(call(stream), HCCL_SUCCESS);
    // By then its worker waits for the others; were it later, this would see less and not fail.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    REQUIRE_OK(aclrtDestroyStreamForce(stream));
    UploadValues(out.data(), reused);
    ranks.Meet();
    ranks.Meet();
    EXPECT_EQ(DownloadValues<int32_t>(out.data(), count), reused);
  } else {
    ranks.Meet();
    const HcclResult result = call(s.stream());
    const aclError outcome = s.Synchronize();
    EXPECT_TRUE(result != HCCL_SUCCESS || outcome != 0) << "without rank 0";
    EXPECT_THAT(TakeMessages(), ::testing::HasSubstr("rank 0 dropped operations"));
    ranks.Meet();
  }
}

RANK_TEST(GivenUp, DroppedExchange) { ComeAfterItWasDropped(ranks, 4); }
RANK_TEST(GivenUp, DroppedShortOperation) { ComeAfterItWasDropped(ranks, 1'000); }
RANK_TEST(GivenUp, DroppedSharedOperation) { ComeAfterItWasDropped(ranks, 20'000); }
RANK_TEST(GivenUp, DroppedLongOperation) { ComeAfterItWasDropped(ranks, 1'000'000); }

// Run with a bound on memory. Rank 0 has none left for its HCCL buffers when all have come: it
// fails, and what the others write while they do their shares does not go into what it has used its
// buffers for since.
RANK_TEST(NoMemoryToBegin, NobodyWritesAfterTheError) {
  if (ranks.size() == 1) return;
  Session s(ranks);
  constexpr uint64_t kCount = 4 << 20;
  DeviceMemory in(kCount * 4), out(kCount * 4);
  const std::vector<int32_t> reused(kCount, 0x55);
  UploadValues(in.data(), std::vector<int32_t>(kCount, 1));
  UploadValues(out.data(), std::vector<int32_t>(kCount, 2));
  auto call = [&] {
    return HcclAllReduce(in.data(), out.data(), kCount, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                         s.comm(), s.stream());
  };
  if (s.rank() == 0) {
    ranks.Meet();
    std::vector<void*> all;
    for (size_t bytes = 64 << 20; bytes >= 4096; bytes /= 2) {
      for (void* more; aclrtMalloc(&more, bytes, ACL_MEM_MALLOC_HUGE_FIRST) == 0;)
        all.push_back(more);
    }
    TakeMessages();
    EXPECT_TRUE(call() != HCCL_SUCCESS || s.Synchronize() != 0);
    EXPECT_THAT(TakeMessages(), ::testing::HasSubstr("memory"));
    UploadValues(out.data(), reused);
    ranks.Meet();
    EXPECT_EQ(DownloadValues<int32_t>(out.data(), kCount), reused);
    for (void* memory : all) REQUIRE_OK(aclrtFree(memory));
  } else {
    ASSERT_EQ(call(), HCCL_SUCCESS);
    ranks.Meet();
    EXPECT_NE(s.Synchronize(), 0);
    ranks.Meet();
  }
}

}  // namespace
}  // namespace hcclrun::testing
