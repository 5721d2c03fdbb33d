#pragma once
#include <cstdint>

namespace hcclrun {

// Processors in this process' affinity mask. At least 1.
uint32_t UsableProcessors();

// Processors that the quota of its cgroup is worth; 0 = no quota.
double QuotaProcessors();

// Processors this process may use: the former, bounded by the latter (rounded up). At least 1.
uint32_t ProcessorCount();

}  // namespace hcclrun
