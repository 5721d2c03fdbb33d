// The virtual memory calls, row by row of semantics B.1 and B.2.

#include <random>

#include "unit/acl_fixture.h"

namespace {

class Vmm : public AclTest {
 protected:
  void* Reserve(size_t size) {
    void* va = nullptr;
    EXPECT_ACL_OK(aclrtReserveMemAddress(&va, size, 0, nullptr, 1));
    return va;
  }
  aclrtDrvMemHandle Physical(size_t size, uint32_t device = 0) {
    aclrtDrvMemHandle handle = nullptr;
    aclrtPhysicalMemProp prop = DeviceProp(device);
    EXPECT_ACL_OK(aclrtMallocPhysical(&handle, size, &prop, 0));
    return handle;
  }
  static char* At(void* base, size_t granules) {
    return static_cast<char*>(base) + granules * kTestGranule;
  }
};

TEST_F(Vmm, B1_NoContextOnTheThread) {
  void* va = Reserve(kTestGranule);
  aclrtDrvMemHandle handle = Physical(kTestGranule);
  OnFreshThread([&] {
    void* out = nullptr;
    size_t size;
    aclrtDrvMemHandle other;
    aclrtPhysicalMemProp prop = DeviceProp();
    aclrtMemAccessDesc access = {};
    EXPECT_EQ(aclrtReserveMemAddress(&out, kTestGranule, 0, nullptr, 0), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtReserveMemAddressNoUCMemory(&out, 1 << 30, 0, nullptr, 0),
              ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtMallocPhysical(&other, kTestGranule, &prop, 0), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtMapMem(va, kTestGranule, 0, handle, 0), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtUnmapMem(va), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtMemGetAddressRange(va, &out, &size), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtMemRetainAllocationHandle(va, &other), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtMemSetAccess(va, kTestGranule, &access, 1), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &size),
              ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtFreePhysical(handle), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtReleaseMemAddress(va), ACL_ERROR_RT_CONTEXT_NULL);
  });
  EXPECT_ACL_OK(aclrtFreePhysical(handle));
  EXPECT_ACL_OK(aclrtReleaseMemAddress(va));
}

TEST_F(Vmm, B1_GranularityIsTwoMegabytesOrOneGigabyte) {
  size_t granularity = 0;
  for (auto [attribute, expected] : {std::pair{ACL_HBM_MEM_HUGE, kTestGranule},
                                     {ACL_HBM_MEM_NORMAL, kTestGranule},
                                     {ACL_HBM_MEM_HUGE1G, size_t{1} << 30}}) {
    for (auto option :
         {ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED}) {
      aclrtPhysicalMemProp prop = DeviceProp();
      prop.memAttr = attribute;
      EXPECT_ACL_OK(aclrtMemGetAllocationGranularity(&prop, option, &granularity));
      EXPECT_EQ(granularity, expected);
    }
  }
}

TEST_F(Vmm, B2_GranularityChecks) {
  aclrtPhysicalMemProp prop = DeviceProp();
  size_t granularity = 7;
  EXPECT_EQ(
      aclrtMemGetAllocationGranularity(nullptr, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granularity),
      ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, nullptr),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(
      aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF, &granularity),
      ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(granularity, 7u);
}

TEST_F(Vmm, B2_ReserveChecks) {
  void* va = nullptr;
  EXPECT_EQ(aclrtReserveMemAddress(nullptr, kTestGranule, 0, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtReserveMemAddress(&va, 0, 0, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtReserveMemAddress(&va, kTestGranule, 0, nullptr, 2), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtReserveMemAddress(&va, kTestGranule, 4096, nullptr, 0),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(va, nullptr);
  for (uint64_t flags : {0, 1}) {
    ASSERT_ACL_OK(aclrtReserveMemAddress(&va, kTestGranule, 0, nullptr, flags));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(va) % kTestGranule, 0u);
    EXPECT_ACL_OK(aclrtReleaseMemAddress(va));
  }
}

TEST_F(Vmm, B2_ReserveHonoursAFreeHintAndIgnoresATakenOne) {
  void* va = Reserve(4 * kTestGranule);
  EXPECT_ACL_OK(aclrtReleaseMemAddress(va));
  void* again = nullptr;
  ASSERT_ACL_OK(aclrtReserveMemAddress(&again, kTestGranule, 0, va, 0));
  EXPECT_EQ(again, va);
  void* other = nullptr;
  ASSERT_ACL_OK(aclrtReserveMemAddress(&other, kTestGranule, 0, va, 0));
  EXPECT_NE(other, va);
  EXPECT_ACL_OK(aclrtReleaseMemAddress(again));
  EXPECT_ACL_OK(aclrtReleaseMemAddress(other));
}

TEST_F(Vmm, B2_ReserveNoUCWantsWholeGigabytes) {
  void* va = nullptr;
  EXPECT_EQ(aclrtReserveMemAddressNoUCMemory(&va, kTestGranule, 0, nullptr, 0),
            ACL_ERROR_RT_PARAM_INVALID);
  ASSERT_ACL_OK(aclrtReserveMemAddressNoUCMemory(&va, size_t{2} << 30, 0, nullptr, 0));
  EXPECT_ACL_OK(aclrtReleaseMemAddress(va));
}

TEST_F(Vmm, B2_ReserveWithoutAddressSpaceIsAnError) {
  void* va = nullptr;
  EXPECT_NE(aclrtReserveMemAddress(&va, size_t{1} << 62, 0, nullptr, 0), ACL_SUCCESS);
  EXPECT_NE(aclrtReserveMemAddress(&va, SIZE_MAX, 0, nullptr, 0), ACL_SUCCESS);
}

TEST_F(Vmm, B2_ReleaseTakesExactlyTheBaseOnceAndNotWithMappingsInside) {
  void* va = Reserve(2 * kTestGranule);
  aclrtDrvMemHandle handle = Physical(kTestGranule);
  ASSERT_ACL_OK(aclrtMapMem(At(va, 1), kTestGranule, 0, handle, 0));
  EXPECT_EQ(aclrtReleaseMemAddress(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtReleaseMemAddress(At(va, 1)), ACL_ERROR_RT_PARAM_INVALID) << "not the base";
  EXPECT_EQ(aclrtReleaseMemAddress(va), ACL_ERROR_RT_PARAM_INVALID) << "a mapping is inside";
  EXPECT_ACL_OK(aclrtUnmapMem(At(va, 1)));
  EXPECT_ACL_OK(aclrtReleaseMemAddress(va));
  EXPECT_EQ(aclrtReleaseMemAddress(va), ACL_ERROR_RT_PARAM_INVALID) << "double release";
  EXPECT_ACL_OK(aclrtFreePhysical(handle));
}

TEST_F(Vmm, B2_MallocPhysicalChecksInOrder) {
  aclrtDrvMemHandle handle = nullptr;
  aclrtPhysicalMemProp prop = DeviceProp();
  EXPECT_EQ(aclrtMallocPhysical(nullptr, kTestGranule, &prop, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocPhysical(&handle, kTestGranule, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocPhysical(&handle, 0, &prop, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocPhysical(&handle, kTestGranule, &prop, 1), ACL_ERROR_INVALID_PARAM);

  aclrtPhysicalMemProp bad =
      DeviceProp(9999);  // every later mistake is shadowed by the earlier one
  bad.handleType = ACL_MEM_HANDLE_TYPE_POSIX;
  EXPECT_EQ(aclrtMallocPhysical(&handle, 1, &bad, 0), ACL_ERROR_INVALID_PARAM);
  bad.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  bad.allocationType = static_cast<aclrtMemAllocationType>(1);
  EXPECT_EQ(aclrtMallocPhysical(&handle, 1, &bad, 0), ACL_ERROR_INVALID_PARAM);
  bad.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  for (auto type : {ACL_MEM_LOCATION_TYPE_UNREGISTERED, ACL_MEM_LOCATION_TYPE_MANAGED}) {
    bad.location.type = type;
    EXPECT_EQ(aclrtMallocPhysical(&handle, 1, &bad, 0), ACL_ERROR_INVALID_PARAM);
  }
  bad.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  for (int attribute : {99, int(ACL_DDR_MEM_HUGE), int(ACL_DDR_MEM_NORMAL), int(ACL_HBM_MEM)}) {
    bad.memAttr = static_cast<aclrtMemAttr>(attribute);
    EXPECT_EQ(aclrtMallocPhysical(&handle, 1, &bad, 0), ACL_ERROR_INVALID_PARAM) << attribute;
  }
  bad.memAttr = ACL_HBM_MEM_HUGE;
  EXPECT_EQ(aclrtMallocPhysical(&handle, 1, &bad, 0), ACL_ERROR_RT_INVALID_DEVICEID);
  bad.location.id = 0;
  EXPECT_EQ(aclrtMallocPhysical(&handle, kTestGranule + 1, &bad, 0), ACL_ERROR_RT_PARAM_INVALID)
      << "B.2";
  bad.memAttr = ACL_HBM_MEM_HUGE1G;
  EXPECT_EQ(aclrtMallocPhysical(&handle, kTestGranule, &bad, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(handle, nullptr);
}

TEST_F(Vmm, B2_FreePhysicalKnowsItsHandles) {
  EXPECT_EQ(aclrtFreePhysical(nullptr), ACL_ERROR_INVALID_PARAM);
  int local;
  EXPECT_EQ(aclrtFreePhysical(&local), ACL_ERROR_RT_INVALID_HANDLE);
  aclrtDrvMemHandle handle = Physical(kTestGranule);
  EXPECT_ACL_OK(aclrtFreePhysical(handle));
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(Vmm, B2_MapChecks) {
  void* va = Reserve(4 * kTestGranule);
  aclrtDrvMemHandle one = Physical(kTestGranule), two = Physical(2 * kTestGranule);
  EXPECT_EQ(aclrtMapMem(nullptr, kTestGranule, 0, one, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMapMem(va, kTestGranule, 0, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMapMem(va, 0, 0, one, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMapMem(va, kTestGranule, 0, one, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMapMem(va, kTestGranule, 4096, one, 0), ACL_ERROR_RT_PARAM_INVALID) << "offset";
  EXPECT_EQ(aclrtMapMem(static_cast<char*>(va) + 4096, kTestGranule, 0, one, 0),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMapMem(va, 4096, 0, one, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMapMem(va, kTestGranule, 0, two, 0), ACL_ERROR_RT_PARAM_INVALID) << "partial";
  EXPECT_EQ(aclrtMapMem(va, 2 * kTestGranule, 0, one, 0), ACL_ERROR_RT_PARAM_INVALID)
      << "larger than the handle";
  EXPECT_EQ(aclrtMapMem(At(va, 3), 2 * kTestGranule, 0, two, 0), ACL_ERROR_RT_PARAM_INVALID)
      << "over the end";
  alignas(1 << 21) static char elsewhere[1 << 21];
  EXPECT_EQ(aclrtMapMem(elsewhere, kTestGranule, 0, one, 0), ACL_ERROR_RT_PARAM_INVALID)
      << "no reservation";
  int local;
  EXPECT_EQ(aclrtMapMem(va, kTestGranule, 0, &local, 0), ACL_ERROR_RT_INVALID_HANDLE);

  ASSERT_ACL_OK(aclrtMapMem(At(va, 1), 2 * kTestGranule, 0, two, 0));
  for (int granule : {1, 2}) {
    EXPECT_EQ(aclrtMapMem(At(va, granule), kTestGranule, 0, one, 0), ACL_ERROR_RT_PARAM_INVALID)
        << granule;
  }
  EXPECT_EQ(aclrtMapMem(At(va, 0), 2 * kTestGranule, 0, two, 0), ACL_ERROR_RT_PARAM_INVALID)
      << "reaches into it";
  EXPECT_ACL_OK(aclrtMapMem(At(va, 0), kTestGranule, 0, one, 0));
  EXPECT_ACL_OK(aclrtUnmapMem(At(va, 0)));
  EXPECT_ACL_OK(aclrtUnmapMem(At(va, 1)));
  EXPECT_ACL_OK(aclrtReleaseMemAddress(va));
  EXPECT_ACL_OK(aclrtFreePhysical(one));
  EXPECT_ACL_OK(aclrtFreePhysical(two));
}

TEST_F(Vmm, B2_OneReservationDoesNotMixDevices) {
  void* va = Reserve(2 * kTestGranule);
  aclrtDrvMemHandle mine = Physical(kTestGranule, 0), other = Physical(kTestGranule, 1);
  ASSERT_ACL_OK(aclrtMapMem(va, kTestGranule, 0, mine, 0));
  EXPECT_EQ(aclrtMapMem(At(va, 1), kTestGranule, 0, other, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_ACL_OK(aclrtUnmapMem(va));
  EXPECT_ACL_OK(aclrtMapMem(At(va, 1), kTestGranule, 0, other, 0)) << "empty again";
  EXPECT_ACL_OK(aclrtUnmapMem(At(va, 1)));
  EXPECT_ACL_OK(aclrtFreePhysical(mine));
  EXPECT_ACL_OK(aclrtFreePhysical(other));
  EXPECT_ACL_OK(aclrtReleaseMemAddress(va));
}

TEST_F(Vmm, B2_UnmapTakesTheStartOfOneMapping) {
  void* va = Reserve(3 * kTestGranule);
  aclrtDrvMemHandle two = Physical(2 * kTestGranule);
  ASSERT_ACL_OK(aclrtMapMem(va, 2 * kTestGranule, 0, two, 0));
  EXPECT_EQ(aclrtUnmapMem(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtUnmapMem(At(va, 1)), ACL_ERROR_RT_PARAM_INVALID) << "interior";
  EXPECT_EQ(aclrtUnmapMem(At(va, 2)), ACL_ERROR_RT_PARAM_INVALID) << "not mapped";
  int local;
  EXPECT_EQ(aclrtUnmapMem(&local), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_ACL_OK(aclrtUnmapMem(va));
  EXPECT_EQ(aclrtUnmapMem(va), ACL_ERROR_RT_PARAM_INVALID) << "twice";
  EXPECT_ACL_OK(aclrtFreePhysical(two));
  EXPECT_ACL_OK(aclrtReleaseMemAddress(va));
}

TEST_F(Vmm, SameMemoryMappedTwiceIsOneMemory) {
  void* va = Reserve(2 * kTestGranule);
  aclrtDrvMemHandle handle = Physical(kTestGranule);
  ASSERT_ACL_OK(aclrtMapMem(At(va, 0), kTestGranule, 0, handle, 0));
  ASSERT_ACL_OK(aclrtMapMem(At(va, 1), kTestGranule, 0, handle, 0));
  At(va, 0)[5] = 42;
  EXPECT_EQ(At(va, 1)[5], 42);
  EXPECT_ACL_OK(aclrtUnmapMem(At(va, 0)));
  EXPECT_EQ(At(va, 1)[5], 42);
  EXPECT_ACL_OK(aclrtUnmapMem(At(va, 1)));
  EXPECT_ACL_OK(aclrtFreePhysical(handle));
  EXPECT_ACL_OK(aclrtReleaseMemAddress(va));
}

TEST_F(Vmm, B2_MemorySurvivesItsHandleWhileMapped) {
  void* va = Reserve(kTestGranule);
  aclrtDrvMemHandle handle = Physical(kTestGranule);
  ASSERT_ACL_OK(aclrtMapMem(va, kTestGranule, 0, handle, 0));
  EXPECT_ACL_OK(aclrtFreePhysical(handle));
  EXPECT_EQ(aclrtMapMem(va, kTestGranule, 0, handle, 0), ACL_ERROR_RT_INVALID_HANDLE);
  aclrtDrvMemHandle other = Physical(kTestGranule);  // must get other memory
  void* va2 = Reserve(kTestGranule);
  ASSERT_ACL_OK(aclrtMapMem(va2, kTestGranule, 0, other, 0));
  memset(va, 1, kTestGranule);
  memset(va2, 2, kTestGranule);
  EXPECT_EQ(At(va, 0)[kTestGranule - 1], 1);
  EXPECT_ACL_OK(aclrtUnmapMem(va));
  EXPECT_ACL_OK(aclrtUnmapMem(va2));
  EXPECT_ACL_OK(aclrtFreePhysical(other));
  EXPECT_ACL_OK(aclrtReleaseMemAddress(va));
  EXPECT_ACL_OK(aclrtReleaseMemAddress(va2));
}

TEST_F(Vmm, B2_RetainAddsAReferenceThatNeedsOneFree) {
  void* va = Reserve(kTestGranule);
  aclrtDrvMemHandle handle = Physical(kTestGranule), first = nullptr, second = nullptr;
  ASSERT_ACL_OK(aclrtMapMem(va, kTestGranule, 0, handle, 0));
  EXPECT_EQ(aclrtMemRetainAllocationHandle(nullptr, &first), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemRetainAllocationHandle(va, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclrtMemRetainAllocationHandle(va, &first));
  EXPECT_ACL_OK(aclrtMemRetainAllocationHandle(static_cast<char*>(va) + 12345, &second))
      << "interior address";
  EXPECT_EQ(first, handle);
  EXPECT_EQ(second, handle);
  for (int i = 0; i < 3; i++) EXPECT_ACL_OK(aclrtFreePhysical(handle));
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_ACL_OK(aclrtMemRetainAllocationHandle(va, &first)) << "the mapping still holds the memory";
  EXPECT_ACL_OK(aclrtFreePhysical(first));
  EXPECT_ACL_OK(aclrtUnmapMem(va));
  EXPECT_EQ(aclrtMemRetainAllocationHandle(va, &first), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_ACL_OK(aclrtReleaseMemAddress(va));
}

TEST_F(Vmm, B2_RetainRefusesMemoryOfMalloc) {
  void* p = nullptr;
  aclrtDrvMemHandle handle;
  ASSERT_ACL_OK(aclrtMalloc(&p, kTestGranule, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_EQ(aclrtMemRetainAllocationHandle(p, &handle), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_ACL_OK(aclrtFree(p));
}

TEST_F(Vmm, B2_AddressRangeOfAllocationsAndMappings) {
  void* base = nullptr;
  size_t size = 0;
  void* p = nullptr;
  ASSERT_ACL_OK(aclrtMalloc(&p, 5000, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_EQ(aclrtMemGetAddressRange(nullptr, &base, &size), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemGetAddressRange(p, nullptr, &size), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemGetAddressRange(p, &base, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclrtMemGetAddressRange(static_cast<char*>(p) + 4999, &base, &size));
  EXPECT_EQ(base, p);
  EXPECT_EQ(size, 8192u) << "whole pages";
  void* va = Reserve(3 * kTestGranule);
  aclrtDrvMemHandle handle = Physical(kTestGranule);
  ASSERT_ACL_OK(aclrtMapMem(At(va, 1), kTestGranule, 0, handle, 0));
  EXPECT_ACL_OK(aclrtMemGetAddressRange(At(va, 1) + 77, &base, &size));
  EXPECT_EQ(base, At(va, 1));
  EXPECT_EQ(size, kTestGranule);
  EXPECT_EQ(aclrtMemGetAddressRange(va, &base, &size), ACL_ERROR_RT_PARAM_INVALID)
      << "reserved, not mapped";
  EXPECT_EQ(aclrtMemGetAddressRange(&base, &base, &size), ACL_ERROR_RT_PARAM_INVALID)
      << "host memory";
  EXPECT_ACL_OK(aclrtUnmapMem(At(va, 1)));
  EXPECT_ACL_OK(aclrtFreePhysical(handle));
  EXPECT_ACL_OK(aclrtReleaseMemAddress(va));
  EXPECT_ACL_OK(aclrtFree(p));
}

TEST_F(Vmm, SetAccessChecksItsArgumentsAndTheRange) {
  void* va = Reserve(3 * kTestGranule);
  aclrtDrvMemHandle a = Physical(kTestGranule), b = Physical(kTestGranule);
  ASSERT_ACL_OK(aclrtMapMem(At(va, 0), kTestGranule, 0, a, 0));
  ASSERT_ACL_OK(aclrtMapMem(At(va, 1), kTestGranule, 0, b, 0));
  aclrtMemAccessDesc desc = {};
  desc.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
  desc.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  EXPECT_EQ(aclrtMemSetAccess(nullptr, kTestGranule, &desc, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemSetAccess(va, 0, &desc, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemSetAccess(va, kTestGranule, nullptr, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemSetAccess(va, kTestGranule, &desc, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclrtMemSetAccess(va, 2 * kTestGranule, &desc, 1)) << "over two mappings";
  EXPECT_EQ(aclrtMemSetAccess(va, 3 * kTestGranule, &desc, 1), ACL_ERROR_RT_PARAM_INVALID)
      << "not all is mapped";
  desc.location.id = 9999;
  EXPECT_EQ(aclrtMemSetAccess(va, kTestGranule, &desc, 1), ACL_ERROR_RT_INVALID_DEVICEID);
  desc.location.id = 0;
  desc.flags = static_cast<aclrtMemAccessFlags>(9);
  EXPECT_EQ(aclrtMemSetAccess(va, kTestGranule, &desc, 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_ACL_OK(aclrtUnmapMem(At(va, 0)));
  EXPECT_ACL_OK(aclrtUnmapMem(At(va, 1)));
  EXPECT_ACL_OK(aclrtReleaseMemAddress(va));
  EXPECT_ACL_OK(aclrtFreePhysical(a));
  EXPECT_ACL_OK(aclrtFreePhysical(b));
}

TEST_F(Vmm, PropertiesComeBackFromTheHandle) {
  aclrtDrvMemHandle handle = Physical(kTestGranule, 1);
  aclrtPhysicalMemProp prop = {};
  EXPECT_EQ(aclrtMemGetAllocationPropertiesFromHandle(nullptr, &prop), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemGetAllocationPropertiesFromHandle(handle, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclrtMemGetAllocationPropertiesFromHandle(handle, &prop));
  EXPECT_EQ(prop.memAttr, ACL_HBM_MEM_HUGE);
  EXPECT_EQ(prop.location.id, 1u);
  EXPECT_EQ(prop.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_ACL_OK(aclrtFreePhysical(handle));
  EXPECT_EQ(aclrtMemGetAllocationPropertiesFromHandle(handle, &prop), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(Vmm, CopiesReachMappingsAndNotTheHolesBetweenThem) {
  void* va = Reserve(3 * kTestGranule);
  aclrtDrvMemHandle a = Physical(kTestGranule), b = Physical(kTestGranule);
  ASSERT_ACL_OK(aclrtMapMem(At(va, 1), kTestGranule, 0, b, 0));
  ASSERT_ACL_OK(aclrtMapMem(At(va, 0), kTestGranule, 0, a, 0));
  std::vector<char> host(2 * kTestGranule, 9), back(2 * kTestGranule);
  EXPECT_ACL_OK(aclrtMemcpy(va, host.size(), host.data(), host.size(), ACL_MEMCPY_HOST_TO_DEVICE))
      << "over two mappings whose memory is not adjacent";
  EXPECT_ACL_OK(aclrtMemcpy(back.data(), back.size(), va, back.size(), ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(host, back);
  EXPECT_EQ(
      aclrtMemcpy(At(va, 1) + 1, host.size(), host.data(), kTestGranule, ACL_MEMCPY_HOST_TO_DEVICE),
      ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpy(At(va, 2), 16, host.data(), 16, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpy(host.data(), 16, At(va, 2), 16, ACL_MEMCPY_HOST_TO_HOST),
            ACL_ERROR_RT_PARAM_INVALID)
      << "a hole is no host memory either";
  EXPECT_ACL_OK(aclrtUnmapMem(At(va, 0)));
  EXPECT_ACL_OK(aclrtUnmapMem(At(va, 1)));
  EXPECT_ACL_OK(aclrtReleaseMemAddress(va));
  EXPECT_ACL_OK(aclrtFreePhysical(a));
  EXPECT_ACL_OK(aclrtFreePhysical(b));
}

TEST_F(Vmm, G4_ResetReleasesMappingsAndHandlesOfTheDevice) {
  void* va = Reserve(kTestGranule);
  aclrtDrvMemHandle handle = Physical(kTestGranule);
  ASSERT_ACL_OK(aclrtMapMem(va, kTestGranule, 0, handle, 0));
  ASSERT_ACL_OK(aclrtResetDeviceForce(0));
  ASSERT_ACL_OK(aclrtSetDevice(0));
  EXPECT_EQ(aclrtUnmapMem(va), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_ACL_OK(aclrtReleaseMemAddress(va));
}

// Map and unmap at random against a shadow: which granule holds which handle. Contents tell whether
// it is true.
TEST_F(Vmm, RandomMappingsAgreeWithAShadowModel) {
  constexpr size_t kGranules = 12;
  void* va = Reserve(kGranules * kTestGranule);
  std::vector<aclrtDrvMemHandle> handles;
  for (int i = 0; i < 5; i++) handles.push_back(Physical((1 + i % 2) * kTestGranule));
  std::vector<int> start(kGranules, -1), owner(kGranules, -1);
  std::mt19937 random(3);
  for (int step = 0; step < 500; step++) {
    size_t at = random() % kGranules;
    if (random() % 2) {
      int h = static_cast<int>(random() % handles.size());
      size_t granules = 1 + h % 2;
      bool fits = at + granules <= kGranules;
      for (size_t i = at; fits && i < at + granules; i++) fits = owner[i] < 0;
      aclError error = aclrtMapMem(At(va, at), granules * kTestGranule, 0, handles[h], 0);
      ASSERT_EQ(error == ACL_SUCCESS, fits);
      if (!fits) continue;
      start[at] = h;
      for (size_t i = at; i < at + granules; i++) owner[i] = h;
      At(va, at)[0] = static_cast<char>(h + 1);
    } else {
      int h = start[at];
      ASSERT_EQ(aclrtUnmapMem(At(va, at)) == ACL_SUCCESS, h >= 0);
      if (h < 0) continue;
      start[at] = -1;
      for (size_t i = at; i < at + 1 + h % 2; i++) owner[i] = -1;
    }
    for (size_t i = 0; i < kGranules; i++) {
      if (start[i] >= 0) {
        ASSERT_EQ(At(va, i)[0], start[i] + 1);
      }
      void* base;
      size_t size;
      ASSERT_EQ(aclrtMemGetAddressRange(At(va, i) + 9, &base, &size) == ACL_SUCCESS, owner[i] >= 0);
    }
  }
  for (size_t i = 0; i < kGranules; i++) {
    if (start[i] >= 0) {
      EXPECT_ACL_OK(aclrtUnmapMem(At(va, i)));
    }
  }
  for (auto handle : handles) EXPECT_ACL_OK(aclrtFreePhysical(handle));
  EXPECT_ACL_OK(aclrtReleaseMemAddress(va));
}

}  // namespace
