#include "device/memory_map.h"

#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>

namespace hcclrun {
namespace {

// Entries do not overlap. Never destroyed: workers look addresses up while static objects go.
struct Maps {
  std::shared_mutex mutex;
  std::map<uintptr_t, MemoryInfo> memory;  // by base
  std::map<uintptr_t, uint64_t> spaces;    // heaps and reservations: base -> size
  std::atomic<uint64_t> generation{1};     // of `memory`; changed under the mutex
};

Maps& Get() {
  static Maps* maps = new Maps();
  return *maps;
}

uintptr_t Number(const void* p) { return reinterpret_cast<uintptr_t>(p); }

const MemoryInfo* FindLocked(const Maps& maps, uintptr_t address) {
  auto it = maps.memory.upper_bound(address);
  if (it == maps.memory.begin()) return nullptr;
  --it;
  return address - it->first < it->second.size ? &it->second : nullptr;
}

}  // namespace

uint64_t MemoryMapGeneration() { return Get().generation.load(std::memory_order_acquire); }

MemoryInfo FindMemory(const void* address) {
  Maps& maps = Get();
  std::shared_lock<std::shared_mutex> lock(maps.mutex);
  const MemoryInfo* info = FindLocked(maps, Number(address));
  return info ? *info : MemoryInfo();
}

Result<HeapRange> ResolveRange(const void* address, uint64_t bytes, const char* parameter,
                               bool* scattered) {
  Maps& maps = Get();
  std::shared_lock<std::shared_mutex> lock(maps.mutex);
  uintptr_t at = Number(address);
  const MemoryInfo* first = FindLocked(maps, at);
  if (!first) return Fault(FaultKind::kNotDeviceMemory, {at}, parameter);
  *scattered = first->imported || first->kind == MemoryKind::kPeerView;
  HeapRange range = {first->device, first->heap_offset + (at - Number(first->base))};
  // Walk over adjacent mappings; other kinds of memory end where they end.
  const MemoryInfo* piece = first;
  uint64_t covered = piece->size - (at - Number(piece->base));
  while (covered < bytes) {
    const MemoryInfo* next = piece->kind == MemoryKind::kMapping
                                 ? FindLocked(maps, Number(piece->base) + piece->size)
                                 : nullptr;
    if (!next || next->kind != MemoryKind::kMapping) {
      uintptr_t base = Number(first->base);
      return Fault(FaultKind::kOutsideAllocation, {at, bytes, base, at + covered - base},
                   parameter);
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
  Maps& maps = Get();
  std::shared_lock<std::shared_mutex> lock(maps.mutex);
  uintptr_t at = Number(address);
  auto it = maps.spaces.upper_bound(at);
  if (it == maps.spaces.begin()) return false;
  --it;
  return at - it->first < it->second && !FindLocked(maps, at);
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

uint64_t NextMemoryIdentity() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void AddMemory(const MemoryInfo& info) {
  Maps& maps = Get();
  std::unique_lock<std::shared_mutex> lock(maps.mutex);
  maps.memory[Number(info.base)] = info;
  maps.generation.fetch_add(1, std::memory_order_release);
}

MemoryInfo RemoveMemory(const void* base, MemoryKind kind) {
  Maps& maps = Get();
  std::unique_lock<std::shared_mutex> lock(maps.mutex);
  auto it = maps.memory.find(Number(base));
  if (it == maps.memory.end() || it->second.kind != kind) return MemoryInfo();
  MemoryInfo info = it->second;
  maps.memory.erase(it);
  maps.generation.fetch_add(1, std::memory_order_release);
  return info;
}

std::vector<MemoryInfo> MemoryOf(const Device* device, MemoryKind kind) {
  Maps& maps = Get();
  std::shared_lock<std::shared_mutex> lock(maps.mutex);
  std::vector<MemoryInfo> found;
  for (auto& [base, info] : maps.memory) {
    if (info.device == device && info.kind == kind) found.push_back(info);
  }
  return found;
}

void AddDeviceSpace(char* base, uint64_t size) {
  Maps& maps = Get();
  std::unique_lock<std::shared_mutex> lock(maps.mutex);
  maps.spaces[Number(base)] = size;
}

void RemoveDeviceSpace(char* base) {
  Maps& maps = Get();
  std::unique_lock<std::shared_mutex> lock(maps.mutex);
  maps.spaces.erase(Number(base));
}

}  // namespace hcclrun
