#include "comm/collective_task.h"

#include <algorithm>

#include "base/log.h"
#include "comm/abort.h"
#include "comm/liveness.h"
#include "comm/matching.h"
#include "shm/lifeline.h"
#include "shm/wait_policy.h"

namespace hcclrun {
namespace {

// Bytes moved from which stores bypass the caches. A reader right behind the operation loses by it
// below about this size and wins above; benchmarks without a reader would like it lower.
constexpr uint64_t kStreamingBytes = uint64_t{32} << 20;

// Bytes of a rank's buffers up to which an operation may run inside the call that enqueues it:
// microseconds.
constexpr uint64_t kInlineBytes = 16 << 10;

}  // namespace

CollectiveTask::CollectiveTask(std::shared_ptr<Communicator> comm, const Descriptor& descriptor,
                               const Buffer& in, const Buffer& out)
    : comm_(std::move(comm)), descriptor_(descriptor), in_(in), out_(out) {}

bool CollectiveTask::TryPostNow() {
  if (!TryPost(comm_->view(), comm_->rank(), descriptor_)) return false;
  stage_ = Stage::kMatch;
  return true;
}

bool CollectiveTask::Prepare() { return stage_ != Stage::kPost || TryPostNow(); }

bool CollectiveTask::CanGoOn() const {
  const ControlView& view = comm_->view();
  const uint64_t k = descriptor_.sequence;
  switch (stage_) {
    case Stage::kPost:
      return view.slot(k).epoch.load(std::memory_order_seq_cst) == k;
    case Stage::kMatch:
      return AllArrived(view, k) || FailureOf(view, k) != SlotFailure::kNone;
    case Stage::kTurn:
      return view.header->completed.load(std::memory_order_seq_cst) == k;
    case Stage::kRun:
      return ClassicExecutor().CanAdvance(run_);
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
      return TryPostNow();
    case Stage::kMatch:
      if (!CanGoOn()) return false;
      stage_ = Stage::kTurn;
      return true;
    case Stage::kTurn: {
      if (!CanGoOn()) return false;
      if (SlotFailure failure = FailureOf(view, k); failure != SlotFailure::kNone) {
        *fault = OperationFault(
            failure == SlotFailure::kMismatch ? FaultKind::kMismatch : FaultKind::kWindowOffsets,
            view, comm_->name(), comm_->rank(), k);
        Leave(view, k);
        stage_ = Stage::kDone;
        return true;
      }
      *fault = PrepareRun();
      if (*fault) {
        // The others are about to wait for this rank's share: nothing but the abort word can tell
        // them.
        SetAbort(view, AbortCause::kInternal, comm_->rank());
        stage_ = Stage::kDone;
        return true;
      }
      stage_ = Stage::kRun;
      return true;
    }
    case Stage::kRun: {
      Executor::State state = ClassicExecutor().Advance(run_, [&view, k](bool last) {
        if (last) {
          view.slot(k).completed_ns.store(NowNs(),
                                          std::memory_order_relaxed);  // published by `completed`
          view.header->completed.store(k + 1, std::memory_order_seq_cst);
        }
        view.header->event.Notify();
      });
      if (state == Executor::State::kFinished) Finish();
      return state != Executor::State::kMustWait;
    }
    case Stage::kDone:
      return true;
  }
  return true;
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
    // The phase barrier can be over an instant before the last rank stored the time: then now is
    // right.
    int64_t at = view.slot(k).completed_ns.load(std::memory_order_relaxed);
    completed_ns_ = view.header->completed.load(std::memory_order_seq_cst) > k && at ? at : NowNs();
  }
  comm_->NotePath(run_.shape.path);
  Leave(view, k);
  stage_ = Stage::kDone;
}

// Reads all descriptors once, privately, and makes addresses of them. Nothing read from shared
// memory is used as an address without the check of Inside().
Fault CollectiveTask::PrepareRun() {
  const std::vector<Descriptor> all = Snapshot(comm_->view(), descriptor_.sequence);
  const uint32_t ranks = comm_->size(), me = comm_->rank();
  run_.shape.op = static_cast<Op>(descriptor_.op);
  run_.shape.ranks = ranks;
  run_.shape.root = descriptor_.root;
  run_.shape.count = descriptor_.count;
  run_.dtype = static_cast<DataType>(descriptor_.dtype);
  run_.shape.elem = ElementSize(run_.dtype);
  run_.shape.chunk_bytes = comm_->chunk_bytes();
  run_.shape.path = Path::kWindow;
  for (const Descriptor& d : all) {
    if (!(d.flags & kFlagWindow) || (d.flags & kFlagUnsafe)) run_.shape.path = Path::kBuffered;
  }
  run_.reduce_op = static_cast<ReduceOp>(descriptor_.reduce_op);
  run_.rank = me;
  run_.barrier = &comm_->view().slot(descriptor_.sequence).barrier;
  run_.operands = &operands_;
  if (!ValidShape(run_.shape)) return Fault(FaultKind::kInternal, "the operation has no plan");
  run_.plan.emplace(run_.shape);
  run_.phases = run_.plan->phases();

  operands_.in.assign(ranks, nullptr);
  operands_.out.assign(ranks, nullptr);
  operands_.stage_a.assign(ranks, nullptr);
  operands_.stage_b.assign(ranks, nullptr);
  operands_.in[me] = in_.address;
  operands_.out[me] = out_.address;
  uint64_t moved = 0;
  for (uint32_t r = 0; r < ranks; r++) {
    const ExtentBytes extents =
        Extents(run_.shape.op, run_.shape.count, run_.shape.elem, ranks, r, run_.shape.root);
    moved += extents.in_bytes + extents.out_bytes;
    if (run_.shape.path == Path::kBuffered) {
      operands_.stage_a[r] = comm_->stage_a(r);
      operands_.stage_b[r] = comm_->stage_b(r);
      continue;
    }
    const uint64_t heap = comm_->heap_bytes(r);
    auto inside = [heap](uint64_t offset, uint64_t bytes) {
      return bytes <= heap && offset <= heap - bytes;
    };
    if (!inside(all[r].in_offset, extents.in_bytes) ||
        !inside(all[r].out_offset, extents.out_bytes)) {
      return Fault(FaultKind::kInternal, "a peer posted a buffer outside its heap");
    }
    if (extents.in_bytes) operands_.in[r] = comm_->heap_base(r) + all[r].in_offset;
    if (extents.out_bytes) operands_.out[r] = comm_->heap_base(r) + all[r].out_offset;
  }
  run_.streaming = moved >= kStreamingBytes && run_.shape.path == Path::kWindow;
  return run_.shape.path == Path::kBuffered && ranks > 1 ? comm_->CommitStages() : Fault::None();
}

Fault CollectiveTask::Trouble() {
  const ControlView& view = comm_->view();
  const uint64_t k = descriptor_.sequence;
  if (Fault f = comm_->AsyncFault()) {
    // "this rank was at" is this operation, whatever the communicator has completed.
    f.n[f.kind == FaultKind::kExecTimeout ? 0 : 2] = k;
    return f;
  }
  // Until all have posted, a rank that left may have posted before; afterwards it still owes its
  // share.
  const bool matched = stage_ == Stage::kTurn || stage_ == Stage::kRun;
  uint32_t gone = matched ? FirstGone(view) : CannotPost(view, k);
  if (gone != kNoRank && !CanGoOn()) {
    return OperationFault(FaultKind::kRankExited, view, comm_->name(), comm_->rank(), k, gone);
  }
  if (deadline_.passed()) {
    SetAbort(view, AbortCause::kTimeout, comm_->rank());
    Fault f = OperationFault(FaultKind::kExecTimeout, view, comm_->name(), comm_->rank(), k);
    f.n[1] = uint64_t(NowNs() - waiting_since_ns_) / 1'000'000;
    return f;
  }
  return Fault::None();
}

Task::Progress CollectiveTask::Advance(Fault* fault) {
  if (!started_) {
    started_ = true;
    // This may be the enqueuing call: announce a large operation, but do not run it here.
    if (in_.bytes + out_.bytes > kInlineBytes && Prepare()) return Progress::kWaiting;
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
    Fault trouble = Trouble();
    if (!trouble) return Progress::kWaiting;
    // A rank may have gone right after it did its part: what can go on, goes on.
    if (CanGoOn()) continue;
    *fault = std::move(trouble);
    stage_ = Stage::kDone;
    return Progress::kDone;
  }
}

void CollectiveTask::WaitForProgress(int64_t limit_ns) {
  ControlHeader* header = comm_->view().header;
  auto ready = [this, header] {
    return CanGoOn() || header->abort_word.load(std::memory_order_seq_cst) != 0;
  };
  if (WaitPolicy::OfThread().Outlast(header->oversubscribed != 0, ready)) return;
  NoteWaiting(true);
  header->event.WaitOnce(ready, deadline_.Remaining(limit_ns));
  NoteWaiting(false);
}

// For the launcher's verdict: whom this rank sleeps for.
void CollectiveTask::NoteWaiting(bool begins) const {
  RankActivity* activity = Lifeline::Activity();
  if (!activity) return;
  uint32_t missing = 0;
  int32_t first = -1;
  for (uint32_t r = 0; begins && stage_ == Stage::kMatch && r < comm_->size(); r++) {
    if (HasPosted(comm_->view(), descriptor_.sequence, r)) continue;
    if (missing++ == 0) first = static_cast<int32_t>(r);
  }
  activity->waiting_for.store(first, std::memory_order_relaxed);
  activity->waiting.store(missing, std::memory_order_relaxed);
}

}  // namespace hcclrun
