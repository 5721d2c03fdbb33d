#include "comm/collective_task.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/step.h"
#include "base/strict_mode.h"
#include "comm/abort.h"
#include "comm/hccl_buffers.h"
#include "comm/liveness.h"
#include "comm/matching.h"
#include "comm/thresholds.h"
#include "shm/lifeline.h"
#include "shm/wait_policy.h"

namespace hcclrun {

CollectiveTask::CollectiveTask(std::shared_ptr<Communicator> comm, const Descriptor& descriptor,
                               const Buffer& in, const Buffer& out,
                               std::shared_ptr<const VArguments> v)
    : comm_(std::move(comm)),
      descriptor_(descriptor),
      direct_((descriptor.flags & kFlagWindow) && !(descriptor.flags & kFlagUnsafe)),
      in_(in),
      out_(out),
      v_(std::move(v)) {
  if (v_) match_.emplace(*comm_, v_);
  if (in_.bytes + out_.bytes > kInlineBytes) {  // what is smaller does not matter here
    const Buffer& output = out_.bytes ? out_ : in_;
    const uint64_t done =
        comm_->view().ranks[comm_->rank()].operations_done.load(std::memory_order_relaxed);
    outputs_ = comm_->outputs().Add(output.address, output.bytes, done == descriptor_.sequence);
  }
  if (!v_ && IsExchange(comm_->view(), descriptor_)) {
    exchanges_ = true;
    descriptor_.flags |= kFlagExchange;
  }
}

CollectiveTask::CollectiveTask(CollectiveTask&& other) noexcept
    : comm_(other.comm_->shared_from_this()),
      descriptor_(other.descriptor_),
      direct_(other.direct_),
      in_(other.in_),
      out_(other.out_),
      v_(std::move(other.v_)),
      outputs_(other.outputs_),
      match_(std::move(other.match_)),
      stage_(other.stage_),
      deadline_(other.deadline_),
      started_(other.started_),
      settled_(std::exchange(other.settled_, true)),
      poisoned_(other.poisoned_),
      waiting_(other.waiting_),
      slept_(other.slept_),
      waiting_since_ns_(other.waiting_since_ns_),
      differs_since_ns_(other.differs_since_ns_),
      completed_ns_(other.completed_ns_),
      execution_(other.execution_),
      owes_notice_(other.owes_notice_),
      helps_(other.helps_),
      exchanges_(other.exchanges_),
      exchange_(other.exchange_),
      run_(std::move(other.run_)) {
  queued_by = std::exchange(other.queued_by, 0);
  waiter = other.waiter;
  note = other.note;
}

CollectiveTask::~CollectiveTask() {
  if (!settled_) comm_->buffers().End(comm_->name(), descriptor_.stream, queued_by == 0);
  // One that its stream refused has not been called.
  if (queued_by != 0 && stage_ != Stage::kDone) {
    bool given_up = GiveUp();
    if (!given_up && !exchanges_ && stage_ == Stage::kMatch) {  // all have come
      stage_ = Stage::kTurn;
      given_up = GiveUp();
    }
    // Nobody misses this rank in what the others have completed, or have all they need for.
    if (given_up || (!exchanges_ && !Completed())) {
      SetAbort(comm_->view(), AbortCause::kDropped, comm_->rank());
    } else if (!exchanges_) {
      FinishShared();
    }
  }
  if (started_ && !settled_) comm_->DoneWith(descriptor_.sequence);
  if (run_) GiveBack(std::move(run_));
}

bool CollectiveTask::Completed() const {
  return comm_->view().header->done.completed.load(std::memory_order_seq_cst) >
         descriptor_.sequence;
}

bool CollectiveTask::Uses(const MemoryInfo& memory) const {
  if (memory.kind == MemoryKind::kPeerView && !direct_) return false;
  return Overlaps(in_.address, in_.bytes, memory) || Overlaps(out_.address, out_.bytes, memory);
}

std::string CollectiveTask::Which() const {
  return absl::StrCat("#", descriptor_.sequence + 1, " of communicator ", comm_->shown_name(),
                      " (rank ", comm_->rank(), " of it)");
}

bool CollectiveTask::TryPostNow(bool* last) {
  if (StrictMode() && !std::exchange(poisoned_, true)) PoisonOutput();
  if (!direct_ && !(descriptor_.flags & kFlagStaged) && in_.bytes + out_.bytes > 0 &&
      comm_->size() > 1 && !comm_->CommitStages()) {
    descriptor_.flags |= kFlagStaged;  // a failure shows when the stages are needed
  }
  const uint64_t now = note.BeforePost();
  if (!TryPost(comm_->view(), comm_->rank(), descriptor_, match_ ? &*match_ : nullptr, last))
    return false;
  note.Posted(now);
  stage_ = Stage::kMatch;
  return true;
}

// An exchange is posted with its input, which those before it may still write.
bool CollectiveTask::Prepare(const void* order) {
  // With HCCLRUN_STRICT the output is poisoned first, and an operation before this one may use it.
  if (StrictMode()) return false;
  return !exchanges_ && order == Order() && (stage_ != Stage::kPost || TryPostNow());
}

bool CollectiveTask::CanGoOn() {
  const ControlView& view = comm_->view();
  const uint64_t k = descriptor_.sequence;
  switch (stage_) {
    case Stage::kPost:
      return exchanges_ ? comm_->PlaceIsFree(k) : SlotIsFree(view, k);
    case Stage::kMatch:
      if (exchanges_) {
        SlotFailure failure;
        return exchange_.AllHere(view, descriptor_, &failure) ||
               (failure != SlotFailure::kNone && (differs_since_ns_ == 0 || !OthersMayCome()));
      }
      return Completed() || AllArrived(view, k) || FailureOf(view, k) != SlotFailure::kNone;
    case Stage::kTurn:
      return IsItsTurn(view, k) &&
             (FailureOf(view, k) == SlotFailure::kNone || Completed() || !OthersMayCome());
    case Stage::kRun:
      if (execution_ == Execution::kEachRank) return ClassicExecutor().CanAdvance(run_->run);
      return Completed() || EachRankChosen() ||
             (helps_ && CooperativeExecutor().CanAdvance(run_->run));
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
      return exchanges_ ? PostExchange(fault) : TryPostNow(&owes_notice_);
    case Stage::kMatch:
      if (exchanges_) return EndExchange(fault);
      if (!CanGoOn()) return false;
      HCCLRUN_STEP("match.over");
      stage_ = Stage::kTurn;
      return true;
    case Stage::kTurn: {
      if (!CanGoOn()) return false;
      if (Completed()) {  // by others, for all: a failed operation is complete only after all left
        FinishShared();
        return true;
      }
      if (SlotFailure failure = FailureOf(view, k); failure != SlotFailure::kNone) {
        if (Completed()) {  // the failure is that of a later operation in the slot
          FinishShared();
          return true;
        }
        *fault = FaultOfAll(failure == SlotFailure::kMismatch ? FaultKind::kMismatch
                                                              : FaultKind::kWindowOffsets);
        Leave(view, k);
        stage_ = Stage::kDone;
        return true;
      }
      HCCLRUN_STEP("turn.come");
      stage_ = Stage::kRun;
      note.Started();
      return BeginInStep(&CollectiveTask::Begin, fault);
    }
    case Stage::kRun: {
      const bool shared = execution_ != Execution::kEachRank;
      if (shared && Completed()) {
        FinishShared();
        return true;
      }
      if (shared && !helps_) {
        if (!EachRankChosen()) return false;
        return BeginInStep(&CollectiveTask::BeginOwnShare, fault);
      }
      const Executor& executor = shared ? CooperativeExecutor() : ClassicExecutor();
      Executor::State state = executor.Advance(run_->run, [&view, k](bool last) {
        last ? Complete(view, k, NowNs(), false) : view.header->event.Notify();
      });
      if (state == Executor::State::kFinished) shared ? FinishShared() : Finish();
      return state != Executor::State::kMustWait;
    }
    case Stage::kDone:
      return true;
  }
  return true;
}

// True when the stage has changed.
bool CollectiveTask::PostExchange(Fault* fault) {
  if (!comm_->PlaceIsFree(descriptor_.sequence)) return false;
  char* in = nullptr;
  if (Fault f = OwnAddress(in_, "sendBuf", &in)) {
    *fault = std::move(f);
    SetAbort(comm_->view(), AbortCause::kInternal, comm_->rank());  // as in BeginInStep()
    stage_ = Stage::kDone;
    return true;
  }
  if (StrictMode() && !std::exchange(poisoned_, true)) PoisonOutput();
  const uint64_t now = note.BeforePost();
  if (!exchange_.TryPost(*comm_, descriptor_, in, in_.bytes)) return false;
  note.Posted(now);
  stage_ = Stage::kMatch;
  return true;
}

bool CollectiveTask::EndExchange(Fault* fault) {
  const ControlView& view = comm_->view();
  SlotFailure failure;
  if (!exchange_.AllHere(view, descriptor_, &failure)) {
    if (failure == SlotFailure::kNone) return false;
    if (differs_since_ns_ == 0) Exchange::TellThoseInTheSlot(view, descriptor_, comm_->rank());
    if (OthersMayCome()) return false;
    *fault = FaultOfAll(failure == SlotFailure::kMismatch ? FaultKind::kMismatch
                                                          : FaultKind::kWindowOffsets);
    stage_ = Stage::kDone;
    return true;
  }
  char* out = nullptr;
  if (Fault f = OwnAddress(out_, "recvBuf", &out)) {
    *fault = std::move(f);
    SetAbort(view, AbortCause::kInternal, comm_->rank());
  } else {
    note.Started();
    Path path;
    exchange_.Deliver(*comm_, descriptor_, out, &path);
    completed_ns_ = NowNs();
    comm_->NotePath(path);
  }
  stage_ = Stage::kDone;
  return true;
}

// Always true: the stage has changed. Who fails to begin gives up first, since others may be at it
// and write to this rank's buffers.
bool CollectiveTask::BeginInStep(Fault (CollectiveTask::*begin)(), Fault* fault) {
  Fault f = (this->*begin)();
  if (!f) return true;
  if (!GiveUp()) {  // they have done it all
    FinishShared();
    return true;
  }
  *fault = std::move(f);
  // The others wait for this rank's share: nothing but the abort word can tell them.
  SetAbort(comm_->view(), AbortCause::kInternal, comm_->rank());
  stage_ = Stage::kDone;
  return true;
}

bool CollectiveTask::EachRankChosen() const {
  const uint64_t k = descriptor_.sequence;
  return comm_->view().slot(k).each_rank.load(std::memory_order_seq_cst) == k + 1;
}

void CollectiveTask::FinishShared() {
  const ControlView& view = comm_->view();
  const Completion completion = CompletionOf(view, descriptor_.sequence);
  completed_ns_ = completion.at_ns;
  comm_->NotePath(completion.path);
  if (!completion.left) Leave(view, descriptor_.sequence);
  stage_ = Stage::kDone;
}

void CollectiveTask::Finish() {
  const ControlView& view = comm_->view();
  const uint64_t k = descriptor_.sequence;
  const OpRun& run = run_->run;
  if (run.phases == 0) {  // nothing to move: arriving was all
    completed_ns_ = NowNs();
    if (run.barrier->Enter() && run.barrier->Arrive() == comm_->size())
      Complete(view, k, completed_ns_, false);
  } else {
    // The phase barrier can be over an instant before the last rank stored the time: then
    // now is right.
    int64_t at = view.slot(k).completed_ns.load(std::memory_order_relaxed);
    completed_ns_ =
        view.header->done.completed.load(std::memory_order_seq_cst) > k && at ? at : NowNs();
  }
  comm_->NotePath(run_->told);
  Leave(view, k);
  stage_ = Stage::kDone;
}

Task::Progress CollectiveTask::Advance(Fault* fault) {
  const Progress progress = Go(fault);
  if (progress == Progress::kDone) {
    if (StrictMode() && !*fault) PoisonInput();
    settled_ = true;
    comm_->DoneWith(descriptor_.sequence);
    // After an abort other processes may still be at it.
    if (comm_->buffers().shared())
      comm_->buffers().End(comm_->name(), descriptor_.stream,
                           AbortOf(comm_->view()).cause == AbortCause::kNone);
  }
  return progress;
}

Task::Progress CollectiveTask::Go(Fault* fault) {
  if (!started_) {
    started_ = true;
    // What was queued behind a failure must not meet: its input may be what failed.
    if (stage_ == Stage::kPost && AbortOf(comm_->view()).cause != AbortCause::kNone) {
      *fault = Trouble();
      if (*fault) {
        stage_ = Stage::kDone;
        return Progress::kDone;
      }
    }
    // This may be the enqueuing call: announce a large operation, but do not run it here.
    if (!exchanges_ && in_.bytes + out_.bytes > kInlineBytes &&
        (stage_ != Stage::kPost || TryPostNow()))
      return Progress::kWaiting;
  }
  for (;;) {
    while (stage_ != Stage::kDone && Step(fault)) {
    }
    if (stage_ == Stage::kDone) return Progress::kDone;
    // Whoever makes waiting pointless wakes all sleepers; the others' records are not worth
    // a look before.
    if (!std::exchange(slept_, false)) return Progress::kWaiting;
    Fault trouble = Trouble();
    if (!trouble) {
      NoteStall();
      return Progress::kWaiting;
    }
    // A rank may have gone right after it did its part: what can go on, goes on.
    if (CanGoOn() || !GiveUp()) continue;
    if (trouble.kind == FaultKind::kExecTimeout)
      SetAbort(comm_->view(), AbortCause::kTimeout, comm_->rank());
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
  const bool crowded = header->oversubscribed != 0;
  // While it spins it mostly looks at the word that changes last, and leaves the slot's line to
  // those who are still to come.
  uint32_t looks = 0;
  auto complete = [&] {
    return stage_ == Stage::kMatch && !crowded && !exchanges_ && ++looks % 16 ? Completed() : ready();
  };
  if (comm_->OutlastWait(complete, v_ ? (in_.bytes + out_.bytes) * comm_->size()
                                     : BytesMoved(descriptor_, comm_->size()))) return;
  if (!waiting_) {  // the time-out begins; what a short wait took before does not count
    waiting_ = true;
    waiting_since_ns_ = NowNs();
    const bool forever = static_cast<Op>(descriptor_.op) == Op::kBarrier;  // semantics C.2
    deadline_ = Deadline::After(forever ? -1 : comm_->config().exec_timeout_ms);
  }
  NoteWaiting(true);
  if (differs_since_ns_)
    limit_ns = std::clamp<int64_t>(differs_since_ns_ + kGraceNs - NowNs(), 0, limit_ns);
  header->event.WaitOnce(ready, deadline_.Remaining(limit_ns));
  NoteWaiting(false);
}

}  // namespace hcclrun
