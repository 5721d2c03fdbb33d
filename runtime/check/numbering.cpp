#include "check/numbering.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/rank_list.h"
#include "shm/job_ranks.h"

namespace hcclrun {

std::string InJob(const RankPosition& p) {
  if (p.pid == getpid()) return "";  // a thread of the speaker's process, which has said it
  const int rank = JobRankOf(p.pid);
  if (rank < 0 || static_cast<uint32_t>(rank) == p.rank) return "";
  return absl::StrCat(", rank ", rank, " of the job");
}

std::string Numbering(const std::string& communicator, const std::vector<RankPosition>& positions) {
  std::vector<uint32_t> here;
  std::vector<int> job;
  bool differ = false;
  for (const RankPosition& p : positions) {
    const int rank = JobRankOf(p.pid);
    if (rank < 0) continue;
    here.push_back(p.rank);
    job.push_back(rank);
    differ |= static_cast<uint32_t>(rank) != p.rank;
  }
  // Ranks in threads of one process are not told apart by the job.
  std::vector<int> sorted = job;
  std::sort(sorted.begin(), sorted.end());
  if (!differ || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return "";
  return absl::StrCat(" (", Ranks(here), " of communicator ", communicator,
                      here.size() == 1 ? " is " : " are ", Ranks(job), " of the job)");
}

}  // namespace hcclrun
