// Communicators of some ranks of another one, and of all devices of a process (semantics D.6).

#include <algorithm>
#include <numeric>
#include <thread>

#include "support/rank_session.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kNone = 0xFFFFFFFF;

// The ranks' sum of 1 << rank over `comm`, for the ranks of `members`.
void ExpectSum(HcclComm comm, aclrtStream stream, RankGroup& ranks,
               const std::vector<uint32_t>& members) {
  DeviceMemory value(8);
  UploadValues<int64_t>(value.data(), {int64_t{1} << ranks.rank()});
  ASSERT_EQ(HcclAllReduce(value.data(), value.data(), 1, HCCL_DATA_TYPE_INT64, HCCL_REDUCE_SUM,
                          comm, stream),
            HCCL_SUCCESS)
      << TakeMessages();
  ASSERT_EQ(aclrtSynchronizeStream(stream), 0) << TakeMessages();
  int64_t sum = 0;
  for (uint32_t r : members) sum += int64_t{1} << r;
  EXPECT_EQ(DownloadValues<int64_t>(value.data(), 1)[0], sum);
}

HcclComm Make(HcclComm parent, const std::vector<uint32_t>& members, uint64_t id,
              uint32_t own_rank) {
  const auto at = std::find(members.begin(), members.end(), own_rank);
  HcclComm sub = nullptr;
  EXPECT_EQ(CreateSubComm(parent, members, id, static_cast<uint32_t>(at - members.begin()), &sub),
            HCCL_SUCCESS)
      << TakeMessages();
  return sub;
}

std::vector<uint32_t> Everybody(const RankGroup& ranks) {
  std::vector<uint32_t> all(ranks.size());
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

std::string NameOf(HcclComm comm) {
  char name[COMM_NAME_MAX_LENGTH];
  REQUIRE_OK(HcclGetCommName(comm, name));
  return name;
}

RANK_TEST(SubComm, ChecksArgumentsInOrder) {
  Session session(ranks);
  HcclComm comm = session.comm(), sub = nullptr;
  const uint32_t me = ranks.rank();
  uint32_t ids[3] = {me, ranks.size(), me};
  HcclCommConfig config = TestConfig();
  const auto named = [](const char* text) { EXPECT_THAT(TakeMessages(), HasSubstr(text)); };
  EXPECT_EQ(HcclCreateSubCommConfig(nullptr, 0, nullptr, kNone, 9, nullptr, nullptr), HCCL_E_PTR);
  named("subComm is null");
  EXPECT_EQ(HcclCreateSubCommConfig(nullptr, 0, nullptr, 1, 9, nullptr, &sub), HCCL_E_PARA);
  named("rankIds");
  EXPECT_EQ(HcclCreateSubCommConfig(nullptr, 0, ids, kNone, 9, nullptr, &sub), HCCL_E_PARA);
  named("subCommId");
  EXPECT_EQ(HcclCreateSubCommConfig(nullptr, 0, ids, 1, 9, nullptr, &sub), HCCL_E_PARA);
  named("rankNum is 0");
  EXPECT_EQ(HcclCreateSubCommConfig(nullptr, 1, ids, 1, 1, nullptr, &sub), HCCL_E_PARA);
  named("subCommRankId is 1");
  EXPECT_EQ(HcclCreateSubCommConfig(nullptr, 1, ids, 1, 0, nullptr, &sub), HCCL_E_PTR);
  named("config is null");
  EXPECT_EQ(HcclCreateSubCommConfig(nullptr, 1, ids, 1, 0, &config, &sub), HCCL_E_PTR);
  named("comm is null");
  EXPECT_EQ(HcclCreateSubCommConfig(&comm, 2, ids, 1, 0, &config, &sub), HCCL_E_PARA);
  named("rankIds[1]");
  ids[1] = me;
  EXPECT_EQ(HcclCreateSubCommConfig(&comm, 2, ids, 1, 0, &config, &sub), HCCL_E_PARA);
  named("earlier entry");
  ids[0] = (me + 1) % ranks.size();
  if (ranks.size() > 1) {
    EXPECT_EQ(HcclCreateSubCommConfig(&comm, 1, ids, 1, 0, &config, &sub), HCCL_E_PARA);
    named("own rank");
  }
  EXPECT_EQ(sub, nullptr) << "untouched";
  // A rank that is no member.
  sub = comm;
  EXPECT_EQ(HcclCreateSubCommConfig(&comm, 0, nullptr, kNone, 0, nullptr, &sub), HCCL_SUCCESS);
  EXPECT_EQ(sub, nullptr);
}

RANK_TEST(SubComm, HasItsOwnRanksAndName) {
  Session session(ranks);
  // All ranks, backwards.
  std::vector<uint32_t> members = Everybody(ranks);
  std::reverse(members.begin(), members.end());
  HcclComm sub = Make(session.comm(), members, 7, ranks.rank());
  ASSERT_NE(sub, nullptr);
  uint32_t rank = 99, size = 99;
  EXPECT_EQ(HcclGetRankId(sub, &rank), HCCL_SUCCESS);
  EXPECT_EQ(HcclGetRankSize(sub, &size), HCCL_SUCCESS);
  EXPECT_EQ(rank, ranks.size() - 1 - ranks.rank());
  EXPECT_EQ(size, ranks.size());
  EXPECT_EQ(NameOf(sub), NameOf(session.comm()) + "_sub_7");
  HcclComm again = nullptr;
  EXPECT_EQ(CreateSubComm(session.comm(), members, 7, rank, &again), HCCL_E_PARA)
      << "the name is taken";
  EXPECT_THAT(TakeMessages(), HasSubstr("_sub_7"));
  // Sub rank 0 is the parent's last rank.
  DeviceMemory value(4);
  UploadValues<int32_t>(value.data(), {static_cast<int32_t>(ranks.rank())});
  ASSERT_EQ(HcclBroadcast(value.data(), 1, HCCL_DATA_TYPE_INT32, 0, sub, session.stream()),
            HCCL_SUCCESS)
      << TakeMessages();
  ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
  EXPECT_EQ(DownloadValues<int32_t>(value.data(), 1)[0], static_cast<int32_t>(ranks.size() - 1));
  EXPECT_EQ(HcclCommDestroy(sub), HCCL_SUCCESS);
}

// Evens and odds, with the same id, at the same time; the parent works on.
RANK_TEST(SubComm, DisjointOnesShareAnId) {
  Session session(ranks);
  std::vector<uint32_t> members;
  for (uint32_t r = ranks.rank() % 2; r < ranks.size(); r += 2) members.push_back(r);
  HcclComm sub = Make(session.comm(), members, 1, ranks.rank());
  for (int round = 0; round < 3; ++round) {
    ExpectSum(sub, session.stream(), ranks, members);
    ExpectSum(session.comm(), session.stream(), ranks, Everybody(ranks));
  }
  EXPECT_EQ(HcclCommDestroy(sub), HCCL_SUCCESS);
}

// Every pair of ranks has one, made in one order and used in another on each rank: the members need
// not be in their first operations at the same time.
RANK_TEST(SubComm, AllPairsAtOnce) {
  if (ranks.size() > 8) return;
  Session session(ranks);
  const uint32_t me = ranks.rank();
  std::vector<HcclComm> pairs(ranks.size());
  for (uint32_t r = 0; r < ranks.size(); ++r) {
    if (r == me) continue;
    pairs[r] = Make(session.comm(), {std::min(r, me), std::max(r, me)},
                    std::min(r, me) * 100 + std::max(r, me), me);
  }
  // Rank r exchanges with r xor step, which pairs everybody up.
  for (uint32_t step = 1; step < 8; ++step) {
    const uint32_t peer = me ^ step;
    if (peer < ranks.size()) ExpectSum(pairs[peer], session.stream(), ranks, {me, peer});
  }
  for (HcclComm pair : pairs) EXPECT_EQ(HcclCommDestroy(pair), HCCL_SUCCESS);
}

RANK_TEST(SubComm, OfASubCommThatOutlivesIt) {
  Session session(ranks);
  const std::vector<uint32_t> all = Everybody(ranks);
  // Without an operation on the middle one, which need not have met its members.
  HcclComm middle = Make(session.comm(), all, 1, ranks.rank());
  HcclComm inner = Make(middle, all, 2, ranks.rank());
  EXPECT_EQ(HcclCommDestroy(middle), HCCL_SUCCESS);
  session.DestroyCommunicator();
  ExpectSum(inner, session.stream(), ranks, all);
  EXPECT_EQ(HcclCommDestroy(inner), HCCL_SUCCESS);
}

// Also when ranks are far apart, and for one that is destroyed unused.
RANK_TEST(SubComm, CanBeMadeAgain) {
  Session session(ranks);
  const std::vector<uint32_t> all = Everybody(ranks);
  for (int round = 0; round < 4; ++round) {
    HcclComm unused = Make(session.comm(), all, 5, ranks.rank());
    EXPECT_EQ(HcclCommDestroy(unused), HCCL_SUCCESS);
    HcclComm sub = Make(session.comm(), all, 5, ranks.rank());
    ExpectSum(sub, session.stream(), ranks, all);
    EXPECT_EQ(HcclCommDestroy(sub), HCCL_SUCCESS);
  }
}

RANK_TEST(SubComm, HasItsOwnWindowsAndBuffers) {
  Session session(ranks);
  const std::vector<uint32_t> all = Everybody(ranks);
  HcclComm sub = nullptr;
  ASSERT_EQ(CreateSubComm(session.comm(), all, 3, ranks.rank(), &sub,
                          [](HcclCommConfig& c) { c.hcclBufferSize = 1; }),
            HCCL_SUCCESS);
  MappedMemory memory(session.device(), kGranularity);
  HcclCommSymWindow window = nullptr;
  ASSERT_EQ(HcclCommSymWinRegister(sub, memory.data(), memory.size(), &window, 1), HCCL_SUCCESS)
      << TakeMessages();
  size_t offset = 0;
  HcclCommSymWindow found = nullptr;
  EXPECT_EQ(HcclCommSymWinGet(session.comm(), memory.data(), 64, &found, &offset), HCCL_E_NOT_FOUND)
      << "nothing is inherited";
  // More than the buffers hold at once.
  constexpr size_t kCount = 3 << 20;
  DeviceMemory in(kCount), out(kCount * ranks.size());
  Upload(in.data(), std::vector<uint8_t>(kCount, uint8_t(ranks.rank() + 1)).data(), kCount);
  ASSERT_EQ(
      HcclAllGather(in.data(), out.data(), kCount, HCCL_DATA_TYPE_INT8, sub, session.stream()),
      HCCL_SUCCESS);
  ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
  const std::vector<uint8_t> bytes = Download(out.data(), out.size());
  for (uint32_t r = 0; r < ranks.size(); ++r) {
    EXPECT_EQ(bytes[r * kCount], r + 1);
    EXPECT_EQ(bytes[(r + 1) * kCount - 1], r + 1);
  }
  EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
  EXPECT_EQ(HcclCommDestroy(sub), HCCL_SUCCESS);
}

// ---- HcclCommInitAll: the devices of one process ----

RANK_TEST(InitAll, ChecksArgumentsInOrder) {
  std::thread([] {
    HcclComm comm = nullptr;
    int32_t device = 0;
    EXPECT_NE(HcclCommInitAll(1, &device, &comm), HCCL_SUCCESS);
    EXPECT_THAT(TakeMessages(), HasSubstr("aclrtSetDevice"));
  }).join();
  DeviceSession device(static_cast<int32_t>(ranks.rank()));
  HcclComm comms[2] = {nullptr, nullptr};
  int32_t devices[2] = {0, 0};
  const auto named = [](const char* text) { EXPECT_THAT(TakeMessages(), HasSubstr(text)); };
  EXPECT_EQ(HcclCommInitAll(0, nullptr, nullptr), HCCL_E_PARA);
  named("ndev is 0");
  EXPECT_EQ(HcclCommInitAll(2, nullptr, comms), HCCL_E_PTR);
  named("devices is null");
  EXPECT_EQ(HcclCommInitAll(2, devices, nullptr), HCCL_E_PTR);
  named("comms is null");
  EXPECT_EQ(HcclCommInitAll(2, devices, comms), HCCL_E_PARA);
  named("devices[1] is 0 like an earlier entry");
  devices[1] = 1 << 20;
  EXPECT_EQ(HcclCommInitAll(2, devices, comms), HCCL_E_PARA);
  EXPECT_EQ(comms[0], nullptr);
}

RANK_TEST(InitAll, MakesARankPerDevice) {
  if (ranks.rank() == 0) {
    DeviceSession session(0);
    uint32_t count = 0;
    REQUIRE_OK(aclrtGetDeviceCount(&count));
    count = std::min(count, 4u);
    std::vector<int32_t> devices(count);
    for (uint32_t i = 0; i < count; ++i) devices[i] = static_cast<int32_t>(count - 1 - i);
    std::vector<HcclComm> comms(count);
    ASSERT_EQ(HcclCommInitAll(count, devices.data(), comms.data()), HCCL_SUCCESS) << TakeMessages();
    // One thread calls for all: nothing waits for the other ranks in the call.
    std::vector<aclrtStream> streams(count);
    std::vector<void*> values(count);
    for (uint32_t i = 0; i < count; ++i) {
      REQUIRE_OK(aclrtSetDevice(devices[i]));
      REQUIRE_OK(aclrtCreateStream(&streams[i]));
      REQUIRE_OK(aclrtMalloc(&values[i], 32, ACL_MEM_MALLOC_HUGE_FIRST));
      UploadValues<int32_t>(values[i], {1 << i});
      uint32_t rank = 99;
      EXPECT_EQ(HcclGetRankId(comms[i], &rank), HCCL_SUCCESS);
      EXPECT_EQ(rank, i);
      ASSERT_EQ(HcclAllReduce(values[i], values[i], 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                              comms[i], streams[i]),
                HCCL_SUCCESS);
    }
    for (uint32_t i = 0; i < count; ++i) {
      REQUIRE_OK(aclrtSetDevice(devices[i]));
      ASSERT_EQ(aclrtSynchronizeStream(streams[i]), 0) << TakeMessages();
      EXPECT_EQ(DownloadValues<int32_t>(values[i], 1)[0], (1 << count) - 1);
      EXPECT_EQ(HcclCommDestroy(comms[i]), HCCL_SUCCESS);
      REQUIRE_OK(aclrtFree(values[i]));
      REQUIRE_OK(aclrtDestroyStream(streams[i]));
      REQUIRE_OK(aclrtResetDevice(devices[i]));
      REQUIRE_OK(aclrtResetDevice(devices[i]));
    }
    // Only the references that this test has taken are left: those of the session.
    if (count > 1) {
      EXPECT_NE(aclrtResetDevice(static_cast<int32_t>(count - 1)), 0);
    }
    TakeMessages();
    REQUIRE_OK(aclrtSetDevice(0));
    REQUIRE_OK(aclrtResetDevice(0));
  }
  ranks.Meet();
}

}  // namespace
}  // namespace hcclrun::testing
