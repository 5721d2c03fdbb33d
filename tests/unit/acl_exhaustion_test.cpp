// Out of device memory: a code and a sentence, never a signal (semantics B.1).

#include <cstdlib>
#include <string>

#include "unit/acl_fixture.h"

namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Before the first use of the library in this program.
const bool kConfigured = [] {
  setenv("HCCLRUN_MEMORY", "64M", 1);
  return true;
}();

class Exhaustion : public AclTest {};

TEST_F(Exhaustion, B1_MallocAnswersMemoryAllocationAndNamesTheSetting) {
  std::vector<void*> held;
  void* p = nullptr;
  aclError error;
  while ((error = aclrtMalloc(&p, 8 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST)) == ACL_SUCCESS) {
    memset(p, 1, 8 * kMiB);  // no SIGBUS: pages are there
    held.push_back(p);
    ASSERT_LT(held.size(), 9u);
  }
  EXPECT_EQ(error, ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_GE(held.size(), 7u);
  const char* text = aclGetRecentErrMsg();
  ASSERT_NE(text, nullptr);
  EXPECT_NE(std::string(text).find("HCCLRUN_MEMORY"), std::string::npos) << text;
  size_t free, total;
  ASSERT_ACL_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
  EXPECT_LT(free, 8 * kMiB);
  ASSERT_ACL_OK(aclrtFree(held.back()));
  held.pop_back();
  EXPECT_ACL_OK(aclrtMalloc(&p, 8 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST)) << "room again";
  held.push_back(p);
  for (void* q : held) EXPECT_ACL_OK(aclrtFree(q));
}

TEST_F(Exhaustion, B2_MallocPhysicalAnswersTheSame) {
  aclrtDrvMemHandle handle = nullptr;
  aclrtPhysicalMemProp prop = DeviceProp();
  EXPECT_EQ(aclrtMallocPhysical(&handle, 128 * kMiB, &prop, 0), ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_EQ(aclrtMallocPhysical(&handle, size_t{1} << 50, &prop, 0),
            ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_ACL_OK(aclrtMallocPhysical(&handle, 32 * kMiB, &prop, 0));
  EXPECT_ACL_OK(aclrtFreePhysical(handle));
}

TEST_F(Exhaustion, AbsurdSizesAreRefused) {
  void* p = nullptr;
  EXPECT_EQ(aclrtMalloc(&p, SIZE_MAX, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_EQ(aclrtMalloc(&p, SIZE_MAX - 4096, ACL_MEM_MALLOC_HUGE_FIRST),
            ACL_ERROR_RT_MEMORY_ALLOCATION);
}

TEST_F(Exhaustion, PagesKeptByOneDeviceDoNotStarveAnother) {
  void* p = nullptr;
  ASSERT_ACL_OK(aclrtMalloc(&p, 40 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST));
  ASSERT_ACL_OK(aclrtFree(p));
  ASSERT_ACL_OK(aclrtSetDevice(1));
  ASSERT_ACL_OK(aclrtMalloc(&p, 48 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST));
  ASSERT_ACL_OK(aclrtFree(p));
  ASSERT_ACL_OK(aclrtResetDevice(1));
  ASSERT_ACL_OK(aclrtSetDevice(0));
}

}  // namespace
