// What the operations refuse at the call, with which code, and in which order they look (semantics
// C.1-C.4). Nothing here needs another rank: a call that is refused takes no part.

#include <functional>

#include "ranks/arena.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

constexpr uint64_t kTooMany = 0x800000000;  // one above the limit of semantics C.1
constexpr auto kBadType = static_cast<HcclDataType>(99);
constexpr auto kBadOp = static_cast<HcclReduceOp>(7);
constexpr auto kFloat = HCCL_DATA_TYPE_FP32;

// An enumeration as a caller in C may pass it: any number. Held as one, because a C++ variable of
// the enumeration must not have a value outside of it.
template <class Enum>
class AnyValue {
 public:
  AnyValue(int number) : number_(number) {}
  operator Enum() const { return static_cast<Enum>(number_); }

 private:
  int number_;
};

struct Arguments {
  void* send;
  void* recv;
  uint64_t count = 8;
  uint64_t recv_count = 8;  // AlltoAll
  AnyValue<HcclDataType> type = kFloat;
  AnyValue<HcclDataType> recv_type = kFloat;  // AlltoAll
  AnyValue<HcclReduceOp> op = HCCL_REDUCE_SUM;
  uint32_t root = 0;
  HcclComm comm;
  aclrtStream stream;
};

using Operation = std::function<HcclResult(const Arguments&)>;

// One thing that can be wrong with the arguments, the code for it and what its message names.
struct Check {
  const char* named;
  HcclResult code;
  std::function<void(Arguments&)> spoil;
};

const Check kComm = {"comm is null", HCCL_E_PTR, [](Arguments& a) { a.comm = nullptr; }};
const Check kSend = {"sendBuf is null", HCCL_E_PTR, [](Arguments& a) { a.send = nullptr; }};
const Check kRecv = {"recvBuf is null", HCCL_E_PTR, [](Arguments& a) { a.recv = nullptr; }};
const Check kBuf = {"buf is null", HCCL_E_PTR, [](Arguments& a) { a.recv = nullptr; }};
const Check kStream = {"stream is null", HCCL_E_PTR, [](Arguments& a) { a.stream = nullptr; }};
const Check kCount = {"ount is", HCCL_E_PARA,
                      [](Arguments& a) { a.count = a.recv_count = kTooMany; }};
const Check kType = {"dataType", HCCL_E_NOT_SUPPORT,
                     [](Arguments& a) { a.type = a.recv_type = kBadType; }};
const Check kOp = {"op is", HCCL_E_NOT_SUPPORT, [](Arguments& a) { a.op = kBadOp; }};
const Check kRoot = {"root is", HCCL_E_PARA, [](Arguments& a) { a.root = 1000; }};

struct OperationChecks {
  const char* name;
  Operation call;
  std::vector<Check> checks;  // in order
};

std::vector<OperationChecks> AllOperations() {
  return {
      {"AllReduce",
       [](const Arguments& a) {
         return HcclAllReduce(a.send, a.recv, a.count, a.type, a.op, a.comm, a.stream);
       },
       {kComm, kSend, kRecv, kStream, kCount, kType, kOp}},
      {"ReduceScatter",
       [](const Arguments& a) {
         return HcclReduceScatter(a.send, a.recv, a.count, a.type, a.op, a.comm, a.stream);
       },
       {kStream, kComm, kSend, kRecv, kCount, kType, kOp}},
      {"AllGather",
       [](const Arguments& a) {
         return HcclAllGather(a.send, a.recv, a.count, a.type, a.comm, a.stream);
       },
       {kComm, kSend, kRecv, kStream, kCount, kType}},
      {"Broadcast",
       [](const Arguments& a) {
         return HcclBroadcast(a.recv, a.count, a.type, a.root, a.comm, a.stream);
       },
       {kStream, kComm, kBuf, kCount, kType, kRoot}},
      {"Reduce",
       [](const Arguments& a) {
         return HcclReduce(a.send, a.recv, a.count, a.type, a.op, a.root, a.comm, a.stream);
       },
       {kComm, kSend, kRecv, kStream, kCount, kType, kOp, kRoot}},
      {"Scatter",
       [](const Arguments& a) {
         return HcclScatter(a.send, a.recv, a.count, a.type, a.root, a.comm, a.stream);
       },
       {kComm, kRecv, kStream, kCount, kType, kRoot}},
      {"AlltoAll",
       [](const Arguments& a) {
         return HcclAlltoAll(a.send, a.count, a.type, a.recv, a.recv_count, a.recv_type, a.comm,
                             a.stream);
       },
       {kSend,
        kRecv,
        {"recvCount is", HCCL_E_PARA, [](Arguments& a) { a.recv_count = a.count + 1; }},
        {"recvType is", HCCL_E_PARA, [](Arguments& a) { a.recv_type = HCCL_DATA_TYPE_INT8; }},
        kStream,
        kComm,
        {"recvBuf equals sendBuf", HCCL_E_PARA, [](Arguments& a) { a.recv = a.send; }},
        kType}},
  };
}

class Fixture {
 public:
  explicit Fixture(RankGroup& ranks) : session(ranks), send(4096), recv(4096) {}
  Arguments Good() const {
    Arguments a = {};
    a.send = send.data();
    a.recv = recv.data();
    a.count = a.recv_count = 8;
    a.type = a.recv_type = kFloat;
    a.comm = session.comm();
    a.stream = session.stream();
    return a;
  }
  Session session;
  DeviceMemory send, recv;
};

RANK_TEST(Arguments, EachIsCheckedAlone) {
  Fixture f(ranks);
  for (const OperationChecks& operation : AllOperations()) {
    for (const Check& check : operation.checks) {
      Arguments a = f.Good();
      check.spoil(a);
      TakeMessages();
      EXPECT_EQ(operation.call(a), check.code) << operation.name << ": " << check.named;
      EXPECT_THAT(TakeMessages(), ::testing::HasSubstr(check.named)) << operation.name;
    }
  }
}

// With everything from the i-th check on spoilt, the i-th is reported.
RANK_TEST(Arguments, OrderOfTheChecks) {
  Fixture f(ranks);
  for (const OperationChecks& operation : AllOperations()) {
    for (size_t first = 0; first < operation.checks.size(); ++first) {
      Arguments a = f.Good();
      for (size_t i = operation.checks.size(); i-- > first;) operation.checks[i].spoil(a);
      TakeMessages();
      EXPECT_EQ(operation.call(a), operation.checks[first].code)
          << operation.name << ", check " << first;
      EXPECT_THAT(TakeMessages(), ::testing::HasSubstr(operation.checks[first].named))
          << operation.name;
    }
  }
}

RANK_TEST(Arguments, CountZeroIsSuccessBeforeAnyOtherCheck) {
  DeviceSession device(static_cast<int32_t>(ranks.rank()));
  Arguments a = {};
  a.count = a.recv_count = 0;
  a.type = a.recv_type = kBadType;
  a.op = kBadOp;
  a.root = 77;
  for (const OperationChecks& operation : AllOperations()) {
    EXPECT_EQ(operation.call(a), HCCL_SUCCESS) << operation.name;
  }
}

RANK_TEST(Arguments, AlltoAllNeedsBothCountsZeroForTheShortcut) {
  Fixture f(ranks);
  Arguments a = f.Good();
  EXPECT_EQ(HcclAlltoAll(a.send, 0, a.type, a.recv, 8, a.type, a.comm, a.stream), HCCL_E_PARA);
  EXPECT_EQ(HcclAlltoAll(a.send, 8, a.type, a.recv, 0, a.type, a.comm, a.stream), HCCL_E_PARA);
  EXPECT_EQ(HcclAlltoAll(nullptr, 0, a.type, nullptr, 8, a.type, a.comm, a.stream), HCCL_E_PTR);
}

RANK_TEST(Arguments, BarrierWantsCommunicatorThenStream) {
  Fixture f(ranks);
  TakeMessages();
  EXPECT_EQ(HcclBarrier(nullptr, nullptr), HCCL_E_PTR);
  EXPECT_THAT(TakeMessages(), ::testing::HasSubstr("comm is null"));
  EXPECT_EQ(HcclBarrier(f.session.comm(), nullptr), HCCL_E_PTR);
  EXPECT_THAT(TakeMessages(), ::testing::HasSubstr("stream is null"));
}

RANK_TEST(Arguments, ScatterWantsASendBufferOnlyOnRoot) {
  Fixture f(ranks);
  Arguments a = f.Good();
  const uint32_t me = ranks.rank();
  EXPECT_EQ(HcclScatter(nullptr, a.recv, 8, a.type, me, a.comm, a.stream), HCCL_E_PTR);
  EXPECT_THAT(TakeMessages(), ::testing::HasSubstr("sendBuf is null"));
  // The stream comes before it, count, type and root behind it.
  EXPECT_EQ(HcclScatter(nullptr, a.recv, 8, a.type, me, a.comm, nullptr), HCCL_E_PTR);
  EXPECT_THAT(TakeMessages(), ::testing::HasSubstr("stream is null"));
  EXPECT_EQ(HcclScatter(nullptr, a.recv, kTooMany, kBadType, me, a.comm, a.stream), HCCL_E_PTR);
  DeviceMemory block(4096 * ranks.size());
  const bool root = me == 0;
  EXPECT_EQ(HcclScatter(root ? block.data() : nullptr, a.recv, 8, a.type, 0, a.comm, a.stream),
            HCCL_SUCCESS);
  EXPECT_EQ(f.session.Synchronize(), 0) << TakeMessages();
}

// Every pair of type and reduction, from the table of semantics C.4.
RANK_TEST(Arguments, UnsupportedReductions) {
  Fixture f(ranks);
  const int types[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17};
  for (int type : types) {
    for (ReduceOp reduce : kReductions) {
      Call call;
      call.op = Op::kAllReduce;
      call.type = static_cast<DataType>(type);
      call.reduce = reduce;
      if (Supported(call)) continue;
      for (const OperationChecks& operation : AllOperations()) {
        if (operation.name != std::string("AllReduce") &&
            operation.name != std::string("ReduceScatter") &&
            operation.name != std::string("Reduce")) {
          continue;
        }
        Arguments a = f.Good();
        a.type = static_cast<HcclDataType>(type);
        a.op = static_cast<HcclReduceOp>(reduce);
        EXPECT_EQ(operation.call(a), HCCL_E_NOT_SUPPORT)
            << operation.name << ", type " << type << ", op " << int(reduce);
      }
    }
  }
}

RANK_TEST(Arguments, TypesThatCannotEvenBeMoved) {
  Fixture f(ranks);
  for (int type : {12, 13, 14, 15, 16, 17, 18, 254, 255, 256, -1}) {
    Arguments a = f.Good();
    a.type = a.recv_type = type;
    for (const OperationChecks& operation : AllOperations()) {
      EXPECT_EQ(operation.call(a), HCCL_E_NOT_SUPPORT) << operation.name << ", type " << type;
    }
  }
  for (int op : {4, 255, -1}) {
    Arguments a = f.Good();
    a.op = op;
    EXPECT_EQ(HcclAllReduce(a.send, a.recv, 8, a.type, a.op, a.comm, a.stream), HCCL_E_NOT_SUPPORT)
        << op;
  }
}

RANK_TEST(Arguments, RootMustBeARank) {
  Fixture f(ranks);
  Arguments a = f.Good();
  EXPECT_EQ(HcclBroadcast(a.recv, 8, a.type, ranks.size(), a.comm, a.stream), HCCL_E_PARA);
  EXPECT_EQ(HcclReduce(a.send, a.recv, 8, a.type, a.op, ranks.size(), a.comm, a.stream),
            HCCL_E_PARA);
  EXPECT_EQ(HcclScatter(a.send, a.recv, 8, a.type, ranks.size(), a.comm, a.stream), HCCL_E_PARA);
}

// The largest legal count passes the check of the count and fails for what it is: more
// than the buffer.
RANK_TEST(Arguments, CountLimit) {
  Fixture f(ranks);
  Arguments a = f.Good();
  EXPECT_EQ(HcclAllReduce(a.send, a.recv, kTooMany, HCCL_DATA_TYPE_INT8, a.op, a.comm, a.stream),
            HCCL_E_PARA);
  EXPECT_THAT(TakeMessages(), ::testing::HasSubstr("between 0 and 34359738367"));
  EXPECT_EQ(
      HcclAllReduce(a.send, a.recv, kTooMany - 1, HCCL_DATA_TYPE_INT8, a.op, a.comm, a.stream),
      HCCL_E_PARA);
  EXPECT_THAT(TakeMessages(), ::testing::HasSubstr("beyond its allocation"));
}

RANK_TEST(Arguments, HandlesThatAreNoneOrNotAnyMore) {
  Fixture f(ranks);
  aclrtStream dead_stream = nullptr;
  REQUIRE_OK(aclrtCreateStream(&dead_stream));
  REQUIRE_OK(aclrtDestroyStream(dead_stream));
  HcclComm dead_comm = f.session.NewCommunicator();
  REQUIRE_OK(HcclCommDestroy(dead_comm));
  int local = 0;
  uint32_t number = 0;
  char name[128];
  for (void* handle :
       {dead_comm, static_cast<void*>(&local), reinterpret_cast<void*>(1), f.session.stream()}) {
    Arguments a = f.Good();
    a.comm = handle;
    for (const OperationChecks& operation : AllOperations())
      EXPECT_EQ(operation.call(a), HCCL_E_PARA) << operation.name;
    EXPECT_EQ(HcclBarrier(handle, a.stream), HCCL_E_PARA);
    EXPECT_EQ(HcclGetRankId(handle, &number), HCCL_E_PARA);
    EXPECT_EQ(HcclGetRankSize(handle, &number), HCCL_E_PARA);
    EXPECT_EQ(HcclGetCommName(handle, name), HCCL_E_PARA);
    EXPECT_EQ(HcclCommDestroy(handle), HCCL_E_PARA);
  }
  EXPECT_EQ(HcclCommDestroy(nullptr), HCCL_SUCCESS);
  for (void* handle :
       {dead_stream, static_cast<void*>(&local), reinterpret_cast<void*>(1), f.session.comm()}) {
    Arguments a = f.Good();
    a.stream = handle;
    for (const OperationChecks& operation : AllOperations())
      EXPECT_EQ(operation.call(a), HCCL_E_PARA) << operation.name;
  }
}

RANK_TEST(Arguments, BuffersAreDeviceMemoryOfEnoughBytes) {
  Fixture f(ranks);
  const uint64_t size = ranks.size();
  std::vector<float> host(8 * size);
  Arguments a = f.Good();
  const auto expect = [&](HcclResult result, const char* named, const char* what) {
    EXPECT_EQ(result, HCCL_E_PARA) << what;
    EXPECT_THAT(TakeMessages(), ::testing::HasSubstr(named)) << what;
  };
  expect(HcclAllReduce(host.data(), a.recv, 8, a.type, a.op, a.comm, a.stream), "sendBuf",
         "host input");
  expect(HcclAllReduce(a.send, host.data(), 8, a.type, a.op, a.comm, a.stream), "recvBuf",
         "host output");
  expect(HcclBroadcast(host.data(), 8, a.type, 0, a.comm, a.stream), "buf", "host buffer");
  // Exactly the allocation is in order, one element more is not.
  const uint64_t fits = f.send.size() / sizeof(float);
  EXPECT_EQ(HcclAllReduce(a.send, a.recv, fits, a.type, a.op, a.comm, a.stream), HCCL_SUCCESS);
  EXPECT_EQ(f.session.Synchronize(), 0) << TakeMessages();
  expect(HcclAllReduce(a.send, a.recv, fits + 1, a.type, a.op, a.comm, a.stream), "sendBuf",
         "input too small");
  expect(HcclAllReduce(f.send.data() + 8, f.recv.data(), fits, a.type, a.op, a.comm, a.stream),
         "sendBuf", "input reaches beyond its end");
  // The larger side of AllGather, ReduceScatter and AlltoAll has as many blocks as there are ranks.
  const uint64_t block = fits / size;
  EXPECT_EQ(HcclAllGather(a.send, a.recv, block, a.type, a.comm, a.stream), HCCL_SUCCESS);
  EXPECT_EQ(HcclReduceScatter(a.send, a.recv, block, a.type, a.op, a.comm, a.stream), HCCL_SUCCESS);
  EXPECT_EQ(HcclAlltoAll(a.send, block, a.type, a.recv, block, a.type, a.comm, a.stream),
            HCCL_SUCCESS);
  EXPECT_EQ(f.session.Synchronize(), 0) << TakeMessages();
  if (size > 1) {
    DeviceMemory large(f.send.size() * size);
    expect(HcclAllGather(a.send, a.recv, block + 1, a.type, a.comm, a.stream), "recvBuf",
           "AllGather");
    expect(HcclReduceScatter(a.send, a.recv, block + 1, a.type, a.op, a.comm, a.stream), "sendBuf",
           "ReduceScatter");
    expect(
        HcclAlltoAll(large.data(), block + 1, a.type, a.recv, block + 1, a.type, a.comm, a.stream),
        "recvBuf", "AlltoAll");
  }
  void* gone = nullptr;
  REQUIRE_OK(aclrtMalloc(&gone, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  REQUIRE_OK(aclrtFree(gone));
  expect(HcclAllReduce(gone, a.recv, 8, a.type, a.op, a.comm, a.stream), "sendBuf", "freed input");
}

// A refused call is not counted: the ranks still agree about the next operation.
RANK_TEST(Arguments, RefusedCallsTakeNoPart) {
  Fixture f(ranks);
  Arguments a = f.Good();
  for (uint32_t i = 0; i <= ranks.rank(); ++i) {  // another number on every rank
    EXPECT_EQ(HcclAllReduce(a.send, a.recv, 8, kBadType, a.op, a.comm, a.stream),
              HCCL_E_NOT_SUPPORT);
    EXPECT_EQ(HcclAllReduce(a.send, a.recv, 8000, a.type, a.op, a.comm, a.stream), HCCL_E_PARA);
  }
  UploadValues<float>(f.send.data(), {1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_EQ(HcclAllReduce(a.send, a.recv, 8, a.type, a.op, a.comm, a.stream), HCCL_SUCCESS);
  ASSERT_EQ(f.session.Synchronize(), 0) << TakeMessages();
  EXPECT_EQ(DownloadValues<float>(f.recv.data(), 8)[7], 8.0f * static_cast<float>(ranks.size()));
}

// A stream of another device of the process is refused; the device is the communicator's, whatever
// the thread has set.
RANK_TEST(Arguments, StreamOfAnotherDevice) {
  Fixture f(ranks);
  uint32_t devices = 0;
  REQUIRE_OK(aclrtGetDeviceCount(&devices));
  if (devices < 2 || ranks.threads()) return;
  const auto other = static_cast<int32_t>((ranks.rank() + 1) % devices);
  Arguments a = f.Good();
  {
    DeviceSession elsewhere(other);
    a.stream = elsewhere.stream();
    EXPECT_EQ(HcclAllReduce(a.send, a.recv, 8, a.type, a.op, a.comm, a.stream), HCCL_E_PARA);
    DeviceMemory foreign(4096);
    EXPECT_EQ(HcclAllReduce(foreign.data(), a.recv, 8, a.type, a.op, a.comm, f.session.stream()),
              HCCL_E_PARA);
  }
  REQUIRE_OK(aclrtSetDevice(f.session.device()));
  REQUIRE_OK(aclrtResetDevice(f.session.device()));
}

}  // namespace
}  // namespace hcclrun::testing
