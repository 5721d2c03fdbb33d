#pragma once
// Reservations and mappings of the user (semantics B.2): what stands behind
// aclrtReserveMemAddress, aclrtMapMem and their inverses. One lock for all; mappings also stand in
// the memory map. Any thread.

#include <cstdint>
#include <memory>

#include "base/fault.h"
#include "device/physical_memory.h"

namespace hcclrun {

class Device;

// `size` > 0 bytes of addresses, rounded up to whole granules, at a multiple of `alignment`. `hint`
// is taken when it is free. kAddressSpace.
Result<void*> ReserveAddress(uint64_t size, uint64_t alignment, void* hint);
// kNotReserved unless `address` is the start of a reservation, kReservationBusy while
// it holds mappings.
Fault ReleaseAddress(void* address);

// Maps all of `memory` at `address`; `made_by` as in MemoryInfo. kUnaligned, kBadValue (size, or a
// handle of another device or process than the reservation's other mappings), kNotReserved,
// kRangeMapped.
Fault MapMemory(void* address, uint64_t size, const std::shared_ptr<PhysicalMemory>& memory,
                const char* made_by = "aclrtMapMem");
// kNotMapped unless `address` is the start of a mapping.
Fault UnmapMemory(void* address, const char* ended_by = "aclrtUnmapMem");

// The physical memory mapped at `address`, any address inside a mapping: holding it keeps the
// memory alive (symmetric windows). kNotMapped.
Result<std::shared_ptr<PhysicalMemory>> PhysicalMemoryAt(const void* address);

// kNotMapped unless mappings cover all of [address, +size).
Fault CheckMapped(const void* address, uint64_t size);

// Unmaps everything of the device and drops the user's handles of its memory; reservations stay.
void ReleaseVirtualMemoryOf(Device* device);

}  // namespace hcclrun
