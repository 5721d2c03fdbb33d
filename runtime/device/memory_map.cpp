#include "device/memory_map.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <shared_mutex>

#include "base/strict_mode.h"
#include "device/heap.h"
#include "device/memory_detail.h"
#include "device/memory_map_state.h"

namespace hcclrun {
namespace {

using Count = MemoryMaps::Count;
using Gone = MemoryMaps::Gone;

bool IsMapped(const void* address) {
  char* const page = static_cast<char*>(const_cast<void*>(address)) - AddressNumber(address) % kDevicePage;
  return msync(page, kDevicePage, MS_ASYNC) == 0 || errno != ENOMEM;
}

}  // namespace

uint64_t MemoryMapGeneration() { return MemoryMaps::Get().generation.load(std::memory_order_acquire); }

MemoryInfo FindMemory(const void* address) {
  MemoryMaps& maps = MemoryMaps::Get();
  std::shared_lock<std::shared_mutex> lock(maps.mutex);
  const MemoryInfo* info = maps.Find(AddressNumber(address));
  return info ? *info : MemoryInfo();
}

bool Overlaps(const void* address, uint64_t bytes, const MemoryInfo& memory) {
  const uintptr_t at = AddressNumber(address), base = AddressNumber(memory.base);
  return at < base ? base - at < bytes : at - base < memory.size && bytes > 0;
}

Result<HeapRange> ResolveRange(const void* address, uint64_t bytes, const char* parameter,
                               bool* scattered) {
  MemoryMaps& maps = MemoryMaps::Get();
  std::shared_lock<std::shared_mutex> lock(maps.mutex);
  uintptr_t at = AddressNumber(address);
  const MemoryInfo* first = maps.Find(at);
  if (!first || (first->kind == MemoryKind::kPeerView && maps.WindowsEnded(at))) {
    lock.unlock();
    return NotDeviceMemory(address, parameter);
  }
  *scattered = first->imported || first->kind == MemoryKind::kPeerView;
  HeapRange range = {first->device, first->heap_offset + (at - AddressNumber(first->base))};
  // Walk over adjacent mappings; other kinds of memory end where they end.
  const MemoryInfo* piece = first;
  uint64_t covered = piece->size - (at - AddressNumber(piece->base));
  while (covered < bytes) {
    const MemoryInfo* next = piece->kind == MemoryKind::kMapping
                                 ? maps.Find(AddressNumber(piece->base) + piece->size)
                                 : nullptr;
    // Reservations that happen to lie side by side do not in the engine's view.
    if (!next || next->kind != MemoryKind::kMapping ||
        maps.SpaceOf(AddressNumber(next->base)) != maps.SpaceOf(at)) {
      uintptr_t base = AddressNumber(first->base);
      Fault fault(FaultKind::kOutsideAllocation, {at, bytes, base, at + covered - base}, parameter);
      auto detail = std::make_shared<MemoryDetail>();
      detail->place = MemoryDetail::Place::kInside;
      detail->memory = *first;
      fault.detail = std::move(detail);
      return fault;
    }
    if (next->imported || next->device != piece->device ||
        next->heap_offset != piece->heap_offset + piece->size) {
      *scattered = true;
    }
    covered += next->size;
    piece = next;
  }
  return range;
}

Fault CheckDeviceRange(const void* address, uint64_t bytes, const char* parameter) {
  bool scattered;
  Result<HeapRange> range = ResolveRange(address, bytes, parameter, &scattered);
  return range.ok() ? Fault::None() : std::move(range.fault());
}

bool IsVacantDeviceAddress(const void* address) {
  MemoryMaps& maps = MemoryMaps::Get();
  std::shared_lock<std::shared_mutex> lock(maps.mutex);
  const uintptr_t at = AddressNumber(address);
  if (maps.Find(at)) return false;
  if (maps.SpaceOf(at) != maps.spaces.end()) return true;
  // In addresses that were given back with their reservation the program may have anything by now.
  const bool was_device = std::any_of(maps.gone.begin(), maps.gone.end(), [at](const Gone& gone) {
    return at - AddressNumber(gone.memory.base) < gone.memory.size;
  });
  return was_device && !IsMapped(address);
}

char* EngineView(const void* address) {
  char* same = static_cast<char*>(const_cast<void*>(address));
  if (!StrictMode()) return same;
  MemoryMaps& maps = MemoryMaps::Get();
  std::shared_lock<std::shared_mutex> lock(maps.mutex);
  const auto space = maps.SpaceOf(AddressNumber(address));
  return space == maps.spaces.end() ? same : space->second.view + (AddressNumber(address) - space->first);
}

void AddPeerView(char* base, uint64_t size) {
  MemoryInfo info;
  info.kind = MemoryKind::kPeerView;
  info.base = base;
  info.size = size;
  info.identity = NextMemoryIdentity();
  AddMemory(info);
}

void RemovePeerView(char* base) { RemoveMemory(base, MemoryKind::kPeerView); }

void OpenPeerRange(char* base, uint64_t size) {
  MemoryMaps& maps = MemoryMaps::Get();
  std::unique_lock<std::shared_mutex> lock(maps.mutex);
  maps.peer_ranges[{AddressNumber(base), size}]++;
}

void ClosePeerRange(char* base, uint64_t size, const char* ended_by) {
  MemoryMaps& maps = MemoryMaps::Get();
  std::unique_lock<std::shared_mutex> lock(maps.mutex);
  const auto it = maps.peer_ranges.find({AddressNumber(base), size});
  if (it == maps.peer_ranges.end() || --it->second > 0) return;
  maps.peer_ranges.erase(it);
  if (!ended_by) return;
  MemoryInfo memory;
  memory.kind = MemoryKind::kPeerView;
  memory.base = base;
  memory.size = size;
  memory.made_by = "a rank's part of a symmetric window";
  maps.Remember(memory, ended_by);
}

uint64_t NextMemoryIdentity() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void AddMemory(MemoryInfo info) {
  MemoryMaps& maps = MemoryMaps::Get();
  std::unique_lock<std::shared_mutex> lock(maps.mutex);
  if (info.made_by) {
    Count* count = nullptr;
    for (Count& known : maps.counts) {
      if (known.made_by == info.made_by || strcmp(known.made_by, info.made_by) == 0)
        count = &known;
    }
    if (!count) count = &maps.counts.emplace_back(Count{info.made_by, 0});
    info.number = ++count->number;
  }
  maps.memory[AddressNumber(info.base)] = info;
  maps.generation.fetch_add(1, std::memory_order_release);
  if (maps.opened && info.kind == MemoryKind::kMapping) ProtectProgramView(info.base, info.size, true);
}

MemoryInfo RemoveMemory(const void* base, MemoryKind kind, const char* ended_by) {
  MemoryMaps& maps = MemoryMaps::Get();
  std::unique_lock<std::shared_mutex> lock(maps.mutex);
  auto it = maps.memory.find(AddressNumber(base));
  if (it == maps.memory.end() || it->second.kind != kind) return MemoryInfo();
  MemoryInfo info = it->second;
  maps.memory.erase(it);
  maps.generation.fetch_add(1, std::memory_order_release);
  if (ended_by) maps.Remember(info, ended_by);
  return info;
}

std::vector<MemoryInfo> MemoryOf(const Device* device, MemoryKind kind) {
  MemoryMaps& maps = MemoryMaps::Get();
  std::shared_lock<std::shared_mutex> lock(maps.mutex);
  std::vector<MemoryInfo> found;
  for (auto& [base, info] : maps.memory) {
    if (info.device == device && info.kind == kind) found.push_back(info);
  }
  return found;
}

void AddDeviceSpace(char* base, uint64_t size, SpaceKind kind, char* view) {
  MemoryMaps& maps = MemoryMaps::Get();
  std::unique_lock<std::shared_mutex> lock(maps.mutex);
  maps.spaces[AddressNumber(base)] = {size, kind, view};
  for (Gone& gone : maps.gone) {  // what was at these addresses before means nothing any more
    if (AddressNumber(gone.memory.base) - AddressNumber(base) < size) gone.memory.size = 0;
  }
  if (maps.opened && kind == SpaceKind::kWhole && view != base) ProtectProgramView(base, size, true);
}

void RemoveDeviceSpace(char* base) {
  MemoryMaps& maps = MemoryMaps::Get();
  std::unique_lock<std::shared_mutex> lock(maps.mutex);
  maps.spaces.erase(AddressNumber(base));
}

}  // namespace hcclrun
