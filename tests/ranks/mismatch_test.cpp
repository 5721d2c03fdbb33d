// Ranks that call different things under the same number (semantics C.5): every rank learns it when
// it synchronises, with both sides named, no data moves, and the communicator stays usable.

#include "support/rank_session.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;

class Calls {
 public:
  explicit Calls(RankGroup& ranks)
      : session(ranks), memory(64 * 1024), before(memory.size(), 0x33), odd_rank(ranks.size() - 1) {
    UploadValues(memory.data(), before);
  }
  bool odd() const { return session.rank() == odd_rank; }
  void* in() const { return memory.data(); }
  void* out() const { return memory.data() + 32 * 1024; }

  // After the differing calls.
  void ExpectFailure(const char* parameter, const std::vector<std::string>& named) {
    EXPECT_NE(session.Synchronize(), 0) << parameter;
    const std::string text = TakeMessages();
    EXPECT_THAT(text, HasSubstr(std::string("differs between ranks in ") + parameter));
    for (const std::string& name : named) EXPECT_THAT(text, HasSubstr(name));
    // The odd rank stands alone, the ranks that had come by then stand together.
    EXPECT_THAT(text, HasSubstr("rank " + std::to_string(odd_rank) + " called"));
    EXPECT_EQ(Download(memory.data(), memory.size()), before) << parameter;
    ExpectUsable();
  }

  void ExpectUsable() {
    DeviceMemory value(4);
    UploadValues<int32_t>(value.data(), {static_cast<int32_t>(session.rank())});
    ASSERT_EQ(HcclAllReduce(value.data(), value.data(), 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                            session.comm(), session.stream()),
              HCCL_SUCCESS);
    ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
    const auto n = static_cast<int32_t>(session.size());
    EXPECT_EQ(DownloadValues<int32_t>(value.data(), 1)[0], n * (n - 1) / 2);
  }

  Session session;
  DeviceMemory memory;
  std::vector<uint8_t> before;
  uint32_t odd_rank;
};

RANK_TEST(Mismatch, Operation) {
  if (ranks.size() == 1) return;
  Calls m(ranks);
  const HcclComm comm = m.session.comm();
  const aclrtStream stream = m.session.stream();
  if (m.odd()) {
    EXPECT_EQ(HcclBroadcast(m.in(), 8, HCCL_DATA_TYPE_FP32, 0, comm, stream), HCCL_SUCCESS);
  } else {
    EXPECT_EQ(HcclAllReduce(m.in(), m.out(), 8, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream),
              HCCL_SUCCESS);
  }
  m.ExpectFailure("operation",
                  {"HcclBroadcast(count 8, fp32, root 0)", "HcclAllReduce(count 8, fp32, sum)"});
}

RANK_TEST(Mismatch, BarrierAgainstAllReduce) {
  if (ranks.size() == 1) return;
  Calls m(ranks);
  if (m.odd()) {
    EXPECT_EQ(HcclBarrier(m.session.comm(), m.session.stream()), HCCL_SUCCESS);
  } else {
    EXPECT_EQ(HcclAllReduce(m.in(), m.out(), 8, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                            m.session.comm(), m.session.stream()),
              HCCL_SUCCESS);
  }
  m.ExpectFailure("operation", {"HcclBarrier", "HcclAllReduce"});
}

RANK_TEST(Mismatch, Count) {
  if (ranks.size() == 1) return;
  Calls m(ranks);
  EXPECT_EQ(HcclAllGather(m.in(), m.out(), m.odd() ? 9 : 8, HCCL_DATA_TYPE_INT16, m.session.comm(),
                          m.session.stream()),
            HCCL_SUCCESS);
  m.ExpectFailure("count", {"count 8", "count 9"});
}

RANK_TEST(Mismatch, DataType) {
  if (ranks.size() == 1) return;
  Calls m(ranks);
  EXPECT_EQ(HcclAllGather(m.in(), m.out(), 8, m.odd() ? HCCL_DATA_TYPE_FP16 : HCCL_DATA_TYPE_INT16,
                          m.session.comm(), m.session.stream()),
            HCCL_SUCCESS);
  m.ExpectFailure("dataType", {"int16", "fp16"});
}

RANK_TEST(Mismatch, Reduction) {
  if (ranks.size() == 1) return;
  Calls m(ranks);
  EXPECT_EQ(HcclReduceScatter(m.in(), m.out(), 8, HCCL_DATA_TYPE_FP16,
                              m.odd() ? HCCL_REDUCE_MAX : HCCL_REDUCE_MIN, m.session.comm(),
                              m.session.stream()),
            HCCL_SUCCESS);
  m.ExpectFailure("op", {"max", "min"});
}

RANK_TEST(Mismatch, Root) {
  if (ranks.size() == 1) return;
  Calls m(ranks);
  EXPECT_EQ(HcclBroadcast(m.in(), 8, HCCL_DATA_TYPE_INT8, m.odd() ? 1 : 0, m.session.comm(),
                          m.session.stream()),
            HCCL_SUCCESS);
  m.ExpectFailure("root", {"root 0", "root 1"});
}

// The operations around the failed one work, the stream goes on behind it, and the error is the
// failed one's.
RANK_TEST(Mismatch, NeighboursOfTheFailedOperationSucceed) {
  if (ranks.size() == 1) return;
  Calls m(ranks);
  DeviceMemory a(4), b(4);
  UploadValues<int32_t>(a.data(), {1});
  UploadValues<int32_t>(b.data(), {2});
  const HcclComm comm = m.session.comm();
  const aclrtStream stream = m.session.stream();
  EXPECT_EQ(
      HcclAllReduce(a.data(), a.data(), 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream),
      HCCL_SUCCESS);
  EXPECT_EQ(HcclAllReduce(m.in(), m.out(), m.odd() ? 4 : 5, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                          comm, stream),
            HCCL_SUCCESS);
  EXPECT_EQ(
      HcclAllReduce(b.data(), b.data(), 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream),
      HCCL_SUCCESS);
  EXPECT_NE(m.session.Synchronize(), 0);
  EXPECT_THAT(TakeMessages(), HasSubstr("operation #2"));
  const auto n = static_cast<int32_t>(ranks.size());
  EXPECT_EQ(DownloadValues<int32_t>(a.data(), 1)[0], n);
  EXPECT_EQ(DownloadValues<int32_t>(b.data(), 1)[0], 2 * n);
  m.ExpectUsable();
}

// Small operations may be done in another way than large ones; ranks that are in different ways
// find each other, whoever comes first, and what they used is given back.
RANK_TEST(Mismatch, SmallAgainstLarge) {
  if (ranks.size() == 1) return;
  Calls m(ranks);
  for (int i = 0; i < 150; ++i) {
    const auto odd = static_cast<uint32_t>(i) % ranks.size() == ranks.rank();
    EXPECT_EQ(HcclAllGather(m.in(), m.out(), odd == (i % 4 < 2) ? 4000 : 2, HCCL_DATA_TYPE_INT8,
                            m.session.comm(), m.session.stream()),
              HCCL_SUCCESS);
    if (i % 3 == 0 || i % 5 == 0) {
      EXPECT_NE(m.session.Synchronize(), 0);
      EXPECT_THAT(TakeMessages(), HasSubstr("count 4000"));
    }
    if (i % 5 == 0) m.ExpectUsable();
  }
  EXPECT_NE(m.session.Synchronize(), 0);
  EXPECT_EQ(Download(m.memory.data(), m.memory.size()), m.before);
  m.ExpectUsable();
}

// Far more mismatches than the ring has slots: each slot is given back.
RANK_TEST(Mismatch, ManyInARow) {
  if (ranks.size() == 1) return;
  Calls m(ranks);
  for (int i = 0; i < 200; ++i) {
    const auto odd = static_cast<uint32_t>(i) % ranks.size() == ranks.rank();
    EXPECT_EQ(HcclAllGather(m.in(), m.out(), odd ? 3 : 2, HCCL_DATA_TYPE_INT8, m.session.comm(),
                            m.session.stream()),
              HCCL_SUCCESS);
  }
  EXPECT_NE(m.session.Synchronize(), 0);
  m.ExpectUsable();
}

// With the stream told to stop, what stands behind the failed operation is not run; the ranks stay
// in step.
RANK_TEST(Mismatch, StreamThatStopsOnFailure) {
  if (ranks.size() == 1) return;
  Calls m(ranks);
  REQUIRE_OK(aclrtSetStreamFailureMode(m.session.stream(), ACL_STOP_ON_FAILURE));
  EXPECT_EQ(HcclAllGather(m.in(), m.out(), m.odd() ? 3 : 2, HCCL_DATA_TYPE_INT8, m.session.comm(),
                          m.session.stream()),
            HCCL_SUCCESS);
  EXPECT_NE(m.session.Synchronize(), 0);
  m.ExpectUsable();
}

// A stream that stops skips what stands behind its failure. Its peers must not wait for that: they
// learn which rank skipped, and the communicator stays usable.
RANK_TEST(Mismatch, OperationsBehindALocalFailureFailEverywhere) {
  if (ranks.size() == 1) return;
  Calls m(ranks);
  REQUIRE_OK(aclrtSetStreamFailureMode(m.session.stream(), ACL_STOP_ON_FAILURE));
  const uint32_t odd = m.odd_rank;
  // The failure of the odd rank: all others' transfer partner differs in count.
  if (m.odd()) {
    ASSERT_EQ(HcclSend(m.in(), 3, HCCL_DATA_TYPE_INT8, 0, m.session.comm(), m.session.stream()),
              HCCL_SUCCESS);
  } else if (m.session.rank() == 0) {
    aclrtStream other;
    REQUIRE_OK(aclrtCreateStream(&other));
    ASSERT_EQ(HcclRecv(m.out(), 4, HCCL_DATA_TYPE_INT8, odd, m.session.comm(), other),
              HCCL_SUCCESS);
    EXPECT_NE(aclrtSynchronizeStream(other), 0);
    REQUIRE_OK(aclrtDestroyStream(other));
  }
  (void)TakeMessages();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(HcclAllGather(m.in(), m.out(), 2, HCCL_DATA_TYPE_INT8, m.session.comm(),
                            m.session.stream()),
              HCCL_SUCCESS);
  }
  EXPECT_NE(m.session.Synchronize(), 0);
  if (!m.odd()) {
    EXPECT_THAT(TakeMessages(), HasSubstr("was skipped by rank " + std::to_string(odd)));
  }
  EXPECT_EQ(Download(m.memory.data(), m.memory.size()), m.before);
  m.ExpectUsable();
}

// Destroying a stream by force drops what is queued on it; that cannot be made up for, so every
// rank is told instead of waiting.
RANK_TEST(Mismatch, DroppedOperationsBreakTheCommunicatorAtOnce) {
  if (ranks.size() == 1) return;
  Calls m(ranks);
  if (m.odd()) {
    aclrtStream other;
    REQUIRE_OK(aclrtCreateStream(&other));
    ASSERT_EQ(HcclAllGather(m.in(), m.out(), 4096, HCCL_DATA_TYPE_INT8, m.session.comm(), other),
              HCCL_SUCCESS);
    EXPECT_EQ(aclrtDestroyStreamForce(other), 0);
    ranks.Meet();
  } else {
    ranks.Meet();
    const HcclResult result = HcclAllGather(m.in(), m.out(), 4096, HCCL_DATA_TYPE_INT8,
                                            m.session.comm(), m.session.stream());
    if (result == HCCL_SUCCESS) {
      EXPECT_NE(m.session.Synchronize(), 0);
    }
    EXPECT_THAT(TakeMessages(), HasSubstr("rank " + std::to_string(m.odd_rank) +
                                          " dropped operations that it had called"));
  }
}

// Who tells of a difference waits a moment for the others' calls: two that differ do not show which
// one is odd. No moment is long enough for a machine that is busy, so there are many tries.
RANK_TEST(Mismatch, TheGroupsAreWhole) {
  if (ranks.size() == 1) return;
  Calls m(ranks);
  bool whole = false;
  for (int i = 0; i < 100 && !whole; ++i) {
    EXPECT_EQ(HcclAllGather(m.in(), m.out(), m.odd() ? 3 : 2, HCCL_DATA_TYPE_INT8, m.session.comm(),
                            m.session.stream()),
              HCCL_SUCCESS);
    EXPECT_NE(m.session.Synchronize(), 0);
    const bool mine = TakeMessages().find("not there yet") == std::string::npos;
    whole = true;
    for (const bool theirs : ranks.ExchangeValues(mine)) whole &= theirs;
  }
  EXPECT_TRUE(whole);
  m.ExpectUsable();
}

// Calls that are shifted by one show in what is queued behind the first that differs.
RANK_TEST(Mismatch, ALeftOutCallIsFound) {
  if (ranks.size() == 1 || ranks.threads()) return;  // the flight recorder is the launcher's
  Calls m(ranks);
  const auto all_reduce = [&](uint64_t count) {
    EXPECT_EQ(HcclAllReduce(m.in(), m.out(), count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                            m.session.comm(), m.session.stream()),
              HCCL_SUCCESS);
  };
  all_reduce(9);
  for (int i = 0; i < 4 - m.odd(); ++i) all_reduce(8);
  for (uint64_t count = 1; count < 4; ++count) all_reduce(count);
  if (m.odd()) all_reduce(5);  // so that all have called equally often
  ranks.Meet();
  EXPECT_NE(m.session.Synchronize(), 0);
  EXPECT_THAT(TakeMessages(),
              HasSubstr("rank " + std::to_string(m.odd_rank) +
                        " seems to have left out one of #2 to #5, all HcclAllReduce(count 8, fp32, "
                        "sum),"));
  ranks.Meet();  // what is called next is no part of the pattern
  m.ExpectUsable();
}

RANK_TEST(Mismatch, ACallTooManyIsFound) {
  if (ranks.size() == 1 || ranks.threads()) return;
  Calls m(ranks);
  if (m.odd()) {
    EXPECT_EQ(HcclBarrier(m.session.comm(), m.session.stream()), HCCL_SUCCESS);
  }
  const uint64_t calls = m.odd() ? 3 : 4;
  for (uint64_t count = 1; count <= calls; ++count) {
    EXPECT_EQ(HcclAllReduce(m.in(), m.out(), count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                            m.session.comm(), m.session.stream()),
              HCCL_SUCCESS);
  }
  ranks.Meet();
  EXPECT_NE(m.session.Synchronize(), 0);
  const std::string text = TakeMessages();
  EXPECT_THAT(text, HasSubstr("rank " + std::to_string(m.odd_rank) +
                              " seems to have made a call too many, #1, HcclBarrier,"));
  EXPECT_THAT(text, HasSubstr("its calls from #2 on are like the others' from #1 on"));
  ranks.Meet();  // what is called next is no part of the pattern
  m.ExpectUsable();
}

// The background state of the communicator does not change: the fault was the operation's.
RANK_TEST(Mismatch, IsNoAsyncErrorOfTheCommunicator) {
  if (ranks.size() == 1) return;
  Calls m(ranks);
  EXPECT_EQ(HcclAllGather(m.in(), m.out(), m.odd() ? 3 : 2, HCCL_DATA_TYPE_INT8, m.session.comm(),
                          m.session.stream()),
            HCCL_SUCCESS);
  EXPECT_NE(m.session.Synchronize(), 0);
  HcclResult state = HCCL_E_INTERNAL;
  EXPECT_EQ(HcclGetCommAsyncError(m.session.comm(), &state), HCCL_SUCCESS);
  EXPECT_EQ(state, HCCL_SUCCESS);
}

}  // namespace
}  // namespace hcclrun::testing
