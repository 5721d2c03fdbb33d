#pragma once
// What the map of device memory (device/memory_map.h) consists of. For memory_map.cpp, which looks
// up and changes it, memory_detail.cpp, which tells what is known of an address, and
// program_view.cpp, which opens the program's view.

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "device/heap.h"
#include "device/memory_map.h"

namespace hcclrun {

inline uintptr_t AddressNumber(const void* p) { return reinterpret_cast<uintptr_t>(p); }

// Entries do not overlap. Never destroyed: workers look addresses up while static objects go.
struct MemoryMaps {
  struct Space {
    uint64_t size;
    SpaceKind kind;
    char* view;
  };
  using Spaces = std::map<uintptr_t, Space>;
  struct Gone {
    MemoryInfo memory;
    const char* ended_by = nullptr;
  };
  static constexpr size_t kGoneKept = 1024;
  struct Count {
    const char* made_by;
    uint64_t number;
  };

  static MemoryMaps& Get() {
    static MemoryMaps* maps = new MemoryMaps();
    return *maps;
  }

  std::shared_mutex mutex;
  std::map<uintptr_t, MemoryInfo> memory;  // by base
  Spaces spaces;                           // heaps, peers' heaps and reservations, by base
  std::atomic<uint64_t> generation{1};     // of `memory`; changed under the mutex
  std::map<std::pair<uintptr_t, uint64_t>, uint32_t> peer_ranges;  // open ones; how often
  std::vector<Gone> gone;                  // a ring
  size_t next_gone = 0;
  std::vector<Count> counts;
  uint64_t opened = 0;  // OpenProgramView objects
  std::atomic<bool> open{false};

  // ---- under the mutex ----

  // Null: nothing is there.
  const MemoryInfo* Find(uintptr_t address) const {
    auto it = memory.upper_bound(address);
    if (it == memory.begin()) return nullptr;
    --it;
    return address - it->first < it->second.size ? &it->second : nullptr;
  }

  Spaces::const_iterator SpaceOf(uintptr_t address) const {
    auto it = spaces.upper_bound(address);
    if (it == spaces.begin()) return spaces.end();
    --it;
    return address - it->first < it->second.size ? it : spaces.end();
  }

  void Remember(const MemoryInfo& ended, const char* ended_by) {
    if (gone.size() < kGoneKept) {
      gone.push_back({ended, ended_by});
    } else {
      gone[next_gone] = {ended, ended_by};
    }
    next_gone = (next_gone + 1) % kGoneKept;
  }

  // Whether an address in a view of a peer was in windows that are all deregistered.
  bool WindowsEnded(uintptr_t at) const {
    for (const auto& [range, times] : peer_ranges) {
      if (at - range.first < range.second) return false;
    }
    for (const Gone& g : gone) {
      if (g.memory.kind == MemoryKind::kPeerView &&
          at - AddressNumber(g.memory.base) < g.memory.size)
        return true;
    }
    return false;
  }
};

// Opens or closes a part of the program's view. Imported pieces of allocations need not begin on a
// page.
inline void ProtectProgramView(const void* base, uint64_t size, bool open) {
  const uintptr_t lead = AddressNumber(base) % kDevicePage;
  mprotect(reinterpret_cast<void*>(AddressNumber(base) - lead), lead + size,
           open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

}  // namespace hcclrun
