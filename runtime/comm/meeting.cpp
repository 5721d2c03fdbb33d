#include "comm/meeting.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/quiet_thread.h"
#include "comm/abort.h"
#include "comm/communicator.h"
#include "shm/stall.h"
#include "shm/lifeline.h"
#include "shm/private_copy.h"
#include "shm/process_watch.h"

namespace hcclrun {
namespace {

constexpr int32_t kTimeoutCode = 9;  // of a link that is not set up in time (semantics F.4)
constexpr int64_t kSliceNs = 200'000'000;

// Whether rank `rank` of a communicator that is made can come to another one, as far as is known.
bool HasDied(const ControlView& view, uint32_t rank) {
  const RankState state =
      static_cast<RankState>(view.ranks[rank].state.load(std::memory_order_seq_cst));
  if (state == RankState::kExited || state == RankState::kFailed) return true;
  const Abort abort = AbortOf(view);
  return abort.cause == AbortCause::kRankDied && abort.rank == rank;
}

// Whether it has left that communicator in order, and then the program.
bool HasLeft(const ControlView& view, uint32_t rank) {
  const RankRecord& record = view.ranks[rank];
  return record.state.load(std::memory_order_seq_cst) ==
             static_cast<uint32_t>(RankState::kDestroyed) &&
         ProcessEnded(PrivateCopy(record.pid));
}

}  // namespace

Meeting::Meeting(Communicator* comm, const RootInfo& info, const Hello& hello, int heap_fd,
                 Ancestry ancestry)
    : comm_(comm), ancestry_(std::move(ancestry)), join_(info, hello, heap_fd) {}

Meeting::~Meeting() { End(); }

Fault Meeting::Start() {
  return StartQuietThread([this] { Run(); }, &thread_);
}

void Meeting::Run() {
  Result<Membership> membership = join_.Join();
  Fault fault = membership.ok() ? comm_->Attach(std::move(*membership)) : membership.fault();
  std::lock_guard<std::mutex> lock(mutex_);
  done_ = true;
  outcome_ = std::move(fault);
  changed_.notify_all();
}

Fault Meeting::Await() {
  bool left = false;
  const int64_t begin = NowNs();
  const Deadline deadline = Deadline::After(comm_->config().connect_timeout_ms);
  if (Waiter* thread = Recorder::Thread())
    Recorder::Wait(thread, {WaitKind::kMembers, comm_->record()});
  std::unique_lock<std::mutex> lock(mutex_);
  while (!done_) {
    changed_.wait_for(lock, std::chrono::nanoseconds(deadline.Remaining(kSliceNs)));
    if (done_) break;
    lock.unlock();
    const int64_t waited_ms = (NowNs() - begin) / 1'000'000;
    if (Fault f = Hopeless(&left)) return f;
    if (deadline.passed()) {
      Lifeline::AskForReport(ReportCause::kConnectTimeout);
      return MissingFault(waited_ms).WithCode(kTimeoutCode);
    }
    if (comm_->stall().Due(begin)) TellStall(MissingFault(waited_ms));
    lock.lock();
  }
  return outcome_;
}

Fault Meeting::Outcome() {
  std::lock_guard<std::mutex> lock(mutex_);
  return outcome_;
}

void Meeting::End() {
  join_.Cancel();
  if (thread_.joinable()) thread_.join();
}

// What makes waiting pointless, if anything. A member may leave as soon as this communicator is
// made, of which the others hear a moment later: so one that has left counts only if some had at
// the last look, which is what *left says from look to look.
Fault Meeting::Hopeless(bool* left) {
  std::shared_ptr<Communicator> parent = ancestry_.parent.lock();
  if (parent && parent->connected()) {
    const bool left_before = std::exchange(*left, false);
    for (uint32_t r : ancestry_.ranks) {
      *left |= HasLeft(parent->view(), r);
      if (HasDied(parent->view(), r) || (left_before && *left)) {
        return Fault(FaultKind::kRendezvousRefused,
                     absl::StrCat("rank ", r, " of ", parent->shown_name(), " (pid ",
                                  parent->view().ranks[r].pid, ") has ended"));
      }
    }
  }
  const JobPage* page = Lifeline::Page();
  const uint32_t failed = page ? page->aborting.load(std::memory_order_acquire) : 0;
  if (failed == 0) return Fault::None();
  return Fault(FaultKind::kRendezvousRefused,
               failed <= page->ranks ? absl::StrCat("rank ", failed - 1, " of this job has failed")
                                     : "the job is being ended");
}

Fault Meeting::MissingFault(int64_t waited_ms) {
  Fault f = join_.WhoIsMissing(waited_ms).SaidBy(comm_->speaker());
  const std::string& label = comm_->config().label;
  absl::StrAppend(&f.text, " (ranks of ", comm_->shown_name(), label.empty() ? "" : ", ", label,
                  ")");
  if (!ancestry_.ranks.empty()) {
    absl::StrAppend(&f.text, ", whose ranks are ");
    const size_t shown = std::min<size_t>(ancestry_.ranks.size(), 16);
    for (size_t i = 0; i < shown; i++)
      absl::StrAppend(&f.text, i ? "," : "", ancestry_.ranks[i]);
    absl::StrAppend(&f.text, shown < ancestry_.ranks.size() ? ",..." : "",
                    " of its parent; all members must pass the same rankIds, subCommId and name");
    const std::shared_ptr<Communicator> parent = ancestry_.parent.lock();
    for (uint32_t r : ancestry_.ranks) {
      if (!parent || !parent->connected() || !ProcessStopped(parent->view().ranks[r].pid)) continue;
      absl::StrAppend(&f.text, "; rank ", r, " of its parent is stopped by a signal");
    }
  }
  return f;
}

}  // namespace hcclrun
