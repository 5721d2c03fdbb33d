// Memory pools.

#include "device/memory_pool.h"

#include "acl/acl_rt_memory_soma.h"
#include "acl/boundary.h"

namespace hcclrun {
namespace {

Fault CheckProperties(const aclrtMemPoolProps& props) {
  if (RawValue(props.allocType) != ACL_MEM_ALLOCATION_TYPE_PINNED)
    return Fault(FaultKind::kBadEnum, {uint64_t(RawValue(props.allocType))}, "poolProps.allocType");
  if (RawValue(props.handleType) != ACL_MEM_HANDLE_TYPE_NONE)
    return Fault(FaultKind::kBadEnum, {uint64_t(RawValue(props.handleType))}, "poolProps.handleType");
  if (RawValue(props.location.type) != ACL_MEM_LOCATION_TYPE_DEVICE) {
    return Fault(FaultKind::kBadEnum, {uint64_t(RawValue(props.location.type))},
                 "poolProps.location.type");
  }
  for (unsigned char byte : props.reserved) {
    if (byte) return NotAllowed("poolProps.reserved is not 0; set it to 0");
  }
  return Fault::None();
}

// Calls `use(pool)` with the pool of a C handle.
template <class Use>
Fault WithPool(aclrtMemPool handle, Use&& use) {
  if (!handle) return NullArgument("memPool");
  Result<std::shared_ptr<MemoryPool>> pool = MemoryPool::From(handle);
  if (!pool.ok()) return pool.fault();
  return use(**pool);
}

// The switch that an attribute is; -1 for others.
int SwitchOf(int attribute) {
  const int i = attribute - ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES;
  return i >= 0 && i < MemoryPool::kSwitches ? i : -1;
}

Fault OnlyZero(uint64_t value, const char* name) {
  if (value == 0) return Fault::None();
  return Fault(FaultKind::kBadValue, {value, 0, 0}, name);
}

Fault SetAttribute(MemoryPool& pool, int attribute, const void* value) {
  if (const int i = SwitchOf(attribute); i >= 0) {
    const uint32_t on = *static_cast<const uint32_t*>(value);
    if (on > 1) return Fault(FaultKind::kBadValue, {on, 0, 1}, "value");
    pool.switches[i].store(on, std::memory_order_relaxed);
    return Fault::None();
  }
  const auto number = [value] { return *static_cast<const uint64_t*>(value); };
  switch (attribute) {
    case ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD:
      pool.SetThreshold(number());
      return Fault::None();
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH:
      if (Fault f = OnlyZero(number(), "value")) return f;
      pool.ResetReservedHigh();
      return Fault::None();
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH:
      if (Fault f = OnlyZero(number(), "value")) return f;
      pool.ResetUsedHigh();
      return Fault::None();
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT:
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT:
      return NotAllowed("attr can only be read; set another one");
    default:
      return Fault(FaultKind::kBadEnum, {uint64_t(attribute)}, "attr");
  }
}

Fault GetAttribute(MemoryPool& pool, int attribute, void* value) {
  if (const int i = SwitchOf(attribute); i >= 0) {
    *static_cast<uint32_t*>(value) = pool.switches[i].load(std::memory_order_relaxed);
    return Fault::None();
  }
  const MemoryPool::Amounts amounts = pool.amounts();
  uint64_t number;
  switch (attribute) {
    case ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD: number = pool.threshold(); break;
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT: number = amounts.reserved; break;
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH: number = amounts.reserved_high; break;
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT: number = amounts.used; break;
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH: number = amounts.used_high; break;
    default: return Fault(FaultKind::kBadEnum, {uint64_t(attribute)}, "attr");
  }
  *static_cast<uint64_t*>(value) = number;
  return Fault::None();
}

}  // namespace
}  // namespace hcclrun

using namespace hcclrun;

aclError aclrtMemPoolCreate(aclrtMemPool* memPool, const aclrtMemPoolProps* poolProps) {
  return Answer(CallId::aclrtMemPoolCreate, [&]() -> Fault {
    if (!memPool) return NullArgument("memPool");
    if (!poolProps) return NullArgument("poolProps");
    if (Fault f = CheckProperties(*poolProps)) return f;
    Result<Device*> device = Device::Get(static_cast<int32_t>(poolProps->location.id));
    if (!device.ok()) return device.fault();
    const uint64_t size = (*device)->heap().size();
    if (poolProps->maxSize > size)
      return Fault(FaultKind::kBadValue, {poolProps->maxSize, 0, size}, "poolProps.maxSize");
    *memPool = MemoryPool::Create(*device, poolProps->maxSize ? poolProps->maxSize : size);
    return Fault::None();
  });
}

aclError aclrtMemPoolDestroy(const aclrtMemPool memPool) {
  return Answer(CallId::aclrtMemPoolDestroy, [&]() -> Fault {
    if (!memPool) return NullArgument("memPool");
    return MemoryPool::Destroy(memPool);
  });
}

aclError aclrtMemPoolSetAttr(aclrtMemPool memPool, aclrtMemPoolAttr attr, void* value) {
  return Answer(CallId::aclrtMemPoolSetAttr, [&]() -> Fault {
    if (!value) return NullArgument("value");
    return WithPool(memPool, [&](MemoryPool& p) { return SetAttribute(p, RawValue(attr), value); });
  });
}

aclError aclrtMemPoolGetAttr(aclrtMemPool memPool, aclrtMemPoolAttr attr, void* value) {
  return Answer(CallId::aclrtMemPoolGetAttr, [&]() -> Fault {
    if (!value) return NullArgument("value");
    return WithPool(memPool, [&](MemoryPool& p) { return GetAttribute(p, RawValue(attr), value); });
  });
}

aclError aclrtMemPoolMallocAsync(void** ptr, size_t size, aclrtMemPool memPool,
                                 aclrtStream stream) {
  return Answer(CallId::aclrtMemPoolMallocAsync, [&]() -> Fault {
    if (!ptr) return NullArgument("ptr");
    if (size == 0) return ZeroArgument("size");
    return WithPool(memPool, [&](MemoryPool& pool) {
      return WithStream(stream, [&](const std::shared_ptr<Stream>& s) -> Fault {
        Result<void*> address = pool.Allocate(size, *s);
        if (!address.ok()) return address.fault();
        *ptr = *address;
        return Fault::None();
      });
    });
  });
}

aclError aclrtMemPoolFreeAsync(void* ptr, aclrtStream stream) {
  return Answer(CallId::aclrtMemPoolFreeAsync, [&]() -> Fault {
    if (!ptr) return NullArgument("ptr");
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      return MemoryPool::FreeInStream(ptr, *s);
    });
  });
}

aclError aclrtMemPoolTrimTo(aclrtMemPool memPool, size_t minBytesToKeep) {
  return Answer(CallId::aclrtMemPoolTrimTo, [&] {
    return WithPool(memPool, [&](MemoryPool& pool) {
      pool.TrimTo(minBytesToKeep);
      return Fault::None();
    });
  });
}
