#include "collective/first_touch.h"

#include <atomic>

namespace hcclrun {
namespace {

constexpr unsigned kRegionBits = 16;  // what the kernel maps around a page that is read
constexpr uint64_t kRegion = uint64_t{1} << kRegionBits;
constexpr uint64_t kLeast = 8 << 10;  // less is not worth a look
constexpr uint64_t kEntries = 1 << 16;

// By place: the number of the last region there, 0 = none. Of 4 GiB of addresses every region has a
// place of its own, next to its neighbours'; the heaps of ranks begin in different ones. Pages of
// the table that are not needed do not exist.
std::atomic<uint64_t> g_touched[kEntries];

std::atomic<uint64_t>& PlaceOf(uint64_t region) {
  return g_touched[(region + (region >> 20) * 40503) % kEntries];
}

}  // namespace

void TouchBeforeUse(const char* at, uint64_t bytes) {
  if (bytes < kLeast) return;
  const auto begin = reinterpret_cast<uintptr_t>(at);
  const uint64_t first = begin >> kRegionBits, last = (begin + bytes - 1) >> kRegionBits;
  for (uint64_t region = first; region <= last; region++) {
    std::atomic<uint64_t>& place = PlaceOf(region);
    if (place.load(std::memory_order_relaxed) == region) continue;
    place.store(region, std::memory_order_relaxed);
    const char* byte = region == first ? at : at + (region * kRegion - begin);
    static_cast<void>(*static_cast<const volatile char*>(byte));
  }
}

}  // namespace hcclrun
