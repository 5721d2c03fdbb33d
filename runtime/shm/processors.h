#pragma once
// The processors that this process and others may use.

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace hcclrun {

// Numbers of the processors in the affinity mask of a process (0: of the calling thread),
// ascending. Empty when it cannot be read.
std::vector<int> ProcessorsOf(pid_t process);

// The same, one processor of every core first, then the cores' second threads and so on.
std::vector<int> CoresFirst(std::vector<int> processors);

// Moves the calling thread to one of `allowed`, which must be its affinity mask, and leaves the
// mask as it is. False: it may not. (A mask that another thread sets for it in this instant is
// lost, and the mask does not grow any more where processors are added. Where a real-time thread
// keeps `processor` to itself, this thread goes on when the kernel lets it.)
bool MoveThread(int processor, const std::vector<int>& allowed);

// How many the calling thread may use. At least 1.
uint32_t UsableProcessors();

// Processors that the quota of its cgroup is worth; 0 = no quota.
double QuotaProcessors();

// UsableProcessors() bounded by the quota (rounded up). At least 1.
uint32_t ProcessorCount();

// The same of several processes together, which may be bound to different processors. One that
// cannot be asked counts as this one.
uint32_t ProcessorCount(const std::vector<pid_t>& processes);

}  // namespace hcclrun
