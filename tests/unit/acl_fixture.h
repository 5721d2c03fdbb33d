#pragma once
// What the tests of the acl calls share: a thread with device 0 set, and properties
// of physical memory.

#include <acl/acl.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#define EXPECT_ACL_OK(call) EXPECT_EQ(call, ACL_SUCCESS)
#define ASSERT_ACL_OK(call) ASSERT_EQ(call, ACL_SUCCESS)

constexpr size_t kTestGranule = size_t{2} << 20;

class AclTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_ACL_OK(aclrtSetDevice(0)); }
  void TearDown() override { EXPECT_ACL_OK(aclrtResetDeviceForce(0)); }
};

inline aclrtPhysicalMemProp DeviceProp(uint32_t device = 0) {
  aclrtPhysicalMemProp prop = {};
  prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.id = device;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  return prop;
}

// Runs `body` on a thread that has set no device.
template <class Body>
void OnFreshThread(Body body) {
  std::thread thread(body);
  thread.join();
}
