// Reservations, physical memory and mappings (semantics B). All calls need a context (B.1).

#include "device/virtual_memory.h"

#include "acl/acl_rt.h"
#include "acl/boundary.h"
#include "device/device_memory.h"
#include "device/memory_map.h"

namespace hcclrun {
namespace {

constexpr uint64_t kGigabyte = uint64_t{1} << 30;

bool IsHuge1G(int attribute) {
  return attribute == ACL_HBM_MEM_HUGE1G || attribute == ACL_HBM_MEM_P2P_HUGE1G ||
         attribute == ACL_MEM_HUGE1G || attribute == ACL_MEM_P2P_HUGE1G;
}

bool IsDdr(int attribute) {
  return attribute == ACL_DDR_MEM_HUGE || attribute == ACL_DDR_MEM_NORMAL ||
         attribute == ACL_DDR_MEM_P2P_HUGE || attribute == ACL_DDR_MEM_P2P_NORMAL;
}

uint64_t GranularityOf(const PhysicalProperties& properties) {
  return IsHuge1G(properties.memory_attribute) ? kGigabyte : kGranule;
}

PhysicalProperties ReadProperties(const aclrtPhysicalMemProp& prop) {
  PhysicalProperties properties;
  properties.handle_type = RawValue(prop.handleType);
  properties.allocation_type = RawValue(prop.allocationType);
  properties.memory_attribute = RawValue(prop.memAttr);
  properties.location_type = RawValue(prop.location.type);
  properties.location_id = prop.location.id;
  return properties;
}

bool IsLocation(int type) {
  return type == ACL_MEM_LOCATION_TYPE_DEVICE || type == ACL_MEM_LOCATION_TYPE_HOST ||
         type == ACL_MEM_LOCATION_TYPE_HOST_NUMA;
}

// The checks of aclrtMallocPhysical on the properties, in the order of B.2.
Fault CheckProperties(const PhysicalProperties& properties) {
  if (properties.handle_type != ACL_MEM_HANDLE_TYPE_NONE) {
    return InvalidArgument(properties.handle_type, 0, 0, "prop.handleType");
  }
  if (properties.allocation_type != ACL_MEM_ALLOCATION_TYPE_PINNED) {
    return InvalidArgument(properties.allocation_type, 0, 0, "prop.allocationType");
  }
  if (!IsLocation(properties.location_type)) {
    return InvalidArgument(absl::StrCat("prop.location.type is ", properties.location_type,
                                        "; use ACL_MEM_LOCATION_TYPE_DEVICE"));
  }
  // ACL_DDR_MEM and ACL_HBM_MEM name no page class and are for aclrtGetMemInfo.
  int attribute = properties.memory_attribute;
  bool supported = attribute > ACL_HBM_MEM && attribute <= ACL_MEM_P2P_HUGE1G;
  bool device = properties.location_type == ACL_MEM_LOCATION_TYPE_DEVICE;
  if (!supported || (IsDdr(attribute) && device)) {
    return InvalidArgument(absl::StrCat("prop.memAttr is ", attribute,
                                        ", which memory at this location cannot have; use "
                                        "ACL_HBM_MEM_HUGE on a device"));
  }
  return Fault::None();
}

Fault ReserveChecked(void** virPtr, size_t size, size_t alignment, void* expectPtr, uint64_t flags,
                     uint64_t multiple) {
  if (!virPtr) return NullArgument("virPtr");
  if (size == 0) return ZeroArgument("size");
  if (flags > 1) return InvalidArgument(flags, 0, 1, "flags");
  if (Fault f = NeedContext()) return f;
  if (alignment != 0) return Fault(FaultKind::kBadValue, {alignment, 0, 0}, "alignment");
  if (size % multiple) return Fault(FaultKind::kUnaligned, {size, multiple}, "size");
  // An ordinary reservation may have any size; it ends on a granule.
  Result<void*> address = ReserveAddress(size, multiple == 1 ? kGranule : multiple, expectPtr);
  if (!address.ok()) return address.fault();
  *virPtr = *address;
  return Fault::None();
}

// Calls `use(memory)` with the physical memory of a C handle.
template <class Use>
Fault WithPhysical(aclrtDrvMemHandle handle, Use&& use) {
  Result<std::shared_ptr<PhysicalMemory>> memory = PhysicalMemory::From(handle);
  if (!memory.ok()) return memory.fault();
  return use(*memory);
}

}  // namespace
}  // namespace hcclrun

using namespace hcclrun;

aclError aclrtReserveMemAddress(void** virPtr, size_t size, size_t alignment, void* expectPtr,
                                uint64_t flags) {
  return Answer(CallId::aclrtReserveMemAddress,
                [&] { return ReserveChecked(virPtr, size, alignment, expectPtr, flags, 1); });
}

aclError aclrtReserveMemAddressNoUCMemory(void** virPtr, size_t size, size_t alignment,
                                          void* expectPtr, uint64_t flags) {
  return Answer(CallId::aclrtReserveMemAddressNoUCMemory, [&] {
    return ReserveChecked(virPtr, size, alignment, expectPtr, flags, kGigabyte);
  });
}

aclError aclrtReleaseMemAddress(void* virPtr) {
  return Answer(CallId::aclrtReleaseMemAddress, [&]() -> Fault {
    if (!virPtr) return NullArgument("virPtr");
    if (Fault f = NeedContext()) return f;
    return ReleaseAddress(virPtr);
  });
}

aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size,
                             const aclrtPhysicalMemProp* prop, uint64_t flags) {
  return Answer(CallId::aclrtMallocPhysical, [&]() -> Fault {
    if (!handle) return NullArgument("handle");
    if (!prop) return NullArgument("prop");
    if (size == 0) return ZeroArgument("size");
    if (flags != 0) return InvalidArgument(flags, 0, 0, "flags");
    const PhysicalProperties properties = ReadProperties(*prop);
    if (Fault f = CheckProperties(properties)) return f;
    Result<Device*> current = Device::Current();
    if (!current.ok()) return current.fault();
    // Memory of the host lies in the heap of the thread's device: there is only one kind
    // of memory here.
    Result<Device*> device = current;
    if (properties.location_type == ACL_MEM_LOCATION_TYPE_DEVICE) {
      if (Fault f = Device::CheckId(properties.location_id)) return f;
      device = Device::Get(static_cast<int32_t>(properties.location_id));
    }
    if (!device.ok()) return device.fault();
    if (size % GranularityOf(properties)) {
      return Fault(FaultKind::kUnaligned, {size, GranularityOf(properties)}, "size");
    }
    Result<std::shared_ptr<PhysicalMemory>> memory =
        PhysicalMemory::Allocate(*device, size, properties);
    if (!memory.ok()) return memory.fault();
    *handle = (*memory)->handle();
    return Fault::None();
  });
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  return Answer(CallId::aclrtFreePhysical, [&]() -> Fault {
    if (!handle) return NullArgument("handle");
    if (Fault f = NeedContext()) return f;
    return PhysicalMemory::ReleaseHandle(handle);
  });
}

aclError aclrtMapMem(void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
                     uint64_t flags) {
  return Answer(CallId::aclrtMapMem, [&]() -> Fault {
    if (!virPtr) return NullArgument("virPtr");
    if (!handle) return NullArgument("handle");
    if (size == 0) return ZeroArgument("size");
    if (flags != 0) return InvalidArgument(flags, 0, 0, "flags");
    if (Fault f = NeedContext()) return f;
    if (offset != 0) return Fault(FaultKind::kBadValue, {offset, 0, 0}, "offset");
    return WithPhysical(handle, [&](const std::shared_ptr<PhysicalMemory>& m) {
      return MapMemory(virPtr, size, m);
    });
  });
}

aclError aclrtUnmapMem(void* virPtr) {
  return Answer(CallId::aclrtUnmapMem, [&]() -> Fault {
    if (!virPtr) return NullArgument("virPtr");
    if (Fault f = NeedContext()) return f;
    return UnmapMemory(virPtr);
  });
}

aclError aclrtMemSetAccess(void* virPtr, size_t size, aclrtMemAccessDesc* desc, size_t count) {
  return Answer(CallId::aclrtMemSetAccess, [&]() -> Fault {
    if (!virPtr) return NullArgument("virPtr");
    if (!desc) return NullArgument("desc");
    if (size == 0) return ZeroArgument("size");
    if (count == 0) return ZeroArgument("count");
    if (Fault f = NeedContext()) return f;
    for (size_t i = 0; i < count; i++) {
      const int flags = RawValue(desc[i].flags), type = RawValue(desc[i].location.type);
      if (flags != ACL_RT_MEM_ACCESS_FLAGS_NONE && flags != ACL_RT_MEM_ACCESS_FLAGS_READ &&
          flags != ACL_RT_MEM_ACCESS_FLAGS_READWRITE) {
        return Fault(FaultKind::kBadEnum, {uint64_t(flags)}, "desc.flags");
      }
      if (!IsLocation(type)) {
        return Fault(FaultKind::kBadEnum, {uint64_t(type)}, "desc.location.type");
      }
      if (type == ACL_MEM_LOCATION_TYPE_DEVICE) {
        if (Fault f = Device::CheckId(desc[i].location.id)) return f;
      }
    }
    return CheckMapped(virPtr, size);
  });
}

aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* prop,
                                          aclrtMemGranularityOptions option, size_t* granularity) {
  return Answer(CallId::aclrtMemGetAllocationGranularity, [&]() -> Fault {
    if (!prop) return NullArgument("prop");
    if (!granularity) return NullArgument("granularity");
    const int which = RawValue(option);
    if (which != ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM &&
        which != ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
      return Fault(FaultKind::kBadEnum, {uint64_t(which)}, "option");
    }
    if (Fault f = NeedContext()) return f;
    *granularity = GranularityOf(ReadProperties(*prop));
    return Fault::None();
  });
}

aclError aclrtMemGetAddressRange(void* ptr, void** pbase, size_t* psize) {
  return Answer(CallId::aclrtMemGetAddressRange, [&]() -> Fault {
    if (!ptr) return NullArgument("ptr");
    if (!pbase) return NullArgument("pbase");
    if (!psize) return NullArgument("psize");
    if (Fault f = NeedContext()) return f;
    Result<AddressRange> range = AddressRangeOf(ptr);
    if (!range.ok()) return range.fault();
    *pbase = range->base;
    *psize = range->size;
    return Fault::None();
  });
}

aclError aclrtMemRetainAllocationHandle(void* virPtr, aclrtDrvMemHandle* handle) {
  return Answer(CallId::aclrtMemRetainAllocationHandle, [&]() -> Fault {
    if (!virPtr) return NullArgument("virPtr");
    if (!handle) return NullArgument("handle");
    if (Fault f = NeedContext()) return f;
    Result<std::shared_ptr<PhysicalMemory>> memory = PhysicalMemoryAt(virPtr);
    if (!memory.ok()) return memory.fault();
    PhysicalMemory::RetainHandle(*memory);
    *handle = (*memory)->handle();
    return Fault::None();
  });
}

aclError aclrtMemGetAllocationPropertiesFromHandle(aclrtDrvMemHandle handle,
                                                   aclrtPhysicalMemProp* prop) {
  return Answer(CallId::aclrtMemGetAllocationPropertiesFromHandle, [&]() -> Fault {
    if (!handle) return NullArgument("handle");
    if (!prop) return NullArgument("prop");
    if (Fault f = NeedContext()) return f;
    return WithPhysical(handle, [&](const std::shared_ptr<PhysicalMemory>& m) {
      const PhysicalProperties& properties = m->properties();
      *prop = {};
      prop->handleType = static_cast<aclrtMemHandleType>(properties.handle_type);
      prop->allocationType = static_cast<aclrtMemAllocationType>(properties.allocation_type);
      prop->memAttr = static_cast<aclrtMemAttr>(properties.memory_attribute);
      prop->location.type = static_cast<aclrtMemLocationType>(properties.location_type);
      prop->location.id = properties.location_id;
      return Fault::None();
    });
  });
}
