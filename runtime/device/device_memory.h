#pragma once
// What aclrtMalloc and aclrtMallocHost hand out, and how it comes back. Any thread.

#include <cstdint>

#include "base/fault.h"

namespace hcclrun {

class Device;

// `bytes` > 0 of committed device memory on whole device pages; at multiples of a granule when it
// is that large.
Result<void*> MallocDevice(Device* device, uint64_t bytes);
// kNotDeviceMemory for anything but the start of a live allocation of MallocDevice.
Fault FreeDevice(void* address);
// Frees every allocation of the device.
void FreeAllDevice(Device* device);

// Page-aligned host memory.
Result<void*> MallocHost(uint64_t bytes);
// kUnknownHandle for anything but the start of a live allocation of MallocHost.
Fault FreeHost(void* address);
// True inside a live allocation of MallocHost.
bool IsPinnedHostMemory(const void* address);

struct DeviceMemoryInfo {
  uint64_t free;
  uint64_t total;
};
DeviceMemoryInfo MemoryInfoOf(Device* device);

// The allocation or mapping that contains `address`, on whole pages
// (semantics B.2); kNotDeviceMemory.
struct AddressRange {
  char* base;
  uint64_t size;
};
Result<AddressRange> AddressRangeOf(const void* address);

}  // namespace hcclrun
