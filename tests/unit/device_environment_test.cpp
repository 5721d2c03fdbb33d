// What the environment decides: which devices there are, and how large a heap may be where
// addresses are scarce.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>

#include "device/device.h"

namespace hcclrun {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

// Before the first use of the library in this program.
const bool kConfigured = [] {
  setenv("HCCLRUN_DEVICE_COUNT", "6", 1);
  setenv("ASCEND_RT_VISIBLE_DEVICES", "1,3,5,4,0", 1);
  setenv("HCCLRUN_HBM_SIZE", "64G", 1);
  return true;
}();

TEST(Environment, E_VisibleDevicesAreRenumberedAndTheListEndsAtItsFirstBadEntry) {
  EXPECT_EQ(Device::Count(), 3u) << "4 comes out of order, nothing behind it counts";
  EXPECT_EQ(Device::PhysicalId(0), 1);
  EXPECT_EQ(Device::PhysicalId(2), 5);
  EXPECT_FALSE(Device::CheckId(2));
  EXPECT_TRUE(Device::CheckId(3));
  EXPECT_TRUE(Device::CheckId(-1));
}

TEST(Environment, HeapShrinksUnderALimitOnAddressSpace) {
#ifdef HCCLRUN_SANITIZED
  GTEST_SKIP() << "sanitizers reserve more address space than the limit";
#endif
  rlimit limit = {8 * kGiB, 8 * kGiB};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  Result<Device*> device = Device::Get(0);
  ASSERT_TRUE(device.ok());
  EXPECT_EQ((*device)->heap().size(), 8 * kGiB / 16);
  Result<uint64_t> at = (*device)->heap().Allocate(kGranule, kGranule);
  EXPECT_TRUE(at.ok());
}

TEST(Environment, HeapHalvesWhileMappingFails) {
#ifdef HCCLRUN_SANITIZED
  GTEST_SKIP() << "sanitizers reserve more address space than the limit";
#endif
  // Under the limit of the test above, leave room for a quarter of a gigabyte and not for a half.
  std::vector<std::unique_ptr<Heap>> taken;
  auto take = [&](uint64_t size) {
    Result<std::unique_ptr<Heap>> heap = Heap::CreateSized(size);
    if (heap.ok()) taken.push_back(std::move(*heap));
    return heap.ok();
  };
  while (take(kGiB / 2)) ASSERT_LT(taken.size(), 64u);
  if (take(kGiB / 4)) {
    taken.pop_back();
  } else {
    taken.pop_back();
    ASSERT_TRUE(take(kGiB / 4));
  }
  Result<Device*> device = Device::Get(1);
  ASSERT_TRUE(device.ok());
  EXPECT_EQ((*device)->heap().size(), kGiB / 4);
}

}  // namespace
}  // namespace hcclrun
