// What an end of a transfer does in each stage: the protocol of transfer_channel.h.

#include <algorithm>
#include <cstring>

#include "base/step.h"
#include "collective/first_touch.h"
#include "collective/kernels.h"
#include "comm/abort.h"
#include "comm/thresholds.h"
#include "comm/transfer_task.h"
#include "shm/event_count.h"
#include "shm/private_copy.h"

namespace hcclrun {
namespace {

using Stage = Transfer::Stage;

// A transfer says nothing of the others that are under way. Where one rank sends and receives, all
// mostly do, messages of one size: what they move together is what has to fit into the cache. Of many
// ranks some are taken for all; a message that is read at once should not be sent around the cache
// because of ranks that do something else.
bool Streams(uint64_t bytes, uint32_t ranks) {
  constexpr uint32_t kAlike = 16;
  return 2 * bytes * std::min(ranks, kAlike) >= StreamingBytes();
}

}  // namespace

TransferSlot& TransferTask::SlotOf(const Communicator& comm, const Transfer& t) {
  return comm.view().channel(comm.rank(), t.end, t.peer).slot(t.number);
}

bool TransferTask::CanGoOn(const Transfer& t) const {
  const TransferSlot& slot = SlotOf(t);
  switch (t.stage) {
    case Stage::kPost:
      return slot.generation.load(std::memory_order_seq_cst) == t.number / kTransferSlots;
    case Stage::kMatch:
      return (slot.ends.load(std::memory_order_seq_cst) & kBothEnds) == kBothEnds;
    case Stage::kMove:
      return slot.moved.load(std::memory_order_seq_cst) == t.parts ||
             (t.remote && ClaimedParts(slot.claimed.load(std::memory_order_seq_cst)) < t.parts);
    case Stage::kDone:
      return false;
  }
  return false;
}

bool TransferTask::TryPost(Transfer& t) {
  if (!CanGoOn(t)) return false;
  HCCLRUN_STEP("transfer.free");
  const uint64_t now = t.note.BeforePost();
  int64_t at_ns;
  if (DoForBoth(*comm_, t, &at_ns)) {
    completed_ns_ = std::max(completed_ns_, at_ns);
    t.note.Posted(now);
    t.note.Finished(at_ns, PathTaken::kDirect);
    return true;
  }
  Post(*comm_, t);
  t.note.Posted(now);
  return true;
}

void TransferTask::Post(const Communicator& comm, Transfer& t) {
  TransferSlot& slot = SlotOf(comm, t);
  slot.calls[t.end] = t.call;
  HCCLRUN_STEP("transfer.written");
  const uint32_t before = slot.ends.fetch_or(Bit(t.end), std::memory_order_seq_cst);
  HCCLRUN_STEP("transfer.posted");
  if (before) comm.view().event_of(t.peer).Notify();
  t.stage = Stage::kMatch;
}

bool TransferTask::DoForBoth(const Communicator& comm, Transfer& t, int64_t* at_ns) {
  TransferSlot& slot = SlotOf(comm, t);
  uint32_t alone = Bit(Other(t.end));
  if (t.buffer.bytes > kTakenBytes || t.buffer.is_private || t.call.is_skipped ||
      slot.ends.load(std::memory_order_seq_cst) != alone)
    return false;
  // A difference is found again, and told, by who posts as usual.
  if (Match(comm, t) || !t.remote || t.parts != 1) return false;
  slot.calls[t.end] = t.call;
  HCCLRUN_STEP("transfer.written");
  if (!slot.ends.compare_exchange_strong(alone, kBothEnds | kTaken, std::memory_order_seq_cst))
    return false;  // it has given up
  HCCLRUN_STEP("transfer.taken");
  char* const mine = t.buffer.address;
  if (mine != t.remote) {
    if (t.end == kSenderEnd) {
      memmove(t.remote, mine, t.buffer.bytes);
    } else {
      memmove(mine, t.remote, t.buffer.bytes);
    }
  }
  HCCLRUN_STEP("transfer.copied");
  *at_ns = NowNs();
  slot.completed_ns.store(*at_ns, std::memory_order_relaxed);
  slot.left.store(1, std::memory_order_relaxed);
  slot.moved.store(1, std::memory_order_seq_cst);  // publishes all that
  HCCLRUN_STEP("transfer.all_moved");
  comm.view().event_of(t.peer).Notify();
  t.stage = Stage::kDone;
  return true;
}

// Both ends have posted. What the peer wrote is copied first and validated then.
Fault TransferTask::Match(const Communicator& comm, Transfer& t) {
  const TransferCall theirs = PrivateCopy(SlotOf(comm, t).calls[Other(t.end)]);
  if (theirs.is_skipped || t.call.is_skipped || theirs.count != t.call.count ||
      theirs.dtype != t.call.dtype)
    return FaultOf(FaultKind::kTransferMismatch, comm, t);
  const uint64_t heap = comm.heap_bytes(t.peer);
  t.parts = TransferParts(t.buffer.bytes);
  if (t.buffer.is_private) {
    if (Fault f = CheckDeviceRange(t.buffer.address, t.buffer.bytes, "recvBuf")) return f;
    t.buffer.address = EngineView(t.buffer.address);
  }
  if (theirs.is_private) return Fault::None();
  if (t.buffer.bytes > heap || theirs.offset > heap - t.buffer.bytes)
    return Fault(FaultKind::kInternal, "a peer posted a buffer outside its heap");
  t.remote = comm.heap_base(t.peer) + theirs.offset;
  return Fault::None();
}

// Takes the next part of this end; false if there is none.
bool TransferTask::TakePart(TransferSlot& slot, const Transfer& t, uint64_t* part) {
  if (ClaimedParts(slot.claimed.load(std::memory_order_seq_cst)) >= t.parts) return false;
  const bool front = t.end == kSenderEnd;
  const uint32_t before = slot.claimed.fetch_add(front ? 1 : kFromBack, std::memory_order_seq_cst);
  if (ClaimedParts(before) >= t.parts) return false;
  *part = front ? FrontParts(before) : t.parts - 1 - BackParts(before);
  return true;
}

// Moves parts as long as there are any; true when anything was moved or all is complete.
bool TransferTask::Move(Transfer& t) {
  TransferSlot& slot = SlotOf(t);
  const uint64_t part_bytes = TransferPart(t.buffer.bytes);
  bool worked = false;
  for (uint64_t part; t.remote && TakePart(slot, t, &part);) {
    HCCLRUN_STEP("transfer.claimed");
    const uint64_t at = part * part_bytes;
    char* mine = t.buffer.address + at;
    char* theirs = t.remote + at;
    char* to = t.end == kSenderEnd ? theirs : mine;
    const char* from = t.end == kSenderEnd ? mine : theirs;
    if (to != from) {
      const uint64_t bytes = std::min(part_bytes, t.buffer.bytes - at);
      TouchBeforeUse(to, bytes);
      TouchBeforeUse(from, bytes);
      CopyBytes(&to, 1, from, bytes, Streams(t.buffer.bytes, comm_->size()));
    }
    worked = true;
    HCCLRUN_STEP("transfer.copied");
    if (slot.moved.fetch_add(1, std::memory_order_seq_cst) + 1 == t.parts) {
      HCCLRUN_STEP("transfer.all_moved");
      slot.completed_ns.store(NowNs(), std::memory_order_relaxed);
      comm_->view().event_of(t.peer).Notify();
    }
  }
  if (slot.moved.load(std::memory_order_seq_cst) < t.parts) {
    HCCLRUN_STEP("transfer.awaits_rest");
    return worked;
  }
  // The last part can be counted an instant before its mover stored the time: then now is right.
  const int64_t at = slot.completed_ns.load(std::memory_order_relaxed);
  const int64_t done_ns = at ? at : NowNs();
  completed_ns_ = std::max(completed_ns_, done_ns);
  t.note.Finished(done_ns, PathTaken::kDirect);
  Leave(*comm_, t);
  return true;
}

void TransferTask::Leave(const Communicator& comm, Transfer& t) {
  TransferSlot& slot = SlotOf(comm, t);
  t.stage = Stage::kDone;
  HCCLRUN_STEP("transfer.leaves");
  if (slot.left.fetch_add(1, std::memory_order_seq_cst) == 0) return;
  HCCLRUN_STEP("transfer.left");
  slot.ends.store(0, std::memory_order_relaxed);
  slot.left.store(0, std::memory_order_relaxed);
  slot.claimed.store(0, std::memory_order_relaxed);
  slot.moved.store(0, std::memory_order_relaxed);
  slot.completed_ns.store(0, std::memory_order_relaxed);
  slot.generation.store(t.number / kTransferSlots + 1,
                        std::memory_order_seq_cst);  // publishes the resets
  comm.view().event_of(t.peer).Notify();
  comm.view().event_of(comm.rank()).Notify();  // another stream's task
}

// How many parts have been claimed, by either end; none can be from now on. 0 if the peer moves nothing.
uint64_t TransferTask::Close(const Transfer& t) const {
  TransferSlot& slot = SlotOf(t);
  HCCLRUN_STEP("giveup.transfer");
  uint32_t alone = Bit(t.end);
  if (slot.ends.compare_exchange_strong(alone, 0, std::memory_order_seq_cst)) return 0;
  const uint32_t before = slot.claimed.exchange(kPartsClosed, std::memory_order_seq_cst);
  HCCLRUN_STEP("giveup.transfer_closed");
  if (before & kPartsClosed) return 0;  // the peer has given up before
  const uint64_t parts = TransferParts(t.buffer.bytes);
  return alone & kTaken ? parts : std::min<uint64_t>(ClaimedParts(before), parts);
}

bool TransferTask::Step(Transfer& t, Fault* fault) {
  switch (t.stage) {
    case Stage::kPost:
      return TryPost(t);
    case Stage::kMatch:
      if (!CanGoOn(t)) return false;
      HCCLRUN_STEP("transfer.matched");
      if (SlotOf(t).ends.load(std::memory_order_seq_cst) &
          kTaken) {  // which was of one part, and alike
        t.parts = 1;
        t.note.Started();
        t.stage = Stage::kMove;
        return true;
      }
      *fault = Match(*comm_, t);
      if (*fault && fault->kind != FaultKind::kTransferMismatch)  // which the peer finds itself
        SetAbort(comm_->view(), AbortCause::kInternal, comm_->rank());
      if (*fault) {
        t.note.Failed(static_cast<uint32_t>(fault->kind));
        Leave(*comm_, t);
      } else {
        t.note.Started();
        t.stage = Stage::kMove;
      }
      return true;
    case Stage::kMove:
      return Move(t);
    case Stage::kDone:
      return false;
  }
  return false;
}

}  // namespace hcclrun
