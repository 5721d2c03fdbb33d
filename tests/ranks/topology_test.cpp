// What depends on where the ranks are, and on the chip: hcclrun --servers, --superpods, --soc,
// HCCL_LOGIC_SUPERPOD_ID, HCCL_INTER_HCCS_DISABLE (semantics A.3 steps 7 and 8, A.8, A.10 items 4
// to 6, C.4, D.5, D.10, E). Each suite is for one command line, in CMakeLists.txt.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "ranks/arena.h"
#include "support/rank_session.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A communicator of some ranks, with a window; nothing on the others.
class Members {
 public:
  Members(Session& session, const std::vector<uint32_t>& members) : session_(session) {
    const auto at = std::find(members.begin(), members.end(), session.rank());
    if (at == members.end()) return;
    size_ = static_cast<uint32_t>(members.size());
    uint64_t id = 0;
    for (uint32_t m : members) id = id * 16 + m + 1;
    REQUIRE_OK(CreateSubComm(session.comm(), members, id,
                             static_cast<uint32_t>(at - members.begin()), &comm_));
  }
  ~Members() {
    if (comm_) REQUIRE_OK(HcclCommDestroy(comm_));
  }
  Members(const Members&) = delete;
  HcclComm comm() const { return comm_; }
  uint32_t size() const { return size_; }
  Session& session() const { return session_; }

 private:
  Session& session_;
  HcclComm comm_ = nullptr;
  uint32_t size_ = 0;
};

HcclResult Register(HcclComm comm, const MappedMemory& memory) {
  HcclCommSymWindow window = nullptr;
  const HcclResult result =
      HcclCommSymWinRegister(comm, memory.data(), memory.size(), &window, HCCL_WIN_COLL_SYMMETRIC);
  if (result == HCCL_SUCCESS) REQUIRE_OK(HcclCommSymWinDeregister(window));
  return result;
}

// Whether AllGather between registered buffers goes the window path; its result is right either
// way.
bool UsesWindows(HcclComm comm, uint32_t size, Session& session) {
  MappedMemory memory(session.device(), kGranularity);
  HcclCommSymWindow window = nullptr;
  REQUIRE_OK(HcclCommSymWinRegister(comm, memory.data(), memory.size(), &window, 1));
  uint32_t rank = 0;
  REQUIRE_OK(HcclGetRankId(comm, &rank));
  UploadValues<int32_t>(memory.data(), {static_cast<int32_t>(rank) + 7});
  EXPECT_EQ(HcclAllGather(memory.data(), memory.data() + 4096, 1, HCCL_DATA_TYPE_INT32, comm,
                          session.stream()),
            HCCL_SUCCESS)
      << TakeMessages();
  EXPECT_EQ(session.Synchronize(), 0) << TakeMessages();
  std::vector<int32_t> expected(size);
  for (uint32_t r = 0; r < size; ++r) expected[r] = static_cast<int32_t>(r) + 7;
  EXPECT_EQ(DownloadValues<int32_t>(memory.data() + 4096, size), expected);
  hcclrunPath path = HCCLRUN_PATH_BUFFERED;
  REQUIRE_OK(hcclrunLastPath(comm, &path));
  REQUIRE_OK(HcclCommSymWinDeregister(window));
  return path == HCCLRUN_PATH_WINDOW;
}

bool UsesWindows(Session& session) { return UsesWindows(session.comm(), session.size(), session); }

// For members; true on the other ranks, which have nothing to say.
bool UseWindows(Session& session, const std::vector<uint32_t>& members) {
  Members some(session, members);
  const bool window = !some.comm() || UsesWindows(some.comm(), some.size(), session);
  session.ranks().Meet();
  return window;
}
bool UseNone(Session& session, const std::vector<uint32_t>& members) {
  Members some(session, members);
  const bool window = some.comm() && UsesWindows(some.comm(), some.size(), session);
  session.ranks().Meet();
  return !window;
}

int64_t Attribute(int32_t device, aclrtDevAttr attribute) {
  int64_t value = -1;
  REQUIRE_OK(aclrtGetDeviceInfo(static_cast<uint32_t>(device), attribute, &value));
  return value;
}

std::string TextOf(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// ---- --servers 2,2 ----

RANK_TEST(EvenServers, EachHasItsDevices) {
  Session session(ranks);
  const uint32_t me = ranks.rank();
  EXPECT_EQ(session.device(), static_cast<int32_t>(me % 2));
  uint32_t count = 0;
  EXPECT_EQ(aclrtGetDeviceCount(&count), 0);
  EXPECT_EQ(count, 2u);
  EXPECT_STREQ(std::getenv("DEVICE_ID"), std::to_string(me % 2).c_str());
  EXPECT_STREQ(std::getenv("LOCAL_WORLD_SIZE"), "2");
  EXPECT_EQ(Attribute(session.device(), ACL_DEV_ATTR_SUPER_POD_SERVER_ID), me / 2);
  EXPECT_EQ(Attribute(session.device(), ACL_DEV_ATTR_SUPER_POD_ID), 0);
  EXPECT_EQ(Attribute(session.device(), ACL_DEV_ATTR_SUPER_POD_DEVICE_ID), me);
  EXPECT_NE(aclrtSetDevice(2), 0);
  EXPECT_THAT(TakeMessages(), HasSubstr("LOCAL_RANK numbers the ranks of a server: this one's is " +
                                        std::to_string(me % 2)));
  // Devices of two servers are two devices.
  aclrtUuid uuid;
  REQUIRE_OK(aclrtDeviceGetUuid(session.device(), &uuid));
  const std::string bytes(reinterpret_cast<const char*>(uuid.bytes), sizeof uuid.bytes);
  std::vector<std::string> all = ranks.Exchange(bytes);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::unique(all.begin(), all.end()) - all.begin(), 4);
}

// Two ranks on one device of one server are refused (semantics D.2), also when another server has
// one of that number.
RANK_TEST(EvenServers, ADeviceIsUsedOnceOnAServer) {
  HcclRootInfo info;
  DeviceSession session(ranks.rank() < 2 ? 0 : DeviceOf(ranks));
  if (ranks.rank() == 0) REQUIRE_OK(HcclGetRootInfo(&info));
  ranks.ShareRootInfo(&info);
  HcclComm comm = nullptr;
  EXPECT_EQ(HcclCommInitRootInfo(ranks.size(), &info, ranks.rank(), &comm), HCCL_E_PARA);
  EXPECT_THAT(TakeMessages(), HasSubstr("ranks 0 and 1 both use device 0"));
}

// A.10 items 5 and 6, for the world and for sub-communicators that are spread in every way.
RANK_TEST(EvenServers, UseWindowsWhereServersHaveEquallyManyRanks) {
  Session session(ranks);
  EXPECT_TRUE(UsesWindows(session)) << "two and two";
  EXPECT_TRUE(UseWindows(session, {0, 1})) << "one server";
  EXPECT_TRUE(UseWindows(session, {3, 2})) << "the other one";
  EXPECT_TRUE(UseWindows(session, {3, 0, 2, 1})) << "the order does not matter";
  EXPECT_TRUE(UseNone(session, {0, 1, 2})) << "item 6: two and one";
  EXPECT_TRUE(UseNone(session, {1, 3})) << "item 6: one and one";
  EXPECT_TRUE(UseNone(session, {2})) << "item 2: one rank";
}

// Sub-communicators of sub-communicators, and of those whose members have not met yet.
RANK_TEST(EvenServers, SubCommunicatorsInheritPlaces) {
  Session session(ranks);
  const uint32_t me = ranks.rank();
  HcclComm all = nullptr, sub = nullptr;
  REQUIRE_OK(CreateSubComm(session.comm(), {3, 2, 1, 0}, 1, 3 - me, &all));
  if (me != 0) {
    // By the parent's ranks 3, 2, 1 are the world's 0, 1, 2.
    REQUIRE_OK(CreateSubComm(all, {0, 1, 2}, 2, 3 - me, &sub));
    EXPECT_FALSE(UsesWindows(sub, 3, session)) << "item 6: two and one";
    REQUIRE_OK(HcclCommDestroy(sub));
  }
  EXPECT_TRUE(UsesWindows(all, 4, session));
  REQUIRE_OK(HcclCommDestroy(all));
  ranks.Meet();
}

// D.10: memory of the zero-copy calls counts on one server only.
RANK_TEST(EvenServers, ZeroCopyIsForOneServer) {
  Session session(ranks);
  MappedMemory memory(session.device(), kGranularity);
  REQUIRE_OK(HcclCommSetMemoryRange(session.comm(), memory.data(), memory.size(), 0, 0));
  REQUIRE_OK(HcclCommActivateCommMemory(session.comm(), memory.data(), memory.size(), 0,
                                        reinterpret_cast<aclrtDrvMemHandle>(8), 0));
  const auto path = [&](HcclComm comm) {
    EXPECT_EQ(HcclAllGather(memory.data(), memory.data() + 4096, 100, HCCL_DATA_TYPE_INT8, comm,
                            session.stream()),
              HCCL_SUCCESS);
    EXPECT_EQ(session.Synchronize(), 0) << TakeMessages();
    hcclrunPath taken = HCCLRUN_PATH_BUFFERED;
    REQUIRE_OK(hcclrunLastPath(comm, &taken));
    return taken;
  };
  EXPECT_EQ(path(session.comm()), HCCLRUN_PATH_BUFFERED);
  const uint32_t first = ranks.rank() / 2 * 2;
  Members server(session, {first, first + 1});
  EXPECT_EQ(path(server.comm()), HCCLRUN_PATH_WINDOW);
  REQUIRE_OK(HcclCommDeactivateCommMemory(session.comm(), memory.data()));
  REQUIRE_OK(HcclCommUnsetMemoryRange(session.comm(), memory.data()));
}

// The launcher's rank table: a client of HcclCommInitClusterInfo gets the same machine.
RANK_TEST(EvenServers, TheRankTableSaysTheSame) {
  const char* path = std::getenv("RANK_TABLE_FILE");
  ASSERT_TRUE(path);
  const std::string text = TextOf(path);
  EXPECT_THAT(text, HasSubstr("\"version\": \"1.2\""));
  EXPECT_THAT(text, HasSubstr("\"super_pod_list\""));
  Session session(ranks);
  HcclComm comm = nullptr;
  HcclCommConfig config = TestConfig();
  ASSERT_EQ(HcclCommInitClusterInfoConfig(path, ranks.rank(), &config, &comm), HCCL_SUCCESS)
      << TakeMessages();
  EXPECT_TRUE(UsesWindows(comm, ranks.size(), session));
  std::vector<uint32_t> three = {0, 1, 2};
  if (ranks.rank() < 3) {
    HcclComm sub = nullptr;
    REQUIRE_OK(CreateSubComm(comm, three, 1, ranks.rank(), &sub));
    EXPECT_FALSE(UsesWindows(sub, 3, session)) << "item 6";
    REQUIRE_OK(HcclCommDestroy(sub));
  }
  ranks.Meet();
  EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
}

// HcclCommInitAll makes one server of this process's devices (semantics D.6).
RANK_TEST(EvenServers, InitAllIsOneServer) {
  int32_t devices[2] = {0, 1};
  HcclComm comms[2] = {};
  REQUIRE_OK(aclrtSetDevice(0));
  ASSERT_EQ(HcclCommInitAll(2, devices, comms), HCCL_SUCCESS) << TakeMessages();
  for (HcclComm comm : comms) EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
  REQUIRE_OK(aclrtResetDevice(0));
}

// ---- --servers 2,2 with HCCL_INTER_HCCS_DISABLE=TRUE ----

// A.10 item 5: without effect on one server; registration works in any case (A.11).
RANK_TEST(InterHccsDisable, NoWindowPathBetweenServers) {
  Session session(ranks);
  EXPECT_FALSE(UsesWindows(session)) << "item 5";
  EXPECT_TRUE(UseWindows(session, {0, 1})) << "one server";
  EXPECT_TRUE(UseNone(session, {0, 2})) << "item 5";
  ranks.Meet();
}

// ---- --servers 3,1 ----

RANK_TEST(UnevenServers, RegisterButUseNoWindows) {
  Session session(ranks);
  EXPECT_FALSE(UsesWindows(session)) << "item 6: three and one";
  EXPECT_TRUE(UseWindows(session, {0, 1, 2})) << "one server";
  EXPECT_TRUE(UseNone(session, {0, 3})) << "item 6: one device on each";
}

RANK_TEST(UnevenServers, TheRankTableSaysTheSame) {
  Session session(ranks);
  HcclComm comm = nullptr;
  HcclCommConfig config = TestConfig();
  ASSERT_EQ(
      HcclCommInitClusterInfoConfig(std::getenv("RANK_TABLE_FILE"), ranks.rank(), &config, &comm),
      HCCL_SUCCESS)
      << TakeMessages();
  EXPECT_FALSE(UsesWindows(comm, ranks.size(), session));
  EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
}

// ---- --servers 1,1 ----

RANK_TEST(SingleDevices, UseNoWindows) {
  Session session(ranks);
  EXPECT_EQ(session.device(), 0);
  EXPECT_FALSE(UsesWindows(session)) << "item 6: one device on each server";
}

// ---- several SuperPoDs: --servers 2,2 --superpods 1,1, or HCCL_LOGIC_SUPERPOD_ID on 4 ranks ----

// A.3 step 7 and A.8; where a communicator keeps to one SuperPoD, all is as always.
RANK_TEST(SuperPods, HaveNoWindowsInCommon) {
  Session session(ranks);
  MappedMemory memory(session.device(), kGranularity);
  EXPECT_EQ(Register(session.comm(), memory), HCCL_E_NOT_SUPPORT);
  EXPECT_THAT(TakeMessages(), HasSubstr("SuperPoD"));
  HcclCommSymWindow window = nullptr;
  size_t offset = 0;
  EXPECT_EQ(HcclCommSymWinGet(session.comm(), memory.data(), 4, &window, &offset), HCCL_E_PTR);
  EXPECT_THAT(TakeMessages(), HasSubstr("SuperPoD"));
  ExpectSum(session.comm(), session.stream(), ranks.size());
  Members across(session, {1, 2});
  if (across.comm()) {
    EXPECT_EQ(Register(across.comm(), memory), HCCL_E_NOT_SUPPORT);
    ExpectSum(across.comm(), session.stream(), 2);
  }
  Members one(session, {3});
  if (one.comm()) {
    EXPECT_EQ(Register(one.comm(), memory), HCCL_SUCCESS) << TakeMessages();
    EXPECT_EQ(HcclCommSymWinGet(one.comm(), memory.data(), 4, &window, &offset), HCCL_E_NOT_FOUND);
  }
  ranks.Meet();
}

// With --superpods 1,1; HCCL_LOGIC_SUPERPOD_ID is the same everywhere and does not join them.
RANK_TEST(PhysicalSuperPods, HaveWindowsInside) {
  Session session(ranks);
  EXPECT_TRUE(UseWindows(session, {0, 1}));
  EXPECT_TRUE(UseWindows(session, {2, 3}));
  EXPECT_EQ(Attribute(session.device(), ACL_DEV_ATTR_SUPER_POD_ID), ranks.rank() / 2);
  EXPECT_EQ(Attribute(session.device(), ACL_DEV_ATTR_SUPER_POD_SERVER_ID), 0);
}

RANK_TEST(PhysicalSuperPods, TheRankTableSaysTheSame) {
  Session session(ranks);
  HcclComm comm = nullptr;
  HcclCommConfig config = TestConfig();
  ASSERT_EQ(
      HcclCommInitClusterInfoConfig(std::getenv("RANK_TABLE_FILE"), ranks.rank(), &config, &comm),
      HCCL_SUCCESS)
      << TakeMessages();
  MappedMemory memory(session.device(), kGranularity);
  EXPECT_EQ(Register(comm, memory), HCCL_E_NOT_SUPPORT);
  EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
}

// HCCL_LOGIC_SUPERPOD_ID splits the one SuperPoD: another value on every rank (semantics E).
RANK_TEST(LogicSuperPods, SplitAServer) {
  Session session(ranks);
  EXPECT_EQ(Attribute(session.device(), ACL_DEV_ATTR_SUPER_POD_ID), 0) << "the physical one";
  MappedMemory memory(session.device(), kGranularity);
  Members pair(session, {0, 1});
  if (pair.comm()) {
    EXPECT_EQ(Register(pair.comm(), memory), HCCL_E_NOT_SUPPORT);
  }
  ranks.Meet();
}

// The same value on all ranks leaves it whole.
RANK_TEST(OneLogicSuperPod, HasWindows) {
  Session session(ranks);
  EXPECT_TRUE(UsesWindows(session));
}

// ---- --soc Ascend910B3 and others ----

// A.3 step 8, A.8, A.10 item 4, D.10, D.3, D.7.
RANK_TEST(OtherChip, HasNoWindowsAndNoZeroCopy) {
  Session session(ranks);
  const char* soc = std::getenv("HCCLRUN_SOC");
  ASSERT_TRUE(soc);
  EXPECT_STREQ(aclrtGetSocName(), soc);
  int32_t compatible = -1;
  EXPECT_EQ(aclrtCheckArchCompatibility(soc, &compatible), 0);
  EXPECT_EQ(compatible, 1);
  EXPECT_EQ(aclrtCheckArchCompatibility("Ascend910_9391", &compatible), 0);
  EXPECT_EQ(compatible, 0);
  MappedMemory memory(session.device(), kGranularity);
  EXPECT_EQ(Register(session.comm(), memory), HCCL_E_NOT_SUPPORT);
  EXPECT_THAT(TakeMessages(), HasSubstr("Atlas A3"));
  HcclCommSymWindow window = nullptr;
  size_t offset = 0;
  EXPECT_EQ(HcclCommSymWinGet(session.comm(), memory.data(), 4, &window, &offset), HCCL_E_PTR);
  EXPECT_EQ(HcclCommSetMemoryRange(nullptr, memory.data(), memory.size(), 0, 0), HCCL_E_PTR);
  EXPECT_EQ(HcclCommSetMemoryRange(session.comm(), memory.data(), memory.size(), 0, 0),
            HCCL_E_NOT_SUPPORT);
  Members one(session, {0});  // steps 7 and 8 come before the one of one rank
  if (one.comm()) {
    EXPECT_EQ(Register(one.comm(), memory), HCCL_E_NOT_SUPPORT);
    EXPECT_EQ(HcclCommSetMemoryRange(one.comm(), memory.data(), memory.size(), 0, 0),
              HCCL_E_NOT_SUPPORT);
  }
  ExpectSum(session.comm(), session.stream(), ranks.size());
  ranks.Meet();
}

// Strict determinism can be set on Atlas A2 alone.
RANK_TEST(OtherChip, StrictDeterminismIsForAtlasA2) {
  const bool a2 = std::string(aclrtGetSocName()) == "Ascend910B3";
  HcclConfigValue value;
  value.value = 2;
  EXPECT_EQ(HcclSetConfig(HCCL_DETERMINISTIC, value), a2 ? HCCL_SUCCESS : HCCL_E_NOT_SUPPORT);
  value.value = 0;
  EXPECT_EQ(HcclSetConfig(HCCL_DETERMINISTIC, value), HCCL_SUCCESS);
  if (ranks.size() < 3) return;
  Session session(ranks, [](HcclCommConfig& config) { config.hcclDeterministic = 2; });
  DeviceMemory memory(64);
  UploadValues<float>(memory.data(), {1});
  EXPECT_EQ(HcclAllReduce(memory.data(), memory.data(), 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_PROD,
                          session.comm(), session.stream()),
            a2 ? HCCL_E_NOT_SUPPORT : HCCL_SUCCESS);
  EXPECT_EQ(session.Synchronize(), 0);
}

// Other chips have no SuperPoDs: their tables are of the form 1.0, and in one of 1.2 the list is
// not looked at (semantics D.5).
RANK_TEST(OtherChip, RankTablesHaveNoSuperPods) {
  const char* path = std::getenv("RANK_TABLE_FILE");
  if (!path) return;
  EXPECT_THAT(TextOf(path), HasSubstr("\"version\": \"1.0\""));
  Session session(ranks);
  HcclComm comm = nullptr;
  ASSERT_EQ(HcclCommInitClusterInfo(path, ranks.rank(), &comm), HCCL_SUCCESS) << TakeMessages();
  ExpectSum(comm, session.stream(), ranks.size());
  EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
  // A list that an Atlas A3 would refuse.
  const std::string other = ::testing::TempDir() + "topology." + std::to_string(getpid()) + ".json";
  std::string changed = TextOf(path);
  changed.replace(changed.find("1.0"), 3, "1.2");
  changed.insert(changed.find('{') + 1, "\"super_pod_list\": [],");
  std::ofstream(other) << changed;
  ASSERT_EQ(HcclCommInitClusterInfo(other.c_str(), ranks.rank(), &comm), HCCL_SUCCESS)
      << TakeMessages();
  ExpectSum(comm, session.stream(), ranks.size());
  EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
  unlink(other.c_str());
}

// ---- HCCL_DETERMINISTIC=strict (semantics C.4), on one server, and then on others ----

HcclResult Reduce(Session& session, HcclComm comm, const MappedMemory& memory, HcclDataType type,
                  HcclReduceOp op, bool scatter) {
  return scatter ? HcclReduceScatter(memory.data(), memory.data() + 65536, 1, type, op, comm,
                                     session.stream())
                 : HcclAllReduce(memory.data(), memory.data() + 65536, 1, type, op, comm,
                                 session.stream());
}

RANK_TEST(Strict, HasAlgorithmsOfItsOwn) {
  Session session(ranks);
  WindowMemory memory(session, kGranularity);
  UploadValues<uint8_t>(memory.data(), std::vector<uint8_t>(kGranularity, 0));
  ranks.Meet();
  for (bool scatter : {false, true}) {
    const auto path = [&](HcclDataType type, HcclReduceOp op) {
      EXPECT_EQ(Reduce(session, session.comm(), memory, type, op, scatter), HCCL_SUCCESS)
          << TakeMessages();
      EXPECT_EQ(session.Synchronize(), 0) << TakeMessages();
      return session.LastPath();
    };
    for (HcclDataType type : {HCCL_DATA_TYPE_FP16, HCCL_DATA_TYPE_FP32, HCCL_DATA_TYPE_BFP16}) {
      EXPECT_EQ(path(type, HCCL_REDUCE_SUM), HCCLRUN_PATH_BUFFERED) << "type " << type;
      EXPECT_EQ(path(type, HCCL_REDUCE_MAX), HCCLRUN_PATH_WINDOW) << "type " << type;
    }
    EXPECT_EQ(path(HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM), HCCLRUN_PATH_WINDOW);
    EXPECT_EQ(path(HCCL_DATA_TYPE_INT32, HCCL_REDUCE_PROD), HCCLRUN_PATH_BUFFERED);
    EXPECT_EQ(
        Reduce(session, session.comm(), memory, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_PROD, scatter),
        HCCL_E_NOT_SUPPORT);
    EXPECT_THAT(TakeMessages(), HasSubstr("HCCL_DETERMINISTIC=strict"));
  }
  // Two ranks have one order only.
  Members pair(session, {0, 1});
  if (pair.comm()) {
    HcclCommSymWindow window = nullptr;
    REQUIRE_OK(HcclCommSymWinRegister(pair.comm(), memory.data(), memory.size(), &window, 1));
    EXPECT_EQ(Reduce(session, pair.comm(), memory, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, false),
              HCCL_SUCCESS);
    EXPECT_EQ(session.Synchronize(), 0);
    hcclrunPath taken = HCCLRUN_PATH_BUFFERED;
    REQUIRE_OK(hcclrunLastPath(pair.comm(), &taken));
    EXPECT_EQ(taken, HCCLRUN_PATH_WINDOW);
    EXPECT_EQ(Reduce(session, pair.comm(), memory, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_PROD, false),
              HCCL_SUCCESS);
    EXPECT_EQ(session.Synchronize(), 0);
    REQUIRE_OK(HcclCommSymWinDeregister(window));
  }
  ranks.Meet();
}

// The configuration outranks the environment (semantics D.3).
RANK_TEST(Strict, IsOffInTheConfiguration) {
  Session session(ranks, [](HcclCommConfig& config) { config.hcclDeterministic = 1; });
  WindowMemory memory(session, kGranularity);
  EXPECT_EQ(Reduce(session, session.comm(), memory, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, false),
            HCCL_SUCCESS);
  EXPECT_EQ(session.Synchronize(), 0);
  EXPECT_EQ(session.LastPath(), HCCLRUN_PATH_WINDOW);
}

// Between uneven servers, or with HCCL_INTER_HCCS_DISABLE=TRUE.
RANK_TEST(StrictRefused, WhereThereIsNoAlgorithm) {
  Session session(ranks);
  WindowMemory memory(session, kGranularity);
  for (bool scatter : {false, true}) {
    EXPECT_EQ(
        Reduce(session, session.comm(), memory, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, scatter),
        HCCL_E_NOT_SUPPORT);
    EXPECT_THAT(TakeMessages(), HasSubstr("HCCL_DETERMINISTIC=strict"));
    EXPECT_EQ(
        Reduce(session, session.comm(), memory, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, scatter),
        HCCL_SUCCESS);
    EXPECT_EQ(session.Synchronize(), 0) << TakeMessages();
  }
  ranks.Meet();
}

}  // namespace
}  // namespace hcclrun::testing
