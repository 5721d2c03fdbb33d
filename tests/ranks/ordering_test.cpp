// What a stream orders stays in order, whatever peers could already do (semantics C.5 item 4): they
// may reach a later operation of this rank first, on streams or communicators of their own.

#include "ranks/arena.h"
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

// Small and large operations in turns on the same memory: each finds what the one before left, on
// every rank, whichever way it is done.
RANK_TEST(Ordering, SmallAndLargeInTurns) {
  Session s(ranks);
  constexpr uint64_t kCount = 20000;
  constexpr int kRounds = 70;
  DeviceMemory x(kCount * 4);
  UploadValues(x.data(), std::vector<uint32_t>(kCount, 1 + s.rank()));
  uint32_t n = s.size(), head = n * (n + 1) / 2, tail = head;
  for (int i = 0; i < kRounds; ++i) {
    for (int small = 0; small <= i % 3; ++small)
      ASSERT_EQ(HcclAllReduce(x.data(), x.data(), 2, kInt, HCCL_REDUCE_MAX,
                              s.comm(), s.stream()),
                HCCL_SUCCESS);
    ASSERT_EQ(HcclAllReduce(x.data(), x.data(), kCount, kInt, HCCL_REDUCE_SUM,
                            s.comm(), s.stream()),
              HCCL_SUCCESS);
    if (i == 0) {
      head = n * n;  // the largest, of all
    } else {
      head *= n;
      tail *= n;
    }
    ASSERT_EQ(HcclBroadcast(x.data(), 1, kInt, i % n, s.comm(), s.stream()),
              HCCL_SUCCESS);
  }
  ASSERT_EQ(s.Synchronize(), 0) << TakeMessages();
  std::vector<uint32_t> expected(kCount, tail);
  expected[0] = expected[1] = head;
  EXPECT_EQ(DownloadValues<uint32_t>(x.data(), kCount), expected);
}

// Operations of one communicator on two streams, small ones on one, end in any order.
RANK_TEST(Ordering, SmallOperationsOvertakeOnAnotherStream) {
  Session s(ranks);
  aclrtStream other;
  REQUIRE_OK(aclrtCreateStream(&other));
  constexpr uint64_t kCount = 20000;
  DeviceMemory x(kCount * 4), y(8);
  UploadValues(x.data(), std::vector<uint32_t>(kCount, 1));
  UploadValues<uint32_t>(y.data(), {1, 1});
  uint32_t sum = 1;
  for (int i = 0; i < 150; ++i, sum *= s.size()) {
    ASSERT_EQ(HcclAllReduce(x.data(), x.data(), kCount, kInt, HCCL_REDUCE_SUM,
                            s.comm(), s.stream()),
              HCCL_SUCCESS);
    ASSERT_EQ(HcclAllReduce(y.data(), y.data(), 2, kInt, HCCL_REDUCE_SUM, s.comm(),
                            other),
              HCCL_SUCCESS);
    if (i % 40 == 0) {
      EXPECT_EQ(aclrtSynchronizeStream(other), 0) << TakeMessages();
    }
  }
  ASSERT_EQ(s.Synchronize(), 0) << TakeMessages();
  ASSERT_EQ(aclrtSynchronizeStream(other), 0) << TakeMessages();
  EXPECT_EQ(DownloadValues<uint32_t>(x.data(), kCount), std::vector<uint32_t>(kCount, sum));
  EXPECT_EQ(DownloadValues<uint32_t>(y.data(), 2), std::vector<uint32_t>(2, sum));
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

}  // namespace
}  // namespace hcclrun::testing
