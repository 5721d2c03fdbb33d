// Launch scripts that give each process one device: ASCEND_RT_VISIBLE_DEVICES=<rank>, and device 0
// in every program.

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "support/rank_session.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

RANK_TEST(VisibleDevices, DeviceZeroOfEveryProcessIsAnotherDevice) {
  setenv("ASCEND_RT_VISIBLE_DEVICES", std::to_string(ranks.rank()).c_str(), 1);
  uint32_t count = 0;
  ASSERT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  ASSERT_EQ(count, 1u) << "the variable came too late to be seen";
  DeviceSession session(0);
  HcclRootInfo info;
  if (ranks.rank() == 0) {
    ASSERT_EQ(HcclGetRootInfo(&info), HCCL_SUCCESS) << TakeMessages();
  }
  ranks.ShareRootInfo(&info);
  HcclComm comm = nullptr;
  ASSERT_EQ(HcclCommInitRootInfo(ranks.size(), &info, ranks.rank(), &comm), HCCL_SUCCESS)
      << TakeMessages();
  ExpectSum(comm, session.stream(), ranks.size());
  EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
}

// Rank tables have physical numbers (semantics D.4).
RANK_TEST(VisibleDevices, RankTablesHavePhysicalNumbers) {
  DeviceSession session(0);
  std::string devices;
  for (uint32_t r = 0; r < ranks.size(); ++r) {
    const std::string n = std::to_string(r);
    devices +=
        (r ? "," : "") + std::string("{\"device_id\": \"") + n + "\", \"rank_id\": \"" + n + "\"}";
  }
  const std::string path =
      ::testing::TempDir() + "visible_devices." + std::to_string(getpid()) + ".json";
  std::ofstream(path) << R"({"status": "completed", "version": "1.0", "server_list": [
      {"server_id": "here", "device": [)"
                      << devices << "]}]}";
  HcclComm comm = nullptr;
  const uint32_t other = (ranks.rank() + 1) % ranks.size();
  if (other != ranks.rank()) {
    EXPECT_EQ(HcclCommInitClusterInfo(path.c_str(), other, &comm), HCCL_E_UNAVAIL);
    EXPECT_THAT(TakeMessages(), ::testing::HasSubstr("EI0014"));
  }
  EXPECT_EQ(HcclCommInitClusterInfo(path.c_str(), ranks.rank(), &comm), HCCL_SUCCESS)
      << TakeMessages();
  ExpectSum(comm, session.stream(), ranks.size());
  EXPECT_EQ(HcclCommDestroy(comm), HCCL_SUCCESS);
  unlink(path.c_str());
}

}  // namespace
}  // namespace hcclrun::testing
