// Making communicators: root info, arguments, disagreement of the ranks, configurations of every
// age (semantics D.1-D.3, D.6).

#include <sys/mman.h>

#include <cstdlib>
#include <thread>

#include "ranks/arena.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;

constexpr size_t kRootInfoBytesUsed = 200;
constexpr size_t kPage = 4096;

HcclRootInfo SharedRootInfo(RankGroup& ranks) {
  HcclRootInfo info;
  std::memset(&info, 0, sizeof info);
  if (ranks.rank() == 0) REQUIRE_OK(HcclGetRootInfo(&info));
  ranks.ShareRootInfo(&info);
  return info;
}

// `bytes` bytes that end where nothing is mapped: reading one byte too many is fatal.
class EndOfMemory {
 public:
  explicit EndOfMemory(size_t bytes) {
    pages_ = (bytes + kPage - 1) / kPage * kPage + kPage;
    base_ = static_cast<char*>(
        mmap(nullptr, pages_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + pages_ - kPage, kPage, PROT_NONE);
    data_ = base_ + pages_ - kPage - bytes;
  }
  ~EndOfMemory() { munmap(base_, pages_); }
  EndOfMemory(const EndOfMemory&) = delete;
  char* data() const { return data_; }

 private:
  char *base_, *data_;
  size_t pages_;
};

// ---- D.1 ----

RANK_TEST(RootInfo, NeedsADeviceAndAPlace) {
  std::thread([] {
    HcclRootInfo info;
    EXPECT_NE(HcclGetRootInfo(&info), HCCL_SUCCESS) << "no device set in this thread";
    EXPECT_NE(HcclGetRootInfo(nullptr), HCCL_E_PTR) << "the device is looked at first";
    EXPECT_THAT(TakeMessages(), HasSubstr("aclrtSetDevice"));
  }).join();
  DeviceSession device(static_cast<int32_t>(ranks.rank()));
  EXPECT_EQ(HcclGetRootInfo(nullptr), HCCL_E_PTR);
}

// Callers send or keep the first bytes alone.
RANK_TEST(RootInfo, LiesInItsFirstTwoHundredBytes) {
  DeviceSession device(static_cast<int32_t>(ranks.rank()));
  HcclRootInfo info;
  std::memset(&info, 0xab, sizeof info);
  if (ranks.rank() == 0) {
    REQUIRE_OK(HcclGetRootInfo(&info));
    for (size_t i = kRootInfoBytesUsed; i < sizeof info; ++i)
      ASSERT_EQ(info.internal[i], char(0xab)) << i;
  }
  const std::string text = ranks.Exchange(std::string(info.internal, kRootInfoBytesUsed))[0];
  EndOfMemory blob(kRootInfoBytesUsed);
  std::memcpy(blob.data(), text.data(), kRootInfoBytesUsed);
  HcclComm comm = nullptr;
  ASSERT_EQ(HcclCommInitRootInfo(ranks.size(), reinterpret_cast<HcclRootInfo*>(blob.data()),
                                 ranks.rank(), &comm),
            HCCL_SUCCESS)
      << TakeMessages();
  ExpectSum(comm, device.stream(), ranks.size());
  REQUIRE_OK(HcclCommDestroy(comm));
}

RANK_TEST(RootInfo, WhatIsNoneIsRefused) {
  DeviceSession device(static_cast<int32_t>(ranks.rank()));
  HcclRootInfo info;
  HcclComm comm = nullptr;
  for (int byte : {0, 0x55, 0xff}) {
    std::memset(&info, byte, sizeof info);
    EXPECT_EQ(HcclCommInitRootInfo(ranks.size(), &info, ranks.rank(), &comm), HCCL_E_PARA) << byte;
    EXPECT_THAT(TakeMessages(), HasSubstr("HcclGetRootInfo"));
  }
  EXPECT_EQ(comm, nullptr);
}

// ---- D.2 ----

RANK_TEST(Init, ChecksArgumentsInOrder) {
  HcclRootInfo info;
  std::memset(&info, 0, sizeof info);
  HcclComm comm = nullptr;
  std::thread([&] {
    EXPECT_NE(HcclCommInitRootInfo(0, nullptr, 9, nullptr), HCCL_SUCCESS);
    EXPECT_THAT(TakeMessages(), HasSubstr("aclrtSetDevice"));
  }).join();
  DeviceSession device(static_cast<int32_t>(ranks.rank()));
  const auto named = [](const char* text) { EXPECT_THAT(TakeMessages(), HasSubstr(text)); };
  TakeMessages();
  EXPECT_EQ(HcclCommInitRootInfoConfig(0, nullptr, 9, nullptr, nullptr), HCCL_E_PARA);
  named("nRanks is 0");
  EXPECT_EQ(HcclCommInitRootInfoConfig(2, nullptr, 2, nullptr, nullptr), HCCL_E_PARA);
  named("rank is 2");
  EXPECT_EQ(HcclCommInitRootInfoConfig(2, nullptr, 1, nullptr, nullptr), HCCL_E_PTR);
  named("comm is null");
  EXPECT_EQ(HcclCommInitRootInfoConfig(2, nullptr, 1, nullptr, &comm), HCCL_E_PTR);
  named("rootInfo is null");
  EXPECT_EQ(HcclCommInitRootInfoConfig(2, &info, 1, nullptr, &comm), HCCL_E_PTR);
  named("config is null");
  HcclCommConfig config;
  std::memset(&config, 0, sizeof config);
  EXPECT_EQ(HcclCommInitRootInfoConfig(2, &info, 1, &config, &comm), HCCL_E_PARA);
  named("HcclCommConfigInit");
  EXPECT_EQ(HcclCommInitRootInfo(0, nullptr, 9, nullptr), HCCL_E_PARA);
  EXPECT_EQ(HcclCommInitRootInfo(2, nullptr, 1, &comm), HCCL_E_PTR);
  EXPECT_EQ(comm, nullptr) << "untouched";
}

RANK_TEST(Init, TwoRanksOnOneDevice) {
  if (ranks.size() == 1) return;
  const uint32_t device = ranks.rank() == 1 ? 0 : ranks.rank();
  DeviceSession session(static_cast<int32_t>(device));
  const HcclRootInfo info = SharedRootInfo(ranks);
  HcclComm comm = nullptr;
  EXPECT_EQ(HcclCommInitRootInfo(ranks.size(), &info, ranks.rank(), &comm), HCCL_E_PARA);
  const std::string text = TakeMessages();
  EXPECT_THAT(text, HasSubstr("ranks 0 and 1 both use device 0"));
  EXPECT_THAT(text, HasSubstr("HCCLRUN_DEVICE_COUNT"));
  EXPECT_EQ(comm, nullptr);
  ranks.Meet();
}

RANK_TEST(Init, RankUsedTwice) {
  if (ranks.size() == 1) return;
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  const HcclRootInfo info = SharedRootInfo(ranks);
  HcclComm comm = nullptr;
  EXPECT_EQ(HcclCommInitRootInfo(ranks.size(), &info, ranks.rank() == 1 ? 0 : ranks.rank(), &comm),
            HCCL_E_INTERNAL);
  EXPECT_THAT(TakeMessages(), HasSubstr("rank 0 is held by process"));
  EXPECT_EQ(comm, nullptr);
  ranks.Meet();
}

RANK_TEST(Init, RanksDisagreeAboutTheirNumber) {
  if (ranks.size() == 1) return;
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  const HcclRootInfo info = SharedRootInfo(ranks);
  HcclComm comm = nullptr;
  EXPECT_EQ(
      HcclCommInitRootInfo(ranks.size() + (ranks.rank() == 0 ? 1 : 0), &info, ranks.rank(), &comm),
      HCCL_E_INTERNAL);
  // Who came first is a matter of time, who said what is not.
  const std::string text = TakeMessages();
  EXPECT_THAT(text, HasSubstr("rank 0 passed "));
  EXPECT_THAT(text, HasSubstr(" " + std::to_string(ranks.size() + 1)));
  EXPECT_THAT(text, HasSubstr(" " + std::to_string(ranks.size())));
  EXPECT_EQ(comm, nullptr);
  ranks.Meet();
}

// After every kind of failure a new root info makes a communicator.
RANK_TEST(Init, FailuresLeaveNothingBehind) {
  Session session(ranks);
  ExpectSum(session.comm(), session.stream(), ranks.size());
}

RANK_TEST(Init, NamesAreUniqueOnADevice) {
  Session session(ranks, [](HcclCommConfig& config) { std::strcpy(config.hcclCommName, "twin"); });
  const HcclCommConfig config =
      TestConfig([](HcclCommConfig& c) { std::strcpy(c.hcclCommName, "twin"); });
  HcclRootInfo info = SharedRootInfo(ranks);
  HcclComm comm = nullptr;
  EXPECT_EQ(HcclCommInitRootInfoConfig(ranks.size(), &info, ranks.rank(), &config, &comm),
            HCCL_E_PARA);
  EXPECT_THAT(TakeMessages(), HasSubstr("\"twin\""));
  EXPECT_EQ(comm, nullptr);
  HcclCommConfig bad = config;
  bad.hcclBufferSize = 0;
  EXPECT_EQ(HcclCommInitRootInfoConfig(ranks.size(), &info, ranks.rank(), &bad, &comm),
            HCCL_E_PARA);
  EXPECT_THAT(TakeMessages(), HasSubstr("hcclBufferSize")) << "the configuration comes first";
  session.DestroyCommunicator();
  ranks.Meet();
  ASSERT_EQ(HcclCommInitRootInfoConfig(ranks.size(), &info, ranks.rank(), &config, &comm),
            HCCL_SUCCESS)
      << "free again";
  EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
}

// One root info makes one communicator.
RANK_TEST(Init, RootInfoUsedAgain) {
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  const HcclRootInfo info = SharedRootInfo(ranks);
  HcclComm comm = nullptr, again = nullptr;
  ASSERT_EQ(HcclCommInitRootInfo(ranks.size(), &info, ranks.rank(), &comm), HCCL_SUCCESS);
  EXPECT_EQ(HcclCommInitRootInfo(ranks.size(), &info, ranks.rank(), &again), HCCL_E_PARA)
      << "its name is taken";
  const HcclCommConfig config =
      TestConfig([](HcclCommConfig& c) { std::strcpy(c.hcclCommName, "other"); });
  ranks.Meet();
  EXPECT_EQ(HcclCommInitRootInfoConfig(ranks.size(), &info, ranks.rank(), &config, &again),
            HCCL_E_TIMEOUT);
  EXPECT_THAT(TakeMessages(), HasSubstr("call HcclGetRootInfo anew"));
  EXPECT_EQ(again, nullptr);
  EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
}

RANK_TEST(Init, SeveralCommunicatorsAtOnce) {
  Session session(ranks);
  std::vector<HcclComm> comms;
  for (int i = 0; i < 5; ++i) comms.push_back(session.NewCommunicator());
  for (HcclComm comm : comms) ExpectSum(comm, session.stream(), ranks.size());
  for (size_t i : {2, 0, 4, 1, 3}) {
    REQUIRE_OK(HcclCommDestroy(comms[i]));
    ExpectSum(session.comm(), session.stream(), ranks.size());
  }
}

// Communicators of a part of the job's ranks, in another order.
RANK_TEST(Init, RanksMayBeASubsetInAnyOrder) {
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  const uint32_t members = (ranks.size() + 1) / 2;
  const HcclRootInfo info = SharedRootInfo(ranks);
  if (ranks.rank() < members) {
    HcclComm comm = nullptr;
    ASSERT_EQ(HcclCommInitRootInfo(members, &info, members - 1 - ranks.rank(), &comm), HCCL_SUCCESS)
        << TakeMessages();
    DeviceMemory value(4), all(4 * members);
    UploadValues<int32_t>(value.data(), {static_cast<int32_t>(ranks.rank())});
    ASSERT_EQ(
        HcclAllGather(value.data(), all.data(), 1, HCCL_DATA_TYPE_INT32, comm, session.stream()),
        HCCL_SUCCESS);
    ASSERT_EQ(aclrtSynchronizeStream(session.stream()), 0) << TakeMessages();
    const std::vector<int32_t> got = DownloadValues<int32_t>(all.data(), members);
    for (uint32_t i = 0; i < members; ++i) EXPECT_EQ(got[i], static_cast<int32_t>(members - 1 - i));
    EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
  }
  ranks.Meet();
}

// Under an illegal environment variable (semantics E) every initialisation refuses. Run
// with one set.
RANK_TEST(Environment, IllegalValue) {
  if (!std::getenv("HCCL_CONNECT_TIMEOUT")) return;
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  HcclRootInfo info;
  std::memset(&info, 0, sizeof info);
  HcclComm comm = nullptr;
  EXPECT_EQ(HcclGetRootInfo(&info), HCCL_E_PARA);
  const std::string text = TakeMessages();
  EXPECT_THAT(text, HasSubstr("HCCL_CONNECT_TIMEOUT"));
  EXPECT_THAT(text, HasSubstr("EI0001"));
  EXPECT_EQ(HcclCommInitRootInfo(ranks.size(), &info, ranks.rank(), &comm), HCCL_E_PARA);
  EXPECT_THAT(TakeMessages(), HasSubstr("EI0001")) << "before the root info is looked at";
  // Semantics D.2: behind the nulls, before the configuration.
  EXPECT_EQ(HcclCommInitRootInfo(ranks.size(), nullptr, ranks.rank(), &comm), HCCL_E_PTR);
  EXPECT_EQ(HcclCommInitRootInfoConfig(ranks.size(), &info, ranks.rank(), nullptr, &comm),
            HCCL_E_PARA);
}

// ---- D.3 ----

// A configuration as a program with an older or newer header passes it.
class AgedConfig {
 public:
  AgedConfig(uint32_t version, size_t size) : memory_(size), size_(size) {
    std::memset(memory_.data(), 0, size);
    Put<uint64_t>(0, size);
    Put<uint32_t>(8, 0xf0f0f0f0);
    Put<uint32_t>(12, version);
    Put<uint32_t>(24, 0xffffffff);  // hcclBufferSize
    Put<uint32_t>(28, 0xffffffff);  // hcclDeterministic
    Put<int32_t>(316, -1);          // hcclExecTimeOut
    Put<uint64_t>(2232, 1);         // hcclSymWinMaxMemSizePerRank
  }
  template <class T>
  AgedConfig& Put(size_t offset, T value) {
    if (offset + sizeof value <= size_) std::memcpy(memory_.data() + offset, &value, sizeof value);
    return *this;
  }
  AgedConfig& PutName(const std::string& name) {
    std::memcpy(memory_.data() + 32, name.data(), name.size());
    return *this;
  }
  const HcclCommConfig* get() const {
    return reinterpret_cast<const HcclCommConfig*>(memory_.data());
  }

 private:
  EndOfMemory memory_;
  size_t size_;
};

HcclComm InitWith(RankGroup& ranks, const HcclCommConfig* config, HcclResult expected,
                  const char* what) {
  const HcclRootInfo info = SharedRootInfo(ranks);
  HcclComm comm = nullptr;
  EXPECT_EQ(HcclCommInitRootInfoConfig(ranks.size(), &info, ranks.rank(), config, &comm), expected)
      << what << "\n"
      << TakeMessages();
  return comm;
}

bool HasWindowSpace(uint64_t gigabytes) {
  size_t free_bytes = 0, total = 0;
  REQUIRE_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
  return total >= gigabytes << 30;
}

struct Age {
  uint32_t version;
  size_t size;
};
// Of published headers, and one of the future. What they stamp is the struct's size then.
constexpr Age kAges[] = {{2, 160},   {5, 300},   {6, 312},   {8, 2104}, {9, 2232},
                         {10, 2232}, {10, 2240}, {11, 2248}, {12, 4096}};

RANK_TEST(Config, OfEveryAge) {
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  for (const Age& age : kAges) {
    const std::string name = "v" + std::to_string(age.version) + "." + std::to_string(age.size);
    AgedConfig config(age.version, age.size);
    config.PutName(name);
    config.Put<uint32_t>(24, 1);   // a buffer of 1 MB
    config.Put<uint32_t>(288, 1);  // host expansion: no windows
    HcclComm comm = InitWith(ranks, config.get(), HCCL_SUCCESS, name.c_str());
    char given[COMM_NAME_MAX_LENGTH];
    ASSERT_EQ(HcclGetCommName(comm, given), HCCL_SUCCESS);
    EXPECT_EQ(given, name);
    if (ranks.size() > 1 && HasWindowSpace(16)) {  // the older ones have the default window space
      MappedMemory memory(static_cast<int32_t>(ranks.rank()), kGranularity);
      HcclCommSymWindow window = nullptr;
      ASSERT_EQ(HcclCommSymWinRegister(comm, memory.data(), 1, &window, 1), HCCL_SUCCESS)
          << name << "\n"
          << TakeMessages();
      ASSERT_EQ(HcclAllGather(memory.data(), memory.data() + 4096, 9, HCCL_DATA_TYPE_INT8, comm,
                              session.stream()),
                HCCL_SUCCESS);
      ASSERT_EQ(aclrtSynchronizeStream(session.stream()), 0) << TakeMessages();
      hcclrunPath path;
      ASSERT_EQ(hcclrunLastPath(comm, &path), HCCL_SUCCESS);
      EXPECT_EQ(path, age.version >= 4 ? HCCLRUN_PATH_BUFFERED : HCCLRUN_PATH_WINDOW) << name;
      EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
    }
    ranks.Meet();
    REQUIRE_OK(HcclCommDestroy(comm));
  }
}

// A field counts only from the version that brought it, and only if it lies inside
// the stamped size.
RANK_TEST(Config, FieldsOfLaterVersionsAreNotRead) {
  if (ranks.size() == 1) return;
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  if (!HasWindowSpace(16)) return;
  MappedMemory memory(static_cast<int32_t>(ranks.rank()), kGranularity);
  const auto expect_register = [&](uint32_t version, size_t size, HcclResult expected) {
    AgedConfig config(version, size);
    config.Put<uint64_t>(2232, 0);  // no window space: the first registration fails, if it is read
    HcclComm comm = InitWith(ranks, config.get(), HCCL_SUCCESS, "window space 0");
    HcclCommSymWindow window = nullptr;
    EXPECT_EQ(HcclCommSymWinRegister(comm, memory.data(), 1, &window, 1), expected)
        << version << ", " << size;
    ranks.Meet();
    REQUIRE_OK(HcclCommDestroy(comm));
  };
  expect_register(9, 2248, HCCL_SUCCESS);
  expect_register(10, 2232, HCCL_SUCCESS);
  expect_register(10, 2239, HCCL_SUCCESS);
  expect_register(10, 2240, HCCL_E_PARA);
  expect_register(11, 2248, HCCL_E_PARA);
}

RANK_TEST(Config, IllegalValues) {
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  const auto refused = [&](const AgedConfig& config, const char* named) {
    TakeMessages();
    HcclRootInfo info;
    std::memset(&info, 0, sizeof info);
    HcclComm comm = nullptr;
    EXPECT_EQ(HcclCommInitRootInfoConfig(ranks.size(), &info, ranks.rank(), config.get(), &comm),
              HCCL_E_PARA)
        << named;
    EXPECT_THAT(TakeMessages(), HasSubstr(named));
    EXPECT_EQ(comm, nullptr);
  };
  refused(AgedConfig(11, 2248).Put<uint32_t>(8, 0xf0f0f0f1), "HcclCommConfigInit");
  refused(AgedConfig(11, 2248).Put<uint64_t>(0, 0), "HcclCommConfigInit");
  refused(AgedConfig(11, 2248).Put<uint32_t>(24, 0), "hcclBufferSize");
  refused(AgedConfig(11, 2248).Put<uint32_t>(28, 3), "hcclDeterministic");
  refused(AgedConfig(2, 160).Put<uint32_t>(24, 0), "hcclBufferSize");
  refused(AgedConfig(7, 2104).Put<uint8_t>(312, 2), "aclGraphZeroCopyEnable");
  refused(AgedConfig(8, 2104).Put<uint32_t>(320, 'x'), "hcclAlgo");
}

RANK_TEST(Config, ValuesThatAreAcceptedOrIgnored) {
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  const auto accepted = [&](const AgedConfig& config, const char* what) {
    HcclComm comm = InitWith(ranks, config.get(), HCCL_SUCCESS, what);
    ExpectSum(comm, session.stream(), ranks.size());
    REQUIRE_OK(HcclCommDestroy(comm));
  };
  accepted(AgedConfig(11, 2248).Put<uint32_t>(28, 0), "hcclDeterministic 0");
  accepted(AgedConfig(11, 2248).Put<uint32_t>(28, 1), "hcclDeterministic 1");
  accepted(AgedConfig(11, 2248).Put<uint32_t>(28, 2), "hcclDeterministic 2");
  accepted(AgedConfig(11, 2248).Put<uint32_t>(288, 77), "hcclOpExpansionMode 77");
  accepted(AgedConfig(11, 2248).Put<int32_t>(316, -5), "hcclExecTimeOut -5");
  accepted(AgedConfig(11, 2248).Put<int32_t>(316, 0), "hcclExecTimeOut 0");
  accepted(AgedConfig(6, 312).Put<uint8_t>(312, 2), "aclGraphZeroCopyEnable before it existed");
  accepted(AgedConfig(11, 2248).Put<uint32_t>(24, 1), "hcclBufferSize 1");
  accepted(AgedConfig(7, 2104).Put<uint32_t>(320, 'x'), "hcclAlgo before it existed");
  accepted(AgedConfig(8, 2104).Put<uint32_t>(1920, 'x'), "hcclRetryEnable x");
  accepted(AgedConfig(8, 2104).Put<uint32_t>(1970, 'x'), "hcclRetryParams x");
}

RANK_TEST(Config, NamesAreCutAndDefault) {
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  char given[COMM_NAME_MAX_LENGTH];
  HcclComm comm = InitWith(ranks, AgedConfig(11, 2248).PutName(std::string(128, 'x')).get(),
                           HCCL_SUCCESS, "no terminator");
  ASSERT_EQ(HcclGetCommName(comm, given), HCCL_SUCCESS);
  EXPECT_EQ(given, std::string(127, 'x'));
  REQUIRE_OK(HcclCommDestroy(comm));
  HcclComm one = InitWith(ranks, AgedConfig(11, 2248).get(), HCCL_SUCCESS, "default");
  HcclComm two = InitWith(ranks, AgedConfig(11, 2248).get(), HCCL_SUCCESS, "default");
  ASSERT_EQ(HcclGetCommName(one, given), HCCL_SUCCESS);
  const std::string first = given;
  ASSERT_EQ(HcclGetCommName(two, given), HCCL_SUCCESS);
  EXPECT_NE(first, "");
  EXPECT_NE(first, given);
  for (const std::string& other : ranks.Exchange(first))
    EXPECT_EQ(other, first) << "equal on all ranks";
  REQUIRE_OK(HcclCommDestroy(one));
  REQUIRE_OK(HcclCommDestroy(two));
}

// ---- D.6 and F.1 ----

RANK_TEST(Queries, RankSizeNameAndState) {
  Session session(ranks,
                  [](HcclCommConfig& config) { std::strcpy(config.hcclCommName, "queried"); });
  uint32_t rank = 99, size = 99;
  char name[COMM_NAME_MAX_LENGTH];
  HcclResult state = HCCL_E_INTERNAL;
  EXPECT_EQ(HcclGetRankId(session.comm(), &rank), HCCL_SUCCESS);
  EXPECT_EQ(HcclGetRankSize(session.comm(), &size), HCCL_SUCCESS);
  EXPECT_EQ(HcclGetCommName(session.comm(), name), HCCL_SUCCESS);
  EXPECT_EQ(HcclGetCommAsyncError(session.comm(), &state), HCCL_SUCCESS);
  EXPECT_EQ(rank, ranks.rank());
  EXPECT_EQ(size, ranks.size());
  EXPECT_STREQ(name, "queried");
  EXPECT_EQ(state, HCCL_SUCCESS);
  EXPECT_EQ(HcclGetRankId(nullptr, &rank), HCCL_E_PTR);
  EXPECT_EQ(HcclGetRankId(session.comm(), nullptr), HCCL_E_PTR);
  EXPECT_EQ(HcclGetRankSize(nullptr, &size), HCCL_E_PTR);
  EXPECT_EQ(HcclGetRankSize(session.comm(), nullptr), HCCL_E_PTR);
  EXPECT_EQ(HcclGetCommName(nullptr, name), HCCL_E_PTR);
  EXPECT_EQ(HcclGetCommName(session.comm(), nullptr), HCCL_E_PTR);
  EXPECT_EQ(HcclGetCommAsyncError(nullptr, &state), HCCL_E_PTR);
  EXPECT_EQ(HcclGetCommAsyncError(session.comm(), nullptr), HCCL_E_PTR);
}

RANK_TEST(Queries, Capability) { EXPECT_EQ(HcclGetCommConfigCapability(), 12u); }

RANK_TEST(Queries, ErrorStrings) {
  const char* texts[] = {"no error",
                         "parameter error",
                         "empty pointer",
                         "memory error",
                         "internal error",
                         "not support feature",
                         "not found specific resource",
                         "resource unavailable",
                         "call system interface error",
                         "timeout",
                         "open file fail",
                         "tcp connect fail",
                         "roce connect fail",
                         "tcp transfer fail",
                         "roce transfer fail",
                         "call runtime api fail",
                         "call driver api fail",
                         "call profiling api fail",
                         "call cce api fail",
                         "call network api fail",
                         "try again",
                         "error cqe",
                         "error communicator suspending",
                         "retry constraint",
                         "out of memory"};
  for (int code = -10; code < 2000; ++code) {
    const char* text = HcclGetErrorString(static_cast<HcclResult>(code));
    ASSERT_NE(text, nullptr) << code;
    const char* expected = code < 0 || code >= 1042 ? "unknown error"
                           : code <= 24             ? texts[code]
                                                    : "unknown err";
    EXPECT_STREQ(text, expected) << code;
  }
}

}  // namespace
}  // namespace hcclrun::testing
