// Communicator's half of collective operations: arguments become a numbered descriptor and a task,
// or an exchange at once.

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "base/settings.h"
#include "base/step.h"
#include "base/strict_mode.h"
#include "collective/plan.h"
#include "comm/abort.h"
#include "comm/collective_task.h"
#include "comm/communicator.h"
#include "comm/exchange.h"
#include "comm/hccl_buffers.h"
#include "comm/matching.h"
#include "comm/path_choice.h"
#include "comm/symmetric_heap.h"
#include "comm/thresholds.h"
#include "comm/v_arguments.h"
#include "comm/warning.h"
#include "comm/zero_copy.h"
#include "shm/lifeline.h"
#include "shm/recorder.h"
#include "shm/wait_policy.h"

namespace hcclrun {
namespace {

// How often a call looks whether the others have come, some 20 to 50 ns apart.
constexpr int kLooksInCall = 32;

// What the others are told of it, but for its number, its stream and what V operations add.
Descriptor DescriptorOf(const OpRequest& request, const Buffer& in, const Buffer& out,
                        const PathChoice& choice) {
  Descriptor d;
  memset(&d, 0, sizeof d);
  d.op = static_cast<uint8_t>(request.op);
  d.dtype = static_cast<uint8_t>(request.dtype);
  d.reduce_op = static_cast<uint8_t>(request.reduce_op);
  d.root = request.root;
  d.count = request.count;
  d.in_offset = in.heap_offset;
  d.out_offset = out.heap_offset;
  d.in_window = in.window_offset;
  d.out_window = out.window_offset;
  d.call = static_cast<uint32_t>(request.call);
  if (in.is_private) d.flags |= kFlagPrivateIn;
  if (out.is_private) d.flags |= kFlagPrivateOut;
  if (choice.window) d.flags |= kFlagWindow;
  if (choice.unsafe) d.flags |= kFlagUnsafe;
  return d;
}

// `posted`: when it was called and posted; 0: it is called now.
OperationNote RecordOperation(const Communicator& comm, const Descriptor& d, uint8_t reason,
                              uint64_t bytes, uint64_t posted) {
  if (!Recorder::Mine()) return {};
  const bool rooted = d.op == uint8_t(Op::kBroadcast) || d.op == uint8_t(Op::kReduce) ||
                      d.op == uint8_t(Op::kScatter);
  OperationFacts facts;
  facts.comm = comm.record();
  facts.stream = d.stream;
  facts.call = d.call;
  facts.sequence = d.sequence;
  facts.count = d.count;
  facts.bytes = bytes;
  facts.peer = rooted ? d.root : kNoPeer;
  facts.op = d.op;
  facts.dtype = d.dtype;
  facts.reduce_op = d.reduce_op;
  facts.reason = reason;
  facts.flags = d.flags & ~kFlagExchange;
  facts.called = facts.posted = posted;
  facts.in_window = d.in_window;
  facts.out_window = d.out_window;
  if (CommunicatorRecord* c = Recorder::Communicator(comm.record()))
    c->called.store(d.sequence + 1, std::memory_order_relaxed);
  return Recorder::Operation(facts);
}

// The buffers' places in one space: the heap, where both have one.
std::pair<uint64_t, uint64_t> PlacesOf(const Buffer& in, const Buffer& out) {
  if (!in.is_private && !out.is_private) return {in.heap_offset, out.heap_offset};
  return {reinterpret_cast<uintptr_t>(in.address), reinterpret_cast<uintptr_t>(out.address)};
}

bool Overlap(const Buffer& in, const Buffer& out) {
  const auto [from, to] = PlacesOf(in, out);
  return from < to + out.bytes && to < from + in.bytes &&
         (from != to || in.bytes != out.bytes);
}

}  // namespace

// Of buffers that do.
Fault Communicator::CheckOverlap(const OpRequest& request, const Buffer& in, const Buffer& out) {
  const auto [from, to] = PlacesOf(in, out);
  OpShape shape;
  shape.op = request.op;
  shape.path = Path::kBuffered;
  shape.ranks = size_;
  shape.root = request.root;
  shape.count = request.count;
  shape.elem = ElementSize(request.dtype);
  if (request.v) shape.layout = &request.v->layout;
  const Aliasing aliasing = ClassifyAliasing(shape, rank_, from, to);
  if (aliasing != Aliasing::kBlock && aliasing != Aliasing::kOverlap) return Fault::None();
  return OverlapFault(request.call, in.address, in.bytes, out.address, out.bytes);
}

// Hardware accepts it, with whatever result.
Fault Communicator::OverlapFault(CallId call, const char* in, uint64_t in_bytes, const char* out,
                                 uint64_t out_bytes) {
  Fault fault(FaultKind::kBuffersOverlap, {reinterpret_cast<uintptr_t>(in), in_bytes,
                                           reinterpret_cast<uintptr_t>(out), out_bytes});
  if (StrictMode()) return fault;
  fault.speaker = speaker_;
  if (!overlap_told_.exchange(true, std::memory_order_relaxed)) TellWarning(call, fault);
  return Fault::None();
}

Fault Communicator::Submit(const OpRequest& request, const std::shared_ptr<Stream>& stream) {
  if (stream->device() != device_) return Fault(FaultKind::kStreamOfOtherContext, {0});
  const uint32_t elem = ElementSize(request.dtype);
  const ExtentBytes extents =
      request.v ? VExtents(request.v->layout.Of(rank_))
                : Extents(request.op, request.count, elem, size_, rank_, request.root);
  const bool one_buffer = request.op == Op::kBroadcast;
  const char *in_name = one_buffer ? "buf" : "sendBuf", *out_name = one_buffer ? "buf" : "recvBuf";
  if (!connected()) {
    if (Fault f = CheckBuffer(request.in, extents.in_bytes, in_name)) return f;
    if (Fault f = CheckBuffer(request.out, extents.out_bytes, out_name)) return f;
  }
  if (suspended.load(std::memory_order_relaxed) || !GoesOn()) {
    if (Fault f = Ready()) return f;
    if (Fault f = AsyncFault()) return f;
  }
  if (config_.strict) {
    if (Fault f = CheckStrict(*this, request)) return f;
  }
  std::lock_guard<IssueLock> lock(issuing_);
  if (!request.refused_at_once && ExchangeNow(request, *stream, 0)) return Fault::None();
  PrefetchToPost(view(), next_sequence_, rank_);
  Buffer in, out;
  if (!IsKnown(request.in, extents.in_bytes, &in)) {
    if (Fault f = Locate(request.in, extents.in_bytes, in_name, &in)) return f;
  }
  if (!IsKnown(request.out, extents.out_bytes, &out)) {
    if (Fault f = Locate(request.out, extents.out_bytes, out_name, &out)) return f;
  }

  if (Overlap(in, out)) [[unlikely]] {
    if (Fault f = CheckOverlap(request, in, out)) return f;
  }

  const PathChoice choice = ChoosePath(*this, request, in, out);
  Descriptor d = DescriptorOf(request, in, out, choice);
  d.sequence = next_sequence_;
  if (request.v) {
    if (Fault f = MakeArgumentRing()) return f;
    d.count = request.v->layout.largest / elem;
    d.args_hash = request.v->matrix_hash;
    d.args_offset = arguments_->OffsetOf(d.sequence);
  }
  d.stream = stream->id();

  const OperationNote note =
      RecordOperation(*this, d, Recorder::Reason(choice.reason), std::max(in.bytes, out.bytes), 0);
  try {
    if (Fault f = Queue(d, in, out, request, *stream, note)) {
      note.Failed(static_cast<uint32_t>(f.kind));
      return f;
    }
  } catch (const std::bad_alloc&) {
    note.Failed(static_cast<uint32_t>(FaultKind::kHostMemory));
    throw;
  }
  CountCall(d);
  if (Settings::Get().explain) Explain(*this, request, d.sequence, choice);
  return Fault::None();
}

// Calls are mostly repeated.
const Communicator::KnownExchange* Communicator::FindExchange(const OpRequest& request) {
  const uint64_t map_generation = MemoryMapGeneration(), window_generation = windows_->generation();
  if (ZeroCopyRanges::Get().AnyActive()) [[unlikely]]
    return nullptr;
  const uintptr_t hash = (reinterpret_cast<uintptr_t>(request.in) >> 3) * 5 +
                         (reinterpret_cast<uintptr_t>(request.out) >> 3) + request.root * 7 +
                         static_cast<uint32_t>(request.op);
  KnownExchange& known = known_exchanges_[hash % kKnownExchanges];
  if (known.map_generation == map_generation && known.window_generation == window_generation &&
      known.IsAbout(request))
    return known.descriptor.flags & kFlagExchange ? &known : nullptr;
  const uint32_t elem = ElementSize(request.dtype);
  const ExtentBytes extents = Extents(request.op, request.count, elem, size_, rank_, request.root);
  Buffer in, out;
  if (!IsKnown(request.in, extents.in_bytes, &in) ||
      !IsKnown(request.out, extents.out_bytes, &out) || Overlap(in, out))
    return nullptr;
  const PathChoice choice = ChoosePath(*this, request, in, out);
  Descriptor d = DescriptorOf(request, in, out, choice);
  if (FitsExchange(view(), d)) d.flags |= kFlagExchange;  // that it does not is remembered, too
  known.request = request;
  known.map_generation = map_generation;
  known.window_generation = window_generation;
  known.in = in;
  known.out = out;
  known.descriptor = d;
  known.largest_input = LargestInput(d, size_);
  known.reason = Recorder::Reason(choice.reason);
  return d.flags & kFlagExchange ? &known : nullptr;
}

// An exchange needs no task at all if the others' calls come soon, as they mostly do: within the
// time that queueing one and coming back to it would take. Whatever need not be done before the
// others see the call is done after it is posted, while they come: the notes for reports, and the
// count of calls, which says less than the call that is there. (Who asks for the count looks for
// the call first, and who has left its communicator or the process is not in this function.)
bool Communicator::ExchangeNow(const OpRequest& request, Stream& stream, uint64_t called) {
  if (suspended.load(std::memory_order_relaxed) || !GoesOn() || !exchanges_ ||
      stream.device() != device_ || request.count > kExchangeBytes || request.v ||
      request.root >= size_)
    return false;
  const uint64_t k = next_sequence_;
  PrefetchExchange(view(), k, rank_);
  const KnownExchange* known = FindExchange(request);
  if (!known) return false;
  const Buffer &in = known->in, &out = known->out;
  Descriptor d = known->descriptor;
  d.sequence = k;
  d.stream = stream.id();

  char* const heap = heap_base(rank_);
  Exchange exchange(known->largest_input);
  OperationNote note;
  bool posted = false;
  auto step = [&]() -> bool {
    if (!called && Recorder::Mine()) called = Recorder::Now(*Recorder::Mine());
    if (!exchange.TryPost(*this, d, heap + in.heap_offset, in.bytes)) return false;
    posted = true;
    note = RecordOperation(*this, d, known->reason, std::max(in.bytes, out.bytes), called);
    SlotFailure failure;
    for (int looks = 0; !exchange.AllHere(view(), d, &failure); looks++) {
      if (looks == kLooksInCall || failure != SlotFailure::kNone) return false;
      WaitPolicy::Pause();
    }
    Path path;
    exchange.Deliver(*this, d, heap + out.heap_offset, &path);
    NotePath(path);
    note.FinishedNow(path == Path::kWindow ? PathTaken::kWindow : PathTaken::kBuffered);
    DoneWith(k);
    return true;
  };
  auto keep = [&]() -> std::unique_ptr<Task> {
    if (!posted) note = RecordOperation(*this, d, known->reason, std::max(in.bytes, out.bytes), 0);
    try {
      CollectiveTask task(Borrowed(), d, in, out);
      task.note = note;
      if (posted) task.GoOnFrom(exchange);
      task.queued_by = -1;  // counts as called from now on: gives itself up, unless it is kept
      return CollectiveTask::Keep(task);
    } catch (const std::bad_alloc&) {
      return InsteadOfKeeping();
    }
  };
  if (!stream.StepAtOnce(step, keep)) return false;
  CountCall(d);
  return true;
}

// An operation has been handed over.
void Communicator::CountCall(const Descriptor& d) {
  RankRecord& record = view().ranks[rank_];
  record.call.store(d.call, std::memory_order_relaxed);
  record.last_op.store(d.op, std::memory_order_relaxed);
  next_sequence_ = d.sequence + 1;
  // Whoever reads it asks for a rank that has left, which it did later.
  record.issued.store(next_sequence_, std::memory_order_release);
  if (RankActivity* activity = Lifeline::Activity())
    activity->sequence.store(next_sequence_, std::memory_order_relaxed);
}

// One that is likely to be over at once needs no task of its own, nor a reference to this
// communicator, which the caller holds.
Fault Communicator::Queue(const Descriptor& descriptor, const Buffer& in, const Buffer& out,
                          const OpRequest& request, Stream& stream, OperationNote note) {
  if (buffers_->shared()) {
    if (Fault f = buffers_->Begin(name(), descriptor.stream)) return f;
  }
  // Not idle: it would have to wait for others in front of it.
  if (!request.v && !buffers_->shared() && in.bytes + out.bytes <= kInlineBytes && stream.Idle()) {
    try {
      CollectiveTask task(Borrowed(), descriptor, in, out);
      task.note = note;
      if (stream.RunAtOnce(task, CollectiveTask::Keep)) return Fault::None();
    } catch (const std::bad_alloc&) {
      InsteadOfKeeping();
      throw;
    }
  }
  std::unique_ptr<CollectiveTask> task;
  try {
    task = std::make_unique<CollectiveTask>(shared_from_this(), descriptor, in, out, request.v);
  } catch (const std::bad_alloc&) {  // nobody has seen it, and it does not count
    buffers_->End(name(), descriptor.stream, true);
    throw;
  }
  task->note = note;
  return stream.Enqueue(std::move(task));
}

std::unique_ptr<Task> Communicator::InsteadOfKeeping() {
  SetAbort(view(), AbortCause::kInternal, rank_);
  return std::move(last_resort_);
}

// Where ranks exchange, operations_done is the first operation that is not done, and done_ahead_
// has those behind it that are, of other streams: any number, since what one thread does alone for
// all is over before this rank has noticed. Two threads: one raises the number and looks whether
// any are ahead, the other says that there is one and looks at the number (all seq_cst), so at
// least one sees the other. From an operation that is ahead only who takes it out raises the
// number. The last access of this rank to the operation's descriptors comes before.
void Communicator::DoneWith(uint64_t sequence) {
  std::atomic<uint64_t>& done = view().ranks[rank_].operations_done;
  if (!MayExchange(view())) {
    done.fetch_add(1, std::memory_order_seq_cst);
    return;
  }
  HCCLRUN_STEP("exchange.over");
  uint64_t next = sequence;
  const bool first = done.compare_exchange_strong(next, sequence + 1, std::memory_order_seq_cst);
  if (!first || any_ahead_.load(std::memory_order_seq_cst)) {
    std::lock_guard<std::mutex> lock(ahead_mutex_);
    if (!first) {
      try {
        done_ahead_.insert(sequence);
      } catch (const std::bad_alloc&) {  // it would never count as done
        SetAbort(view(), AbortCause::kInternal, rank_);
      }
      any_ahead_.store(true, std::memory_order_seq_cst);
      HCCLRUN_STEP("exchange.ahead");
    }
    uint64_t at = done.load(std::memory_order_seq_cst);
    for (; done_ahead_.erase(at); at = done.load(std::memory_order_seq_cst))
      done.store(at + 1, std::memory_order_seq_cst);
    if (done_ahead_.empty()) any_ahead_.store(false, std::memory_order_seq_cst);
  }
  view().header->event.Notify();  // whoever waits for a place or a turn
}

bool Communicator::PlaceIsFree(uint64_t sequence) {
  if (sequence < free_places_.load(std::memory_order_acquire)) return true;
  const uint64_t free = DoneByAll(view()) + kRingSlots;
  free_places_.store(free, std::memory_order_release);
  return sequence < free;
}

}  // namespace hcclrun
