#pragma once
#include <cstdint>

namespace hcclrun {

// Processors this process may use: its affinity mask, bounded by the quota of its cgroup (rounded
// up). At least 1.
uint32_t ProcessorCount();

}  // namespace hcclrun
