// Settings, suspension, names, shared HCCL buffers (semantics D.3, D.6-D.8), and groups of calls
// (D.9).

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/rank_session.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;

// A handle is dead for all threads at once, also for one that is calling with it at that moment.
RANK_TEST(Destroy, WhileAnotherThreadCalls) {
  Session session(ranks);
  int32_t device = 0;
  REQUIRE_OK(aclrtGetDevice(&device));
  for (int round = 0; round < 20; round++) {
    HcclRootInfo info;
    HcclComm comm = nullptr;
    REQUIRE_OK(HcclGetRootInfo(&info));
    REQUIRE_OK(HcclCommInitRootInfo(1, &info, 0, &comm));
    std::atomic<int> calls{0};
    HcclResult last = HCCL_SUCCESS;
    std::thread caller([&] {
      REQUIRE_OK(aclrtSetDevice(device));
      aclrtStream stream = nullptr;
      REQUIRE_OK(aclrtCreateStream(&stream));
      while ((last = HcclBarrier(comm, stream)) == HCCL_SUCCESS) calls++;
      REQUIRE_OK(aclrtDestroyStream(stream));
    });
    while (calls < 10) std::this_thread::yield();
    REQUIRE_OK(HcclCommDestroy(comm));
    caller.join();
    EXPECT_EQ(last, HCCL_E_PARA) << "the handle is unknown";
  }
}

// ---- D.7 ----

// With HCCL_DETERMINISTIC in the environment the call is ignored; both runs are in CMakeLists.txt.
RANK_TEST(Setting, Deterministic) {
  const char* environment = std::getenv("HCCL_DETERMINISTIC");
  const auto set = [](int32_t value) {
    HcclConfigValue v;
    v.value = value;
    return HcclSetConfig(HCCL_DETERMINISTIC, v);
  };
  const auto get = [] {
    HcclConfigValue v;
    v.value = -7;
    EXPECT_EQ(HcclGetConfig(HCCL_DETERMINISTIC, &v), HCCL_SUCCESS);
    return v.value;
  };
  EXPECT_EQ(HcclGetConfig(HCCL_DETERMINISTIC, nullptr), HCCL_E_PTR);
  HcclConfigValue untouched;
  untouched.value = 42;
  EXPECT_EQ(HcclSetConfig(HCCL_CONFIG_RESERVED, untouched), HCCL_SUCCESS) << "no effect";
  EXPECT_EQ(HcclGetConfig(HCCL_CONFIG_RESERVED, &untouched), HCCL_SUCCESS);
  EXPECT_EQ(untouched.value, 42);
  ranks.Meet();  // threads share the setting
  if (environment) {
    EXPECT_EQ(set(7), HCCL_SUCCESS) << "ignored";
    EXPECT_EQ(get(), std::string(environment) == "strict" ? 2 : 1);
    return;
  }
  EXPECT_EQ(set(3), HCCL_E_PARA);
  EXPECT_EQ(set(-1), HCCL_E_PARA);
  EXPECT_EQ(set(2), HCCL_E_NOT_SUPPORT);
  EXPECT_EQ(set(1), HCCL_SUCCESS);
  ranks.Meet();
  EXPECT_EQ(get(), 1);
  ranks.Meet();
  EXPECT_EQ(set(0), HCCL_SUCCESS);
  ranks.Meet();
  EXPECT_EQ(get(), 0);
  ranks.Meet();
}

// ---- D.8 ----

RANK_TEST(Suspend, OperationsAreRefusedUntilResume) {
  Session session(ranks);
  DeviceMemory memory(64);
  EXPECT_EQ(HcclCommSuspend(nullptr), HCCL_E_PTR);
  EXPECT_EQ(HcclCommResume(nullptr), HCCL_E_PTR);
  EXPECT_EQ(HcclCommSuspend(&session), HCCL_E_PARA) << "no handle";
  const auto all_reduce = [&] {
    return HcclAllReduce(memory.data(), memory.data(), 4, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                         session.comm(), session.stream());
  };
  ASSERT_EQ(all_reduce(), HCCL_SUCCESS);
  EXPECT_EQ(HcclCommSuspend(session.comm()), HCCL_SUCCESS);
  EXPECT_EQ(all_reduce(), HCCL_E_SUSPENDING);
  EXPECT_THAT(TakeMessages(), HasSubstr("HcclCommResume"));
  EXPECT_EQ(HcclBarrier(session.comm(), session.stream()), HCCL_E_SUSPENDING);
  EXPECT_EQ(session.Synchronize(), 0) << "what was called before goes on";
  uint32_t size = 0;
  EXPECT_EQ(HcclGetRankSize(session.comm(), &size), HCCL_SUCCESS) << "queries answer";
  EXPECT_EQ(HcclCommResume(session.comm()), HCCL_SUCCESS);
  EXPECT_EQ(all_reduce(), HCCL_SUCCESS);
  EXPECT_EQ(session.Synchronize(), 0);
}

// ---- D.6 ----

RANK_TEST(Names, FindTheirCommunicator) {
  Session session(ranks,
                  [](HcclCommConfig& config) { std::strcpy(config.hcclCommName, "findable"); });
  HcclComm found = nullptr;
  EXPECT_EQ(HcclCommGetHandleWithName("findable", &found), HCCL_SUCCESS);
  EXPECT_EQ(found, session.comm());
  EXPECT_EQ(HcclCommGetHandleWithName("nobody", &found), HCCL_E_PARA);
  EXPECT_THAT(TakeMessages(), HasSubstr("nobody"));
  EXPECT_EQ(HcclCommGetHandleWithName(nullptr, &found), HCCL_E_PTR);
  EXPECT_EQ(HcclCommGetHandleWithName("findable", nullptr), HCCL_E_PTR);
  session.DestroyCommunicator();
  EXPECT_EQ(HcclCommGetHandleWithName("findable", &found), HCCL_E_PARA);
}

RANK_TEST(WorkingDevNic, IsCheckedAndHasNoEffect) {
  Session session(ranks);
  uint32_t rank = 0;
  bool backup = true;
  EXPECT_EQ(HcclCommWorkingDevNicSet(session.comm(), &rank, &backup, 1), HCCL_SUCCESS);
  EXPECT_EQ(HcclCommWorkingDevNicSet(nullptr, &rank, &backup, 1), HCCL_E_PTR);
  EXPECT_EQ(HcclCommWorkingDevNicSet(session.comm(), nullptr, &backup, 1), HCCL_E_PTR);
  EXPECT_EQ(HcclCommWorkingDevNicSet(session.comm(), &rank, nullptr, 1), HCCL_E_PTR);
  rank = ranks.size();
  EXPECT_EQ(HcclCommWorkingDevNicSet(session.comm(), &rank, &backup, 1), HCCL_E_PARA);
  EXPECT_EQ(HcclCommWorkingDevNicSet(session.comm(), &rank, &backup, ranks.size() + 1),
            HCCL_E_PARA);
}

RANK_TEST(Status, FollowsTheCommunicator) {
  Session session(ranks,
                  [](HcclCommConfig& config) { std::strcpy(config.hcclCommName, "watched"); });
  const auto status = [] {
    HcclCommStatus answer = HCCL_COMM_STATUS_RESERVED;
    EXPECT_EQ(HcclCommGetStatus("watched", &answer), HCCL_SUCCESS);
    return answer;
  };
  EXPECT_EQ(status(), HCCL_COMM_STATUS_READY);
  ASSERT_EQ(HcclCommSuspend(session.comm()), HCCL_SUCCESS);
  EXPECT_EQ(status(), HCCL_COMM_STATUS_SUSPENDING);
  ASSERT_EQ(HcclCommResume(session.comm()), HCCL_SUCCESS);
  EXPECT_EQ(status(), HCCL_COMM_STATUS_READY);
  HcclCommStatus answer = HCCL_COMM_STATUS_READY;
  EXPECT_EQ(HcclCommGetStatus(nullptr, &answer), HCCL_E_PTR);
  EXPECT_EQ(HcclCommGetStatus("watched", nullptr), HCCL_E_PTR);
  EXPECT_EQ(HcclCommGetStatus("nobody", &answer), HCCL_E_PARA);
  EXPECT_EQ(answer, HCCL_COMM_STATUS_INVALID);
  ranks.Meet();
  if (ranks.size() > 1) {  // an operation that is given up puts the communicator out of use
    if (ranks.rank() == 0) {
      aclrtStream stream = nullptr;
      REQUIRE_OK(aclrtCreateStream(&stream));
      EXPECT_EQ(HcclBarrier(session.comm(), stream), HCCL_SUCCESS);
      REQUIRE_OK(aclrtDestroyStreamForce(stream));
    }
    ranks.Meet();
    EXPECT_EQ(status(), HCCL_COMM_STATUS_INVALID);
    TakeMessages();
  }
  session.DestroyCommunicator();
  EXPECT_EQ(HcclCommGetStatus("watched", &answer), HCCL_E_PARA);
}

RANK_TEST(ConfigInfo, TellsWhatTheConfigurationSays) {
  const std::pair<uint32_t, HcclOpExpansionMode> modes[] = {{1, HCCL_OP_EXPANSION_MODE_HOST},
                                                            {2, HCCL_OP_EXPANSION_MODE_AI_CPU},
                                                            {3, HCCL_OP_EXPANSION_MODE_AIV},
                                                            {4, HCCL_OP_EXPANSION_AIV_ONLY}};
  for (const auto& [given, told] : modes) {
    Session session(ranks, [given = given](HcclCommConfig& config) {
      config.hcclOpExpansionMode = given;
      std::strcpy(config.hcclAlgo, "level0:NA;level1:ring");
    });
    HcclConfigTypeOpExpansionMode mode = HCCL_OP_EXPANSION_MODE_INVALID;
    EXPECT_EQ(
        HcclConfigGetInfo(session.comm(), HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, sizeof mode, &mode),
        HCCL_SUCCESS);
    EXPECT_EQ(mode, told);
    char text[22] = {};
    EXPECT_EQ(HcclConfigGetInfo(session.comm(), HCCL_CONFIG_TYPE_HCCL_ALGO, sizeof text, text),
              HCCL_SUCCESS);
    EXPECT_STREQ(text, "level0:NA;level1:ring");
    EXPECT_EQ(HcclConfigGetInfo(session.comm(), HCCL_CONFIG_TYPE_HCCL_ALGO, 21, text), HCCL_E_PARA)
        << "no room for the terminator";
    EXPECT_EQ(HcclConfigGetInfo(session.comm(), HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, 3, text),
              HCCL_E_PARA);
    EXPECT_EQ(HcclConfigGetInfo(session.comm(), HCCL_CONFIG_TYPE_INVALID, 22, text), HCCL_E_PARA);
    EXPECT_EQ(HcclConfigGetInfo(nullptr, HCCL_CONFIG_TYPE_HCCL_ALGO, 22, text), HCCL_E_PTR);
    EXPECT_EQ(HcclConfigGetInfo(session.comm(), HCCL_CONFIG_TYPE_HCCL_ALGO, 22, nullptr),
              HCCL_E_PTR);
  }
}

// Callbacks are the process': with ranks that are threads each sees the others' communicators, too.
struct Watcher {
  HcclComm comm;
  std::vector<std::pair<HcclCommStatePhase, bool>> seen;  // and whether the handle was valid
};

HcclResult Watch(HcclComm comm, HcclCommStatePhase phase, void* args) {
  auto* watcher = static_cast<Watcher*>(args);
  uint32_t size = 0;
  if (comm == watcher->comm)
    watcher->seen.emplace_back(phase, HcclGetRankSize(comm, &size) == HCCL_SUCCESS);
  return phase == HCCL_COMM_STATE_PHASE_DESTROY_PRE ? HCCL_E_INTERNAL : HCCL_SUCCESS;
}

RANK_TEST(StateCallback, IsCalledAroundResumeAndDestroy) {
  Session session(ranks);
  const std::string name = "watcher " + std::to_string(ranks.rank());
  Watcher replaced{session.comm(), {}}, watcher{session.comm(), {}};
  EXPECT_EQ(HcclCommRegCommStateCallback(nullptr, Watch, &watcher), HCCL_E_PTR);
  ASSERT_EQ(HcclCommRegCommStateCallback(name.c_str(), Watch, &replaced), HCCL_SUCCESS);
  ASSERT_EQ(HcclCommRegCommStateCallback(name.c_str(), Watch, &watcher), HCCL_SUCCESS);
  EXPECT_EQ(HcclCommSuspend(session.comm()), HCCL_SUCCESS);
  EXPECT_THAT(watcher.seen, ::testing::IsEmpty());
  EXPECT_EQ(HcclCommResume(session.comm()), HCCL_SUCCESS);
  session.DestroyCommunicator();  // although the callback fails
  using ::testing::Pair;
  EXPECT_THAT(watcher.seen,
              ::testing::ElementsAre(Pair(HCCL_COMM_STATE_PHASE_RESUME_PRE, true),
                                     Pair(HCCL_COMM_STATE_PHASE_RESUME_POST, true),
                                     Pair(HCCL_COMM_STATE_PHASE_DESTROY_PRE, true),
                                     Pair(HCCL_COMM_STATE_PHASE_DESTROY_POST, false)));
  EXPECT_THAT(replaced.seen, ::testing::IsEmpty());
  EXPECT_EQ(HcclCommRegCommStateCallback(name.c_str(), nullptr, nullptr), HCCL_SUCCESS);
  ranks.Meet();  // nobody calls it any more
}

// ---- C.6, D.3 ----

RANK_TEST(SharedBuffers, TwoCommunicatorsOnOneStream) {
  Session session(ranks, [](HcclCommConfig& config) {
    std::strcpy(config.hcclBufferName, "one");
    config.hcclBufferSize = 1;
  });
  HcclComm other = session.NewCommunicator([](HcclCommConfig& config) {
    std::strcpy(config.hcclBufferName, "one");
    config.hcclBufferSize = 1;
  });
  constexpr size_t kCount = 200'000;  // more than the buffers hold at once
  DeviceMemory a(kCount * 4), b(kCount * 4);
  UploadValues<int32_t>(a.data(), std::vector<int32_t>(kCount, 1));
  UploadValues<int32_t>(b.data(), std::vector<int32_t>(kCount, 2));
  const auto n = static_cast<int32_t>(ranks.size());
  for (int i = 0; i < 3; ++i) {
    for (auto [memory, comm] : {std::pair(&a, session.comm()), std::pair(&b, other)}) {
      ASSERT_EQ(HcclAllReduce(memory->data(), memory->data(), kCount, HCCL_DATA_TYPE_INT32,
                              HCCL_REDUCE_SUM, comm, session.stream()),
                HCCL_SUCCESS)
          << TakeMessages();
    }
  }
  ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
  EXPECT_EQ(DownloadValues<int32_t>(a.data(), kCount), std::vector<int32_t>(kCount, n * n * n));
  EXPECT_EQ(DownloadValues<int32_t>(b.data(), kCount), std::vector<int32_t>(kCount, 2 * n * n * n));
  EXPECT_EQ(HcclCommDestroy(other), HCCL_SUCCESS);
}

// While an operation of one communicator is under way another stream may not use the buffers.
RANK_TEST(SharedBuffers, AnotherStreamIsRefusedMeanwhile) {
  if (ranks.size() == 1) return;
  const Configure named = [](HcclCommConfig& config) { std::strcpy(config.hcclBufferName, "two"); };
  Session session(ranks, named);
  HcclComm other = session.NewCommunicator(named);
  aclrtStream second = nullptr;
  REQUIRE_OK(aclrtCreateStream(&second));
  if (ranks.rank() == 0) ranks.Meet();  // the others' first barriers wait
  EXPECT_EQ(HcclBarrier(session.comm(), session.stream()), HCCL_SUCCESS);
  if (ranks.rank() != 0) {
    EXPECT_EQ(HcclBarrier(other, second), HCCL_E_AGAIN);
    EXPECT_THAT(TakeMessages(), HasSubstr("HCCL buffer named two"));
    ranks.Meet();
  }
  EXPECT_EQ(session.Synchronize(), 0) << TakeMessages();
  EXPECT_EQ(HcclBarrier(other, second), HCCL_SUCCESS) << TakeMessages();
  EXPECT_EQ(aclrtSynchronizeStream(second), 0);
  REQUIRE_OK(aclrtDestroyStream(second));
  EXPECT_EQ(HcclCommDestroy(other), HCCL_SUCCESS);
}

// A communicator whose buffers another one has taken along says so before it is used.
RANK_TEST(SharedBuffers, StatusKnowsOfBuffersThatAreLost) {
  if (ranks.size() == 1) return;
  const Configure named = [](HcclCommConfig& config) { std::strcpy(config.hcclBufferName, "six"); };
  Session session(ranks, named);
  HcclComm other = session.NewCommunicator(named);
  char name[128] = "";
  REQUIRE_OK(HcclGetCommName(other, name));
  HcclCommStatus status = HCCL_COMM_STATUS_INVALID;
  EXPECT_EQ(HcclCommGetStatus(name, &status), HCCL_SUCCESS);
  EXPECT_EQ(status, HCCL_COMM_STATUS_READY);
  if (ranks.rank() == 0) {
    EXPECT_EQ(HcclBarrier(session.comm(), session.stream()), HCCL_SUCCESS);  // alone
    EXPECT_EQ(aclrtStreamAbort(session.stream()), 0);
    EXPECT_EQ(HcclCommGetStatus(name, &status), HCCL_SUCCESS);
    EXPECT_EQ(status, HCCL_COMM_STATUS_INVALID);
    HcclResult error = HCCL_SUCCESS;
    EXPECT_EQ(HcclGetCommAsyncError(other, &error), HCCL_SUCCESS);
    EXPECT_EQ(error, HCCL_E_UNAVAIL);
    EXPECT_EQ(HcclBarrier(other, session.stream()), HCCL_E_UNAVAIL);
    EXPECT_THAT(TakeMessages(), HasSubstr("the HCCL buffers named six are out of use"));
  }
  ranks.Meet();
  EXPECT_EQ(HcclCommDestroy(other), HCCL_SUCCESS);
}

// ---- D.9 ----

RANK_TEST(Group, StartEndAndStatus) {
  bool in_group = true;
  EXPECT_EQ(HcclGroupStatusGet(nullptr), HCCL_E_PTR);
  EXPECT_EQ(HcclGroupStatusGet(&in_group), HCCL_SUCCESS);
  EXPECT_FALSE(in_group);
  EXPECT_EQ(HcclGroupEnd(), HCCL_E_NOT_SUPPORT);
  EXPECT_EQ(HcclGroupStart(), HCCL_SUCCESS);
  EXPECT_EQ(HcclGroupStart(), HCCL_SUCCESS);
  EXPECT_EQ(HcclGroupEnd(), HCCL_SUCCESS);
  EXPECT_EQ(HcclGroupStatusGet(&in_group), HCCL_SUCCESS);
  EXPECT_TRUE(in_group) << "the inner one does not end it";
  std::thread([] {
    bool other = true;
    EXPECT_EQ(HcclGroupStatusGet(&other), HCCL_SUCCESS);
    EXPECT_FALSE(other) << "a thread's own";
  }).join();
  EXPECT_EQ(HcclGroupEnd(), HCCL_SUCCESS);
  EXPECT_EQ(HcclGroupEnd(), HCCL_E_NOT_SUPPORT);
}

// Everybody sends to everybody first and receives then: without a group that would block.
RANK_TEST(Group, TransfersBecomeOneBatch) {
  if (ranks.size() < 2) return;
  Session session(ranks);
  const uint32_t n = ranks.size(), me = ranks.rank();
  DeviceMemory out(n * 4), in(n * 4);
  std::vector<int32_t> values(n);
  for (uint32_t r = 0; r < n; ++r) values[r] = static_cast<int32_t>(me * 100 + r);
  UploadValues(out.data(), values);
  ASSERT_EQ(HcclGroupStart(), HCCL_SUCCESS);
  for (uint32_t r = 0; r < n; ++r) {
    if (r == me) continue;
    ASSERT_EQ(
        HcclSend(out.data() + 4 * r, 1, HCCL_DATA_TYPE_INT32, r, session.comm(), session.stream()),
        HCCL_SUCCESS);
  }
  for (uint32_t r = 0; r < n; ++r) {
    if (r == me) continue;
    ASSERT_EQ(
        HcclRecv(in.data() + 4 * r, 1, HCCL_DATA_TYPE_INT32, r, session.comm(), session.stream()),
        HCCL_SUCCESS);
  }
  ASSERT_EQ(HcclGroupEnd(), HCCL_SUCCESS) << TakeMessages();
  ASSERT_EQ(session.Synchronize(), 0) << TakeMessages();
  const std::vector<int32_t> got = DownloadValues<int32_t>(in.data(), n);
  for (uint32_t r = 0; r < n; ++r) {
    if (r != me) {
      EXPECT_EQ(got[r], static_cast<int32_t>(r * 100 + me));
    }
  }
}

// Called in another order on every rank, since sizes decide; complete when the group ends.
RANK_TEST(Group, CollectivesRunBySize) {
  Session session(ranks);
  DeviceMemory small(4), large(4096);
  UploadValues<int32_t>(small.data(), {1});
  UploadValues<int32_t>(large.data(), std::vector<int32_t>(1024, 2));
  const auto all_reduce = [&](DeviceMemory& memory) {
    ASSERT_EQ(HcclAllReduce(memory.data(), memory.data(), memory.size() / 4, HCCL_DATA_TYPE_INT32,
                            HCCL_REDUCE_SUM, session.comm(), session.stream()),
              HCCL_SUCCESS);
  };
  ASSERT_EQ(HcclGroupStart(), HCCL_SUCCESS);
  all_reduce(ranks.rank() % 2 ? small : large);
  all_reduce(ranks.rank() % 2 ? large : small);
  ASSERT_EQ(HcclGroupEnd(), HCCL_SUCCESS) << TakeMessages();
  EXPECT_EQ(DownloadValues<int32_t>(small.data(), 1)[0], static_cast<int32_t>(ranks.size()));
  EXPECT_EQ(DownloadValues<int32_t>(large.data(), 1024)[1023],
            static_cast<int32_t>(2 * ranks.size()));
}

// Errors are those of the call where they can be seen there, and of the end otherwise.
RANK_TEST(Group, ErrorsAreReturned) {
  Session session(ranks);
  DeviceMemory memory(64);
  int32_t host = 0;
  ASSERT_EQ(HcclGroupStart(), HCCL_SUCCESS);
  EXPECT_EQ(HcclAllReduce(nullptr, memory.data(), 4, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                          session.comm(), session.stream()),
            HCCL_E_PTR);
  EXPECT_EQ(HcclAllReduce(&host, memory.data(), 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                          session.comm(), session.stream()),
            HCCL_SUCCESS);
  EXPECT_EQ(HcclGroupEnd(), HCCL_E_PARA);
  EXPECT_THAT(TakeMessages(), HasSubstr("device memory"));
}

// A communicator that is destroyed in the group of its last operation still does it, on all ranks.
RANK_TEST(Group, DestructionsComeLast) {
  Session s(ranks);
  for (int i = 0; i < 20; ++i) {
    HcclComm comm = s.NewCommunicator();
    DeviceMemory value(4);
    UploadValues<int32_t>(value.data(), {2});
    ASSERT_EQ(HcclGroupStart(), HCCL_SUCCESS);
    EXPECT_EQ(HcclAllReduce(value.data(), value.data(), 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                            comm, s.stream()),
              HCCL_SUCCESS);
    EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
    ASSERT_EQ(HcclGroupEnd(), HCCL_SUCCESS) << TakeMessages();
    EXPECT_EQ(DownloadValues<int32_t>(value.data(), 1)[0], static_cast<int32_t>(2 * s.size()));
  }
}

// One thread makes and destroys the communicators of several devices.
RANK_TEST(Group, CommunicatorsOfSeveralDevices) {
  if (ranks.rank() == 0) {
    uint32_t count = 0;
    REQUIRE_OK(aclrtGetDeviceCount(&count));
    count = std::min(count, 3u);
    std::vector<HcclComm> comms(count);
    HcclRootInfo info;
    REQUIRE_OK(aclrtSetDevice(0));
    REQUIRE_OK(HcclGetRootInfo(&info));
    ASSERT_EQ(HcclGroupStart(), HCCL_SUCCESS);
    for (uint32_t i = 0; i < count; ++i) {
      REQUIRE_OK(aclrtSetDevice(static_cast<int32_t>(i)));
      HcclCommConfig config = TestConfig();
      ASSERT_EQ(HcclCommInitRootInfoConfig(count, &info, i, &config, &comms[i]), HCCL_SUCCESS);
    }
    ASSERT_EQ(HcclGroupEnd(), HCCL_SUCCESS) << TakeMessages();
    ASSERT_EQ(HcclGroupStart(), HCCL_SUCCESS);
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t rank = 99;
      EXPECT_EQ(HcclGetRankId(comms[i], &rank), HCCL_SUCCESS);
      EXPECT_EQ(rank, i);
      EXPECT_EQ(HcclCommDestroy(comms[i]), HCCL_SUCCESS);
    }
    EXPECT_EQ(HcclGroupEnd(), HCCL_SUCCESS);
    uint32_t rank = 0;
    EXPECT_EQ(HcclGetRankId(comms[0], &rank), HCCL_E_PARA) << "destroyed";
    for (uint32_t i = 0; i < count; ++i) REQUIRE_OK(aclrtResetDevice(static_cast<int32_t>(i)));
    REQUIRE_OK(aclrtResetDevice(0));
  }
  ranks.Meet();
}

}  // namespace
}  // namespace hcclrun::testing
