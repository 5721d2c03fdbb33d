#include "comm/exchange.h"

#include <cstring>

#include "base/settings.h"
#include "base/step.h"
#include "collective/kernels.h"
#include "comm/matching.h"

namespace hcclrun {
namespace {

static_assert(static_cast<uint32_t>(Engine::kAuto) == 0);

bool OnWindowPath(const Descriptor& d) {
  return (d.flags & kFlagWindow) && !(d.flags & kFlagUnsafe);
}

bool AllPosted(const ControlView& view, uint64_t sequence) {
  for (uint32_t r = 0; r < view.size; r++) {
    if (view.posted_by(sequence, r).load(std::memory_order_seq_cst) != sequence + 1) return false;
  }
  return true;
}

bool SameCall(const Descriptor& a, const Descriptor& b) {
  return a.op == b.op && a.dtype == b.dtype && a.reduce_op == b.reduce_op && a.root == b.root &&
         a.count == b.count;
}

}  // namespace

uint64_t LargestInput(const Descriptor& d, uint32_t ranks) {
  return Extents(static_cast<Op>(d.op), d.count, ElementSize(static_cast<DataType>(d.dtype)), ranks,
                 d.root, d.root)
      .in_bytes;
}

bool FitsExchange(const ControlView& view, const Descriptor& own) {
  return !IsVOperation(static_cast<Op>(own.op)) &&
         LargestInput(own, view.size) <= ExchangeBytes(view.size);
}

bool Exchange::TryPost(Communicator& comm, const Descriptor& own, const char* in,
                       uint64_t in_bytes) {
  const ControlView& view = comm.view();
  const uint64_t k = own.sequence;
  if (!comm.PlaceIsFree(k)) return false;
  HCCLRUN_STEP("exchange.free");
  const uint32_t rank = comm.rank();
  PostedCall& mine = view.call_of(k, rank);
  std::memcpy(static_cast<void*>(&mine.call), &own, kDescriptorLine);
  if (input_ == 0) input_ = LargestInput(own, view.size);
  if (in_bytes) std::memcpy(view.exchanged(k, rank, input_), in, in_bytes);
  windows_ = OnWindowPath(own);
  met_ = 1u << rank;
  HCCLRUN_STEP("exchange.written");
  // Wakes nobody: whoever sleeps until all have come is woken by the last, when it is done with the
  // operation (DoneWith), and not before it has announced its sleep, which makes its own call
  // visible.
  mine.posted.store(k + 1, std::memory_order_release);
  view.ranks[rank].posted.store(k + 1, std::memory_order_relaxed);
  HCCLRUN_STEP("exchange.posted");
  return true;
}

void Exchange::TellThoseInTheSlot(const ControlView& view, const Descriptor& own, uint32_t rank) {
  const uint64_t k = own.sequence;
  view.posted_by(k, rank).store(k + 1, std::memory_order_seq_cst);
  HCCLRUN_STEP("exchange.differs");
  for (uint32_t r = 0; r < view.size; r++) {
    if (view.posted_by(k, r).load(std::memory_order_seq_cst) == k + 1 &&
        !(view.descriptor(k, r).flags & kFlagExchange))
      Fail(view.slot(k), SlotFailure::kMismatch);
  }
  view.header->event.Notify();
}

bool Exchange::AllHere(const ControlView& view, const Descriptor& own,
                       SlotFailure* failure) {
  const uint64_t k = own.sequence;
  const uint32_t everybody = static_cast<uint32_t>((uint64_t{1} << view.size) - 1);
  *failure = own.flags & kFlagSkipped ? SlotFailure::kMismatch : SlotFailure::kNone;
  for (uint32_t missing = everybody & ~met_; missing; missing &= missing - 1) {
    const uint32_t r = static_cast<uint32_t>(__builtin_ctz(missing));
    // Its descriptor and input come before; they stay until this rank is done with the operation.
    if (view.posted_by(k, r).load(std::memory_order_seq_cst) != k + 1) continue;
    const Descriptor& theirs = view.descriptor(k, r);
    if (!(theirs.flags & kFlagExchange) || (theirs.flags & kFlagSkipped) ||
        (!SameCall(theirs, own) && *FirstDifference(theirs, own)) ||
        ((theirs.flags ^ own.flags) & kFlagWindow && *FirstDifference(theirs, own))) {
      *failure = SlotFailure::kMismatch;
    } else if (!SameWindows(theirs, own) && *failure == SlotFailure::kNone) {
      *failure = SlotFailure::kWindowOffsets;
    }
    if (*failure != SlotFailure::kNone) continue;
    windows_ = windows_ && OnWindowPath(theirs);
    met_ |= 1u << r;
  }
  if (*failure != SlotFailure::kNone || met_ != everybody) return false;
  HCCLRUN_STEP("exchange.met");
  return AllPosted(view, k);  // and nobody has taken its call back since
}

bool Exchange::TakeBack(const ControlView& view, uint64_t sequence, uint32_t rank) {
  std::atomic<uint64_t>& mine = view.posted_by(sequence, rank);
  mine.store(0, std::memory_order_seq_cst);
  HCCLRUN_STEP("giveup.call_taken_back");
  for (uint32_t r = 0; r < view.size; r++) {
    if (r != rank && view.posted_by(sequence, r).load(std::memory_order_seq_cst) != sequence + 1)
      return true;
  }
  mine.store(sequence + 1, std::memory_order_seq_cst);
  return false;
}

void Exchange::Deliver(const Communicator& comm, const Descriptor& own, char* out,
                       Path* path) const {
  const ControlView& view = comm.view();
  HCCLRUN_STEP("exchange.delivers");
  const uint32_t ranks = comm.size(), me = comm.rank(), root = own.root;
  const Op op = static_cast<Op>(own.op);
  const DataType dtype = static_cast<DataType>(own.dtype);
  const uint64_t block = own.count * ElementSize(dtype);
  *path = windows_ ? Path::kWindow : Path::kBuffered;
  const auto from = [&](uint32_t r, uint64_t offset) {
    return view.exchanged(own.sequence, r, input_) + offset;
  };
  const auto reduce = [&](uint64_t offset) {
    const void* sources[kMostExchangers];
    void* to = out;
    for (uint32_t r = 0; r < ranks; r++) sources[r] = from(r, offset);
    Reduce(dtype, static_cast<ReduceOp>(own.reduce_op), &to, 1, sources, static_cast<int>(ranks),
           own.count, false,
           view.header->accumulate_fp32 ? Accumulator::kFp32 : Accumulator::kElementType);
  };
  switch (op) {
    case Op::kAllReduce:
      return reduce(0);
    case Op::kReduce:
      if (me == root) reduce(0);
      return;
    case Op::kReduceScatter:
      return reduce(me * block);
    case Op::kAllGather:
      for (uint32_t r = 0; r < ranks; r++) std::memcpy(out + r * block, from(r, 0), block);
      return;
    case Op::kAllToAll:
      for (uint32_t r = 0; r < ranks; r++) std::memcpy(out + r * block, from(r, me * block), block);
      return;
    case Op::kBroadcast:
      if (me != root) std::memcpy(out, from(root, 0), block);
      return;
    case Op::kScatter:
      std::memcpy(out, from(root, me * block), block);
      return;
    default:
      return;
  }
}

}  // namespace hcclrun
