// HcommMemAlloc and HcommMemFree: mapped physical memory in one call (semantics B.3), made of the
// public acl calls.

#include "acl/acl.h"
#include "device/device.h"
#include "hccl/guard.h"
#include "hccl/hccl_comm.h"
#include "hcomm_res.h"

using namespace hcclrun;  // NOLINT: the boundary's definitions are in the global namespace

namespace {

Fault Failed(const char* call, aclError code) {
  return Fault(FaultKind::kRuntimeCall, {uint64_t(code)}, call);
}

Fault AllocateMapped(void** ptr, size_t size) {
  if (!ptr) return Null("ptr");
  if (size == 0) return Fault(FaultKind::kBadValue, {0, 1, UINT64_MAX}, "size");
  Result<Device*> device = Device::Current();
  if (!device.ok()) return device.fault();
  aclrtPhysicalMemProp prop = {};
  prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = static_cast<uint32_t>((*device)->id());
  size_t granularity = 0;
  if (aclError e = aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED,
                                                    &granularity)) {
    return Failed("aclrtMemGetAllocationGranularity", e);
  }
  if (size > SIZE_MAX - granularity)
    return Failed("aclrtMallocPhysical", ACL_ERROR_RT_MEMORY_ALLOCATION);
  const size_t rounded = (size + granularity - 1) / granularity * granularity;
  void* base = nullptr;
  aclrtDrvMemHandle handle = nullptr;
  if (aclError e = aclrtReserveMemAddress(&base, rounded, 0, nullptr, 1))
    return Failed("aclrtReserveMemAddress", e);
  if (aclError e = aclrtMallocPhysical(&handle, rounded, &prop, 0)) {
    aclrtReleaseMemAddress(base);
    return Failed("aclrtMallocPhysical", e);
  }
  aclError mapped = aclrtMapMem(base, rounded, 0, handle, 0);
  if (mapped) {
    aclrtFreePhysical(handle);
    aclrtReleaseMemAddress(base);
    return Failed("aclrtMapMem", mapped);
  }
  *ptr = base;
  return Fault::None();
}

Fault FreeMapped(void* ptr) {
  if (!ptr) return Fault::None();
  aclrtDrvMemHandle handle = nullptr;
  if (aclError e = aclrtMemRetainAllocationHandle(ptr, &handle))
    return Failed("aclrtMemRetainAllocationHandle", e);
  aclError unmapped = aclrtUnmapMem(ptr);
  aclrtFreePhysical(handle);  // the reference of Retain
  if (unmapped) return Failed("aclrtUnmapMem", unmapped);
  if (aclError e = aclrtFreePhysical(handle)) return Failed("aclrtFreePhysical", e);
  if (aclError e = aclrtReleaseMemAddress(ptr)) return Failed("aclrtReleaseMemAddress", e);
  return Fault::None();
}

}  // namespace

extern "C" {

HcommResult HcommMemAlloc(void** ptr, size_t size) {
  return Guarded(CallId::HcommMemAlloc, [&] { return AllocateMapped(ptr, size); });
}
HcommResult HcommMemFree(void* ptr) {
  return Guarded(CallId::HcommMemFree, [&] { return FreeMapped(ptr); });
}
HcclResult HcclMemAlloc(void** ptr, size_t size) {
  return Guarded(CallId::HcommMemAlloc, [&] { return AllocateMapped(ptr, size); });
}
HcclResult HcclMemFree(void* ptr) {
  return Guarded(CallId::HcommMemFree, [&] { return FreeMapped(ptr); });
}

}  // extern "C"
