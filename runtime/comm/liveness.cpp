#include "comm/liveness.h"

#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <set>

#include "base/fork_guard.h"
#include "comm/abort.h"
#include "comm/matching.h"

namespace hcclrun {
namespace {

// The communicators of this process that are in use, if only by operations under way, for
// the exit handler.
struct Live {
  std::mutex mutex;
  std::set<std::pair<std::shared_ptr<const Membership>, uint32_t>> members;  // guarded by mutex
};

Live& GetLive() {
  static Live* live = new Live();
  return *live;
}

// Whether the rank has called something that it has not done its part of. Read after its process
// ended, or by itself.
bool Owes(const RankRecord& record) {
  return record.issued.load(std::memory_order_seq_cst) >
             record.operations_done.load(std::memory_order_seq_cst) ||
         record.transfers.load(std::memory_order_seq_cst) >
             record.transfers_done.load(std::memory_order_seq_cst);
}

// Whether others may wait for what the rank has not done yet.
bool IsNeeded(const RankRecord& record) {
  const RankState state = static_cast<RankState>(record.state.load(std::memory_order_seq_cst));
  return state == RankState::kAlive || (state == RankState::kDestroyed && Owes(record));
}

// glibc's on_exit handlers learn the exit status, atexit handlers do not.
void AtExit(int status, void*) {
  if (InForkedChild()) return;
  Live& live = GetLive();
  std::lock_guard<std::mutex> lock(live.mutex);
  for (const auto& [membership, rank] : live.members) {
    RankRecord& record = membership->view.ranks[rank];
    record.exit_status.store(status, std::memory_order_relaxed);
    if (IsNeeded(record)) {
      record.state.store(uint32_t(status == 0 ? RankState::kExited : RankState::kFailed),
                         std::memory_order_seq_cst);
      if (status != 0) SetAbort(membership->view, AbortCause::kRankFailed, rank);
    }
    membership->view.NotifyAll();
  }
}

void ProcessOfRankEnded(const Membership& membership, int32_t pid) {
  const ControlView& view = membership.view;
  for (uint32_t r = 0; r < view.size; r++) {
    if (view.ranks[r].pid != pid) continue;
    if (IsNeeded(view.ranks[r])) SetAbort(view, AbortCause::kRankDied, r);
  }
  view.NotifyAll();
}

}  // namespace

Liveness::Liveness(std::shared_ptr<const Membership> membership, uint32_t own_rank)
    : membership_(std::move(membership)), own_rank_(own_rank) {
  static const int registered = on_exit(AtExit, nullptr);
  (void)registered;
  {
    Live& live = GetLive();
    std::lock_guard<std::mutex> lock(live.mutex);
    live.members.emplace(membership_, own_rank_);
  }
}

Fault Liveness::Watch() {
  const ControlView& view = membership_->view;
  std::set<int32_t> pids;
  for (uint32_t r = 0; r < view.size; r++) pids.insert(view.ranks[r].pid);
  pids.erase(getpid());
  for (int32_t pid : pids) {
    Result<ProcessWatch::Id> watch = ProcessWatch::Get().WatchProcess(
        pid, [membership = membership_, pid] { ProcessOfRankEnded(*membership, pid); });
    if (!watch.ok()) return watch.fault();
    watches_.push_back(*watch);
  }
  return Fault::None();
}

Liveness::~Liveness() {
  for (ProcessWatch::Id id : watches_) ProcessWatch::Get().Cancel(id);
  Live& live = GetLive();
  std::lock_guard<std::mutex> lock(live.mutex);
  live.members.erase({membership_, own_rank_});
}

uint32_t CannotPost(const ControlView& view, uint64_t sequence) {
  for (uint32_t r = 0; r < view.size; r++) {
    RankState state = static_cast<RankState>(view.ranks[r].state.load(std::memory_order_seq_cst));
    if (state == RankState::kAlive || HasPosted(view, sequence, r)) continue;
    // A destroyed communicator still runs the operations that were called before.
    if (state == RankState::kDestroyed &&
        view.ranks[r].issued.load(std::memory_order_seq_cst) > sequence)
      continue;
    return r;
  }
  return kNoRank;
}

uint32_t FirstGone(const ControlView& view) {
  for (uint32_t r = 0; r < view.size; r++) {
    RankState state = static_cast<RankState>(view.ranks[r].state.load(std::memory_order_seq_cst));
    if (state == RankState::kExited || state == RankState::kFailed) return r;
  }
  return kNoRank;
}

}  // namespace hcclrun
