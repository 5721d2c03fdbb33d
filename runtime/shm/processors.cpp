#include "shm/processors.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>

namespace hcclrun {
namespace {

// cpu.max of cgroup v2 ("quota period" or "max period"); UINT32_MAX without a limit.
uint32_t CgroupProcessors() {
  FILE* f = fopen("/sys/fs/cgroup/cpu.max", "re");
  if (!f) return UINT32_MAX;
  unsigned long long quota, period;
  uint32_t result = UINT32_MAX;
  if (fscanf(f, "%llu %llu", &quota, &period) == 2 && period > 0) {
    result = static_cast<uint32_t>((quota + period - 1) / period);
  }
  fclose(f);
  return result;
}

}  // namespace

uint32_t ProcessorCount() {
  cpu_set_t set;
  uint32_t allowed = 1;
  if (sched_getaffinity(0, sizeof set, &set) == 0) allowed = static_cast<uint32_t>(CPU_COUNT(&set));
  return std::max(1u, std::min(allowed, CgroupProcessors()));
}

}  // namespace hcclrun
