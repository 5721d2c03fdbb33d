#include "shm/job_ranks.h"

#include <unordered_map>

#include "base/job.h"
#include "shm/lifeline.h"

namespace hcclrun {
namespace {

const JobPage* PageOfSeveralRanks() { return Job::Get().size() < 2 ? nullptr : Lifeline::Page(); }

int32_t PidOf(const JobPage* page, int rank) {
  return page->activity[rank].pid.load(std::memory_order_relaxed);
}

}  // namespace

// The number of ranks is the process' own: the page's is not trusted.
int JobRankOf(int32_t pid) {
  const JobPage* page = PageOfSeveralRanks();
  for (int r = 0; page && pid > 0 && r < Job::Get().size(); r++) {
    if (PidOf(page, r) == pid) return r;
  }
  return -1;
}

std::vector<int> JobRanksOf(const std::vector<int32_t>& pids) {
  std::unordered_map<int32_t, int> ranks;
  const JobPage* page = PageOfSeveralRanks();
  for (int r = 0; page && r < Job::Get().size(); r++) ranks.emplace(PidOf(page, r), r);
  std::vector<int> found;
  for (int32_t pid : pids) {
    const auto it = pid > 0 ? ranks.find(pid) : ranks.end();
    found.push_back(it == ranks.end() ? -1 : it->second);
  }
  return found;
}

}  // namespace hcclrun
