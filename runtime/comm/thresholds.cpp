#include "comm/thresholds.h"

#include <algorithm>
#include <cstdio>

namespace hcclrun {
namespace {

constexpr uint64_t kLeast = uint64_t{8} << 20, kMost = uint64_t{32} << 20;

// Of the first processor, as the kernel says: the C library adds up caches that no two processors
// of this machine may share. 0 where it does not say.
uint64_t LastLevelCache() {
  uint64_t last = 0;
  for (int index = 0; index < 8; index++) {
    char path[64];
    std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
    std::FILE* file = std::fopen(path, "re");
    if (!file) break;
    unsigned long kib = 0;
    if (std::fscanf(file, "%luK", &kib) == 1) last = std::max(last, uint64_t{kib} << 10);
    std::fclose(file);
  }
  return last;
}

}  // namespace

uint64_t StreamingBytes() {
  static const uint64_t bytes = [] {
    const uint64_t cache = LastLevelCache();
    return cache ? std::clamp(cache, kLeast, kMost) : kMost;
  }();
  return bytes;
}

}  // namespace hcclrun
