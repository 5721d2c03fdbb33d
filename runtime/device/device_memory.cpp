#include "device/device_memory.h"

#include <cstdlib>
#include <map>
#include <mutex>

#include "device/device.h"
#include "device/memory_map.h"
#include "device/sharing.h"

namespace hcclrun {
namespace {

// Live allocations of MallocHost. Never destroyed: the program may free from its own exit handlers.
struct HostMemory {
  std::mutex mutex;
  std::map<uintptr_t, uint64_t> sizes;  // by address
};

HostMemory& Pinned() {
  static HostMemory* host = new HostMemory();
  return *host;
}

uint64_t WholePages(uint64_t bytes) { return (bytes + kDevicePage - 1) & ~(kDevicePage - 1); }

}  // namespace

Result<void*> MallocDevice(Device* device, uint64_t bytes) {
  Heap& heap = device->heap();
  Result<uint64_t> offset =
      AllocateReclaiming(heap, bytes, bytes >= kGranule ? kGranule : kDevicePage);
  if (!offset.ok()) return offset.fault();
  MemoryInfo info;
  info.kind = MemoryKind::kAllocation;
  info.device = device;
  info.base = heap.base() + *offset;
  info.size = bytes;
  info.heap_offset = *offset;
  info.identity = NextMemoryIdentity();
  AddMemory(info);
  return static_cast<void*>(info.base);
}

Fault FreeDevice(void* address) {
  MemoryInfo info = RemoveMemory(address, MemoryKind::kAllocation);
  if (info.kind == MemoryKind::kNone) {
    return Fault(FaultKind::kNotDeviceMemory, {reinterpret_cast<uintptr_t>(address)}, "devPtr");
  }
  if (DetachExports(info.device, info.heap_offset, info.size))
    info.device->heap().Free(info.heap_offset);
  return Fault::None();
}

void FreeAllDevice(Device* device) {
  for (const MemoryInfo& info : MemoryOf(device, MemoryKind::kAllocation)) FreeDevice(info.base);
}

Result<void*> MallocHost(uint64_t bytes) {
  void* address = nullptr;
  if (posix_memalign(&address, kDevicePage, bytes) != 0)
    return Fault(FaultKind::kHostMemory, {bytes});
  HostMemory& host = Pinned();
  std::lock_guard<std::mutex> lock(host.mutex);
  host.sizes[reinterpret_cast<uintptr_t>(address)] = bytes;
  return address;
}

Fault FreeHost(void* address) {
  HostMemory& host = Pinned();
  {
    std::lock_guard<std::mutex> lock(host.mutex);
    if (host.sizes.erase(reinterpret_cast<uintptr_t>(address)) == 0) {
      return Fault(FaultKind::kUnknownHandle, {reinterpret_cast<uintptr_t>(address)},
                   "pinned host memory");
    }
  }
  free(address);
  return Fault::None();
}

bool IsPinnedHostMemory(const void* address) {
  HostMemory& host = Pinned();
  const uintptr_t at = reinterpret_cast<uintptr_t>(address);
  std::lock_guard<std::mutex> lock(host.mutex);
  auto it = host.sizes.upper_bound(at);
  return it != host.sizes.begin() && at - (--it)->first < it->second;
}

DeviceMemoryInfo MemoryInfoOf(Device* device) {
  return {device->heap().free_bytes(), device->heap().size()};
}

Result<AddressRange> AddressRangeOf(const void* address) {
  MemoryInfo info = FindMemory(address);
  if (info.kind == MemoryKind::kNone || info.kind == MemoryKind::kPeerView) {
    return Fault(FaultKind::kNotDeviceMemory, {reinterpret_cast<uintptr_t>(address)}, "ptr");
  }
  return AddressRange{info.base, WholePages(info.size)};
}

}  // namespace hcclrun
