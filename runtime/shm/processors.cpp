#include "shm/processors.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

namespace hcclrun {

uint32_t UsableProcessors() {
  // Larger than cpu_set_t where the machine has more processors than that has bits.
  for (int bits = 1024; bits <= 65536; bits *= 4) {
    cpu_set_t* set = CPU_ALLOC(bits);
    if (!set) break;
    const size_t bytes = CPU_ALLOC_SIZE(bits);
    const int usable = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (usable > 0) return static_cast<uint32_t>(usable);
  }
  return 1;
}

double QuotaProcessors() {
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period)
    return quota == "max" || period <= 0 ? 0 : atof(quota.c_str()) / period;
  double v1_quota = 0;
  std::ifstream q("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), p("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  return q >> v1_quota && p >> period && v1_quota > 0 && period > 0 ? v1_quota / period : 0;
}

uint32_t ProcessorCount() {
  const uint32_t usable = UsableProcessors();
  const double quota = QuotaProcessors();
  if (quota <= 0 || quota >= usable) return usable;
  return std::max(1u, static_cast<uint32_t>(std::ceil(quota)));
}

}  // namespace hcclrun
