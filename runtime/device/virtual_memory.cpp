#include "device/virtual_memory.h"

#include <map>
#include <mutex>
#include <optional>

#include "base/not_allowed.h"
#include "base/strict_mode.h"
#include "device/device.h"
#include "device/memory_detail.h"
#include "device/memory_map.h"
#include "device/program_view.h"
#include "device/stream.h"
#include "shm/reservation.h"

namespace hcclrun {
namespace {

// With what was there, if that was given back lately.
Fault NotMapped(const void* address) {
  Fault fault(FaultKind::kNotMapped, {reinterpret_cast<uintptr_t>(address)});
  MemoryDetail detail = DescribeMemory(address);
  if (detail.place == MemoryDetail::Place::kGone)
    fault.detail = std::make_shared<MemoryDetail>(std::move(detail));
  return fault;
}

struct Mapping {
  std::shared_ptr<PhysicalMemory> memory;
};

struct Reserved {
  Reservation range;
  std::optional<Reservation> view;        // the library's (program_view.h), if it is another one
  std::map<uintptr_t, Mapping> mappings;  // by address; they do not overlap
};

// Never destroyed: the program may release from its own exit handlers.
struct VirtualMemory {
  std::mutex mutex;
  std::map<uintptr_t, Reserved> reservations;  // by base
};

VirtualMemory& Get() {
  static VirtualMemory* memory = new VirtualMemory();
  return *memory;
}

uintptr_t Number(const void* p) { return reinterpret_cast<uintptr_t>(p); }

// The reservation that contains `address`.
Reserved* FindReserved(VirtualMemory& vm, uintptr_t address) {
  auto it = vm.reservations.upper_bound(address);
  if (it == vm.reservations.begin()) return nullptr;
  --it;
  return address - it->first < it->second.range.size() ? &it->second : nullptr;
}

// The mapping that contains `address`, or end().
std::map<uintptr_t, Mapping>::iterator FindMapping(Reserved& reserved, uintptr_t address) {
  auto it = reserved.mappings.upper_bound(address);
  if (it == reserved.mappings.begin()) return reserved.mappings.end();
  --it;
  return address - it->first < it->second.memory->size() ? it : reserved.mappings.end();
}

// With `keeps_pages` a task under way may still use the addresses, which lead to the memory until
// something else is mapped there or the reservation is released.
Fault Unmap(Reserved& reserved, std::map<uintptr_t, Mapping>::iterator it,
            std::shared_ptr<PhysicalMemory>* last, const char* ended_by, bool keeps_pages = false) {
  char* address = reinterpret_cast<char*>(it->first);
  // Out of the map first: nobody resolves an address whose pages are going.
  RemoveMemory(address, MemoryKind::kMapping, ended_by);
  const uint64_t size = it->second.memory->size();
  Fault fault;
  if (!keeps_pages) fault = reserved.range.Unmap(address, size);
  if (reserved.view && !fault && !keeps_pages)
    fault = reserved.view->Unmap(reserved.view->base() + (address - reserved.range.base()), size);
  *last = std::move(it->second.memory);
  reserved.mappings.erase(it);
  return fault;
}

}  // namespace

Result<void*> ReserveAddress(uint64_t size, uint64_t alignment, void* hint) {
  uint64_t rounded = (size + kGranule - 1) & ~(kGranule - 1);
  if (rounded < size) return Fault(FaultKind::kAddressSpace, {size, uint64_t(ENOMEM)});
  if (Number(hint) % kGranule) hint = nullptr;
  std::optional<Reservation> view;
  if (StrictMode()) {
    if (!hint) hint = NextProgramAddress(rounded);
    Result<Reservation> second = Reservation::Create(rounded, alignment);
    if (!second.ok()) return second.fault();
    view = std::move(*second);
  }
  Result<Reservation> range = Reservation::Create(rounded, alignment, hint);
  if (!range.ok()) return range.fault();
  char* base = range->base();
  VirtualMemory& vm = Get();
  std::lock_guard<std::mutex> lock(vm.mutex);
  AddDeviceSpace(base, rounded, SpaceKind::kPieces, view ? view->base() : base);
  Reserved& reserved = vm.reservations[Number(base)];
  reserved.range = std::move(*range);
  reserved.view = std::move(view);
  return static_cast<void*>(base);
}

Fault ReleaseAddress(void* address) {
  VirtualMemory& vm = Get();
  std::lock_guard<std::mutex> lock(vm.mutex);
  auto it = vm.reservations.find(Number(address));
  if (it == vm.reservations.end()) return Fault(FaultKind::kNotReserved, {Number(address), 0});
  if (!it->second.mappings.empty()) {
    return Fault(FaultKind::kReservationBusy, {Number(address), it->second.mappings.size()});
  }
  RemoveDeviceSpace(static_cast<char*>(address));
  vm.reservations.erase(it);
  return Fault::None();
}

Fault MapMemory(void* address, uint64_t size, const std::shared_ptr<PhysicalMemory>& memory,
                const char* made_by) {
  uintptr_t at = Number(address);
  if (at % kGranule) return Fault(FaultKind::kUnaligned, {at, kGranule}, "virPtr");
  if (size % kGranule) return Fault(FaultKind::kUnaligned, {size, kGranule}, "size");
  if (size != memory->size()) {
    return Fault(FaultKind::kBadValue, {size, memory->size(), memory->size()},
                 "size (of a mapping of the whole handle)");
  }
  VirtualMemory& vm = Get();
  std::lock_guard<std::mutex> lock(vm.mutex);
  Reserved* reserved = FindReserved(vm, at);
  if (!reserved || !reserved->range.Contains(address, size))
    return Fault(FaultKind::kNotReserved, {at, size});
  auto next = reserved->mappings.lower_bound(at);
  if ((next != reserved->mappings.end() && next->first - at < size) ||
      FindMapping(*reserved, at) != reserved->mappings.end()) {
    return Fault(FaultKind::kRangeMapped, {at, size});
  }
  if (!reserved->mappings.empty()) {
    const PhysicalMemory& other = *reserved->mappings.begin()->second.memory;
    if (other.imported() != memory->imported()) {
      return NotAllowed(
          "handle is one of own and imported memory, and the reservation holds the "
          "other kind; map it in another reservation");
    }
    if (other.device() != memory->device()) {
      return NotAllowed(
          "handle is memory of another device than what the reservation holds; map it "
          "in another reservation");
    }
  }
  if (std::optional<Reservation>& view = reserved->view) {
    char* there = view->base() + (at - Number(reserved->range.base()));
    if (Fault f = view->Map(there, size, memory->fd(), memory->heap_offset())) return f;
  }
  if (Fault f = reserved->range.Map(address, size, memory->fd(), memory->heap_offset(),
                                    reserved->view.has_value()))
    return f;
  reserved->mappings[at].memory = memory;
  MemoryInfo info;
  info.kind = MemoryKind::kMapping;
  info.device = memory->device();
  info.base = static_cast<char*>(address);
  info.size = size;
  info.heap_offset = memory->heap_offset();
  info.identity = memory->identity();
  info.imported = memory->imported();
  info.made_by = made_by;
  AddMemory(info);
  return Fault::None();
}

Fault UnmapMemory(void* address, const char* ended_by) {
  Device::LetStreamsCatchUp();
  std::shared_ptr<PhysicalMemory> last;  // dies outside the lock
  bool used = false;
  if (const MemoryInfo memory = FindMemory(address);
      memory.kind == MemoryKind::kMapping && memory.base == address && Stream::AnyBusy()) {
    if (Result<std::shared_ptr<PhysicalMemory>> physical = PhysicalMemoryAt(address);
        physical.ok()) {
      const auto kept = std::make_shared<std::shared_ptr<PhysicalMemory>>(*physical);
      Stream::KeepForUsers(memory, ended_by, kept);
      used = kept.use_count() > 1;
    }
  }
  VirtualMemory& vm = Get();
  std::lock_guard<std::mutex> lock(vm.mutex);
  Reserved* reserved = FindReserved(vm, Number(address));
  if (!reserved) return NotMapped(address);
  auto it = reserved->mappings.find(Number(address));
  if (it == reserved->mappings.end()) return NotMapped(address);
  return Unmap(*reserved, it, &last, ended_by, used);
}

Result<std::shared_ptr<PhysicalMemory>> PhysicalMemoryAt(const void* address) {
  VirtualMemory& vm = Get();
  std::lock_guard<std::mutex> lock(vm.mutex);
  if (Reserved* reserved = FindReserved(vm, Number(address))) {
    auto it = FindMapping(*reserved, Number(address));
    if (it != reserved->mappings.end()) return it->second.memory;
  }
  return NotMapped(address);
}

Fault CheckMapped(const void* address, uint64_t size) {
  VirtualMemory& vm = Get();
  std::lock_guard<std::mutex> lock(vm.mutex);
  uintptr_t at = Number(address), end = at + size;
  Reserved* reserved = FindReserved(vm, at);
  while (reserved && at < end && end > size) {
    auto it = FindMapping(*reserved, at);
    if (it == reserved->mappings.end()) break;
    at = it->first + it->second.memory->size();
  }
  return at >= end && end > size ? Fault::None() : Fault(FaultKind::kNotMapped, {at});
}

void ReleaseVirtualMemoryOf(Device* device) {
  std::vector<std::shared_ptr<PhysicalMemory>> last;  // die outside the lock
  {
    VirtualMemory& vm = Get();
    std::lock_guard<std::mutex> lock(vm.mutex);
    for (auto& [base, reserved] : vm.reservations) {
      for (auto it = reserved.mappings.begin(); it != reserved.mappings.end();) {
        auto here = it++;
        if (here->second.memory->device() != device) continue;
        std::shared_ptr<PhysicalMemory>& dying = last.emplace_back();
        Unmap(reserved, here, &dying, "aclrtResetDevice");
      }
    }
  }
  PhysicalMemory::ReleaseHandlesOf(device);
}

}  // namespace hcclrun
