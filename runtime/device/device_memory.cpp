#include "device/device_memory.h"

#include <cstdlib>
#include <map>
#include <mutex>

#include "device/device.h"
#include "device/memory_detail.h"
#include "device/memory_map.h"
#include "device/poison.h"
#include "device/sharing.h"
#include "device/stream.h"

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

void GiveBack(const MemoryInfo& memory) {
  if (!DetachExports(memory.device, memory.heap_offset, memory.size)) return;
  FillPoison(memory.device->heap().base() + memory.heap_offset, memory.size, Poison::kFreed);
  memory.device->heap().Free(memory.heap_offset);
}

// An allocation that the program has freed and tasks may still need.
struct Freed {
  explicit Freed(const MemoryInfo& info) : memory(info) {}
  ~Freed() { GiveBack(memory); }
  const MemoryInfo memory;
};

uint64_t WholePages(uint64_t bytes) { return (bytes + kDevicePage - 1) & ~(kDevicePage - 1); }

}  // namespace

Result<void*> MallocDevice(Device* device, uint64_t bytes, const char* made_by) {
  Heap& heap = device->heap();
  Result<uint64_t> offset =
      AllocateReclaiming(heap, bytes, bytes >= kGranule ? kGranule : kDevicePage);
  if (!offset.ok()) return offset.fault();
  MemoryInfo info;
  info.kind = MemoryKind::kAllocation;
  info.device = device;
  info.base = heap.program_base() + *offset;
  info.size = bytes;
  info.heap_offset = *offset;
  info.identity = NextMemoryIdentity();
  info.made_by = made_by;
  FillPoison(heap.base() + *offset, bytes, Poison::kFresh);
  AddMemory(info);
  return static_cast<void*>(info.base);
}

Fault FreeDevice(void* address, const char* ended_by, bool unused) {
  if (!unused) Device::LetStreamsCatchUp();
  const MemoryInfo info = RemoveMemory(address, MemoryKind::kAllocation, ended_by);
  if (info.kind == MemoryKind::kNone) return NotDeviceMemory(address, "devPtr");
  if (!unused && Stream::AnyBusy()) {
    Stream::KeepForUsers(info, ended_by, std::make_shared<Freed>(info));
  } else {
    GiveBack(info);
  }
  return Fault::None();
}

void FreeAllDevice(Device* device) {
  for (const MemoryInfo& info : MemoryOf(device, MemoryKind::kAllocation))
    FreeDevice(info.base, "aclrtResetDevice", true);
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
  Device::LetStreamsCatchUp();
  HostMemory& host = Pinned();
  MemoryInfo memory;
  {
    std::lock_guard<std::mutex> lock(host.mutex);
    auto it = host.sizes.find(reinterpret_cast<uintptr_t>(address));
    if (it == host.sizes.end()) {
      return Fault(FaultKind::kUnknownHandle, {reinterpret_cast<uintptr_t>(address)},
                   "pinned host memory");
    }
    memory.base = static_cast<char*>(address);
    memory.size = it->second;
    memory.made_by = "aclrtMallocHost";
    host.sizes.erase(it);
  }
  const std::shared_ptr<void> owner(address, free);
  if (Stream::AnyBusy()) Stream::KeepForUsers(memory, "aclrtFreeHost", owner);
  return Fault::None();
}

bool IsPinnedHostMemory(const void* address) {
  MemoryInfo memory;
  return FindPinnedHostMemory(address, &memory);
}

bool FindPinnedHostMemory(const void* address, MemoryInfo* memory) {
  HostMemory& host = Pinned();
  const uintptr_t at = reinterpret_cast<uintptr_t>(address);
  std::lock_guard<std::mutex> lock(host.mutex);
  auto it = host.sizes.upper_bound(at);
  if (it == host.sizes.begin() || at - (--it)->first >= it->second) return false;
  memory->base = reinterpret_cast<char*>(it->first);
  memory->size = it->second;
  memory->made_by = "aclrtMallocHost";
  return true;
}

DeviceMemoryInfo MemoryInfoOf(Device* device) {
  return {device->heap().free_bytes(), device->heap().size()};
}

Result<AddressRange> AddressRangeOf(const void* address) {
  MemoryInfo info = FindMemory(address);
  if (info.kind == MemoryKind::kNone || info.kind == MemoryKind::kPeerView) {
    return NotDeviceMemory(address, "ptr");
  }
  return AddressRange{info.base, WholePages(info.size)};
}

}  // namespace hcclrun
