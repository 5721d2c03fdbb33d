// Launch scripts that give each process one device: ASCEND_RT_VISIBLE_DEVICES=<rank>, and device 0 in
// every program.

#include <cstdlib>

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

}  // namespace
}  // namespace hcclrun::testing
