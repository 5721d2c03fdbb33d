#include "comm/matching.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/step.h"
#include "comm/details.h"
#include "comm/exchange.h"
#include "comm/v_matching.h"

namespace hcclrun {
namespace {

// Gives the slot to operation `next`.
void Recycle(Slot& slot, uint64_t next) {
  slot.arrived.store(0, std::memory_order_relaxed);
  slot.reference.store(0, std::memory_order_relaxed);
  slot.failure.store(0, std::memory_order_relaxed);
  slot.left.store(0, std::memory_order_relaxed);
  slot.barrier.Reset();
  slot.claims.Reset();
  slot.epoch.store(next, std::memory_order_seq_cst);  // publishes the resets
}

}  // namespace

bool SameWindows(const Descriptor& a, const Descriptor& b) {
  if (!(a.flags & kFlagWindow) || !UsesWindows(static_cast<Op>(a.op))) return true;
  return a.in_window == b.in_window && a.out_window == b.out_window;
}

void Fail(Slot& slot, SlotFailure failure) {
  uint32_t none = 0;
  if (failure != SlotFailure::kNone) {
    slot.failure.compare_exchange_strong(none, static_cast<uint32_t>(failure),
                                         std::memory_order_seq_cst);
  }
}

bool SlotIsFree(const ControlView& view, uint64_t sequence) {
  Slot& slot = view.slot(sequence);
  uint64_t epoch = slot.epoch.load(std::memory_order_seq_cst);
  if (epoch == sequence) return true;
  if (!MayExchange(view) || epoch > sequence || DoneByAll(view) + kRingSlots <= sequence)
    return false;
  // All are done with what was in it last: exchanges, which leave no trace, or an operation that
  // some took for one.
  if (!slot.epoch.compare_exchange_strong(epoch, kEpochOfNobody, std::memory_order_seq_cst))
    return epoch == sequence;
  Recycle(slot, sequence);
  view.header->event.Notify();
  return true;
}

bool IsItsTurn(const ControlView& view, uint64_t sequence) {
  std::atomic<uint64_t>& completed = view.header->done.completed;
  uint64_t so_far = completed.load(std::memory_order_seq_cst);
  if (so_far >= sequence) return true;
  if (!MayExchange(view)) return false;
  const uint64_t done = std::min(DoneByAll(view), sequence);
  while (so_far < done &&
         !completed.compare_exchange_weak(so_far, done, std::memory_order_seq_cst)) {
  }
  return std::max(so_far, done) >= sequence;
}

uint64_t DoneByAll(const ControlView& view) {
  uint64_t done = UINT64_MAX;
  for (uint32_t r = 0; r < view.size; r++)
    done = std::min(done, view.ranks[r].operations_done.load(std::memory_order_seq_cst));
  return done;
}

const char* FirstDifference(const Descriptor& a, const Descriptor& b) {
  if (a.op != b.op) return "operation";
  if (a.dtype != b.dtype) return "dataType";
  const Op op = static_cast<Op>(a.op);
  if (a.count != b.count && !IsVOperation(op)) return "count";
  if (IsReduction(op) && a.reduce_op != b.reduce_op) return "op";
  if ((op == Op::kBroadcast || op == Op::kReduce || op == Op::kScatter) && a.root != b.root)
    return "root";
  if ((a.flags & kFlagWindow) != (b.flags & kFlagWindow) && !IsVOperation(op))
    return "registered windows";
  return "";
}

bool TryPost(const ControlView& view, uint32_t rank, const Descriptor& descriptor, const VMatch* v,
             bool* last) {
  const uint64_t k = descriptor.sequence;
  Slot& slot = view.slot(k);
  // Pairs with the recycler's store: its resets, and everybody's last reads of the old descriptors,
  // come before.
  if (!SlotIsFree(view, k)) return false;
  HCCLRUN_STEP("post.free");
  PostedCall& mine = view.call_of(k, rank);
  if (v) {
    mine.call = descriptor;
    v->Publish(k);
  } else {
    std::memcpy(static_cast<void*>(&mine.call), &descriptor, kDescriptorLine);
  }
  if (descriptor.flags & kFlagSkipped) Fail(slot, SlotFailure::kMismatch);
  HCCLRUN_STEP("post.written");
  const bool exchanges = MayExchange(view);
  mine.posted.store(k + 1,
                    v || exchanges ? std::memory_order_seq_cst : std::memory_order_release);
  view.ranks[rank].posted.store(k + 1, std::memory_order_relaxed);

  HCCLRUN_STEP("post.posted");
  uint32_t reference = 0;
  if (!slot.reference.compare_exchange_strong(reference, rank + 1, std::memory_order_seq_cst)) {
    // `reference` now holds another rank, whose descriptor was written before it
    // became the reference.
    if (reference - 1 < view.size) {
      const Descriptor& first = view.descriptor(k, reference - 1);
      Fail(slot, *FirstDifference(first, descriptor) ? SlotFailure::kMismatch
                 : !SameWindows(first, descriptor)   ? SlotFailure::kWindowOffsets
                                                     : SlotFailure::kNone);
    }
  }
  for (uint32_t r = 0; exchanges && r < view.size; r++) {
    if (view.posted_by(k, r).load(std::memory_order_seq_cst) == k + 1 &&
        (view.descriptor(k, r).flags & kFlagExchange))
      Fail(slot, SlotFailure::kMismatch);
  }
  const bool is_reference = reference == 0 || reference > view.size;
  if (v && v->Differs(k, is_reference ? kNoRank : reference - 1))
    Fail(slot, SlotFailure::kMismatch);
  HCCLRUN_STEP("post.compared");
  uint32_t arrived = slot.arrived.fetch_add(1, std::memory_order_seq_cst) + 1;
  HCCLRUN_STEP("post.arrived");
  if (slot.failure.load(std::memory_order_seq_cst)) {
    view.header->event.Notify();
  } else if (arrived == view.size) {
    if (last) {
      *last = true;
    } else {
      view.header->event.Notify();
    }
  }
  return true;
}

bool TakeBackArrival(const ControlView& view, uint64_t sequence) {
  std::atomic<uint32_t>& arrivals = view.slot(sequence).arrived;
  uint32_t arrived = arrivals.load(std::memory_order_seq_cst);
  while (arrived > 0 && arrived < view.size) {
    if (!arrivals.compare_exchange_weak(arrived, arrived - 1, std::memory_order_seq_cst)) continue;
    HCCLRUN_STEP("giveup.taken_back");
    if (view.header->done.completed.load(std::memory_order_seq_cst) <= sequence) return true;
    // It was complete a moment ago, and this is an arrival at a later operation of the slot.
    arrivals.fetch_add(1, std::memory_order_seq_cst);
    view.header->event.Notify();
    return false;
  }
  return false;
}

void Snapshot(const ControlView& view, uint64_t sequence, std::vector<Descriptor>* all) {
  const uint32_t ranks = view.size;
  all->resize(ranks);
  const bool is_v = IsVOperation(static_cast<Op>(view.descriptor(sequence, 0).op));
  for (uint32_t r = 0; r < ranks; r++) {
    const Descriptor& posted = view.descriptor(sequence, r);
    if (is_v) {
      (*all)[r] = posted;
    } else {
      std::memcpy(static_cast<void*>(&(*all)[r]), &posted, kDescriptorLine);
    }
  }
}

void PrefetchToPost(const ControlView& view, uint64_t sequence, uint32_t rank) {
  // For writing (1), as long as it stays in the cache (3).
  __builtin_prefetch(&view.call_of(sequence, rank), 1, 3);
  __builtin_prefetch(&view.slot(sequence), 1, 3);
}

void Complete(const ControlView& view, uint64_t sequence, int64_t at_ns, bool alone) {
  Completions& done = view.header->done;
  Slot& slot = view.slot(sequence);
  // All published by `completed`.
  slot.completed_ns.store(at_ns, std::memory_order_relaxed);
  done.last_ns.store(at_ns, std::memory_order_relaxed);
  const uint64_t bit = uint64_t{1} << (sequence % kRingSlots);
  const uint64_t alones = done.alone.load(std::memory_order_relaxed);
  if (alone) {
    const uint64_t windows = done.windows.load(std::memory_order_relaxed);
    const bool window =
        slot.path.load(std::memory_order_relaxed) == static_cast<uint32_t>(Path::kWindow);
    done.windows.store(window ? windows | bit : windows & ~bit, std::memory_order_relaxed);
  }
  if (((alones & bit) != 0) != alone) done.alone.store(alones ^ bit, std::memory_order_relaxed);
  HCCLRUN_STEP("complete.begin");
  done.completed.store(sequence + 1, std::memory_order_seq_cst);
  HCCLRUN_STEP("complete.stored");
  // Afterwards: what the slot says of a later operation must not be taken for this one's, so
  // whoever sees it (acquire) sees that this one is complete.
  if (alone) Recycle(slot, sequence + kRingSlots);
  HCCLRUN_STEP("complete.silent");
  view.header->event.Notify();  // also those that wait for the slot
}

Completion CompletionOf(const ControlView& view, uint64_t sequence) {
  const Completions& done = view.header->done;
  Slot& slot = view.slot(sequence);
  const uint64_t before = done.completed.load(std::memory_order_seq_cst);
  const uint64_t bit = uint64_t{1} << (sequence % kRingSlots);
  const bool alone = done.alone.load(std::memory_order_acquire) & bit;
  const bool window = done.windows.load(std::memory_order_acquire) & bit;
  const int64_t last_ns = done.last_ns.load(std::memory_order_acquire);
  const uint64_t after = done.completed.load(std::memory_order_seq_cst);
  Completion c;
  c.at_ns = before == sequence + 1 && after == before
                ? last_ns
                : slot.completed_ns.load(std::memory_order_relaxed);
  // Where the bits may be about a later operation of the slot, it has been recycled, which only who
  // was alone can have done as long as this rank has not left.
  const bool about_this =
      after < sequence + kRingSlots || slot.epoch.load(std::memory_order_seq_cst) == sequence;
  c.left = alone || !about_this;
  c.path = about_this && alone ? (window ? Path::kWindow : Path::kBuffered)
                               : static_cast<Path>(slot.path.load(std::memory_order_relaxed));
  return c;
}

void Leave(const ControlView& view, uint64_t sequence) {
  Slot& slot = view.slot(sequence);
  HCCLRUN_STEP("leave.begin");
  if (slot.left.fetch_add(1, std::memory_order_seq_cst) + 1 != view.size) return;
  HCCLRUN_STEP("leave.last");
  const bool failed = slot.failure.load(std::memory_order_seq_cst) != 0;
  Recycle(slot, sequence + kRingSlots);
  HCCLRUN_STEP("leave.recycled");
  if (failed) {
    Complete(view, sequence, NowNs(), false);
  } else {
    view.header->event.Notify();
  }
}

RankPosition PositionOf(const ControlView& view, uint32_t rank) {
  const RankRecord& r = view.ranks[rank];
  return {rank,
          r.pid,
          static_cast<RankState>(r.state.load(std::memory_order_seq_cst)),
          r.call.load(std::memory_order_relaxed),
          r.issued.load(std::memory_order_relaxed),
          r.posted.load(std::memory_order_relaxed),
          r.windows.load(std::memory_order_relaxed),
          r.transfers.load(std::memory_order_relaxed)};
}

// Looks through what this rank posted before, as far as the ring has it.
static std::optional<Shift> FindShift(const ControlView& view, const OpDetail& d) {
  const Descriptor *one = nullptr, *other = nullptr;
  std::vector<uint32_t> like_one, like_other;
  for (const OpDetail::Call& c : d.calls) {
    if (!c.posted) continue;
    if (!one) one = &c.descriptor;
    if (!*FirstDifference(*one, c.descriptor)) {
      like_one.push_back(c.position.rank);
    } else if (!other || !*FirstDifference(*other, c.descriptor)) {
      other = &c.descriptor;
      like_other.push_back(c.position.rank);
    } else {
      return std::nullopt;  // three kinds of calls
    }
  }
  if (!other) return std::nullopt;
  std::optional<Shift> found;
  const uint64_t oldest = d.sequence < kRingSlots ? 0 : d.sequence - kRingSlots + 1;
  for (uint64_t k = d.sequence; k >= oldest + 2; k--) {
    if (!HasPosted(view, k - 2, d.own_rank) || !HasPosted(view, k - 1, d.own_rank)) break;
    const Descriptor &earlier = view.descriptor(k - 2, d.own_rank),
                     &later = view.descriptor(k - 1, d.own_rank);
    for (bool one_is_behind : {true, false}) {
      const Descriptor &behind = one_is_behind ? *one : *other,
                       &ahead = one_is_behind ? *other : *one;
      if (*FirstDifference(earlier, behind) || *FirstDifference(later, ahead)) continue;
      if (!found) {
        found = Shift{k - 2, one_is_behind ? like_one : like_other,
                      one_is_behind ? like_other : like_one, false};
      } else if (found->behind != (one_is_behind ? like_one : like_other)) {
        found->either = true;
        return found;
      }
    }
  }
  return found;
}

// Whether it was there for an exchange and has given it up. It posts nothing in this place any
// more: the communicator is out of use.
static bool TookBack(const ControlView& view, uint64_t sequence, uint32_t rank) {
  return view.posted_by(sequence, rank).load(std::memory_order_seq_cst) == 0 &&
         view.ranks[rank].posted.load(std::memory_order_relaxed) > sequence;
}

Fault OperationFault(FaultKind kind, const ControlView& view, const std::string& communicator,
                     uint32_t own_rank, uint64_t sequence, uint32_t only, const VMatch* v,
                     std::function<uint32_t()> claim_telling) {
  auto detail = std::make_shared<OpDetail>();
  detail->claim_telling = std::move(claim_telling);
  if (v && kind == FaultKind::kMismatch) detail->arrays = v->Find(sequence);
  detail->communicator = communicator;
  detail->ranks = view.size;
  detail->own_rank = own_rank;
  detail->sequence = sequence;
  for (uint32_t r = 0; r < view.size; r++) {
    if (only != kNoRank && r != only) continue;
    OpDetail::Call call;
    call.position = PositionOf(view, r);
    call.posted = HasPosted(view, sequence, r) || TookBack(view, sequence, r);
    // Until it has posted, its owner may be writing it.
    call.descriptor = call.posted ? view.descriptor(sequence, r) : Descriptor{};
    detail->calls.push_back(call);
  }
  if (kind == FaultKind::kMismatch) detail->shift = FindShift(view, *detail);
  Fault fault(kind, {sequence});
  if (only != kNoRank) {
    const RankRecord& record = view.ranks[only];
    fault.n = {only,     uint64_t(record.pid),
               sequence, uint64_t(record.exit_status.load(std::memory_order_relaxed)),
               0,        0};
  }
  fault.detail = std::move(detail);
  return fault;
}

// Of a later one that has been told nothing is known about this one: better twice than not at all.
uint32_t ClaimTelling(const ControlView& view, uint64_t sequence, uint32_t rank) {
  std::atomic<uint64_t>& told = view.header->told;
  const uint64_t mine = (sequence + 1) * kMaxRanks + rank;
  uint64_t seen = told.load(std::memory_order_relaxed);
  while (seen / kMaxRanks <= sequence) {
    if (told.compare_exchange_weak(seen, mine, std::memory_order_relaxed)) return kNoRank;
  }
  const uint32_t teller = static_cast<uint32_t>(seen % kMaxRanks);
  return seen / kMaxRanks == sequence + 1 && teller < view.size && teller != rank ? teller
                                                                                  : kNoRank;
}

// Where another pair has taken the word meanwhile, likewise.
uint32_t ClaimTellingTransfer(const ControlView& view, uint32_t sender, uint32_t receiver,
                              uint64_t transfer, uint32_t rank) {
  static_assert(kMaxRanks == 1 << 10);
  std::atomic<uint64_t>& told =
      view.header->told_transfers[(sender + uint64_t{receiver} * 5) % kTransferNotes];
  const uint64_t which = ((uint64_t{1} << 20 | sender << 10 | receiver) << 30) |
                         (transfer & ((uint64_t{1} << 30) - 1));
  uint64_t seen = told.load(std::memory_order_relaxed);
  while (seen / kMaxRanks != which) {
    if (told.compare_exchange_weak(seen, which * kMaxRanks + rank, std::memory_order_relaxed))
      return kNoRank;
  }
  const uint32_t teller = static_cast<uint32_t>(seen % kMaxRanks);
  return (teller == sender || teller == receiver) && teller != rank ? teller : kNoRank;
}

}  // namespace hcclrun
