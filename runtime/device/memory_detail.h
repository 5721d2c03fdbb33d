#pragma once
// What is known of an address that the program uses, for messages.

#include <cstdint>
#include <string>

#include "base/fault.h"
#include "device/memory_map.h"

namespace hcclrun {

struct MemoryDetail : FaultDetail {
  enum class Place {
    kUnknown,
    kInside,      // of `memory`
    kGone,        // of `memory`, which `ended_by` gave back
    kReserved,    // addresses of the program's without memory behind; `memory` is the reservation
    kDevice,      // the memory of a device, or a view of another's, where nothing is allocated
    kPinnedHost,  // `memory` is an allocation of aclrtMallocHost
    kRegisteredHost,
    kStack,  // of the calling thread
  };
  Place place = Place::kUnknown;
  MemoryInfo memory;
  const char* ended_by = nullptr;
};
MemoryDetail DescribeMemory(const void* address);

// For the signal handlers that explain an access (check/closed_memory.cpp): as DescribeMemory(),
// but it allocates nothing and does not wait for the lock for long. False: not an address of the
// closed view.
bool DescribeClosed(const void* address, MemoryDetail* detail);

// "aclrtMalloc #3 (4096 bytes at 0x7f0012340000, device 0)"
std::string NameOf(const MemoryInfo& memory);

// kNotDeviceMemory, with what the address is instead.
Fault NotDeviceMemory(const void* address, const char* parameter);

}  // namespace hcclrun
