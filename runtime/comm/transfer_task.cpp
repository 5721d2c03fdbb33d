#include "comm/transfer_task.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/strict_mode.h"
#include "comm/abort.h"
#include "comm/details.h"
#include "comm/matching.h"
#include "comm/thresholds.h"
#include "device/heap.h"
#include "device/poison.h"
#include "shm/lifeline.h"
#include "shm/wait_policy.h"

namespace hcclrun {
namespace {

using Stage = Transfer::Stage;

}  // namespace

TransferTask::TransferTask(std::shared_ptr<Communicator> comm, CallId call, Transfers transfers)
    : comm_(std::move(comm)), call_(call), transfers_(std::move(transfers)) {
  for (const Transfer& t : transfers_) {
    bytes_ += t.buffer.bytes;
    if (t.end == kSenderEnd && t.buffer.is_private) has_private_sends_ = true;
  }
}

TransferTask::TransferTask(TransferTask&& other) noexcept
    : comm_(other.comm_->shared_from_this()),
      call_(other.call_),
      transfers_(std::move(other.transfers_)),
      bytes_(other.bytes_),
      copies_(std::exchange(other.copies_, {})),
      has_private_sends_(other.has_private_sends_),
      started_(other.started_),
      over_(other.over_),
      settled_(std::exchange(other.settled_, true)),
      waiting_(other.waiting_),
      slept_(other.slept_),
      deadline_(other.deadline_),
      waiting_since_ns_(other.waiting_since_ns_),
      completed_ns_(other.completed_ns_),
      fault_(std::move(other.fault_)) {
  queued_by = std::exchange(other.queued_by, 0);
}

TransferTask::~TransferTask() {
  if (started_ && !settled_)
    comm_->view().ranks[comm_->rank()].transfers_done.fetch_add(1, std::memory_order_seq_cst);
  if (queued_by != 0 && !over_) {
    GiveUpAll();
    SetAbort(comm_->view(), AbortCause::kDropped, comm_->rank());
  }
  for (uint64_t offset : copies_) comm_->device()->heap().Free(offset);
}

bool TransferTask::Uses(const MemoryInfo& memory) const {
  return memory.kind != MemoryKind::kPeerView &&
         std::any_of(transfers_.begin(), transfers_.end(), [&](const Transfer& t) {
           return Overlaps(t.given, t.buffer.bytes, memory);
         });
}

std::string TransferTask::Which() const {
  const Transfer& first = transfers_[0];
  return absl::StrCat(first.end == kSenderEnd ? "to rank " : "from rank ", first.peer,
                      " on communicator ", comm_->shown_name(), " (rank ", comm_->rank(),
                      " of it)");
}

// Receives alone have anything to poison; no peer writes before this rank has posted. What a send of
// the same call needs stays as it is.
void TransferTask::PoisonReceives() {
  for (const Transfer& t : transfers_) {
    if (t.end == kSenderEnd || t.call.is_skipped) continue;
    const bool sent = std::any_of(transfers_.begin(), transfers_.end(), [&](const Transfer& other) {
      return other.end == kSenderEnd && other.given < t.given + t.buffer.bytes &&
             t.given < other.given + other.buffer.bytes;
    });
    if (sent || (t.buffer.is_private && CheckDeviceRange(t.given, t.buffer.bytes, "recvBuf")))
      continue;
    FillPoison(t.buffer.is_private ? EngineView(t.given) : t.buffer.address, t.buffer.bytes,
               Poison::kExpected);
  }
}

void TransferTask::OnStreamFailed() {
  for (Transfer& t : transfers_) {
    if (t.stage == Stage::kPost) t.call.is_skipped = 1;
  }
}

const void* TransferTask::Order() const {
  const Transfer& t = transfers_[0];
  if (transfers_.size() != 1 || t.buffer.is_private || t.end == kReceiverEnd) return nullptr;
  return &comm_->view().channel(comm_->rank(), t.end, t.peer).called[t.end];
}

bool TransferTask::Prepare(const void* order) {
  // With HCCLRUN_STRICT receive buffers are poisoned first, which those before it may still use.
  if (StrictMode()) return false;
  return order && order == Order() && (transfers_[0].stage != Stage::kPost || TryPostAll());
}

bool TransferTask::AnyCanGoOn() const {
  return std::any_of(transfers_.begin(), transfers_.end(),
                     [this](const Transfer& t) { return CanGoOn(t); });
}

bool TransferTask::AllDone() const {
  return std::all_of(transfers_.begin(), transfers_.end(),
                     [](const Transfer& t) { return t.stage == Stage::kDone; });
}

bool TransferTask::TryPostAll() {
  bool all = true;
  for (Transfer& t : transfers_) {
    if (t.stage == Stage::kPost && !TryPost(t)) all = false;
  }
  return all;
}

// Before this rank returns an error and its buffer to its owner: sees to it that the peer moves
// nothing from now on. Where the peer has not come, its end is taken back, so that both are never
// there together; otherwise all parts count as claimed, and those that the peer is moving are waited
// for, unless it has died or stands still. All are closed before any is waited for, so that no peer
// begins meanwhile. Either way the peer's transfer fails by the abort word.
void TransferTask::GiveUpAll() {
  for (Transfer& t : transfers_) {
    if (t.stage == Stage::kMatch || t.stage == Stage::kMove) t.parts = Close(t);
  }
  uint32_t who = 0;
  const bool died = OutOfUseByDeath(comm_->view(), &who);
  const Deadline patience = Deadline::After(kPatienceMs);
  const Deadline with_the_dead = Deadline::After(kPatienceForTheDeadMs);
  for (const Transfer& t : transfers_) {
    if (t.stage != Stage::kMatch && t.stage != Stage::kMove) continue;
    const Deadline until = died && who == t.peer ? with_the_dead : patience;
    const TransferSlot& slot = SlotOf(t);
    auto over = [&] { return slot.moved.load(std::memory_order_seq_cst) >= t.parts; };
    while (!over() && !until.passed())
      comm_->view().event_of(comm_->rank()).WaitOnce(over, until.Remaining(kPatienceSliceNs));
  }
}

// Whether anybody but `gone` takes part in what is not done.
bool TransferTask::ConcernsOthers(uint32_t gone) const {
  return std::any_of(transfers_.begin(), transfers_.end(), [gone](const Transfer& t) {
    return t.stage != Stage::kDone && t.peer != gone;
  });
}

Fault TransferTask::CopyOutPrivateSends() {
  for (Transfer& t : transfers_) {
    if (t.end != kSenderEnd || !t.buffer.is_private || t.buffer.bytes == 0) continue;
    if (Fault f = CheckDeviceRange(t.buffer.address, t.buffer.bytes, "sendBuf")) return f;
    Heap& heap = comm_->device()->heap();
    Result<uint64_t> copy = heap.Allocate(t.buffer.bytes, kDevicePage);
    if (!copy.ok()) return copy.fault();
    copies_.push_back(*copy);
    memcpy(heap.base() + *copy, EngineView(t.buffer.address), t.buffer.bytes);
    t.buffer.address = heap.base() + *copy;
    t.call.offset = *copy;
    t.call.is_private = 0;
    t.buffer.is_private = false;
  }
  return Fault::None();
}

Task::Progress TransferTask::Advance(Fault* fault) {
  const Progress progress = Go(fault);
  over_ = progress == Progress::kDone;
  if (over_) {
    settled_ = true;
    comm_->view().ranks[comm_->rank()].transfers_done.fetch_add(1, std::memory_order_seq_cst);
  }
  return progress;
}

Task::Progress TransferTask::Go(Fault* fault) {
  if (!started_) {
    started_ = true;
    if (StrictMode()) PoisonReceives();
    // What was queued behind a failure must not meet what the peer had announced before it.
    if (Fault f = comm_->AsyncFault()) {
      GiveUpAll();
      *fault = std::move(f);
      return Progress::kDone;
    }
    if (has_private_sends_) {
      if (Fault f = CopyOutPrivateSends()) {
        SetAbort(comm_->view(), AbortCause::kInternal, comm_->rank());  // the peers would wait
        *fault = std::move(f);
        return Progress::kDone;
      }
    }
    // This may be the enqueuing call: announce a large transfer, but do not run it here.
    if (bytes_ > kInlineBytes && TryPostAll() && !AllDone()) return Progress::kWaiting;
  }
  for (;;) {
    bool worked;
    do {
      worked = false;
      for (Transfer& t : transfers_) {
        Fault f;
        while (Step(t, &f)) worked = true;
        if (f && !fault_) fault_ = std::move(f);
      }
    } while (worked);
    if (AllDone()) {
      if (completed_ns_ == 0) completed_ns_ = NowNs();
      if (fault_) *fault = std::move(fault_);
      return Progress::kDone;
    }
    // As in CollectiveTask: whoever makes waiting pointless wakes all sleepers.
    if (!std::exchange(slept_, false)) return Progress::kWaiting;
    Fault trouble = Trouble();
    if (!trouble) {
      NoteStall();
      return Progress::kWaiting;
    }
    // A peer may have gone right after it did its part: what can go on, goes on.
    if (AnyCanGoOn()) continue;
    // For the peers; no effect if they have said it. Of one that is gone nobody need be told but
    // those with whom this call has more to do.
    AbortCause cause = AbortCause::kNone;
    if (trouble.kind == FaultKind::kTransferTimeout) {
      cause = AbortCause::kTimeout;
    } else if (trouble.kind == FaultKind::kTransferGone &&
               ConcernsOthers(static_cast<uint32_t>(trouble.n[0]))) {
      cause = AbortCause::kInternal;
    }
    GiveUpAll();
    if (cause != AbortCause::kNone) SetAbort(comm_->view(), cause, comm_->rank());
    *fault = fault_ ? std::move(fault_) : std::move(trouble);
    return Progress::kDone;
  }
}

Fault TransferTask::FaultOf(FaultKind kind, const Communicator& comm, const Transfer& t) {
  const ControlView& view = comm.view();
  const uint32_t me = comm.rank();
  const TransferChannel& channel = view.channel(me, t.end, t.peer);
  const TransferSlot& slot = SlotOf(comm, t);
  // In stage kPost the slot still belongs to an earlier transfer.
  const uint32_t ends = t.stage == Stage::kPost ? 0 : slot.ends.load(std::memory_order_seq_cst);
  auto side = [&](TransferEnd end) {
    TransferDetail::Side s;
    s.position = PositionOf(view, end == t.end ? me : t.peer);
    s.called = channel.called[end].load(std::memory_order_seq_cst);
    s.posted = ends & Bit(end);
    s.call = s.posted ? slot.calls[end] : TransferCall{};
    return s;
  };
  auto detail = std::make_shared<TransferDetail>();
  detail->communicator = comm.shown_name();
  detail->own_rank = me;
  detail->transfer = t.number;
  detail->sender = side(kSenderEnd);
  detail->receiver = side(kReceiverEnd);
  if (kind == FaultKind::kTransferMismatch) {
    detail->claim_telling = [weak = comm.weak_from_this(), number = t.number, peer = t.peer,
                             sends = t.end == kSenderEnd] {
      const std::shared_ptr<const Communicator> c = weak.lock();
      return c ? ClaimTellingTransfer(c->view(), sends ? c->rank() : peer, sends ? peer : c->rank(),
                                      number, c->rank())
               : kNoRank;
    };
  }
  Fault fault(kind, {t.number});
  fault.speaker = comm.speaker();
  if (kind == FaultKind::kTransferGone) {
    const RankRecord& record = view.ranks[t.peer];
    fault.n = {t.peer, uint64_t(record.pid), t.number,
               uint64_t(record.exit_status.load(std::memory_order_relaxed))};
  }
  fault.detail = std::move(detail);
  return fault;
}

Fault TransferTask::Trouble() {
  const ControlView& view = comm_->view();
  if (Fault f = comm_->AsyncFault()) {
    for (const Transfer& t : transfers_) {
      if (t.stage == Stage::kDone) continue;
      if (f.kind == FaultKind::kExecTimeout) return LateFault();
      if ((f.kind == FaultKind::kRankDied || f.kind == FaultKind::kRankExited) && f.n[0] == t.peer)
        return FaultOf(FaultKind::kTransferGone, t);
    }
    return f;
  }
  for (const Transfer& t : transfers_) {
    if (t.stage == Stage::kDone || CanGoOn(t)) continue;
    const RankState state =
        static_cast<RankState>(view.ranks[t.peer].state.load(std::memory_order_seq_cst));
    if (state == RankState::kAlive) continue;
    if (state == RankState::kDestroyed) {
      // What was called before HcclCommDestroy still runs.
      const TransferChannel& channel = view.channel(comm_->rank(), t.end, t.peer);
      if (channel.called[Other(t.end)].load(std::memory_order_seq_cst) > t.number) continue;
    }
    // Because of another one perhaps, whose end was noted before.
    if (AbortOf(view).cause != AbortCause::kNone) return Trouble();
    return FaultOf(FaultKind::kTransferGone, t);
  }
  if (!deadline_.passed() || AnyCanGoOn()) return Fault::None();
  Lifeline::AskForReport(ReportCause::kExecTimeout);
  return LateFault();
}

// Of the first transfer that is not done; there is one while the task waits.
Fault TransferTask::LateFault() const {
  const auto late = std::find_if(transfers_.begin(), transfers_.end(),
                                 [](const Transfer& t) { return t.stage != Stage::kDone; });
  if (late == transfers_.end()) return Fault::None();
  Fault f = FaultOf(FaultKind::kTransferTimeout, *late);
  if (waiting_) f.n[1] = uint64_t(NowNs() - waiting_since_ns_) / 1'000'000;
  return f;
}

void TransferTask::WaitForProgress(int64_t limit_ns) {
  const ControlView& view = comm_->view();
  slept_ = true;
  auto ready = [this, &view] {
    return AnyCanGoOn() || view.header->abort_word.load(std::memory_order_seq_cst) != 0;
  };
  if (comm_->OutlastWait(ready, 2 * bytes_)) return;
  if (!waiting_) {
    waiting_ = true;
    waiting_since_ns_ = NowNs();
    deadline_ = Deadline::After(comm_->config().exec_timeout_ms);
  }
  NoteWaiting(true);
  view.event_of(comm_->rank()).WaitOnce(ready, deadline_.Remaining(limit_ns));
  NoteWaiting(false);
}

void TransferTask::NoteStall() const {
  if (waiting_ && comm_->stall().Due(waiting_since_ns_)) TellStall(LateFault());
}

// For the launcher's verdict and its reports: whom this rank sleeps for.
void TransferTask::NoteWaiting(bool begins) const {
  if (!Lifeline::Activity()) return;
  Waiting w;
  w.kind = WaitKind::kTransfer;
  w.comm = comm_->record();
  for (const Transfer& t : transfers_) {
    if (!begins || t.stage == Stage::kDone) continue;
    if (w.missing == 0) {
      w.sequence = t.number;
      w.target = t.peer;
      w.detail = t.end;
    }
    w.AddMissing(t.peer);
  }
  Lifeline::NoteWaiting(w.missing,
                        w.missing ? comm_->job_rank(static_cast<uint32_t>(w.target)) : -1);
  if (begins) Recorder::Wait(waiter, w);
}

}  // namespace hcclrun
