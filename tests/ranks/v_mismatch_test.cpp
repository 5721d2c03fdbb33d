// Arrays of V operations that do not fit together (semantics C.5): every rank learns it, with the
// two ranks and the two numbers named, no data moves, and the communicator stays usable.

#include "ranks/v_operations.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;

class VCalls {
 public:
  explicit VCalls(RankGroup& ranks)
      : session(ranks),
        last(ranks.size() - 1),
        me(ranks.rank()),
        memory(64 * 1024),
        before(memory.size(), 0x33) {
    UploadValues(memory.data(), before);
    const uint32_t n = ranks.size();
    counts = recv_counts = std::vector<uint64_t>(n, 4);
    for (uint32_t r = 0; r < n; ++r) displs.push_back(10 * r);
    matrix = std::vector<uint64_t>(uint64_t{n} * n, 4);
  }
  char* in() const { return memory.data(); }
  char* out() const { return memory.data() + 32 * 1024; }

  HcclResult AllGatherV() {
    return HcclAllGatherV(in(), counts[me], out(), counts.data(), displs.data(),
                          HCCL_DATA_TYPE_INT32, session.comm(), session.stream());
  }
  HcclResult ReduceScatterV() {
    return HcclReduceScatterV(in(), counts.data(), displs.data(), out(), counts[me],
                              HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, session.comm(),
                              session.stream());
  }
  HcclResult AlltoAllV() {
    return HcclAlltoAllV(in(), counts.data(), displs.data(), HCCL_DATA_TYPE_INT32, out(),
                         recv_counts.data(), displs.data(), HCCL_DATA_TYPE_INT32, session.comm(),
                         session.stream());
  }
  HcclResult AlltoAllVC() {
    return HcclAlltoAllVC(in(), matrix.data(), HCCL_DATA_TYPE_INT32, out(), HCCL_DATA_TYPE_INT32,
                          session.comm(), session.stream());
  }

  void ExpectFailure(const std::vector<std::string>& named) {
    EXPECT_NE(session.Synchronize(), 0);
    const std::string text = TakeMessages();
    EXPECT_THAT(text, HasSubstr("EI0005"));
    for (const std::string& name : named) EXPECT_THAT(text, HasSubstr(name));
    EXPECT_EQ(Download(memory.data(), memory.size()), before);
    ExpectUsable();
  }

  void ExpectUsable() { ExpectSum(session.comm(), session.stream(), session.size()); }

  std::string Rank(uint32_t r) const { return "rank " + std::to_string(r); }
  std::string Index(uint32_t r) const { return "[" + std::to_string(r) + "]"; }

  Session session;
  uint32_t last, me;
  DeviceMemory memory;
  std::vector<uint8_t> before;
  std::vector<uint64_t> counts, displs, recv_counts, matrix;
};

RANK_TEST(VMismatch, CountsOfAllGatherV) {
  if (ranks.size() == 1) return;
  VCalls m(ranks);
  if (m.me == m.last) m.counts[0] = 5;
  ASSERT_EQ(m.AllGatherV(), HCCL_SUCCESS);
  m.ExpectFailure({"HcclAllGatherV", m.Rank(m.last), "recvCounts[0] = 4", "recvCounts[0] = 5"});
}

RANK_TEST(VMismatch, DisplacementsOfAllGatherV) {
  if (ranks.size() == 1) return;
  VCalls m(ranks);
  if (m.me == m.last) m.displs[1] = 11;
  ASSERT_EQ(m.AllGatherV(), HCCL_SUCCESS);
  m.ExpectFailure({m.Rank(m.last), "recvDispls[1] = 10", "recvDispls[1] = 11"});
}

RANK_TEST(VMismatch, CountsOfReduceScatterV) {
  if (ranks.size() == 1) return;
  VCalls m(ranks);
  if (m.me == 0) m.counts[1] = 0;
  ASSERT_EQ(m.ReduceScatterV(), HCCL_SUCCESS);
  m.ExpectFailure({"HcclReduceScatterV", m.Rank(0), "sendCounts[1] = 4", "sendCounts[1] = 0"});
}

RANK_TEST(VMismatch, DisplacementsOfReduceScatterV) {
  if (ranks.size() == 1) return;
  VCalls m(ranks);
  if (m.me == 0) m.displs[0] = 3;
  ASSERT_EQ(m.ReduceScatterV(), HCCL_SUCCESS);
  m.ExpectFailure({m.Rank(0), "sendDispls[0] = 0", "sendDispls[0] = 3"});
}

// What rank 0 sends to the last one is not what that one expects. The other ranks fail, too.
RANK_TEST(VMismatch, PairOfAlltoAllV) {
  if (ranks.size() == 1) return;
  for (bool sender : {true, false}) {
    VCalls m(ranks);
    if (sender && m.me == 0) m.counts[m.last] = 7;
    if (!sender && m.me == m.last) m.recv_counts[0] = 9;
    ASSERT_EQ(m.AlltoAllV(), HCCL_SUCCESS);
    m.ExpectFailure({"rank 0 called HcclAlltoAllV with sendCounts" + m.Index(m.last) +
                         (sender ? " = 7" : " = 4"),
                     m.Rank(m.last) + " with recvCounts[0]" + (sender ? " = 4" : " = 9")});
  }
}

RANK_TEST(VMismatch, AlltoAllVWithItself) {
  VCalls m(ranks);
  if (m.me == m.last) m.recv_counts[m.last] = 3;
  ASSERT_EQ(m.AlltoAllV(), HCCL_SUCCESS);
  m.ExpectFailure(
      {"sendCounts" + m.Index(m.last) + " = 4", "recvCounts" + m.Index(m.last) + " = 3"});
}

// Each rank has its own matrix and two sums of the rows of the others': that tells the element.
RANK_TEST(VMismatch, PairOfAlltoAllVC) {
  if (ranks.size() == 1) return;
  VCalls m(ranks);
  const uint32_t n = ranks.size();
  if (m.me == m.last) m.matrix[0 * n + m.last] = 6;
  ASSERT_EQ(m.AlltoAllVC(), HCCL_SUCCESS);
  const std::string element = "sendCountMatrix[0]" + m.Index(m.last);
  m.ExpectFailure({"HcclAlltoAllVC", m.Rank(m.last), element + " = 4", element + " = 6"});
}

// An element that concerns neither the rank whose matrix differs nor anybody's data.
RANK_TEST(VMismatch, ElementOfOtherRanksInAlltoAllVC) {
  if (ranks.size() < 3) return;
  for (uint64_t value : {0, 6, 1 << 30}) {
    VCalls m(ranks);
    const uint32_t n = ranks.size();
    if (m.me == m.last) m.matrix[0 * n + 1] = value;
    ASSERT_EQ(m.AlltoAllVC(), HCCL_SUCCESS);
    const std::string element = "sendCountMatrix[0][1]";
    m.ExpectFailure({m.Rank(m.last), element + " = 4", element + " = " + std::to_string(value)});
  }
}

// The first row that differs is named; of several elements in a row only the row is known.
RANK_TEST(VMismatch, SeveralElementsOfAlltoAllVC) {
  if (ranks.size() < 3) return;
  const uint32_t n = ranks.size();
  {
    VCalls m(ranks);
    if (m.me == m.last) m.matrix[1 * n + 2] = m.matrix[2 * n + 0] = 3;
    ASSERT_EQ(m.AlltoAllVC(), HCCL_SUCCESS);
    m.ExpectFailure({m.Rank(m.last), "sendCountMatrix[1][2] = 4", "sendCountMatrix[1][2] = 3"});
  }
  VCalls m(ranks);
  if (m.me == m.last) {  // the same sum
    m.matrix[1 * n + 0] = 3;
    m.matrix[1 * n + 1] = 5;
  }
  ASSERT_EQ(m.AlltoAllVC(), HCCL_SUCCESS);
  m.ExpectFailure({std::to_string(m.last), "rows sendCountMatrix[1] that differ"});
}

RANK_TEST(VMismatch, OperationAndType) {
  if (ranks.size() == 1) return;
  VCalls m(ranks);
  ASSERT_EQ(m.me == m.last ? m.AlltoAllV() : m.AlltoAllVC(), HCCL_SUCCESS);
  m.ExpectFailure({"differs between ranks in operation", "HcclAlltoAllV(", "HcclAlltoAllVC("});
  ASSERT_EQ(HcclAllGatherV(m.in(), 4, m.out(), m.counts.data(), m.displs.data(),
                           m.me == 0 ? HCCL_DATA_TYPE_INT8 : HCCL_DATA_TYPE_UINT8, m.session.comm(),
                           m.session.stream()),
            HCCL_SUCCESS);
  m.ExpectFailure({"differs between ranks in dataType", ", int8", ", uint8"});
}

// Far more than the rings have entries; right ones in between keep working.
RANK_TEST(VMismatch, ManyInARow) {
  if (ranks.size() == 1) return;
  VCalls m(ranks);
  for (uint32_t i = 0; i < 150; ++i) {
    m.recv_counts.assign(ranks.size(), 4);
    if (i % 3 == 0 && i % ranks.size() == m.me) m.recv_counts[(i / 2) % ranks.size()] = 5;
    ASSERT_EQ(m.AlltoAllV(), HCCL_SUCCESS);
    if (i % 50 == 49) {
      EXPECT_NE(m.session.Synchronize(), 0);
    }
  }
  TakeMessages();
  m.ExpectUsable();
}

}  // namespace
}  // namespace hcclrun::testing
