#include "comm/zero_copy.h"

#include <atomic>
#include <map>
#include <mutex>

namespace hcclrun {
namespace {

using Ranges = std::map<uint64_t, uint64_t>;  // start -> bytes, disjoint

struct Tables {
  std::mutex mutex;
  Ranges set;         // guarded by mutex
  Ranges active;      // guarded by mutex
  bool used = false;  // guarded by mutex
  // Whether `active` has anything: stored under the mutex (release) and read without (acquire), so
  // that operations of programs without zero copy take no lock. Who activated memory before an
  // operation, in whatever thread, has told the caller so by other means.
  std::atomic<bool> any_active{false};
};

Tables& GetTables() {
  static Tables* tables = new Tables();
  return *tables;
}

bool Overlaps(const Ranges& ranges, uint64_t start, uint64_t bytes) {
  auto it = ranges.lower_bound(start);
  if (it != ranges.end() && it->first - start < bytes) return true;
  return it != ranges.begin() && start - std::prev(it)->first < std::prev(it)->second;
}

// The range of `ranges` that contains [start, +bytes); end() if none does.
Ranges::const_iterator Container(const Ranges& ranges, uint64_t start, uint64_t bytes) {
  auto it = ranges.upper_bound(start);
  if (it == ranges.begin()) return ranges.end();
  --it;
  const uint64_t at = start - it->first;
  return at < it->second && bytes <= it->second - at ? it : ranges.end();
}

Fault NotSet(uint64_t address) {
  return Fault(FaultKind::kZeroCopy, {address},
               "does not lie in a range of HcclCommSetMemoryRange");
}

}  // namespace

ZeroCopyRanges& ZeroCopyRanges::Get() {
  static ZeroCopyRanges* ranges = new ZeroCopyRanges();
  return *ranges;
}

Fault ZeroCopyRanges::Set(uint64_t base, uint64_t bytes) {
  Tables& t = GetTables();
  std::lock_guard<std::mutex> lock(t.mutex);
  if (bytes == 0) return Fault(FaultKind::kBadValue, {0, 1, UINT64_MAX}, "size");
  if (bytes > UINT64_MAX - base || Overlaps(t.set, base, bytes)) {
    return Fault(FaultKind::kZeroCopy, {base}, "overlaps a range that is set already");
  }
  t.used = true;
  t.set[base] = bytes;
  return Fault::None();
}

Fault ZeroCopyRanges::Unset(uint64_t base) {
  Tables& t = GetTables();
  std::lock_guard<std::mutex> lock(t.mutex);
  auto it = t.set.find(base);
  if (it == t.set.end())
    return Fault(FaultKind::kZeroCopy, {base},
                 "is not the start of a range of HcclCommSetMemoryRange");
  if (Overlaps(t.active, it->first, it->second)) {
    return Fault(FaultKind::kZeroCopy, {base},
                 "still has active memory; call HcclCommDeactivateCommMemory on it first");
  }
  t.set.erase(it);
  return Fault::None();
}

Fault ZeroCopyRanges::Activate(uint64_t address, uint64_t bytes) {
  Tables& t = GetTables();
  std::lock_guard<std::mutex> lock(t.mutex);
  if (!t.used || bytes == 0 || Container(t.set, address, bytes) == t.set.end())
    return NotSet(address);
  if (Overlaps(t.active, address, bytes))
    return Fault(FaultKind::kZeroCopy, {address}, "overlaps memory that is active already");
  t.active[address] = bytes;
  t.any_active.store(true, std::memory_order_release);
  return Fault::None();
}

Fault ZeroCopyRanges::Deactivate(uint64_t address) {
  Tables& t = GetTables();
  std::lock_guard<std::mutex> lock(t.mutex);
  if (t.active.erase(address) == 0) {
    return Fault(FaultKind::kZeroCopy, {address},
                 "is not the start of memory of HcclCommActivateCommMemory");
  }
  t.any_active.store(!t.active.empty(), std::memory_order_release);
  return Fault::None();
}

bool ZeroCopyRanges::AnyActive() {
  return GetTables().any_active.load(std::memory_order_acquire);
}

bool ZeroCopyRanges::IsActive(const void* address, uint64_t bytes) {
  Tables& t = GetTables();
  if (!t.any_active.load(std::memory_order_acquire)) return false;
  std::lock_guard<std::mutex> lock(t.mutex);
  uint64_t at = reinterpret_cast<uintptr_t>(address);
  while (bytes > 0) {  // adjacent blocks together may hold the range
    auto it = Container(t.active, at, 1);
    if (it == t.active.end()) return false;
    const uint64_t here = it->first + it->second - at;
    if (here >= bytes) return true;
    at += here;
    bytes -= here;
  }
  return true;
}

}  // namespace hcclrun
