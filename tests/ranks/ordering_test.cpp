// What a stream orders stays in order, whatever peers could already do (semantics C.5 item 4): they
// may reach a later operation of this rank first, on streams or communicators of their own.

#include <optional>
#include <thread>

#include "ranks/arena.h"
#include "support/gate.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

constexpr auto kInt = HCCL_DATA_TYPE_INT32;

// On rank 0, one stream: A reads x, then B overwrites x. The others come to B long before A. B, in
// windows, is executed by whoever is there; it must not begin before rank 0 has done A.
RANK_TEST(Ordering, LaterOperationOfAnotherCommunicatorWaitsForTheStream) {
  if (ranks.size() == 1) return;
  Session s(ranks);
  HcclComm a = s.NewCommunicator();
  aclrtStream other;
  REQUIRE_OK(aclrtCreateStream(&other));
  constexpr uint64_t kCount = 50000;
  const uint32_t n = s.size();
  WindowMemory window(s, (n + 1) * kCount * 4);
  char* out = window.data();                   // of B
  char* x = out + (n - 1) * kCount * 4;        // the block of it that the last rank writes
  char* source = window.data() + n * kCount * 4;
  DeviceMemory y(n * kCount * 4);
  auto values = [](uint32_t rank, int what) {
    std::vector<int32_t> v(kCount);
    for (uint64_t i = 0; i < kCount; ++i) v[i] = static_cast<int32_t>(Hash(rank, what, i));
    return v;
  };
  UploadValues(x, values(s.rank(), 1));
  UploadValues(source, values(s.rank(), 2));
  ranks.Meet();
  auto first = [&](aclrtStream stream) {
    ASSERT_EQ(HcclAllGather(x, y.data(), kCount, kInt, a, stream), HCCL_SUCCESS);
  };
  auto second = [&](aclrtStream stream) {
    ASSERT_EQ(HcclAllGather(source, out, kCount, kInt, s.comm(), stream), HCCL_SUCCESS);
  };
  if (s.rank() == 0) {
    first(s.stream());
    second(s.stream());
    ranks.Meet();
  } else {
    // x of these ranks is read by A and written by B, too: A reads a copy.
    DeviceMemory copy(kCount * 4);
    UploadValues(copy.data(), values(s.rank(), 1));
    second(other);
    ranks.Meet();
    (void)aclrtSynchronizeStreamWithTimeout(other, 200);  // every chance to do it too early
    ASSERT_EQ(HcclAllGather(copy.data(), y.data(), kCount, kInt, a, s.stream()), HCCL_SUCCESS);
    EXPECT_EQ(s.Synchronize(), 0) << TakeMessages();
    EXPECT_EQ(aclrtSynchronizeStream(other), 0) << TakeMessages();
  }
  EXPECT_EQ(s.Synchronize(), 0) << TakeMessages();
  for (uint32_t r = 0; r < n; ++r) {
    EXPECT_EQ(DownloadValues<int32_t>(y.data() + r * kCount * 4, kCount), values(r, 1)) << r;
    EXPECT_EQ(DownloadValues<int32_t>(out + r * kCount * 4, kCount), values(r, 2)) << r;
  }
  ranks.Meet();
  REQUIRE_OK(HcclCommDestroy(a));
  REQUIRE_OK(aclrtDestroyStream(other));
}

// A chain of operations, each from where the one before has put its result: so much lies in
// different outputs then that stores bypass the caches, from some operation on that need not be the
// same on all ranks.
RANK_TEST(Ordering, EachReadsTheOutputOfTheOneBefore) {
  Session s(ranks);
  constexpr uint64_t kCount = 80000;
  constexpr int kOperations = 16;
  WindowMemory window(s, (kOperations + 1) * kCount * 4);
  DeviceMemory plain((kOperations + 1) * kCount * 4);
  std::vector<int32_t> mine(kCount), sum(kCount, 0);
  for (uint32_t r = 0; r < s.size(); ++r) {
    for (uint64_t i = 0; i < kCount; ++i) {
      const auto value = static_cast<int32_t>(Hash(r, 3, i) % 100000 + 1);
      sum[i] += value;
      if (r == s.rank()) mine[i] = value;
    }
  }
  for (char* memory : {window.data(), plain.data()}) {
    UploadValues(memory, mine);
    for (int k = 0; k < kOperations; ++k) {
      char* const in = memory + k * kCount * 4;
      ASSERT_EQ(HcclAllReduce(in, in + kCount * 4, kCount, kInt,
                              k == 0 ? HCCL_REDUCE_SUM : HCCL_REDUCE_MAX, s.comm(), s.stream()),
                HCCL_SUCCESS);
    }
    EXPECT_EQ(s.Synchronize(), 0) << TakeMessages();
    for (int k = 1; k <= kOperations; ++k)
      EXPECT_TRUE(DownloadValues<int32_t>(memory + k * kCount * 4, kCount) == sum) << k;
  }
}

// Small and large operations in turns on the same memory: each finds what the one before left, on
// every rank, whichever way it is done. Two rounds for each part of the memory, so that sums stay
// small.
RANK_TEST(Ordering, SmallAndLargeInTurns) {
  Session s(ranks);
  constexpr uint64_t kCount = 20000;
  constexpr int kParts = 35;
  DeviceMemory x(kParts * kCount * 4);
  UploadValues(x.data(), std::vector<uint32_t>(kParts * kCount, 1 + s.rank()));
  const uint32_t n = s.size();
  std::vector<uint32_t> expected;
  for (int part = 0; part < kParts; ++part) {
    char* const at = static_cast<char*>(x.data()) + part * kCount * 4;
    uint32_t head = n * (n + 1) / 2, tail = head;
    for (int round = 0; round < 2; ++round) {
      for (int small = 0; small <= (part + round) % 3; ++small) {
        ASSERT_EQ(HcclAllReduce(at, at, 2, kInt, HCCL_REDUCE_SUM, s.comm(), s.stream()),
                  HCCL_SUCCESS);
        if (round + small > 0) head *= n;
      }
      ASSERT_EQ(HcclAllReduce(at, at, kCount, kInt, HCCL_REDUCE_SUM, s.comm(), s.stream()),
                HCCL_SUCCESS);
      head *= n;
      if (round > 0) tail *= n;
      ASSERT_EQ(HcclBroadcast(at, 1, kInt, (part + round) % n, s.comm(), s.stream()), HCCL_SUCCESS);
    }
    expected.resize(expected.size() + kCount, tail);
    expected[part * kCount] = expected[part * kCount + 1] = head;
  }
  ASSERT_EQ(s.Synchronize(), 0) << TakeMessages();
  EXPECT_EQ(DownloadValues<uint32_t>(x.data(), kParts * kCount), expected);
}

// Operations of one communicator on two streams, small ones on one, end in any order. Ten for each
// part of the memory.
RANK_TEST(Ordering, SmallOperationsOvertakeOnAnotherStream) {
  Session s(ranks);
  aclrtStream other;
  REQUIRE_OK(aclrtCreateStream(&other));
  constexpr uint64_t kCount = 20000;
  constexpr int kParts = 15, kEach = 10;
  DeviceMemory x(kParts * kCount * 4), y(kParts * 8);
  UploadValues(x.data(), std::vector<uint32_t>(kParts * kCount, 1));
  UploadValues(y.data(), std::vector<uint32_t>(kParts * 2, 1));
  uint32_t sum = 1;
  for (int i = 0; i < kEach; ++i) sum *= s.size();
  for (int i = 0; i < kParts * kEach; ++i) {
    char* const large = static_cast<char*>(x.data()) + i / kEach * kCount * 4;
    char* const small = static_cast<char*>(y.data()) + i / kEach * 8;
    ASSERT_EQ(HcclAllReduce(large, large, kCount, kInt, HCCL_REDUCE_SUM, s.comm(), s.stream()),
              HCCL_SUCCESS);
    ASSERT_EQ(HcclAllReduce(small, small, 2, kInt, HCCL_REDUCE_SUM, s.comm(), other), HCCL_SUCCESS);
    if (i % 40 == 0) {
      EXPECT_EQ(aclrtSynchronizeStream(other), 0) << TakeMessages();
    }
  }
  ASSERT_EQ(s.Synchronize(), 0) << TakeMessages();
  ASSERT_EQ(aclrtSynchronizeStream(other), 0) << TakeMessages();
  EXPECT_EQ(DownloadValues<uint32_t>(x.data(), kParts * kCount),
            std::vector<uint32_t>(kParts * kCount, sum));
  EXPECT_EQ(DownloadValues<uint32_t>(y.data(), kParts * 2), std::vector<uint32_t>(kParts * 2, sum));
  REQUIRE_OK(aclrtDestroyStream(other));
}

// Receives of one stream into the same buffer end in their order, in whatever order their sends
// come: the first one is held up in its stream while the second could go.
RANK_TEST(Ordering, ReceivesOfOneBufferKeepTheirOrder) {
  Session s(ranks);
  if (s.size() == 1) return;
  constexpr uint64_t kCount = 20000;
  DeviceMemory first(kCount * 4), second(kCount * 4);
  UploadValues(first.data(), std::vector<uint32_t>(kCount, 1));
  UploadValues(second.data(), std::vector<uint32_t>(kCount, 2));
  aclrtStream other;
  REQUIRE_OK(aclrtCreateStream(&other));
  for (int round = 0; round < 20; ++round) {
    if (s.rank() == 1) UploadValues(first.data(), std::vector<uint32_t>(kCount, 0));
    std::optional<Gate> gate;
    ranks.Meet();
    if (s.rank() == 0) {
      gate.emplace(s.stream());
      EXPECT_EQ(HcclSend(first.data(), kCount, kInt, 1, s.comm(), s.stream()), HCCL_SUCCESS);
      EXPECT_EQ(HcclSend(second.data(), kCount, kInt, 1, s.comm(), other), HCCL_SUCCESS);
    } else if (s.rank() == 1) {
      for (int i = 0; i < 2; ++i)
        EXPECT_EQ(HcclRecv(first.data(), kCount, kInt, 0, s.comm(), s.stream()), HCCL_SUCCESS);
    }
    ranks.Meet();
    for (int i = 0; i < 200; ++i) std::this_thread::yield();  // the second send may go on, or not
    if (gate) gate->Unlock();
    ASSERT_EQ(s.Synchronize(), 0) << TakeMessages();
    ASSERT_EQ(aclrtSynchronizeStream(other), 0) << TakeMessages();
    if (s.rank() == 1) {
      ASSERT_EQ(DownloadValues<uint32_t>(first.data(), kCount), std::vector<uint32_t>(kCount, 2));
    }
  }
  REQUIRE_OK(aclrtDestroyStream(other));
}

// A receive that stands behind a send of the same buffer must not overwrite it.
RANK_TEST(Ordering, ReceiveBehindASendOfTheSameBuffer) {
  Session s(ranks);
  const uint32_t me = s.rank(), peer = me ^ 1;
  if (peer >= s.size()) return;
  aclrtStream other;
  REQUIRE_OK(aclrtCreateStream(&other));
  constexpr uint64_t kCount = 50000;
  DeviceMemory x(kCount * 4), out(kCount * 4);
  UploadValues(x.data(), std::vector<int32_t>(kCount, 1));
  UploadValues(out.data(), std::vector<int32_t>(kCount, 2));
  if (me % 2 == 0) {
    ASSERT_EQ(HcclSend(x.data(), kCount, kInt, peer, s.comm(), s.stream()), HCCL_SUCCESS);
    ASSERT_EQ(HcclRecv(x.data(), kCount, kInt, peer, s.comm(), s.stream()), HCCL_SUCCESS);
    EXPECT_EQ(s.Synchronize(), 0) << TakeMessages();
    EXPECT_EQ(DownloadValues<int32_t>(x.data(), kCount), std::vector<int32_t>(kCount, 2));
  } else {
    ASSERT_EQ(HcclSend(out.data(), kCount, kInt, peer, s.comm(), other), HCCL_SUCCESS);
    (void)aclrtSynchronizeStreamWithTimeout(other, 100);  // every chance to do it too early
    ASSERT_EQ(HcclRecv(x.data(), kCount, kInt, peer, s.comm(), s.stream()), HCCL_SUCCESS);
    EXPECT_EQ(s.Synchronize(), 0) << TakeMessages();
    EXPECT_EQ(aclrtSynchronizeStream(other), 0) << TakeMessages();
    EXPECT_EQ(DownloadValues<int32_t>(x.data(), kCount), std::vector<int32_t>(kCount, 1));
  }
  REQUIRE_OK(aclrtDestroyStream(other));
}

// One stream falls behind by more operations than the communicator has places for: what is done out
// of order is counted all the same, and those behind it find a place and their turn.
RANK_TEST(Ordering, OneStreamFarAheadOfAnother) {
  Session s(ranks);
  constexpr uint64_t kCount = 1000;  // more than ranks exchange
  constexpr int kAhead = 70, kRounds = 20;
  aclrtStream other;
  REQUIRE_OK(aclrtCreateStream(&other));
  DeviceMemory x(kCount * 4), y(kCount * 4);
  UploadValues(x.data(), std::vector<int32_t>(kCount, 1));
  UploadValues(y.data(), std::vector<int32_t>(kCount, 1));
  auto call = [&](DeviceMemory& memory, uint64_t count, aclrtStream stream) {
    ASSERT_EQ(
        HcclAllReduce(memory.data(), memory.data(), count, kInt, HCCL_REDUCE_MAX, s.comm(), stream),
        HCCL_SUCCESS);
  };
  for (int round = 0; round < kRounds; round++) {
    ranks.Meet();
    call(x, kCount, s.stream());
    for (int i = 0; i < kAhead; i++) call(y, kCount, other);
    // Whether the first stream is looked at before the second one is a mile away is up to the rank.
    if (s.rank() % 2) {
      EXPECT_EQ(s.Synchronize(), 0) << TakeMessages();
    }
    EXPECT_EQ(aclrtSynchronizeStream(other), 0) << TakeMessages();
    EXPECT_EQ(s.Synchronize(), 0) << TakeMessages();
    call(y, 4, other);
    EXPECT_EQ(aclrtSynchronizeStream(other), 0) << TakeMessages();
    call(y, kCount, other);
    EXPECT_EQ(aclrtSynchronizeStream(other), 0) << TakeMessages();
  }
  REQUIRE_OK(aclrtDestroyStream(other));
}

// A stream is destroyed whose operations are complete, which nobody has looked for: nothing is
// dropped.
RANK_TEST(Ordering, DestroyedStreamOfCompleteOperations) {
  Session s(ranks);
  constexpr uint64_t kCount = 1000;
  DeviceMemory x(kCount * 4);
  UploadValues(x.data(), std::vector<int32_t>(kCount, 1));
  auto call = [&](aclrtStream stream) {
    ASSERT_EQ(HcclAllReduce(x.data(), x.data(), kCount, kInt, HCCL_REDUCE_MAX, s.comm(), stream),
              HCCL_SUCCESS);
  };
  for (int round = 0; round < 20; round++) {
    aclrtStream first;
    REQUIRE_OK(aclrtCreateStream(&first));
    ranks.Meet();
    call(first);
    call(s.stream());  // complete only when the one before is
    ASSERT_EQ(s.Synchronize(), 0) << TakeMessages();
    REQUIRE_OK(aclrtDestroyStreamForce(first));
  }
  call(s.stream());
  EXPECT_EQ(s.Synchronize(), 0) << TakeMessages();
}

// Operations that ranks exchange, with outputs as large as they get, as the first call of a
// communicator and behind one that is still under way.
RANK_TEST(Ordering, LargestExchanges) {
  for (const uint64_t count : {32, 256, 512}) {
    for (const bool behind : {false, true}) {
      SCOPED_TRACE(::testing::Message() << count << (behind ? " behind another" : ""));
      Session s(ranks);
      const uint32_t n = s.size();
      DeviceMemory in(count * 4), out(n * count * 4), large(400'000);
      std::vector<int32_t> mine(count), all(n * count);
      for (uint64_t i = 0; i < count; ++i) mine[i] = static_cast<int32_t>(Hash(s.rank(), count, i));
      for (uint64_t i = 0; i < n * count; ++i)
        all[i] = static_cast<int32_t>(Hash(static_cast<uint32_t>(i / count), count, i % count));
      UploadValues(in.data(), mine);
      if (behind) {
        ASSERT_EQ(HcclAllReduce(large.data(), large.data(), 100'000, kInt, HCCL_REDUCE_MAX,
                                s.comm(), s.stream()),
                  HCCL_SUCCESS);
      }
      for (int i = 0; i < 2; i++) {
        ASSERT_EQ(HcclAllGather(in.data(), out.data(), count, kInt, s.comm(), s.stream()),
                  HCCL_SUCCESS);
      }
      ASSERT_EQ(s.Synchronize(), 0) << TakeMessages();
      EXPECT_EQ(DownloadValues<int32_t>(out.data(), n * count), all);
      ranks.Meet();
    }
  }
}

}  // namespace
}  // namespace hcclrun::testing
