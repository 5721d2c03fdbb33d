// What the V operations refuse at the call, with which code and in which order (semantics C.1).

#include <functional>

#include "ranks/v_operations.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kTooMany = 0x800000000;
constexpr auto kBadType = static_cast<HcclDataType>(99);
constexpr auto kBadOp = static_cast<HcclReduceOp>(7);

// Of all four operations; a null array is passed as such. Every rank sends 2 elements to every
// rank.
struct Arguments {
  void* send = nullptr;
  void* recv = nullptr;
  uint64_t own_count = 2;  // AllGatherV, ReduceScatterV
  std::vector<uint64_t> counts, displs, recv_counts, recv_displs, matrix;
  bool no_counts = false, no_displs = false, no_recv_counts = false, no_recv_displs = false,
       no_matrix = false;
  HcclDataType type = HCCL_DATA_TYPE_FP32, recv_type = HCCL_DATA_TYPE_FP32;
  HcclReduceOp op = HCCL_REDUCE_SUM;
  HcclComm comm = nullptr;
  aclrtStream stream = nullptr;
};

const uint64_t* Or(bool null, const std::vector<uint64_t>& array) {
  return null ? nullptr : array.data();
}

HcclResult AllGatherV(const Arguments& a) {
  return HcclAllGatherV(a.send, a.own_count, a.recv, Or(a.no_counts, a.counts),
                        Or(a.no_displs, a.displs), a.type, a.comm, a.stream);
}
HcclResult ReduceScatterV(const Arguments& a) {
  return HcclReduceScatterV(a.send, Or(a.no_counts, a.counts), Or(a.no_displs, a.displs), a.recv,
                            a.own_count, a.type, a.op, a.comm, a.stream);
}
HcclResult AlltoAllV(const Arguments& a) {
  return HcclAlltoAllV(a.send, Or(a.no_counts, a.counts), Or(a.no_displs, a.displs), a.type, a.recv,
                       Or(a.no_recv_counts, a.recv_counts), Or(a.no_recv_displs, a.recv_displs),
                       a.recv_type, a.comm, a.stream);
}
HcclResult AlltoAllVC(const Arguments& a) {
  return HcclAlltoAllVC(a.send, Or(a.no_matrix, a.matrix), a.type, a.recv, a.recv_type, a.comm,
                        a.stream);
}

struct Check {
  const char* named;
  HcclResult code;
  std::function<void(Arguments&)> spoil;
};

struct OperationChecks {
  const char* name;
  HcclResult (*call)(const Arguments&);
  std::vector<Check> checks;  // in order
};

std::vector<OperationChecks> AllOperations(uint32_t rank) {
  const Check comm = {"comm is null", HCCL_E_PTR, [](Arguments& a) { a.comm = nullptr; }};
  const Check stream = {"stream is null", HCCL_E_PTR, [](Arguments& a) { a.stream = nullptr; }};
  const Check send = {"sendBuf is null", HCCL_E_PTR, [](Arguments& a) { a.send = nullptr; }};
  const Check recv = {"recvBuf is null", HCCL_E_PTR, [](Arguments& a) { a.recv = nullptr; }};
  const Check type = {"dataType", HCCL_E_NOT_SUPPORT, [](Arguments& a) { a.type = kBadType; }};
  const Check own_limit = {"Count is 34359738368", HCCL_E_PARA,
                           [](Arguments& a) { a.own_count = kTooMany; }};
  const Check limit = {"Counts[0] is 34359738368", HCCL_E_PARA,
                       [](Arguments& a) { a.counts[0] = kTooMany; }};
  const Check own_count = {"it must be 2", HCCL_E_PARA,
                           [](Arguments& a) { a.own_count = 1; }};
  const Check same = {"recvBuf equals sendBuf", HCCL_E_PARA,
                      [](Arguments& a) { a.send = a.recv = a.displs.data(); }};
  const Check types = {"recvType is", HCCL_E_PARA,
                       [](Arguments& a) { a.recv_type = HCCL_DATA_TYPE_INT8; }};
  return {
      {"AllGatherV",
       AllGatherV,
       {{"recvCounts is null", HCCL_E_PTR, [](Arguments& a) { a.no_counts = true; }},
        {"recvDispls is null", HCCL_E_PTR, [](Arguments& a) { a.no_displs = true; }},
        comm,
        stream,
        send,
        own_limit,
        type,
        limit,
        recv,
        own_count}},
      {"ReduceScatterV",
       ReduceScatterV,
       {stream,
        {"sendCounts is null", HCCL_E_PTR, [](Arguments& a) { a.no_counts = true; }},
        {"sendDispls is null", HCCL_E_PTR, [](Arguments& a) { a.no_displs = true; }},
        comm,
        recv,
        own_limit,
        type,
        {"op is", HCCL_E_NOT_SUPPORT, [](Arguments& a) { a.op = kBadOp; }},
        limit,
        send,
        own_count}},
      {"AlltoAllV",
       AlltoAllV,
       {{"sendCounts is null", HCCL_E_PTR, [](Arguments& a) { a.no_counts = true; }},
        {"sdispls is null", HCCL_E_PTR, [](Arguments& a) { a.no_displs = true; }},
        {"recvCounts is null", HCCL_E_PTR, [](Arguments& a) { a.no_recv_counts = true; }},
        {"rdispls is null", HCCL_E_PTR, [](Arguments& a) { a.no_recv_displs = true; }},
        stream,
        comm,
        same,
        {"sendCounts[0] is 34359738368", HCCL_E_PARA,
         [](Arguments& a) { a.counts[0] = kTooMany; }},
        {"recvCounts[0] is 34359738368", HCCL_E_PARA,
         [](Arguments& a) { a.recv_counts[0] = kTooMany; }},
        send,
        recv,
        type,
        types}},
      {"AlltoAllVC",
       AlltoAllVC,
       {{"sendCountMatrix is null", HCCL_E_PTR, [](Arguments& a) { a.no_matrix = true; }},
        comm,
        stream,
        same,
        {"[0] is 34359738368", HCCL_E_PARA,
         [rank](Arguments& a) { a.matrix[rank * a.counts.size()] = kTooMany; }},
        send,
        recv,
        type,
        types}},
  };
}

class Fixture {
 public:
  explicit Fixture(RankGroup& ranks) : session(ranks), send(4096), recv(4096) {}
  Arguments Good() const {
    Arguments a;
    const uint32_t n = session.size();
    a.send = send.data();
    a.recv = recv.data();
    a.counts = a.recv_counts = std::vector<uint64_t>(n, 2);
    for (uint32_t r = 0; r < n; ++r) a.displs.push_back(2 * r);
    a.recv_displs = a.displs;
    a.matrix = std::vector<uint64_t>(uint64_t{n} * n, 2);
    a.comm = session.comm();
    a.stream = session.stream();
    return a;
  }
  Session session;
  DeviceMemory send, recv;
};

RANK_TEST(VArgumentChecks, EachAloneAndInOrder) {
  Fixture f(ranks);
  for (const OperationChecks& operation : AllOperations(ranks.rank())) {
    const auto& checks = operation.checks;
    for (size_t first = 0; first < checks.size(); ++first) {
      Arguments alone = f.Good(), from_here = f.Good();
      checks[first].spoil(alone);
      for (size_t i = checks.size(); i-- > first;) checks[i].spoil(from_here);
      for (const Arguments& a : {alone, from_here}) {
        TakeMessages();
        EXPECT_EQ(operation.call(a), checks[first].code)
            << operation.name << ": " << checks[first].named;
        EXPECT_THAT(TakeMessages(), HasSubstr(checks[first].named)) << operation.name;
      }
    }
    EXPECT_EQ(operation.call(f.Good()), HCCL_SUCCESS) << operation.name << TakeMessages();
  }
  EXPECT_EQ(f.session.Synchronize(), 0) << TakeMessages();
}

// Semantics C.4: what has no type, and what cannot even be moved.
RANK_TEST(VArgumentChecks, TypesThatCannotEvenBeMoved) {
  Fixture f(ranks);
  for (int type : {12, 13, 14, 15, 16, 17, 18, 255}) {
    for (const OperationChecks& operation : AllOperations(ranks.rank())) {
      Arguments a = f.Good();
      a.type = a.recv_type = static_cast<HcclDataType>(type);
      EXPECT_EQ(operation.call(a), HCCL_E_NOT_SUPPORT) << operation.name << ", type " << type;
    }
  }
}

// AllGatherV and ReduceScatterV: total 0 is success before the second buffer and the own count are
// looked at, but behind everything else.
RANK_TEST(VArgumentChecks, TotalZeroIsSuccessWithoutTakingPart) {
  Fixture f(ranks);
  if (ranks.rank() != 0) return;  // the others do not call: nobody waits
  Arguments a = f.Good();
  a.counts.assign(a.counts.size(), 0);
  a.recv = nullptr;
  EXPECT_EQ(AllGatherV(a), HCCL_SUCCESS) << "before recvBuf and the own count";
  a.type = kBadType;
  EXPECT_EQ(AllGatherV(a), HCCL_E_NOT_SUPPORT);
  a = f.Good();
  a.counts.assign(a.counts.size(), 0);
  a.send = nullptr;
  EXPECT_EQ(ReduceScatterV(a), HCCL_SUCCESS) << "before sendBuf and the own count";
  a.op = kBadOp;
  EXPECT_EQ(ReduceScatterV(a), HCCL_E_NOT_SUPPORT);
  EXPECT_EQ(f.session.Synchronize(), 0) << TakeMessages();
}

// A side without data needs no buffer; one with data does.
RANK_TEST(VArgumentChecks, BuffersAreWantedWhereThereIsData) {
  Fixture f(ranks);
  const uint32_t n = ranks.size();
  Arguments a = f.Good();
  a.counts.assign(n, 0);
  a.send = nullptr;
  a.own_count = 1;
  a.recv = nullptr;
  EXPECT_EQ(AlltoAllV(a), HCCL_E_PTR);
  EXPECT_THAT(TakeMessages(), HasSubstr("recvBuf is null"));
  // Only the own row and column of the matrix count.
  a = f.Good();
  a.matrix.assign(a.matrix.size(), 0);
  a.matrix[0] = 3;  // of rank 0 to itself
  a.send = ranks.rank() == 0 ? a.send : nullptr;
  a.recv = ranks.rank() == 0 ? a.recv : nullptr;
  EXPECT_EQ(AlltoAllVC(a), HCCL_SUCCESS) << TakeMessages();
  // AllGatherV: rank 0 contributes nothing, and its sendBuf is not looked at.
  a = f.Good();
  a.counts[0] = 0;
  if (ranks.rank() == 0) {
    a.own_count = 0;
    a.send = nullptr;
  }
  if (n > 1) {
    EXPECT_EQ(AllGatherV(a), HCCL_SUCCESS) << TakeMessages();
  }
  a = f.Good();
  a.counts[0] = 0;
  if (ranks.rank() == 0) {
    a.own_count = 0;
    a.recv = nullptr;
  }
  if (n > 1) {
    EXPECT_EQ(ReduceScatterV(a), HCCL_SUCCESS) << TakeMessages();
  }
  EXPECT_EQ(f.session.Synchronize(), 0) << TakeMessages();
}

// Semantics C.4: less than the other reductions.
RANK_TEST(VArgumentChecks, ReductionsOfReduceScatterV) {
  Fixture f(ranks);
  for (int type : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}) {
    for (int op : {0, 1, 2, 3}) {
      Arguments a = f.Good();
      a.type = static_cast<HcclDataType>(type);
      a.op = static_cast<HcclReduceOp>(op);
      Call call;
      call.op = Op::kReduceScatterV;
      call.type = static_cast<DataType>(type);
      call.reduce = static_cast<ReduceOp>(op);
      EXPECT_EQ(ReduceScatterV(a), SupportedV(call) ? HCCL_SUCCESS : HCCL_E_NOT_SUPPORT)
          << Name(call.type) << " " << Name(call.reduce);
    }
  }
  EXPECT_EQ(f.session.Synchronize(), 0) << TakeMessages();
}

// Blocks that reach beyond the allocation are found at the call, also where the sum overflows.
RANK_TEST(VArgumentChecks, BlocksBeyondTheAllocation) {
  Fixture f(ranks);
  const uint32_t me = ranks.rank();
  for (uint64_t displ : {uint64_t{1023}, uint64_t{1} << 40, UINT64_MAX / 4, UINT64_MAX}) {
    Arguments a = f.Good();
    a.displs[me] = displ;
    TakeMessages();
    EXPECT_EQ(AllGatherV(a), HCCL_E_PARA);
    EXPECT_THAT(TakeMessages(), HasSubstr("recvBuf"));
    EXPECT_EQ(ReduceScatterV(a), HCCL_E_PARA);
    EXPECT_THAT(TakeMessages(), HasSubstr("sendBuf"));
    EXPECT_EQ(AlltoAllV(a), HCCL_E_PARA);
    EXPECT_THAT(TakeMessages(), HasSubstr("sendBuf"));
    a = f.Good();
    a.recv_displs[me] = displ;
    EXPECT_EQ(AlltoAllV(a), HCCL_E_PARA);
    EXPECT_THAT(TakeMessages(), HasSubstr("recvBuf"));
  }
  // A column of the matrix beyond all bounds.
  if (ranks.size() > 1) {
    Arguments a = f.Good();
    const uint32_t other = me == 0 ? 1 : 0;
    a.matrix[other * ranks.size() + me] = UINT64_MAX;
    EXPECT_EQ(AlltoAllVC(a), HCCL_E_PARA);
    EXPECT_THAT(TakeMessages(), HasSubstr("recvBuf"));
  }
}

}  // namespace
}  // namespace hcclrun::testing
