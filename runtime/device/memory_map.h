#pragma once
// Which device memory an address belongs to: the process-wide map of device allocations,
// virtual-memory mappings and views of peers' heaps. Any thread. Looked at by every operation and
// changed rarely, so readers share the lock.

#include <cstdint>
#include <vector>

#include "base/fault.h"

namespace hcclrun {

class Device;

// A contiguous piece of one heap of this process.
struct HeapRange {
  Device* device;
  uint64_t offset;  // in the device's heap
};

enum class MemoryKind {
  kNone,        // not device memory (host memory or nothing)
  kAllocation,  // aclrtMalloc
  kMapping,     // aclrtMapMem
  // What a symmetric peer pointer names: another process' heap, or physical memory in an own heap.
  kPeerView,
};

struct MemoryInfo {
  MemoryKind kind = MemoryKind::kNone;
  // nullptr for a peer view; for an imported mapping the device it was imported for.
  Device* device = nullptr;
  char* base = nullptr;      // of the allocation, mapping or view
  uint64_t size = 0;         // as the user asked for it
  uint64_t heap_offset = 0;  // of base (own heaps)
  // Of the allocation or the physical handle; never reused within the process.
  uint64_t identity = 0;
  bool imported = false;  // a mapping of a handle of another process
};

// Grows with every change of the map. What was looked up after a load of this value holds as long
// as another load returns the same: a change counts itself (release) under the lock under which it
// is made, and whoever knows that a change has been made sees it counted (acquire).
uint64_t MemoryMapGeneration();

// What `address` belongs to.
MemoryInfo FindMemory(const void* address);

// Where [address, +bytes) lies in an own heap. kNotDeviceMemory or kOutsideAllocation (operands of
// those kinds). A range over several adjacent mappings is in order only if their heap pieces are
// adjacent too; otherwise *scattered is set and the offset means nothing: the range can be used
// through the address, by this process only. The same holds for imported mappings and peer views,
// whose HeapRange::device may be nullptr. `parameter` names the argument in the fault.
Result<HeapRange> ResolveRange(const void* address, uint64_t bytes, const char* parameter,
                               bool* scattered);

// None when [address, +bytes) is readable and writable device memory of any kind; the
// faults of ResolveRange.
Fault CheckDeviceRange(const void* address, uint64_t bytes, const char* parameter);

// True for addresses that are neither host memory nor usable device memory: inside a heap or a
// reservation, where nothing lives (any more).
bool IsVacantDeviceAddress(const void* address);

// Views of peers' heaps, so that peer pointers are valid in acl copies.
void AddPeerView(char* base, uint64_t size);
void RemovePeerView(char* base);

// ---- for device/ only ----

// A number for MemoryInfo::identity.
uint64_t NextMemoryIdentity();
void AddMemory(const MemoryInfo& info);
// Removes the entry of `kind` that starts exactly at `base`; kNone when there is none. Of two
// racing callers one wins.
MemoryInfo RemoveMemory(const void* base, MemoryKind kind);
// Entries of `kind` on `device`.
std::vector<MemoryInfo> MemoryOf(const Device* device, MemoryKind kind);
// Address ranges for IsVacantDeviceAddress().
void AddDeviceSpace(char* base, uint64_t size);
void RemoveDeviceSpace(char* base);

}  // namespace hcclrun
