// Which operations use the windows and which the HCCL buffers (semantics A.10), and what happens
// when ranks disagree.

#include <cstdlib>

#include "ranks/arena.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kArena = uint64_t{1} << 16;

Call SmallCall(Op op, DataType type, ReduceOp reduce, uint32_t ranks) {
  Call call;
  call.op = op;
  call.type = type;
  call.reduce = reduce;
  call.ranks = ranks;
  call.count = 33;
  return call;
}

hcclrunPath PathOf(Session& session, Arena& arena, const Call& call, uint64_t in = 64,
                   uint64_t out = kArena / 2) {
  arena.Run(call, arena.Everywhere(in), arena.Everywhere(out), session.comm(), session.stream());
  EXPECT_EQ(session.Synchronize(), 0) << Describe(call) << "\n" << TakeMessages();
  return session.LastPath();
}

// Items 1 and 2. Written out, not derived.
RANK_TEST(Paths, OperationsTypesAndReductionsThatUseWindows) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  Arena arena(session, Path::kWindow, kArena, 1);
  const uint32_t n = ranks.size();
  const auto expect = [&](hcclrunPath path, Op op, DataType type, ReduceOp reduce) {
    const Call call = SmallCall(op, type, reduce, n);
    const uint64_t out = op == Op::kBroadcast ? 64 : kArena / 2;
    EXPECT_EQ(PathOf(session, arena, call, 64, out), path) << Describe(call);
  };
  for (DataType type : {DataType::kInt8, DataType::kInt16, DataType::kInt32, DataType::kFp16,
                        DataType::kFp32, DataType::kBf16}) {
    for (ReduceOp reduce : {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kMin}) {
      expect(HCCLRUN_PATH_WINDOW, Op::kAllReduce, type, reduce);
      expect(HCCLRUN_PATH_WINDOW, Op::kReduceScatter, type, reduce);
      expect(HCCLRUN_PATH_BUFFERED, Op::kReduce, type, reduce);
    }
  }
  for (DataType type :
       {DataType::kInt8, DataType::kInt32, DataType::kFp16, DataType::kFp32, DataType::kInt64}) {
    expect(HCCLRUN_PATH_BUFFERED, Op::kAllReduce, type, ReduceOp::kProd);
    expect(HCCLRUN_PATH_BUFFERED, Op::kReduceScatter, type, ReduceOp::kProd);
  }
  for (ReduceOp reduce : kReductions) {
    expect(HCCLRUN_PATH_BUFFERED, Op::kAllReduce, DataType::kInt64, reduce);
    expect(HCCLRUN_PATH_BUFFERED, Op::kReduceScatter, DataType::kInt64, reduce);
  }
  for (DataType type : kDataTypes) {
    expect(HCCLRUN_PATH_WINDOW, Op::kAllGather, type, ReduceOp::kSum);
    expect(HCCLRUN_PATH_WINDOW, Op::kAllToAll, type, ReduceOp::kSum);
    expect(HCCLRUN_PATH_BUFFERED, Op::kBroadcast, type, ReduceOp::kSum);
    expect(HCCLRUN_PATH_BUFFERED, Op::kScatter, type, ReduceOp::kSum);
  }
  ASSERT_TRUE(arena.Check());
}

// Item 2: only AI CPU expansion reaches the windows. 0 default, 1 host, 2 AI CPU, 3 AIV, 4 AIV
// only, others ignored.
RANK_TEST(Paths, ExpansionModeOfTheConfiguration) {
  if (ranks.size() == 1 || std::getenv("HCCL_OP_EXPANSION_MODE")) return;
  for (uint32_t mode : {0, 1, 2, 3, 4, 9}) {
    Session session(ranks, [mode](HcclCommConfig& config) { config.hcclOpExpansionMode = mode; });
    Arena arena(session, Path::kWindow, kArena, 2);
    const bool window = mode == 0 || mode == 2 || mode == 9;
    EXPECT_EQ(PathOf(session, arena,
                     SmallCall(Op::kAllGather, DataType::kInt8, ReduceOp::kSum, ranks.size())),
              window ? HCCLRUN_PATH_WINDOW : HCCLRUN_PATH_BUFFERED)
        << "hcclOpExpansionMode " << mode;
    EXPECT_TRUE(arena.Check());
  }
}

// Runs with HCCL_OP_EXPANSION_MODE set: the configuration outranks it (semantics D.3).
RANK_TEST(Paths, ExpansionModeOfTheEnvironment) {
  const char* mode = std::getenv("HCCL_OP_EXPANSION_MODE");
  if (ranks.size() == 1 || !mode) return;
  const bool ai_cpu = std::string(mode).substr(0, 2) == "AI" && std::string(mode) != "AIV";
  {
    Session session(ranks);
    Arena arena(session, Path::kWindow, kArena, 3);
    EXPECT_EQ(PathOf(session, arena,
                     SmallCall(Op::kAllGather, DataType::kInt8, ReduceOp::kSum, ranks.size())),
              ai_cpu ? HCCLRUN_PATH_WINDOW : HCCLRUN_PATH_BUFFERED)
        << mode;
  }
  Session session(ranks, [](HcclCommConfig& config) { config.hcclOpExpansionMode = 2; });
  Arena arena(session, Path::kWindow, kArena, 3);
  EXPECT_EQ(PathOf(session, arena,
                   SmallCall(Op::kAllGather, DataType::kInt8, ReduceOp::kSum, ranks.size())),
            HCCLRUN_PATH_WINDOW)
      << mode;
}

// Item 7: both buffers must lie in windows, as a whole; they may be two different ones.
RANK_TEST(Paths, BothBuffersInWindows) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  WindowMemory one(session, kGranularity), two(session, kGranularity);
  DeviceMemory plain(kGranularity);
  const auto path = [&](char* in, char* out) {
    EXPECT_EQ(HcclAllGather(in, out, 100, HCCL_DATA_TYPE_INT8, session.comm(), session.stream()),
              HCCL_SUCCESS);
    EXPECT_EQ(session.Synchronize(), 0) << TakeMessages();
    EXPECT_EQ(DownloadValues<char>(out, 100),
              DownloadValues<char>(ranks.rank() == 0 ? in : out, 100));
    return session.LastPath();
  };
  EXPECT_EQ(path(one.data(), two.data()), HCCLRUN_PATH_WINDOW) << "two windows";
  EXPECT_EQ(path(two.data() + 5, two.data() + 70000), HCCLRUN_PATH_WINDOW) << "one window";
  EXPECT_EQ(path(one.data(), plain.data()), HCCLRUN_PATH_BUFFERED) << "only the input";
  EXPECT_EQ(path(plain.data(), one.data()), HCCLRUN_PATH_BUFFERED) << "only the output";
  EXPECT_EQ(path(plain.data(), plain.data() + 4096), HCCLRUN_PATH_BUFFERED) << "neither";
  EXPECT_EQ(path(plain.data() + kGranularity - 100, one.data() + kGranularity - 100 * ranks.size()),
            HCCLRUN_PATH_BUFFERED);
}

// A buffer across two adjacent mappings is in no window, and its bytes are right.
RANK_TEST(Paths, BufferAcrossTwoMappings) {
  Session session(ranks);
  void* base = nullptr;
  REQUIRE_OK(aclrtReserveMemAddress(&base, 2 * kGranularity, 0, nullptr, 1));
  aclrtPhysicalMemProp prop = {};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = static_cast<uint32_t>(session.device());
  aclrtDrvMemHandle handles[2];
  for (aclrtDrvMemHandle& handle : handles)
    REQUIRE_OK(aclrtMallocPhysical(&handle, kGranularity, &prop, 0));
  HcclCommSymWindow windows[2];
  for (size_t i = 0; i < 2; ++i) {  // in reverse order: adjacent addresses, not adjacent memory
    char* at = static_cast<char*>(base) + i * kGranularity;
    REQUIRE_OK(aclrtMapMem(at, kGranularity, 0, handles[1 - i], 0));
    REQUIRE_OK(HcclCommSymWinRegister(session.comm(), at, kGranularity, &windows[i], 1));
  }
  constexpr size_t kCount = 1000;
  char* in = static_cast<char*>(base) + kGranularity - kCount * 2;  // half of it on either side
  std::vector<int32_t> values(kCount);
  for (size_t i = 0; i < kCount; ++i) values[i] = static_cast<int32_t>(i * (ranks.rank() + 1));
  UploadValues(in, values);
  ASSERT_EQ(HcclAllReduce(in, in, kCount, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, session.comm(),
                          session.stream()),
            HCCL_SUCCESS);
  ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
  EXPECT_EQ(session.LastPath(), HCCLRUN_PATH_BUFFERED);
  const uint32_t n = ranks.size();
  for (size_t i = 0; i < kCount; ++i) values[i] = static_cast<int32_t>(i * (n * (n + 1) / 2));
  EXPECT_EQ(DownloadValues<int32_t>(in, kCount), values);
  for (size_t i = 0; i < 2; ++i) {
    REQUIRE_OK(HcclCommSymWinDeregister(windows[i]));
    REQUIRE_OK(aclrtUnmapMem(static_cast<char*>(base) + i * kGranularity));
    REQUIRE_OK(aclrtFreePhysical(handles[i]));
  }
  REQUIRE_OK(aclrtReleaseMemAddress(base));
}

// Overlap that only staging can bear leaves the window path and gets the right result all the same.
RANK_TEST(Paths, InputInAnotherRanksBlockOfTheOutput) {
  if (ranks.size() < 2) return;
  Session session(ranks);
  Arena arena(session, Path::kWindow, kArena, 4);
  Call call = SmallCall(Op::kAllGather, DataType::kInt32, ReduceOp::kSum, ranks.size());
  // The input is block 0 of the output, on every rank: its own for rank 0, another one's
  // for the others.
  EXPECT_EQ(PathOf(session, arena, call, 4096, 4096), HCCLRUN_PATH_BUFFERED);
  ASSERT_TRUE(arena.Check());
}

// ---- Ranks that disagree ----

// A.10: hardware would corrupt memory. The call or its synchronisation fails on every rank, naming
// both offsets.
RANK_TEST(UnequalOffsets, FailEverywhereAndMoveNothing) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  WindowMemory memory(session, kGranularity);
  const std::vector<uint8_t> before(kGranularity, 0x77);
  UploadValues(memory.data(), before);
  ranks.Meet();
  const bool odd = ranks.rank() == ranks.size() - 1;
  for (bool input : {true, false}) {
    char* in = memory.data() + (input && odd ? 8192 : 4096);
    char* out = memory.data() + (!input && odd ? 200000 : 100000);
    ASSERT_EQ(HcclAllReduce(in, out, 100, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, session.comm(),
                            session.stream()),
              HCCL_SUCCESS);
    EXPECT_NE(session.Synchronize(), 0);
    const std::string text = TakeMessages();
    EXPECT_THAT(text, HasSubstr("different offsets of the symmetric windows"));
    EXPECT_THAT(text, HasSubstr(input ? "8192" : "200000")) << text;
    EXPECT_THAT(text, HasSubstr(input ? "input at 4096" : "output at 100000")) << text;
    EXPECT_THAT(text, HasSubstr("rank " + std::to_string(ranks.size() - 1))) << text;
    // The error is of that operation; the next one works.
    ASSERT_EQ(HcclBarrier(session.comm(), session.stream()), HCCL_SUCCESS);
    EXPECT_EQ(session.Synchronize(), 0) << TakeMessages();
  }
  EXPECT_EQ(Download(memory.data(), kGranularity), before);
}

// The in-place forms of AllGather and ReduceScatter need another offset on every rank, which
// windows do not allow; in plain memory they work (collectives_test.cpp).
RANK_TEST(UnequalOffsets, InPlaceAllGatherInAWindow) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  WindowMemory memory(session, kGranularity);
  ASSERT_EQ(HcclAllGather(memory.data() + ranks.rank() * 100, memory.data(), 100,
                          HCCL_DATA_TYPE_INT8, session.comm(), session.stream()),
            HCCL_SUCCESS);
  EXPECT_NE(session.Synchronize(), 0);
  EXPECT_THAT(TakeMessages(), HasSubstr("different offsets of the symmetric windows"));
}

// Memory outside windows may lie anywhere.
RANK_TEST(UnequalOffsets, AreFineInPlainMemory) {
  Session session(ranks);
  DeviceMemory shift(4096 * (1 + 5 * ranks.rank()));
  DeviceMemory memory(kArena);
  char* in = memory.data() + 4 * ranks.rank();
  const int32_t value = 7;
  Upload(in, &value, 4);
  ASSERT_EQ(HcclAllReduce(in, in, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, session.comm(),
                          session.stream()),
            HCCL_SUCCESS);
  ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
  EXPECT_EQ(DownloadValues<int32_t>(in, 1)[0], static_cast<int32_t>(7 * ranks.size()));
}

// A.10: only some ranks have registered their buffers.
RANK_TEST(MixedRegistration, FailsEverywhere) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  WindowMemory window(session, kGranularity);
  DeviceMemory plain(kGranularity);
  const bool odd = ranks.rank() == 0;
  char* memory = odd ? plain.data() : window.data();
  ASSERT_EQ(HcclAllGather(memory, memory + 4096, 10, HCCL_DATA_TYPE_INT8, session.comm(),
                          session.stream()),
            HCCL_SUCCESS);
  EXPECT_NE(session.Synchronize(), 0);
  EXPECT_THAT(TakeMessages(), HasSubstr("registered windows"));
  ASSERT_EQ(HcclAllGather(plain.data(), plain.data() + 4096, 10, HCCL_DATA_TYPE_INT8,
                          session.comm(), session.stream()),
            HCCL_SUCCESS);
  EXPECT_EQ(session.Synchronize(), 0) << TakeMessages();
}

}  // namespace
}  // namespace hcclrun::testing
