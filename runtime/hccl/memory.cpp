// HcommMemAlloc and HcommMemFree: mapped physical memory in one call (semantics B.3).

#include "acl/acl_rt.h"
#include "device/device.h"
#include "device/physical_memory.h"
#include "device/virtual_memory.h"
#include "hccl/guard.h"
#include "hccl/hccl_comm.h"
#include "hcomm_res.h"

using namespace hcclrun;  // NOLINT: the boundary's definitions are in the global namespace

namespace {

// Whatever the acl calls that make up these would return.
Fault RuntimeFault(Fault fault) { return std::move(fault).WithCode(HCCL_E_RUNTIME); }

// Takes back what precedes a failure.
Fault AllocateMapped(void** ptr, size_t size, const char* call) {
  if (!ptr) return Null("ptr");
  if (size == 0) return Fault(FaultKind::kBadValue, {0, 1, UINT64_MAX}, "size");
  Result<Device*> device = Device::Current();
  if (!device.ok()) return device.fault();
  if (size > SIZE_MAX - kGranule)
    return RuntimeFault(Fault(FaultKind::kMemoryExhausted, {size}, "HCCLRUN_HBM_SIZE"));
  const uint64_t rounded = (size + kGranule - 1) / kGranule * kGranule;
  PhysicalProperties properties;
  properties.memory_attribute = ACL_HBM_MEM_HUGE;
  properties.location_id = static_cast<uint32_t>((*device)->id());
  Result<void*> base = ReserveAddress(rounded, kGranule, nullptr);
  if (!base.ok()) return RuntimeFault(std::move(base.fault()));
  Result<std::shared_ptr<PhysicalMemory>> memory =
      PhysicalMemory::Allocate(*device, rounded, properties);
  if (!memory.ok()) {
    ReleaseAddress(*base);
    return RuntimeFault(std::move(memory.fault()));
  }
  if (Fault f = MapMemory(*base, rounded, *memory, call)) {
    PhysicalMemory::ReleaseHandle((*memory)->handle());
    ReleaseAddress(*base);
    return RuntimeFault(std::move(f));
  }
  *ptr = *base;
  return Fault::None();
}

Fault FreeMapped(void* ptr, const char* call) {
  if (!ptr) return Fault::None();
  if (Result<Device*> device = Device::Current(); !device.ok())
    return RuntimeFault(std::move(device.fault()));
  Result<std::shared_ptr<PhysicalMemory>> memory = PhysicalMemoryAt(ptr);
  if (!memory.ok()) return RuntimeFault(std::move(memory.fault()));
  if (Fault f = UnmapMemory(ptr, call)) return RuntimeFault(std::move(f));
  if (Fault f = PhysicalMemory::ReleaseHandle((*memory)->handle()))
    return RuntimeFault(std::move(f));
  if (Fault f = ReleaseAddress(ptr)) return RuntimeFault(std::move(f));
  return Fault::None();
}

}  // namespace

extern "C" {

HcommResult HcommMemAlloc(void** ptr, size_t size) {
  return Guarded(CallId::HcommMemAlloc, [&] { return AllocateMapped(ptr, size, "HcommMemAlloc"); });
}
HcommResult HcommMemFree(void* ptr) {
  return Guarded(CallId::HcommMemFree, [&] { return FreeMapped(ptr, "HcommMemFree"); });
}
HcclResult HcclMemAlloc(void** ptr, size_t size) {
  return Guarded(CallId::HcclMemAlloc, [&] { return AllocateMapped(ptr, size, "HcclMemAlloc"); });
}
HcclResult HcclMemFree(void* ptr) {
  return Guarded(CallId::HcclMemFree, [&] { return FreeMapped(ptr, "HcclMemFree"); });
}

}  // extern "C"
