// Device and host memory, copies and fills.

#include "acl/acl_rt.h"
#include "acl/boundary.h"
#include "device/copy.h"
#include "device/device_memory.h"

namespace hcclrun {
namespace {

bool KnownPolicy(int policy) {
  // Pages are the host's: the value selects nothing, but a wild one is a mistake.
  constexpr int kModifiers = ACL_MEM_TYPE_LOW_BAND_WIDTH | ACL_MEM_TYPE_HIGH_BAND_WIDTH |
                             ACL_MEM_ACCESS_USER_SPACE_READONLY;
  int pages = policy & ~kModifiers;
  return pages >= ACL_MEM_MALLOC_HUGE_FIRST && pages <= ACL_MEM_MALLOC_HUGE1G_ONLY_P2P;
}

Fault CheckCopyArguments(const void* dst, size_t destMax, const void* src, size_t count) {
  if (!dst) return NullArgument("dst");
  if (!src) return NullArgument("src");
  if (count > destMax)
    return Fault(FaultKind::kCopyTooLong, {count, destMax}).WithCode(ACL_ERROR_INVALID_PARAM);
  return NeedContext();
}

Fault CheckFillArguments(const void* devPtr, size_t maxCount, size_t count) {
  if (!devPtr) return NullArgument("devPtr");
  if (count > maxCount)
    return Fault(FaultKind::kCopyTooLong, {count, maxCount}).WithCode(ACL_ERROR_INVALID_PARAM);
  return NeedContext();
}

}  // namespace
}  // namespace hcclrun

using namespace hcclrun;

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return Answer(CallId::aclrtMalloc, [&]() -> Fault {
    if (!devPtr) return NullArgument("devPtr");
    if (size == 0) return ZeroArgument("size");
    if (!KnownPolicy(RawValue(policy))) {
      return Fault(FaultKind::kBadEnum, {uint64_t(RawValue(policy))}, "policy");
    }
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
  });
}

// Needs no context: the address says which device it belongs to.
aclError aclrtFree(void* devPtr) {
  return Answer(CallId::aclrtFree, [&]() -> Fault {
    if (!devPtr) return NullArgument("devPtr");
    return FreeDevice(devPtr);
  });
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
  return Answer(CallId::aclrtMallocHost, [&]() -> Fault {
    if (!hostPtr) return NullArgument("hostPtr");
    if (size == 0) return ZeroArgument("size");
    if (Fault f = NeedContext()) return f;
    Result<void*> address = MallocHost(size);
    if (!address.ok()) return address.fault();
    *hostPtr = *address;
    return Fault::None();
  });
}

aclError aclrtFreeHost(void* hostPtr) {
  return Answer(CallId::aclrtFreeHost, [&]() -> Fault {
    if (!hostPtr) return NullArgument("hostPtr");
    return FreeHost(hostPtr);
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

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                     aclrtMemcpyKind kind) {
  return Answer(CallId::aclrtMemcpy, [&]() -> Fault {
    if (Fault f = CheckCopyArguments(dst, destMax, src, count)) return f;
    return Copy(dst, src, count, static_cast<CopyKind>(RawValue(kind)));
  });
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count,
                          aclrtMemcpyKind kind, aclrtStream stream) {
  return Answer(CallId::aclrtMemcpyAsync, [&]() -> Fault {
    if (Fault f = CheckCopyArguments(dst, destMax, src, count)) return f;
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      return CopyInStream(*s, dst, src, count, static_cast<CopyKind>(RawValue(kind)));
    });
  });
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  return Answer(CallId::aclrtMemset, [&]() -> Fault {
    if (Fault f = CheckFillArguments(devPtr, maxCount, count)) return f;
    return Fill(devPtr, value, count);
  });
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count,
                          aclrtStream stream) {
  return Answer(CallId::aclrtMemsetAsync, [&]() -> Fault {
    if (Fault f = CheckFillArguments(devPtr, maxCount, count)) return f;
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      return FillInStream(*s, devPtr, value, count);
    });
  });
}
