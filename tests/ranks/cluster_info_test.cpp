// Communicators from rank tables (semantics D.4). The table's own rules
// are in unit/comm_rank_table_test.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/rank_session.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;

// A folder of the test's, the same on all ranks; rank 0 removes it.
class Folder {
 public:
  explicit Folder(RankGroup& ranks) : ranks_(ranks) {
    std::string name;
    if (ranks.rank() == 0) {
      name = (std::filesystem::temp_directory_path() / "rank_table.XXXXXX").string();
      if (!mkdtemp(name.data())) std::abort();
    }
    path_ = ranks.Exchange(name)[0];
  }
  ~Folder() {
    ranks_.Meet();
    if (ranks_.rank() == 0) std::filesystem::remove_all(path_);
  }
  Folder(const Folder&) = delete;

  // Rank 0 writes; all ranks get the path when it is there.
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = path_ + "/" + name;
    if (ranks_.rank() == 0) std::ofstream(path) << text;
    ranks_.Meet();
    return path;
  }

 private:
  RankGroup& ranks_;
  std::string path_;
};

std::string Table(uint32_t ranks, const std::string& status = "completed",
                  const std::string& server = "here") {
  std::string devices;
  for (uint32_t r = 0; r < ranks; ++r) {
    devices += (r ? "," : "") + std::string(R"({"device_id": ")") + std::to_string(r) +
               R"(", "rank_id": ")" + std::to_string(r) + "\"}";
  }
  return R"({"status": ")" + status + R"(", "version": "1.0", "server_count": "1",
    "server_list": [{"server_id": ")" +
         server + R"(", "device": [)" + devices + "]}]}";
}

RANK_TEST(ClusterInfo, ChecksArgumentsInOrder) {
  std::thread([] {
    EXPECT_NE(HcclCommInitClusterInfo(nullptr, 0, nullptr), HCCL_SUCCESS);
    EXPECT_THAT(TakeMessages(), HasSubstr("aclrtSetDevice"));
  }).join();
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  const auto named = [](const char* text) { EXPECT_THAT(TakeMessages(), HasSubstr(text)); };
  HcclComm comm = reinterpret_cast<HcclComm>(1);
  EXPECT_EQ(HcclCommInitClusterInfoConfig(nullptr, 0, nullptr, nullptr), HCCL_E_PTR);
  named("clusterInfo is null");
  EXPECT_EQ(HcclCommInitClusterInfoConfig("none.json", 0, nullptr, nullptr), HCCL_E_PTR);
  named("comm is null");
  EXPECT_EQ(HcclCommInitClusterInfoConfig("none.json", 0, nullptr, &comm), HCCL_E_PTR);
  named("config is null");
  EXPECT_EQ(comm, nullptr) << "no communicator on failure";
  HcclCommConfig config = TestConfig();
  config.hcclBufferSize = 0;
  EXPECT_EQ(HcclCommInitClusterInfoConfig("none.json", 0, &config, &comm), HCCL_E_PARA);
  named("hcclBufferSize");
}

RANK_TEST(ClusterInfo, FilesThatCannotBeRead) {
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  Folder folder(ranks);
  HcclComm comm = nullptr;
  const auto refused = [&](const std::string& path, const char* text, const char* code) {
    EXPECT_EQ(HcclCommInitClusterInfo(path.c_str(), 0, &comm), HCCL_E_INTERNAL) << path;
    const std::string message = TakeMessages();
    EXPECT_THAT(message, HasSubstr(text));
    EXPECT_THAT(message, HasSubstr(code));
    EXPECT_THAT(message, HasSubstr(path));
    EXPECT_EQ(comm, nullptr);
  };
  refused("/nowhere/table.json", "No such file", "EI0004");
  refused(folder.Write("table.txt", Table(1)), ".json", "EI0004");
  refused(folder.Write("broken.json", Table(1).substr(1)), "not a JSON object", "EI0004");
  refused(folder.Write("empty.json", ""), "not a JSON object", "EI0004");
  refused(folder.Write("status.json", R"({"version": "1.0"})"), "status", "EI0017");
  const std::string no_file = folder.Write("folder.txt", "") + ".json";
  if (ranks.rank() == 0) std::filesystem::create_directory(no_file);
  ranks.Meet();
  refused(no_file, "is not a file", "EI0004");
}

RANK_TEST(ClusterInfo, WhatTheTableSaysWrong) {
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  Folder folder(ranks);
  const uint32_t n = ranks.size(), me = ranks.rank();
  HcclComm comm = nullptr;
  const auto refused = [&](const std::string& text, uint32_t rank, HcclResult code,
                           const char* named, const char* ei) {
    const std::string path = folder.Write("table.json", text);
    EXPECT_EQ(HcclCommInitClusterInfo(path.c_str(), rank, &comm), code) << named;
    const std::string message = TakeMessages();
    EXPECT_THAT(message, HasSubstr(named));
    EXPECT_THAT(message, HasSubstr(ei));
    EXPECT_EQ(comm, nullptr);
    ranks.Meet();
  };
  refused(Table(n), n, HCCL_E_PARA, "rank is", "");
  refused(Table(n + 1), (me + 1) % (n + 1), HCCL_E_UNAVAIL, "device_id", "EI0014");
  refused(R"({"status": "completed", "version": "9"})", me, HCCL_E_NOT_SUPPORT, "version",
          "EI0014");
  refused(R"({"status": "completed", "version": "1.0"})", me, HCCL_E_NOT_FOUND, "server_list",
          "EI0017");
  refused(R"({"status": "completed", "version": "1.0", "server_list": 1})", me, HCCL_E_PARA,
          "server_list", "EI0014");
}

RANK_TEST(ClusterInfo, MakesAWorld) {
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  Folder folder(ranks);
  const std::string path = folder.Write("table.json", Table(ranks.size()));
  for (int round = 0; round < 3; ++round) {
    HcclComm comm = nullptr, second = nullptr;
    ASSERT_EQ(HcclCommInitClusterInfo(path.c_str(), ranks.rank(), &comm), HCCL_SUCCESS)
        << TakeMessages();
    char name[COMM_NAME_MAX_LENGTH];
    EXPECT_EQ(HcclGetCommName(comm, name), HCCL_SUCCESS);
    EXPECT_STREQ(name, "hccl_world_group");
    uint32_t rank = 99, size = 99;
    EXPECT_EQ(HcclGetRankId(comm, &rank), HCCL_SUCCESS);
    EXPECT_EQ(HcclGetRankSize(comm, &size), HCCL_SUCCESS);
    EXPECT_EQ(rank, ranks.rank());
    EXPECT_EQ(size, ranks.size());
    // One per device.
    EXPECT_EQ(HcclCommInitClusterInfo(path.c_str(), ranks.rank(), &second), HCCL_E_UNAVAIL);
    EXPECT_THAT(TakeMessages(), HasSubstr("alive on device"));
    ExpectSum(comm, session.stream(), ranks.size());
    EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
  }
}

RANK_TEST(ClusterInfo, WithAConfiguration) {
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  Folder folder(ranks);
  const std::string path = folder.Write("table.json", Table(ranks.size()));
  HcclCommConfig config = TestConfig();
  config.hcclBufferSize = 50;
  std::strcpy(config.hcclCommName, "mine");
  HcclComm comm = nullptr;
  ASSERT_EQ(HcclCommInitClusterInfoConfig(path.c_str(), ranks.rank(), &config, &comm), HCCL_SUCCESS)
      << TakeMessages();
  HcclComm found = nullptr;
  EXPECT_EQ(HcclCommGetHandleWithName("mine", &found), HCCL_SUCCESS);
  EXPECT_EQ(found, comm);
  ExpectSum(comm, session.stream(), ranks.size());
  // Windows, and a sub-communicator of it.
  MappedMemory memory(static_cast<int32_t>(ranks.rank()), kGranularity);
  HcclCommSymWindow window = nullptr;
  EXPECT_EQ(HcclCommSymWinRegister(comm, memory.data(), memory.size(), &window, 1), HCCL_SUCCESS)
      << TakeMessages();
  EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
  std::vector<uint32_t> all(ranks.size());
  for (uint32_t r = 0; r < ranks.size(); ++r) all[r] = r;
  HcclComm sub = nullptr;
  HcclCommConfig sub_config = TestConfig();
  ASSERT_EQ(
      HcclCreateSubCommConfig(&comm, ranks.size(), all.data(), 1, ranks.rank(), &sub_config, &sub),
      HCCL_SUCCESS);
  ExpectSum(sub, session.stream(), ranks.size());
  EXPECT_EQ(HcclCommDestroy(sub), HCCL_SUCCESS);
  EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
}

// Every rank is a server in a SuperPoD of its own.
RANK_TEST(ClusterInfo, SeveralSuperPodsTakeNoWindows) {
  if (ranks.size() < 2) return;
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  Folder folder(ranks);
  std::string servers, pods;
  for (uint32_t r = 0; r < ranks.size(); ++r) {
    const std::string n = std::to_string(r), comma = r ? "," : "";
    servers += comma + R"({"server_id": "s)" + n + R"(", "device": [{"device_id": ")" + n +
               R"(", "rank_id": ")" + n + R"(", "device_ip": "10.0.0.)" + n + "\"}]}";
    pods += comma + R"({"super_pod_id": "p)" + n + R"(", "server_list": [{"server_id": "s)" + n +
            "\"}]}";
  }
  const std::string path =
      folder.Write("table.json", R"({"status": "completed", "version": "1.2", "server_list": [)" +
                                     servers + R"(], "super_pod_list": [)" + pods + "]}");
  HcclComm comm = nullptr;
  ASSERT_EQ(HcclCommInitClusterInfo(path.c_str(), ranks.rank(), &comm), HCCL_SUCCESS)
      << TakeMessages();
  ExpectSum(comm, session.stream(), ranks.size());
  MappedMemory memory(static_cast<int32_t>(ranks.rank()), kGranularity);
  HcclCommSymWindow window = nullptr;
  EXPECT_EQ(HcclCommSymWinRegister(comm, memory.data(), memory.size(), &window, 1),
            HCCL_E_NOT_SUPPORT);
  EXPECT_THAT(TakeMessages(), HasSubstr("SuperPoD"));
  EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
}

// The file becomes complete at some time after the first call; usually the ranks wait for it then.
RANK_TEST(ClusterInfo, AcceptsATableThatBecomesComplete) {
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  Folder folder(ranks);
  const std::string path = folder.Write("table.json", Table(ranks.size(), "initializing"));
  std::thread writer;
  if (ranks.rank() == 0) {
    writer = std::thread([&] {
      usleep(300'000);  // nothing depends on how long
      std::ofstream(path + ".new") << Table(ranks.size());
      std::filesystem::rename(path + ".new", path);
    });
  }
  HcclComm comm = nullptr;
  ASSERT_EQ(HcclCommInitClusterInfo(path.c_str(), ranks.rank(), &comm), HCCL_SUCCESS)
      << TakeMessages();
  if (writer.joinable()) writer.join();
  ExpectSum(comm, session.stream(), ranks.size());
  EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
}

// Run with a short HCCLRUN_CONNECT_TIMEOUT and HCCLRUN_RANK_TABLE_WAIT.
RANK_TEST(ClusterInfoMissing, AStatusThatStaysIncomplete) {
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  Folder folder(ranks);
  HcclComm comm = nullptr;
  const std::string path = folder.Write("table.json", Table(ranks.size(), "initializing"));
  EXPECT_EQ(HcclCommInitClusterInfo(path.c_str(), ranks.rank(), &comm), HCCL_E_INTERNAL);
  EXPECT_THAT(TakeMessages(), HasSubstr("still \"initializing\""));
}

RANK_TEST(ClusterInfoMissing, IsToldByTheFirstOperation) {
  DeviceSession session(static_cast<int32_t>(ranks.rank()));
  Folder folder(ranks);
  const std::string path = folder.Write("table.json", Table(ranks.size() + 1));
  HcclComm comm = nullptr;
  ASSERT_EQ(HcclCommInitClusterInfo(path.c_str(), ranks.rank(), &comm), HCCL_SUCCESS);
  ranks.Meet();
  EXPECT_EQ(HcclBarrier(comm, session.stream()), HCCL_E_TIMEOUT);
  const std::string text = TakeMessages();
  EXPECT_THAT(text, HasSubstr("missing: rank " + std::to_string(ranks.size())));
  EXPECT_THAT(text, HasSubstr("EI0006"));
  ranks.Meet();
  EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
}

// Two processes claim the same rank of the same table: the later one learns whose it is, the others
// are none the worse.
RANK_TEST(ClusterInfoMissing, ARankThatIsTaken) {
  if (ranks.size() < 3 || ranks.threads()) return;
  const uint32_t me = ranks.rank(), last = ranks.size() - 1;
  const uint32_t rank = me == last ? 0 : me;  // the last one pretends to be rank 0
  DeviceSession session(static_cast<int32_t>(rank));
  Folder folder(ranks);
  const std::string path = folder.Write("table.json", Table(last));
  HcclComm comm = nullptr;
  if (me == 0) {
    ASSERT_EQ(HcclCommInitClusterInfo(path.c_str(), rank, &comm), HCCL_SUCCESS);
    EXPECT_EQ(HcclBarrier(comm, session.stream()), HCCL_E_TIMEOUT) << "it has come, alone";
  }
  const std::vector<int32_t> pids = ranks.ExchangeValues<int32_t>(getpid());
  if (me == last) {
    ASSERT_EQ(HcclCommInitClusterInfo(path.c_str(), rank, &comm), HCCL_SUCCESS);
    EXPECT_EQ(HcclBarrier(comm, session.stream()), HCCL_E_INTERNAL);
    EXPECT_THAT(TakeMessages(), HasSubstr("held by process " + std::to_string(pids[0])));
  }
  ranks.Meet();
  if (me != 0 && me != last) {
    ASSERT_EQ(HcclCommInitClusterInfo(path.c_str(), rank, &comm), HCCL_SUCCESS);
  }
  if (me != last) ExpectSum(comm, session.stream(), last);
  ranks.Meet();
  EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
}

}  // namespace
}  // namespace hcclrun::testing
