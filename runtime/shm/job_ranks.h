#pragma once
// Which rank of the job a process is. The numbers of a communicator's ranks are its own; people
// look for a rank by its number in the job, which labels and reports of hcclrun have.

#include <cstdint>
#include <vector>

namespace hcclrun {

// -1: not known, since there is no launcher, the process is not of this job, or the job has a
// single rank, so that its number tells nobody anything.
int JobRankOf(int32_t pid);
std::vector<int> JobRanksOf(const std::vector<int32_t>& pids);

}  // namespace hcclrun
