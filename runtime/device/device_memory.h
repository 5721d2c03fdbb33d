#pragma once
// What aclrtMalloc and aclrtMallocHost hand out, and how it comes back. Any thread.

#include <cstdint>

#include "base/fault.h"

namespace hcclrun {

class Device;
struct MemoryInfo;

// `bytes` > 0 of committed device memory on whole device pages; at multiples of a granule when it
// is that large.
Result<void*> MallocDevice(Device* device, uint64_t bytes, const char* made_by = "aclrtMalloc");
// kNotDeviceMemory for anything but the start of a live allocation of MallocDevice.
//
// `ended_by` is the call, for messages. Tasks that use the memory are looked for and keep it; not
// with `unused`, for callers who know of none or hold a lock that tasks take.
Fault FreeDevice(void* address, const char* ended_by = "aclrtFree", bool unused = false);
// Frees every allocation of the device.
void FreeAllDevice(Device* device);

// Page-aligned host memory.
Result<void*> MallocHost(uint64_t bytes);
// kUnknownHandle for anything but the start of a live allocation of MallocHost.
Fault FreeHost(void* address);
// True inside a live allocation of MallocHost; *memory gets its place and size.
bool FindPinnedHostMemory(const void* address, MemoryInfo* memory);
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
