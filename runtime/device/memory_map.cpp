#include "device/memory_map.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/strict_mode.h"
#include "device/device.h"
#include "device/device_memory.h"
#include "device/heap.h"
#include "device/host_registration.h"
#include "device/peer_ranges.h"

namespace hcclrun {
namespace {

using Place = MemoryDetail::Place;

struct Space {
  uint64_t size;
  SpaceKind kind;
  char* view;
};

struct Gone {
  MemoryInfo memory;
  const char* ended_by = nullptr;
};
constexpr size_t kGoneKept = 1024;

struct Count {
  const char* made_by;
  uint64_t number;
};

// Entries do not overlap. Never destroyed: workers look addresses up while static objects go.
struct Maps {
  std::shared_mutex mutex;
  std::map<uintptr_t, MemoryInfo> memory;  // by base
  std::map<uintptr_t, Space> spaces;       // heaps, peers' heaps and reservations, by base
  std::atomic<uint64_t> generation{1};     // of `memory`; changed under the mutex
  std::map<std::pair<uintptr_t, uint64_t>, uint32_t> peer_ranges;  // open ones; how often
  std::vector<Gone> gone;                  // a ring
  size_t next_gone = 0;
  std::vector<Count> counts;
  uint64_t opened = 0;  // OpenProgramView objects
  std::atomic<bool> open{false};
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

std::map<uintptr_t, Space>::const_iterator SpaceLocked(const Maps& maps, uintptr_t address) {
  auto it = maps.spaces.upper_bound(address);
  if (it == maps.spaces.begin()) return maps.spaces.end();
  --it;
  return address - it->first < it->second.size ? it : maps.spaces.end();
}

void RememberLocked(Maps& maps, const MemoryInfo& memory, const char* ended_by) {
  if (maps.gone.size() < kGoneKept) {
    maps.gone.push_back({memory, ended_by});
  } else {
    maps.gone[maps.next_gone] = {memory, ended_by};
  }
  maps.next_gone = (maps.next_gone + 1) % kGoneKept;
}

// Whether an address in a view of a peer was in windows that are all deregistered.
bool ClosedLocked(const Maps& maps, uintptr_t at) {
  for (const auto& [range, times] : maps.peer_ranges) {
    if (at - range.first < range.second) return false;
  }
  for (const Gone& gone : maps.gone) {
    if (gone.memory.kind == MemoryKind::kPeerView &&
        at - Number(gone.memory.base) < gone.memory.size)
      return true;
  }
  return false;
}

// What the map itself knows; newest first of what is gone.
void DescribeLocked(const Maps& maps, uintptr_t at, MemoryDetail* detail) {
  const MemoryInfo* info = FindLocked(maps, at);
  // All of a peer's heap is an entry: says nothing more than that it is the peer's.
  if (info && (info->kind != MemoryKind::kPeerView || !ClosedLocked(maps, at))) {
    detail->place = Place::kInside;
    detail->memory = *info;
    return;
  }
  for (size_t i = 0; i < maps.gone.size(); i++) {
    const size_t size = maps.gone.size();
    const Gone& gone = maps.gone[(maps.next_gone + size - 1 - i) % size];
    if (at - Number(gone.memory.base) >= gone.memory.size) continue;
    detail->place = Place::kGone;
    detail->memory = gone.memory;
    detail->ended_by = gone.ended_by;
    return;
  }
  const auto space = SpaceLocked(maps, at);
  if (space == maps.spaces.end()) return;
  detail->place = space->second.kind == SpaceKind::kPieces ? Place::kReserved : Place::kDevice;
  detail->memory.base = reinterpret_cast<char*>(space->first);
  detail->memory.size = space->second.size;
}

bool OnOwnStack(const void* address) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
  void* base = nullptr;
  size_t size = 0;
  const bool known = pthread_attr_getstack(&attributes, &base, &size) == 0;
  pthread_attr_destroy(&attributes);
  return known && Number(address) - Number(base) < size;
}

bool IsMapped(const void* address) {
  char* const page = static_cast<char*>(const_cast<void*>(address)) - Number(address) % kDevicePage;
  return msync(page, kDevicePage, MS_ASYNC) == 0 || errno != ENOMEM;
}

// Imported pieces of allocations need not begin on a page.
void Protect(const void* base, uint64_t size, bool open) {
  const uintptr_t lead = Number(base) % kDevicePage;
  mprotect(reinterpret_cast<void*>(Number(base) - lead), lead + size,
           open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

void ProtectAllLocked(const Maps& maps, bool open) {
  for (const auto& [base, space] : maps.spaces) {
    if (space.kind == SpaceKind::kWhole && space.view != reinterpret_cast<char*>(base))
      Protect(reinterpret_cast<void*>(base), space.size, open);
  }
  for (const auto& [base, info] : maps.memory) {
    if (info.kind == MemoryKind::kMapping) Protect(info.base, info.size, open);
  }
}

}  // namespace

uint64_t MemoryMapGeneration() { return Get().generation.load(std::memory_order_acquire); }

MemoryInfo FindMemory(const void* address) {
  Maps& maps = Get();
  std::shared_lock<std::shared_mutex> lock(maps.mutex);
  const MemoryInfo* info = FindLocked(maps, Number(address));
  return info ? *info : MemoryInfo();
}

MemoryDetail DescribeMemory(const void* address) {
  MemoryDetail detail;
  {
    Maps& maps = Get();
    std::shared_lock<std::shared_mutex> lock(maps.mutex);
    DescribeLocked(maps, Number(address), &detail);
  }
  if (detail.place != Place::kUnknown) return detail;
  if (FindPinnedHostMemory(address, &detail.memory)) {
    detail.place = Place::kPinnedHost;
  } else if (IsRegisteredHostMemory(address)) {
    detail.place = Place::kRegisteredHost;
  } else if (OnOwnStack(address)) {
    detail.place = Place::kStack;
  }
  return detail;
}

bool Overlaps(const void* address, uint64_t bytes, const MemoryInfo& memory) {
  const uintptr_t at = Number(address), base = Number(memory.base);
  return at < base ? base - at < bytes : at - base < memory.size && bytes > 0;
}

std::string NameOf(const MemoryInfo& memory) {
  std::string name = memory.made_by ? memory.made_by : "memory";
  if (memory.number) absl::StrAppend(&name, " #", memory.number);
  absl::StrAppend(&name, absl::StrFormat(" (%d bytes at %#x", memory.size, Number(memory.base)));
  if (memory.device) absl::StrAppend(&name, ", device ", memory.device->id());
  return name + ")";
}

bool DescribeClosed(const void* address, MemoryDetail* detail) {
  Maps& maps = Get();
  constexpr int kTries = 200;
  constexpr timespec kPause = {0, 1'000'000};
  for (int i = 0; i < kTries; i++) {
    if (!maps.mutex.try_lock_shared()) {
      nanosleep(&kPause, nullptr);
      continue;
    }
    const auto space = SpaceLocked(maps, Number(address));
    const bool closed =
        space != maps.spaces.end() && space->second.view != reinterpret_cast<char*>(space->first);
    if (closed) DescribeLocked(maps, Number(address), detail);
    maps.mutex.unlock_shared();
    return closed;
  }
  return false;
}

Fault NotDeviceMemory(const void* address, const char* parameter) {
  Fault fault(FaultKind::kNotDeviceMemory, {Number(address)}, parameter);
  fault.detail = std::make_shared<MemoryDetail>(DescribeMemory(address));
  return fault;
}

Result<HeapRange> ResolveRange(const void* address, uint64_t bytes, const char* parameter,
                               bool* scattered) {
  Maps& maps = Get();
  std::shared_lock<std::shared_mutex> lock(maps.mutex);
  uintptr_t at = Number(address);
  const MemoryInfo* first = FindLocked(maps, at);
  if (!first || (first->kind == MemoryKind::kPeerView && ClosedLocked(maps, at))) {
    lock.unlock();
    return NotDeviceMemory(address, parameter);
  }
  *scattered = first->imported || first->kind == MemoryKind::kPeerView;
  HeapRange range = {first->device, first->heap_offset + (at - Number(first->base))};
  // Walk over adjacent mappings; other kinds of memory end where they end.
  const MemoryInfo* piece = first;
  uint64_t covered = piece->size - (at - Number(piece->base));
  while (covered < bytes) {
    const MemoryInfo* next = piece->kind == MemoryKind::kMapping
                                 ? FindLocked(maps, Number(piece->base) + piece->size)
                                 : nullptr;
    // Reservations that happen to lie side by side do not in the engine's view.
    if (!next || next->kind != MemoryKind::kMapping ||
        SpaceLocked(maps, Number(next->base)) != SpaceLocked(maps, at)) {
      uintptr_t base = Number(first->base);
      Fault fault(FaultKind::kOutsideAllocation, {at, bytes, base, at + covered - base}, parameter);
      auto detail = std::make_shared<MemoryDetail>();
      detail->place = Place::kInside;
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
  Maps& maps = Get();
  std::shared_lock<std::shared_mutex> lock(maps.mutex);
  const uintptr_t at = Number(address);
  if (FindLocked(maps, at)) return false;
  if (SpaceLocked(maps, at) != maps.spaces.end()) return true;
  // In addresses that were given back with their reservation the program may have anything by now.
  const bool was_device = std::any_of(maps.gone.begin(), maps.gone.end(), [at](const Gone& gone) {
    return at - Number(gone.memory.base) < gone.memory.size;
  });
  return was_device && !IsMapped(address);
}

char* EngineView(const void* address) {
  char* same = static_cast<char*>(const_cast<void*>(address));
  if (!StrictMode()) return same;
  Maps& maps = Get();
  std::shared_lock<std::shared_mutex> lock(maps.mutex);
  const auto space = SpaceLocked(maps, Number(address));
  return space == maps.spaces.end() ? same : space->second.view + (Number(address) - space->first);
}

OpenProgramView::OpenProgramView() {
  if (!StrictMode()) return;
  Maps& maps = Get();
  std::unique_lock<std::shared_mutex> lock(maps.mutex);
  if (maps.opened++ > 0) return;
  ProtectAllLocked(maps, true);
  maps.open.store(true, std::memory_order_relaxed);
}

OpenProgramView::~OpenProgramView() {
  if (!StrictMode()) return;
  Maps& maps = Get();
  std::unique_lock<std::shared_mutex> lock(maps.mutex);
  if (--maps.opened > 0) return;
  maps.open.store(false, std::memory_order_relaxed);
  ProtectAllLocked(maps, false);
}

bool OpenProgramView::IsOpen() { return Get().open.load(std::memory_order_relaxed); }

void* NextProgramAddress(uint64_t size) {
#ifdef __SANITIZE_THREAD__
  return nullptr;  // its shadow lies there
#endif
  static std::atomic<uint64_t> next{kProgramViewBegin};
  constexpr uint64_t kAlignment = uint64_t{1} << 30;
  size = (size + kAlignment - 1) & ~(kAlignment - 1);
  const uint64_t at = next.fetch_add(size, std::memory_order_relaxed);
  return at + size <= kProgramViewEnd ? reinterpret_cast<void*>(at) : nullptr;
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
  Maps& maps = Get();
  std::unique_lock<std::shared_mutex> lock(maps.mutex);
  maps.peer_ranges[{Number(base), size}]++;
}

void ClosePeerRange(char* base, uint64_t size, const char* ended_by) {
  Maps& maps = Get();
  std::unique_lock<std::shared_mutex> lock(maps.mutex);
  const auto it = maps.peer_ranges.find({Number(base), size});
  if (it == maps.peer_ranges.end() || --it->second > 0) return;
  maps.peer_ranges.erase(it);
  if (!ended_by) return;
  MemoryInfo memory;
  memory.kind = MemoryKind::kPeerView;
  memory.base = base;
  memory.size = size;
  memory.made_by = "a rank's part of a symmetric window";
  RememberLocked(maps, memory, ended_by);
}

uint64_t NextMemoryIdentity() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void AddMemory(MemoryInfo info) {
  Maps& maps = Get();
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
  maps.memory[Number(info.base)] = info;
  maps.generation.fetch_add(1, std::memory_order_release);
  if (maps.opened && info.kind == MemoryKind::kMapping) Protect(info.base, info.size, true);
}

MemoryInfo RemoveMemory(const void* base, MemoryKind kind, const char* ended_by) {
  Maps& maps = Get();
  std::unique_lock<std::shared_mutex> lock(maps.mutex);
  auto it = maps.memory.find(Number(base));
  if (it == maps.memory.end() || it->second.kind != kind) return MemoryInfo();
  MemoryInfo info = it->second;
  maps.memory.erase(it);
  maps.generation.fetch_add(1, std::memory_order_release);
  if (ended_by) RememberLocked(maps, info, ended_by);
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

void AddDeviceSpace(char* base, uint64_t size, SpaceKind kind, char* view) {
  Maps& maps = Get();
  std::unique_lock<std::shared_mutex> lock(maps.mutex);
  maps.spaces[Number(base)] = {size, kind, view};
  for (Gone& gone : maps.gone) {  // what was at these addresses before means nothing any more
    if (Number(gone.memory.base) - Number(base) < size) gone.memory.size = 0;
  }
  if (maps.opened && kind == SpaceKind::kWhole && view != base) Protect(base, size, true);
}

void RemoveDeviceSpace(char* base) {
  Maps& maps = Get();
  std::unique_lock<std::shared_mutex> lock(maps.mutex);
  maps.spaces.erase(Number(base));
}

}  // namespace hcclrun
