#pragma once
// Which device memory an address belongs to: the process-wide map of device allocations,
// virtual-memory mappings and views of peers' heaps. Any thread. Looked at by every operation and
// changed rarely, so readers share the lock. Its addresses are the program's
// (device/program_view.h).

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
  // The call that made it, and the how manyth such allocation of the process it is, from 1; null
  // and 0 for views.
  const char* made_by = nullptr;
  uint64_t number = 0;
};

// Whether [address, +bytes) has bytes of `memory`, both as the program knows them.
bool Overlaps(const void* address, uint64_t bytes, const MemoryInfo& memory);

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
// reservation, where nothing lives (any more), or where one was that has been given back and
// nothing is mapped since.
bool IsVacantDeviceAddress(const void* address);

// Where the library reaches what the program calls `address`; host addresses are what they are.
char* EngineView(const void* address);

// Views of peers' heaps, so that peer pointers are valid in acl copies.
void AddPeerView(char* base, uint64_t size);
void RemovePeerView(char* base);
// What peer pointers may be used for. A peer view is all of another rank's heap; the program may
// use those parts of it that a symmetric window has, as long as it is registered. Ranges are the
// program's addresses, and may be opened several times.
void OpenPeerRange(char* base, uint64_t size);
// The last time: from now on an address in it is told as given back by `ended_by`;
// null: it never was one.
void ClosePeerRange(char* base, uint64_t size, const char* ended_by);

// ---- for device/ only ----

// A number for MemoryInfo::identity.
uint64_t NextMemoryIdentity();
// Counts by `made_by`.
void AddMemory(MemoryInfo info);
// Removes the entry of `kind` that starts exactly at `base`; kNone when there is none. Of two
// racing callers one wins. `ended_by` is remembered for a while, for messages; null: nothing is.
MemoryInfo RemoveMemory(const void* base, MemoryKind kind, const char* ended_by = nullptr);
// Entries of `kind` on `device`.
std::vector<MemoryInfo> MemoryOf(const Device* device, MemoryKind kind);
// Address ranges for IsVacantDeviceAddress() and EngineView(). `view` is where the library has the
// same bytes. kWhole: memory is mapped everywhere; kPieces: where there is an entry of kMapping.
enum class SpaceKind { kWhole, kPieces };
void AddDeviceSpace(char* base, uint64_t size, SpaceKind kind, char* view);
void RemoveDeviceSpace(char* base);

}  // namespace hcclrun
