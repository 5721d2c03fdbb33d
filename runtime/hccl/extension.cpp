// hcclrun's own functions: bootstrap under the launcher, and what tests and learners ask.

#include <algorithm>
#include <atomic>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/job.h"
#include "comm/comm_table.h"
#include "comm/hccl_env.h"
#include "hccl/guard.h"
#include "hcclrun/bootstrap.h"
#include "hcclrun/inspect.h"
#include "shm/futex.h"
#include "shm/lifeline.h"

using namespace hcclrun;  // NOLINT: the boundary's definitions are in the global namespace

static_assert(int(Path::kWindow) == HCCLRUN_PATH_WINDOW &&
              int(Path::kBuffered) == HCCLRUN_PATH_BUFFERED);

namespace {

constexpr int64_t kSliceNs = 200'000'000;

// The n-th call of every rank uses slot n of the board in the job page (shm/job_page.h): rank 0
// writes it once, the others wait for its flag, looking at the launcher's abort flag at least every
// 200 ms.
Fault ShareRootInfo(HcclRootInfo* root_info) {
  if (!root_info) return Null("rootInfo");
  JobPage* page = Lifeline::Page();
  if (!page || page->ranks <= 1) return Fault::None();
  static std::atomic<uint32_t> calls{0};
  const uint32_t n = calls.fetch_add(1, std::memory_order_relaxed);
  if (n >= kBoardSlots) {
    return Fault(FaultKind::kBadValue, {n + 1, 1, kBoardSlots}, "the number of calls")
        .WithCode(HCCL_E_UNAVAIL);
  }
  BoardSlot& slot = page->board[n];
  if (Lifeline::Rank() == 0) {
    memcpy(slot.blob, root_info, kRootInfoUsed);
    slot.ready.store(1, std::memory_order_release);
    FutexWakeAll(&slot.ready);
    return Fault::None();
  }
  const int64_t patience_ms = HcclEnv::Get().connect_timeout_ms;
  const Deadline deadline = Deadline::After(patience_ms);
  while (slot.ready.load(std::memory_order_acquire) == 0) {
    if (uint32_t failed = page->aborting.load(std::memory_order_acquire)) {
      return Fault(FaultKind::kRendezvousRefused,
                   failed <= page->ranks
                       ? absl::StrCat("rank ", failed - 1, " of this job has failed")
                       : "the job is being ended");
    }
    // What rank 0 shared before it left is still there.
    if (page->activity[0].finished.load(std::memory_order_acquire) &&
        !slot.ready.load(std::memory_order_acquire)) {
      return Fault(FaultKind::kRendezvousRefused,
                   "rank 0 of this job has exited without sharing its root info");
    }
    if (deadline.passed()) return Fault(FaultKind::kRootUnreachable, {uint64_t(patience_ms)});
    FutexWait(&slot.ready, 0, deadline.Remaining(kSliceNs));
  }
  memcpy(root_info, slot.blob, kRootInfoUsed);
  return Fault::None();
}

}  // namespace

extern "C" {

int hcclrunRank(void) { return std::max(0, Job::Get().rank()); }
int hcclrunSize(void) { return std::max(1, Job::Get().size()); }

HcclResult hcclrunShareRootInfo(HcclRootInfo* rootInfo) {
  return Guarded(CallId::hcclrunShareRootInfo, [&] { return ShareRootInfo(rootInfo); });
}

HcclResult hcclrunLastPath(HcclComm comm, hcclrunPath* path) {
  return Guarded(
      CallId::hcclrunLastPath, comm,
      [&]() -> Fault {
        if (!comm) return Null("comm");
        if (!path) return Null("path");
        Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
        if (!c.ok()) return c.fault();
        *path = static_cast<hcclrunPath>((*c)->last_path());
        return Fault::None();
      },
      false);
}

}  // extern "C"
