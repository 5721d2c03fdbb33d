// Host memory that devices use, and what an address is.

#include "acl/acl_rt.h"
#include "acl/boundary.h"
#include "device/device_memory.h"
#include "device/heap.h"
#include "device/host_registration.h"
#include "device/memory_map.h"

namespace hcclrun {
namespace {

Fault CheckConfig(const aclrtMallocConfig* config) {
  if (!config || config->numAttrs == 0) return Fault::None();
  if (!config->attrs) return NullArgument("cfg.attrs");
  for (size_t i = 0; i < config->numAttrs; i++) {
    const int attribute = RawValue(config->attrs[i].attr);
    if (attribute < ACL_RT_MEM_ATTR_RSV || attribute > ACL_RT_MEM_ATTR_VA_FLAG)
      return Fault(FaultKind::kBadEnum, {uint64_t(attribute)}, "cfg.attrs.attr");
  }
  return Fault::None();
}

Fault MallocHostChecked(void** out, uint64_t size) {
  if (Fault f = NeedContext()) return f;
  Result<void*> address = MallocHost(size);
  if (!address.ok()) return address.fault();
  *out = *address;
  return Fault::None();
}

Fault CheckRange(const void* ptr, uint64_t size) {
  if (!ptr) return NullArgument("ptr");
  if (size == 0) return ZeroArgument("size");
  return NeedContext();
}

aclrtMemLocation LocationOf(const void* address) {
  aclrtMemLocation location = {};
  const MemoryInfo info = FindMemory(address);
  if (info.kind != MemoryKind::kNone) {
    location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    Result<Device*> current = Device::Current();
    Device* device = info.device ? info.device : current.ok() ? *current : nullptr;
    location.id = device ? static_cast<uint32_t>(device->id()) : 0;
  } else if (IsKnownHostMemory(address)) {
    location.type = ACL_MEM_LOCATION_TYPE_HOST;
  } else {
    location.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
  }
  return location;
}

}  // namespace
}  // namespace hcclrun

using namespace hcclrun;

aclError aclrtMallocHost(void** hostPtr, size_t size) {
  return Answer(CallId::aclrtMallocHost, [&]() -> Fault {
    if (!hostPtr) return NullArgument("hostPtr");
    if (size == 0) return ZeroArgument("size");
    return MallocHostChecked(hostPtr, size);
  });
}

aclError aclrtMallocHostWithCfg(void** ptr, uint64_t size, aclrtMallocConfig* cfg) {
  return Answer(CallId::aclrtMallocHostWithCfg, [&]() -> Fault {
    if (!ptr) return NullArgument("ptr");
    if (size == 0) return ZeroArgument("size");
    if (Fault f = CheckConfig(cfg)) return f;
    return MallocHostChecked(ptr, size);
  });
}

aclError aclrtFreeHost(void* hostPtr) {
  return Answer(CallId::aclrtFreeHost, [&]() -> Fault {
    if (!hostPtr) return NullArgument("hostPtr");
    return FreeHost(hostPtr);
  });
}

aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType type, void** devPtr) {
  return Answer(CallId::aclrtHostRegister, [&]() -> Fault {
    if (!devPtr) return NullArgument("devPtr");
    if (Fault f = CheckRange(ptr, size)) return f;
    switch (RawValue(type)) {
      case ACL_HOST_REGISTER_MAPPED:
        break;
      case ACL_HOST_REGISTER_IOMEMORY:
      case ACL_HOST_REGISTER_READONLY:
        return Fault(FaultKind::kNotSupported, "this type of registration");
      default:
        return Fault(FaultKind::kBadEnum, {uint64_t(RawValue(type))}, "type");
    }
    if (Fault f = RegisterHostMemory(ptr, size, /*mapped=*/true)) return f;
    *devPtr = ptr;
    return Fault::None();
  });
}

aclError aclrtHostRegisterV2(void* ptr, uint64_t size, uint32_t flag) {
  return Answer(CallId::aclrtHostRegisterV2, [&]() -> Fault {
    if (Fault f = CheckRange(ptr, size)) return f;
    constexpr uint32_t kKnown =
        ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED | ACL_HOST_REG_IOMEMORY | ACL_HOST_REG_READONLY;
    if (flag == 0 || (flag & ~kKnown)) return Fault(FaultKind::kBadEnum, {flag}, "flag");
    if (flag & (ACL_HOST_REG_IOMEMORY | ACL_HOST_REG_READONLY))
      return Fault(FaultKind::kNotSupported, "this type of registration");
    return RegisterHostMemory(ptr, size, flag & ACL_HOST_REG_MAPPED);
  });
}

aclError aclrtHostGetDevicePointer(void* pHost, void** pDevice, uint32_t flag) {
  return Answer(CallId::aclrtHostGetDevicePointer, [&]() -> Fault {
    if (!pHost) return NullArgument("pHost");
    if (!pDevice) return NullArgument("pDevice");
    if (flag != 0) return Fault(FaultKind::kBadValue, {flag, 0, 0}, "flag (it must be 0)");
    if (Fault f = NeedContext()) return f;
    Result<void*> address = DevicePointerOf(pHost);
    if (!address.ok()) return std::move(address.fault()).WithCode(ACL_ERROR_RT_PARAM_INVALID);
    *pDevice = *address;
    return Fault::None();
  });
}

aclError aclrtHostUnregister(void* ptr) {
  return Answer(CallId::aclrtHostUnregister, [&]() -> Fault {
    if (!ptr) return NullArgument("ptr");
    Fault fault = UnregisterHostMemory(ptr);
    if (fault) fault.code_override = ACL_ERROR_RT_PARAM_INVALID;
    return fault;
  });
}

aclError aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes) {
  return Answer(CallId::aclrtPointerGetAttributes, [&]() -> Fault {
    if (!ptr) return NullArgument("ptr");
    if (!attributes) return NullArgument("attributes");
    *attributes = {};
    attributes->location = LocationOf(ptr);
    if (attributes->location.type != ACL_MEM_LOCATION_TYPE_UNREGISTERED)
      attributes->pageSize = static_cast<uint32_t>(kDevicePage);
    return Fault::None();
  });
}
