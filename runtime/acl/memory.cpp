// Device memory and its amounts.

#include <cstring>

#include "acl/acl_rt.h"
#include "acl/boundary.h"
#include "device/device_memory.h"
#include "device/memory_pool.h"

namespace hcclrun {
namespace {

bool KnownPolicy(int policy) {
  // Pages are the host's: the value selects nothing, but a wild one is a mistake.
  constexpr int kModifiers = ACL_MEM_TYPE_LOW_BAND_WIDTH | ACL_MEM_TYPE_HIGH_BAND_WIDTH |
                             ACL_MEM_ACCESS_USER_SPACE_READONLY;
  int pages = policy & ~kModifiers;
  return pages >= ACL_MEM_MALLOC_HUGE_FIRST && pages <= ACL_MEM_MALLOC_HUGE1G_ONLY_P2P;
}

Fault MallocChecked(void** devPtr, size_t size, int policy) {
  if (!devPtr) return NullArgument("devPtr");
  if (size == 0) return ZeroArgument("size");
  if (!KnownPolicy(policy)) return Fault(FaultKind::kBadEnum, {uint64_t(policy)}, "policy");
  Result<Device*> device = Device::Current();
  if (!device.ok()) return device.fault();
  // The device allocates whole units of 32 bytes, and programs rely on it: what lies in the last
  // unit is theirs.
  constexpr size_t kUnit = 32;
  if (size > SIZE_MAX - kUnit)
    return Fault(FaultKind::kMemoryExhausted, {size}, "HCCLRUN_HBM_SIZE");
  Result<void*> address = MallocDevice(*device, (size + kUnit - 1) / kUnit * kUnit);
  if (!address.ok()) return address.fault();
  *devPtr = *address;
  return Fault::None();
}

}  // namespace
}  // namespace hcclrun

using namespace hcclrun;

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return Answer(CallId::aclrtMalloc, [&] { return MallocChecked(devPtr, size, RawValue(policy)); });
}

aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return Answer(CallId::aclrtMallocAlign32,
                [&] { return MallocChecked(devPtr, size, RawValue(policy)); });
}

aclError aclrtMemAllocManaged(void** ptr, uint64_t, uint32_t) {
  return Answer(CallId::aclrtMemAllocManaged, [&]() -> Fault {
    if (!ptr) return NullArgument("ptr");
    return Fault(FaultKind::kNotSupported, "managed memory");
  });
}

// Needs no context: the address says which device it belongs to.
aclError aclrtFree(void* devPtr) {
  return Answer(CallId::aclrtFree, [&]() -> Fault {
    if (!devPtr) return NullArgument("devPtr");
    if (MemoryPool::HasBlock(devPtr))
      return NotAllowed("devPtr is memory of a pool; give it back with aclrtMemPoolFreeAsync");
    return FreeDevice(devPtr);
  });
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
  return Answer(CallId::aclrtGetMemInfo, [&]() -> Fault {
    if (!free) return NullArgument("free");
    if (!total) return NullArgument("total");
    const int attribute = RawValue(attr);
    if (attribute < ACL_DDR_MEM || attribute > ACL_MEM_P2P_HUGE1G) {
      return Fault(FaultKind::kBadEnum, {uint64_t(attribute)}, "attr");
    }
    Result<Device*> device = Device::Current();
    if (!device.ok()) return device.fault();
    DeviceMemoryInfo info = MemoryInfoOf(*device);
    *free = info.free;
    *total = info.total;
    return Fault::None();
  });
}

aclError aclrtGetMemUsageInfo(int32_t deviceId, aclrtMemUsageInfo* memUsageInfo, size_t inputNum,
                              size_t* outputNum) {
  return Answer(CallId::aclrtGetMemUsageInfo, [&]() -> Fault {
    if (!memUsageInfo) return NullArgument("memUsageInfo");
    if (!outputNum) return NullArgument("outputNum");
    if (inputNum == 0) return ZeroArgument("inputNum");
    Result<Device*> device = Device::Get(deviceId);
    if (!device.ok()) return device.fault();
    static constexpr char kComponent[] = "APP";
    memUsageInfo[0] = {};
    memcpy(memUsageInfo[0].name, kComponent, sizeof kComponent);
    memUsageInfo[0].curMemSize = (*device)->heap().used_bytes();
    memUsageInfo[0].memPeakSize = (*device)->heap().peak_bytes();
    *outputNum = 1;
    return Fault::None();
  });
}
