// A CollectiveTask that cannot go on: what makes waiting pointless, what is told of it and noted
// while it waits, and giving up.

#include <algorithm>
#include <memory>
#include <utility>

#include "base/step.h"
#include "comm/abort.h"
#include "comm/collective_task.h"
#include "comm/liveness.h"
#include "comm/matching.h"
#include "shm/lifeline.h"

namespace hcclrun {

Fault CollectiveTask::Trouble() {
  const ControlView& view = comm_->view();
  const uint64_t k = descriptor_.sequence;
  if (Fault f = comm_->AsyncFault()) {
    // "this rank was at" is this operation, whatever the communicator has completed.
    f.n[f.kind == FaultKind::kExecTimeout ? 0 : 2] = k;
    return f;
  }
  // Until all have posted, a rank that left may have posted before; afterwards it still
  // owes its share.
  const bool matched = stage_ == Stage::kTurn || stage_ == Stage::kRun;
  uint32_t gone = matched ? FirstGone(view) : CannotPost(view, k);
  if (gone != kNoRank && !CanGoOn()) {
    // Because of another one perhaps, whose end was noted before.
    if (AbortOf(view).cause != AbortCause::kNone) return Trouble();
    return OperationFault(FaultKind::kRankExited, view, comm_->shown_name(), comm_->rank(), k,
                          gone);
  }
  if (deadline_.passed() && !CanGoOn()) {
    Lifeline::AskForReport(ReportCause::kExecTimeout);
    return LateFault();
  }
  return Fault::None();
}

// Before this rank returns an error and its buffers to their owner: sees to it that nobody executes
// the operation from now on. False if that is too late and the task has to go on. Before all have
// arrived it takes its arrival back; afterwards it takes the opener's place, so that there never
// will be one, or closes the barrier if each rank does its own share. If there is an opener or a
// share under way already that is over soon, unless who executes it has died or stands still.
bool CollectiveTask::GiveUp() {
  const ControlView& view = comm_->view();
  const uint64_t k = descriptor_.sequence;
  if (stage_ == Stage::kPost || stage_ == Stage::kDone) return true;
  if (exchanges_) return Exchange::TakeBack(view, k, comm_->rank());
  if (Completed()) return false;
  HCCLRUN_STEP("giveup.begin");
  if (stage_ == Stage::kMatch) return TakeBackArrival(view, k);
  const Deadline patience = PatienceToGiveUp(view);
  auto wait_for = [&](auto over) {
    while (!over() && !patience.passed())
      view.header->event.WaitOnce(over, patience.Remaining(kPatienceSliceNs));
  };
  if (!EachRankExecutes()) {
    std::atomic<uint64_t>& opener = view.slot(k).opener;
    uint64_t seen = opener.load(std::memory_order_seq_cst);
    while (seen <= k) {
      if (opener.compare_exchange_weak(seen, kClosed, std::memory_order_seq_cst)) {
        HCCLRUN_STEP("giveup.closed");
        return true;
      }
    }
    if (seen == kClosed) return true;
    HCCLRUN_STEP("giveup.waits");
    wait_for([this] { return Completed() || EachRankChosen(); });
    if (!EachRankChosen()) return !Completed();
  }
  PhaseBarrier& barrier = view.slot(k).barrier;
  barrier.Close();
  HCCLRUN_STEP("giveup.barrier_closed");
  wait_for([&] { return !barrier.ShareUnderWay(); });
  // Over, and about to be completed by the rank that was last.
  const bool over = run_ && run_->run.arrived && run_->run.PhaseOver();
  return !over && !Completed();
}

// Of an operation that all have joined: whether that is known, now, to this rank.
bool CollectiveTask::EachRankExecutes() const {
  if (stage_ == Stage::kRun) return execution_ == Execution::kEachRank;
  const ControlView& view = comm_->view();
  return !MayBeAlone(view, descriptor_) &&
         ChooseExecution(view, descriptor_) == Execution::kEachRank;
}

// The lowest rank that is there speaks for all: they would all say the same.
void CollectiveTask::NoteStall() const {
  if (stage_ == Stage::kPost || !waiting_ || !comm_->stall().Due(waiting_since_ns_)) return;
  const ControlView& view = comm_->view();
  for (uint32_t r = 0; r < comm_->rank(); r++) {
    if (HasPosted(view, descriptor_.sequence, r)) return;
  }
  TellStall(LateFault());
}

// With what all ranks of the communicator called.
Fault CollectiveTask::FaultOfAll(FaultKind kind) const {
  const uint64_t k = descriptor_.sequence;
  auto claim = [weak = comm_->weak_from_this(), k] {
    const std::shared_ptr<Communicator> comm = weak.lock();
    return comm ? ClaimTelling(comm->view(), k, comm->rank()) : kNoRank;
  };
  return OperationFault(kind, comm_->view(), comm_->shown_name(), comm_->rank(), k, kNoRank,
                        match_ ? &*match_ : nullptr, std::move(claim));
}

// Two calls that differ do not show which rank is the odd one: who tells looks at as many as it can
// soon have. Nothing that makes waiting pointless is waited through.
bool CollectiveTask::OthersMayCome() {
  const ControlView& view = comm_->view();
  const uint64_t k = descriptor_.sequence;
  const int64_t now = NowNs();
  if (differs_since_ns_ == 0) differs_since_ns_ = now;
  if (now - differs_since_ns_ >= kGraceNs || deadline_.passed() ||
      AbortOf(view).cause != AbortCause::kNone || FirstGone(view) != kNoRank ||
      CannotPost(view, k) != kNoRank)
    return false;
  for (uint32_t r = 0; r < view.size; r++) {
    if (!HasPosted(view, k, r)) return true;
  }
  return false;
}

Fault CollectiveTask::LateFault() const {
  Fault f = FaultOfAll(FaultKind::kExecTimeout);
  f.speaker = comm_->speaker();
  f.n[1] = uint64_t(NowNs() - waiting_since_ns_) / 1'000'000;
  return f;
}

// For the launcher's verdict and its reports: what this rank sleeps for.
void CollectiveTask::NoteWaiting(bool begins) const {
  if (!Lifeline::Activity()) return;
  const ControlView& view = comm_->view();
  const uint64_t k = descriptor_.sequence;
  Waiting w;
  w.comm = comm_->record();
  w.sequence = k;
  w.kind = stage_ == Stage::kRun ? WaitKind::kRun : WaitKind::kCollective;
  if (stage_ == Stage::kTurn) {
    w.kind = WaitKind::kTurn;
    w.target = view.header->done.completed.load(std::memory_order_relaxed);
  } else if (stage_ == Stage::kPost) {  // for the operation that has the slot
    w.kind = WaitKind::kTurn;
    w.target = view.slot(k).epoch.load(std::memory_order_relaxed);
  }
  for (uint32_t r = 0; begins && stage_ == Stage::kMatch && r < comm_->size(); r++) {
    if (!HasPosted(view, k, r)) w.AddMissing(r);
  }
  Lifeline::NoteWaiting(w.missing, w.missing ? comm_->job_rank(w.ranks[0]) : -1);
  if (begins) Recorder::Wait(waiter, w);
}

}  // namespace hcclrun
