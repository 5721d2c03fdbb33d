#include "comm/collective_task.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "comm/abort.h"
#include "comm/liveness.h"
#include "comm/matching.h"
#include "comm/thresholds.h"
#include "shm/lifeline.h"
#include "shm/wait_policy.h"

namespace hcclrun {

CollectiveTask::CollectiveTask(std::shared_ptr<Communicator> comm, const Descriptor& descriptor,
                               const Buffer& in, const Buffer& out,
                               std::shared_ptr<const VArguments> v)
    : comm_(std::move(comm)), descriptor_(descriptor), in_(in), out_(out), v_(std::move(v)) {
  if (v_) match_.emplace(*comm_, v_);
}

CollectiveTask::~CollectiveTask() {
  if (started_)
    comm_->view().ranks[comm_->rank()].operations_done.fetch_add(1, std::memory_order_seq_cst);
  // One that its stream refused has not been called.
  if (queued_by != 0 && stage_ != Stage::kDone)
    SetAbort(comm_->view(), AbortCause::kDropped, comm_->rank());
}

bool CollectiveTask::Completed() const {
  return comm_->view().header->completed.load(std::memory_order_seq_cst) > descriptor_.sequence;
}

bool CollectiveTask::TryPostNow(bool* last) {
  const bool direct = (descriptor_.flags & kFlagWindow) && !(descriptor_.flags & kFlagUnsafe);
  if (!direct && !(descriptor_.flags & kFlagStaged) && in_.bytes + out_.bytes > 0 &&
      comm_->size() > 1 && !comm_->CommitStages()) {
    descriptor_.flags |= kFlagStaged;  // a failure shows when the stages are needed
  }
  if (!TryPost(comm_->view(), comm_->rank(), descriptor_, match_ ? &*match_ : nullptr, last))
    return false;
  stage_ = Stage::kMatch;
  return true;
}

bool CollectiveTask::Prepare(const void* order) {
  return order == Order() && (stage_ != Stage::kPost || TryPostNow());
}

bool CollectiveTask::CanGoOn() const {
  const ControlView& view = comm_->view();
  const uint64_t k = descriptor_.sequence;
  switch (stage_) {
    case Stage::kPost:
      return view.slot(k).epoch.load(std::memory_order_seq_cst) == k;
    case Stage::kMatch:
      return AllArrived(view, k) || FailureOf(view, k) != SlotFailure::kNone;
    case Stage::kTurn:
      return view.header->completed.load(std::memory_order_seq_cst) >= k;
    case Stage::kRun:
      if (execution_ == Execution::kEachRank) return ClassicExecutor().CanAdvance(run_);
      return Completed() || (helps_ && CooperativeExecutor().CanAdvance(run_));
    case Stage::kDone:
      return true;
  }
  return true;
}

bool CollectiveTask::Step(Fault* fault) {
  const ControlView& view = comm_->view();
  const uint64_t k = descriptor_.sequence;
  switch (stage_) {
    case Stage::kPost:
      return TryPostNow(&owes_notice_);
    case Stage::kMatch:
      if (!CanGoOn()) return false;
      stage_ = Stage::kTurn;
      return true;
    case Stage::kTurn: {
      if (!CanGoOn()) return false;
      if (Completed()) {  // by others, for all: a failed operation is complete only after all left
        FinishShared();
        return true;
      }
      if (SlotFailure failure = FailureOf(view, k); failure != SlotFailure::kNone) {
        *fault = OperationFault(
            failure == SlotFailure::kMismatch ? FaultKind::kMismatch : FaultKind::kWindowOffsets,
            view, comm_->name(), comm_->rank(), k, kNoRank, match_ ? &*match_ : nullptr);
        Leave(view, k);
        stage_ = Stage::kDone;
        return true;
      }
      stage_ = Stage::kRun;
      *fault = Begin();
      if (*fault) {
        // The others are about to wait for this rank's share: nothing but the abort word
        // can tell them.
        SetAbort(view, AbortCause::kInternal, comm_->rank());
        stage_ = Stage::kDone;
      }
      return true;
    }
    case Stage::kRun: {
      const bool shared = execution_ != Execution::kEachRank;
      if (shared && Completed()) {
        FinishShared();
        return true;
      }
      if (shared && !helps_) return false;
      const Executor& executor = shared ? CooperativeExecutor() : ClassicExecutor();
      Executor::State state = executor.Advance(
          run_, [this](bool last) { last ? Complete() : comm_->view().header->event.Notify(); });
      if (state == Executor::State::kFinished) shared ? FinishShared() : Finish();
      return state != Executor::State::kMustWait;
    }
    case Stage::kDone:
      return true;
  }
  return true;
}

Fault CollectiveTask::Begin() {
  const ControlView& view = comm_->view();
  const uint64_t k = descriptor_.sequence;
  execution_ = ChooseExecution(view, k);
  const bool may_execute = execution_ != Execution::kEachRank && MayExecute(view, comm_->rank());
  // Sleepers that cannot go on before the operation is complete are woken then. Had it not been the
  // operation's turn they would be woken by the completion of the one before: they have announced
  // themselves before this thread's arrival, which they did not see, and that came before this
  // thread's look at `completed`.
  if (!may_execute && owes_notice_) view.header->event.Notify();
  if (execution_ == Execution::kEachRank) return PrepareRun(false);
  if (!may_execute) return Fault::None();
  Slot& slot = view.slot(k);
  uint32_t nobody = 0;
  const bool elected =
      slot.opener.compare_exchange_strong(nobody, comm_->rank() + 1, std::memory_order_seq_cst);
  if (!elected && execution_ == Execution::kOneThread) return Fault::None();
  if (Fault f = PrepareRun(true)) return f;
  helps_ = execution_ == Execution::kAllThreads;
  if (!elected) return Fault::None();
  slot.path.store(static_cast<uint32_t>(run_.shape.path), std::memory_order_relaxed);
  if (helps_) {
    OpenForAll(run_);
    view.header->event.Notify();
  } else {
    ExecuteAlone(run_);
    Complete();
  }
  return Fault::None();
}

// All pieces are visible to this thread (claims.h), and to whoever reads `completed`.
void CollectiveTask::Complete() {
  const ControlView& view = comm_->view();
  const uint64_t k = descriptor_.sequence;
  view.slot(k).completed_ns.store(NowNs(), std::memory_order_relaxed);  // published by `completed`
  view.header->completed.store(k + 1, std::memory_order_seq_cst);
  view.header->event.Notify();
}

void CollectiveTask::FinishShared() {
  const ControlView& view = comm_->view();
  const Slot& slot = view.slot(descriptor_.sequence);
  completed_ns_ = slot.completed_ns.load(std::memory_order_relaxed);
  comm_->NotePath(static_cast<Path>(slot.path.load(std::memory_order_relaxed)));
  Leave(view, descriptor_.sequence);
  stage_ = Stage::kDone;
}

void CollectiveTask::Finish() {
  const ControlView& view = comm_->view();
  const uint64_t k = descriptor_.sequence;
  if (run_.phases == 0) {  // nothing to move: arriving was all
    if (run_.barrier->fetch_add(1, std::memory_order_seq_cst) + 1 == comm_->size()) {
      view.header->completed.store(k + 1, std::memory_order_seq_cst);
      view.header->event.Notify();
    }
    completed_ns_ = NowNs();
  } else {
    // The phase barrier can be over an instant before the last rank stored the time: then
    // now is right.
    int64_t at = view.slot(k).completed_ns.load(std::memory_order_relaxed);
    completed_ns_ = view.header->completed.load(std::memory_order_seq_cst) > k && at ? at : NowNs();
  }
  comm_->NotePath(run_.shape.path);
  Leave(view, k);
  stage_ = Stage::kDone;
}

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
    return OperationFault(FaultKind::kRankExited, view, comm_->name(), comm_->rank(), k, gone);
  }
  if (deadline_.passed() && !CanGoOn()) {
    SetAbort(view, AbortCause::kTimeout, comm_->rank());
    return LateFault();
  }
  return Fault::None();
}

Task::Progress CollectiveTask::Advance(Fault* fault) {
  if (!started_) {
    started_ = true;
    // This may be the enqueuing call: announce a large operation, but do not run it here.
    if (in_.bytes + out_.bytes > kInlineBytes && Prepare(Order())) return Progress::kWaiting;
  }
  for (;;) {
    while (stage_ != Stage::kDone && Step(fault)) {
    }
    if (stage_ == Stage::kDone) return Progress::kDone;
    if (!waiting_) {
      waiting_ = true;
      waiting_since_ns_ = NowNs();
      const bool forever = static_cast<Op>(descriptor_.op) == Op::kBarrier;  // semantics C.2
      deadline_ = Deadline::After(forever ? -1 : comm_->config().exec_timeout_ms);
    }
    // Whoever makes waiting pointless wakes all sleepers; the others' records are not worth
    // a look before.
    if (!std::exchange(slept_, false)) return Progress::kWaiting;
    Fault trouble = Trouble();
    if (!trouble) {
      NoteStall();
      return Progress::kWaiting;
    }
    // A rank may have gone right after it did its part: what can go on, goes on.
    if (CanGoOn()) continue;
    *fault = std::move(trouble);
    stage_ = Stage::kDone;
    return Progress::kDone;
  }
}

void CollectiveTask::WaitForProgress(int64_t limit_ns) {
  ControlHeader* header = comm_->view().header;
  slept_ = true;
  auto ready = [this, header] {
    return CanGoOn() || header->abort_word.load(std::memory_order_seq_cst) != 0;
  };
  if (WaitPolicy::OfThread().Outlast(header->oversubscribed != 0, ready)) return;
  NoteWaiting(true);
  header->event.WaitOnce(ready, deadline_.Remaining(limit_ns));
  NoteWaiting(false);
}

// The lowest rank that is there speaks for all: they would all say the same.
void CollectiveTask::NoteStall() const {
  if (stage_ == Stage::kPost || !comm_->stall().Due(waiting_since_ns_)) return;
  const ControlView& view = comm_->view();
  for (uint32_t r = 0; r < comm_->rank(); r++) {
    if (HasPosted(view, descriptor_.sequence, r)) return;
  }
  TellStall(LateFault());
}

Fault CollectiveTask::LateFault() const {
  Fault f = OperationFault(FaultKind::kExecTimeout, comm_->view(), comm_->name(), comm_->rank(),
                           descriptor_.sequence);
  f.n[1] = uint64_t(NowNs() - waiting_since_ns_) / 1'000'000;
  return f;
}

// For the launcher's verdict: whom this rank sleeps for.
void CollectiveTask::NoteWaiting(bool begins) const {
  if (!Lifeline::Activity()) return;
  uint32_t missing = 0;
  int32_t first = -1;
  for (uint32_t r = 0; begins && stage_ == Stage::kMatch && r < comm_->size(); r++) {
    if (HasPosted(comm_->view(), descriptor_.sequence, r)) continue;
    if (missing++ == 0) first = static_cast<int32_t>(r);
  }
  Lifeline::NoteWaiting(missing, first);
}

}  // namespace hcclrun
