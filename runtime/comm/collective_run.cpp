// The second half of a CollectiveTask: who begins the operation that all ranks have posted, and the
// run that an executor advances.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/step.h"
#include "base/thread_value.h"
#include "comm/collective_task.h"
#include "comm/matching.h"
#include "comm/short_operation.h"
#include "comm/thresholds.h"
#include "comm/v_arguments.h"
#include "device/poison.h"

namespace hcclrun {
namespace {

// Pieces are of at least this many bytes, read and written together: less would be more claiming
// than copying. Every home gets a few, so that stealing evens out.
constexpr uint64_t kPieceBytes = 256 << 10;
constexpr uint64_t kPiecesPerHome = 4;

// Of one of several operations under way, that bypass the caches together. Less is not worth the
// fences.
constexpr uint64_t kLeastStreamed = 256 << 10;

// Of an HCCL buffer, for what passes through it at once: a part of a processor's own caches.
constexpr uint64_t kBounceBytes = 64 << 10;

// Whether an operation on the buffered path may have the plan of the window path: every process
// reaches all buffers, and no rank's own overlap so that all of the input must be staged first.
bool WindowPlanFits(OpShape shape, const std::vector<Descriptor>& all) {
  shape.path = Path::kWindow;
  for (uint32_t r = 0; r < shape.ranks; r++) {
    if (all[r].flags & (kFlagPrivateIn | kFlagPrivateOut)) return false;
    const Aliasing aliasing = ClassifyAliasing(shape, r, all[r].in_offset, all[r].out_offset);
    if (!InPlaceSafe(shape, aliasing)) return false;
  }
  return true;
}

// One that this thread has no use for at present.
struct SpareRun {
  std::unique_ptr<CollectiveRun> run;
};

std::unique_ptr<CollectiveRun> TakeRun() {
  std::unique_ptr<CollectiveRun> run = std::move(ThreadValue<SpareRun>::Get().run);
  return run ? std::move(run) : std::make_unique<CollectiveRun>();
}

}  // namespace

void CollectiveTask::GiveBack(std::unique_ptr<CollectiveRun> run) {
  ThreadValue<SpareRun>::Get().run = std::move(run);
}

// Of one operation at most one thread becomes it, however late another one tries: the word only
// grows, since operations of a slot are opened in order.
bool CollectiveTask::BecomeOpener() {
  const uint64_t k = descriptor_.sequence;
  std::atomic<uint64_t>& opener = comm_->view().slot(k).opener;
  uint64_t seen = opener.load(std::memory_order_seq_cst);
  return seen <= k && opener.compare_exchange_strong(seen, k + 1, std::memory_order_seq_cst);
}

Fault CollectiveTask::Begin() {
  const ControlView& view = comm_->view();
  const uint64_t k = descriptor_.sequence;
  const bool may_execute = MayExecute(view, comm_->rank());
  const bool alone = MayBeAlone(view, descriptor_);
  execution_ = alone ? Execution::kOneThread : ChooseExecution(view, descriptor_);
  // Sleepers that cannot go on before the operation is complete are woken then. Had it not been the
  // operation's turn they would be woken by the completion of the one before: they have announced
  // themselves before this thread's arrival, which they did not see, and that came before this
  // thread's look at `completed`.
  if (owes_notice_ && (execution_ == Execution::kEachRank || !may_execute))
    view.header->event.Notify();
  if (execution_ == Execution::kEachRank) return BeginOwnShare();
  if (!may_execute) return Fault::None();
  if (alone) return BecomeOpener() ? BeginAlone() : Fault::None();
  // Before it may be the opener: one that fails leaves the place to others, or closes it.
  helps_ = true;
  run_ = TakeRun();
  if (Fault f = PrepareRun(*run_, true)) return f;
  if (!BecomeOpener()) return Fault::None();
  HCCLRUN_STEP("begin.elected");
  view.slot(k).path.store(static_cast<uint32_t>(run_->told), std::memory_order_relaxed);
  OpenForAll(run_->run);
  HCCLRUN_STEP("begin.opened");
  view.header->event.Notify();
  return Fault::None();
}

// By the opener, who alone may read the slot.
Fault CollectiveTask::BeginAlone() {
  HCCLRUN_STEP("begin.elected");
  const ControlView& view = comm_->view();
  const uint64_t k = descriptor_.sequence;
  Slot& slot = view.slot(k);
  Path path;
  if (!ExecuteShort(*comm_, descriptor_, &path)) {
    if (ChooseExecution(view, descriptor_) == Execution::kEachRank) {
      HCCLRUN_STEP("begin.each_rank");
      slot.each_rank.store(k + 1, std::memory_order_seq_cst);
      view.header->event.Notify();
      return BeginOwnShare();
    }
    CollectiveRun& prepared = ThreadValue<CollectiveRun>::Get();
    if (Fault f = PrepareRun(prepared, true)) {
      slot.opener.store(kClosed, std::memory_order_seq_cst);  // who gives up need not wait
      return f;
    }
    path = prepared.told;
    ExecuteAlone(prepared.run);
  }
  HCCLRUN_STEP("run.alone_done");
  slot.path.store(static_cast<uint32_t>(path), std::memory_order_relaxed);
  completed_ns_ = NowNs();
  comm_->NotePath(path);
  Complete(view, k, completed_ns_, true);
  stage_ = Stage::kDone;
  return Fault::None();
}

Fault CollectiveTask::BeginOwnShare() {
  execution_ = Execution::kEachRank;
  run_ = TakeRun();
  return PrepareRun(*run_, false);
}

// Where this process reaches an own buffer. The user may have unmapped it since the call: the heap
// stays mapped under every buffer but a private one, which is looked up again.
Fault CollectiveTask::OwnAddress(const Buffer& buffer, const char* parameter,
                                 char** address) const {
  *address = nullptr;
  if (buffer.bytes == 0) return Fault::None();
  if (buffer.is_private) {
    *address = EngineView(buffer.address);
    return CheckDeviceRange(buffer.address, buffer.bytes, parameter);
  }
  *address = comm_->heap_base(comm_->rank()) + buffer.heap_offset;
  return Fault::None();
}

namespace {

// All of [at, +bytes) but what lies in [spare, +spare_bytes).
void PoisonAround(char* at, uint64_t bytes, const char* spare, uint64_t spare_bytes, Poison poison) {
  const char* const end = at + bytes;
  const char* const spare_end = spare + spare_bytes;
  if (spare_bytes == 0 || spare_end <= at || end <= spare) {
    FillPoison(at, bytes, poison);
    return;
  }
  if (at < spare) FillPoison(at, uint64_t(spare - at), poison);
  if (spare_end < end) FillPoison(at + (spare_end - at), uint64_t(end - spare_end), poison);
}

}  // namespace

// Before this rank posts: nobody writes the output before that, and what the stream did before is
// done. Of V operations gaps between the blocks stay as they are.
void CollectiveTask::PoisonOutput() {
  char *in = nullptr, *out = nullptr;
  if (descriptor_.flags & kFlagSkipped) return;
  if (OwnAddress(in_, "sendBuf", &in) || OwnAddress(out_, "recvBuf", &out) || !out) return;
  if (!v_) {
    PoisonAround(out, out_.bytes, in, in_.bytes, Poison::kExpected);
    return;
  }
  for (const VBlock& block : v_->layout.Of(comm_->rank()).incoming)
    PoisonAround(out + block.dst, block.bytes, in, in_.bytes, Poison::kExpected);
}

// The zero-copy algorithms of hardware use the input of these as scratch memory (semantics A.10).
void CollectiveTask::PoisonInput() {
  const Op op = static_cast<Op>(descriptor_.op);
  if ((op != Op::kAllReduce && op != Op::kReduceScatter) || comm_->size() == 1) return;
  if (!(descriptor_.flags & kFlagWindow) || comm_->last_path() != Path::kWindow) return;
  char *in = nullptr, *out = nullptr;
  if (OwnAddress(in_, "sendBuf", &in) || OwnAddress(out_, "recvBuf", &out) || !in) return;
  PoisonAround(in, in_.bytes, out, out_.bytes, Poison::kConsumed);
}

// Reads all descriptors once, privately, and makes addresses of them. Nothing read from shared
// memory is used as an address without the check of Inside().
Fault CollectiveTask::PrepareRun(CollectiveRun& prepared, bool for_all) {
  Snapshot(comm_->view(), descriptor_.sequence, &prepared.all);
  const std::vector<Descriptor>& all = prepared.all;
  const uint32_t ranks = comm_->size(), me = comm_->rank();
  OpRun& run = prepared.run;
  run.streaming = run.crowded = run.arrived = false;
  run.claims = nullptr;
  run.homes = 1;
  run.phase = 0;
  run.shape.split = 1;
  run.shape.layout = nullptr;
  run.shape.op = static_cast<Op>(descriptor_.op);
  run.shape.ranks = ranks;
  run.shape.root = descriptor_.root;
  run.shape.count = descriptor_.count;
  run.dtype = static_cast<DataType>(descriptor_.dtype);
  run.shape.elem = ElementSize(run.dtype);
  run.shape.chunk_bytes = comm_->chunk_bytes();
  prepared.told = run.shape.path = Path::kWindow;
  for (const Descriptor& d : all) {
    if (!(d.flags & kFlagWindow) || (d.flags & kFlagUnsafe)) prepared.told = Path::kBuffered;
  }
  // The buffered path of an operation that could be on the window path takes its copy through the
  // HCCL buffers, one more than that. Of the others, which never use windows, nobody could tell.
  run.bounce = nullptr;
  if (prepared.told == Path::kBuffered && ranks > 1) {
    if (v_ || !WindowPlanFits(run.shape, all)) {
      run.shape.path = Path::kBuffered;
    } else if (UsesWindows(run.shape.op)) {
      run.bounce = comm_->stage_a(me);
      run.bounce_bytes = std::min(kBounceBytes, comm_->chunk_bytes());
    }
  }
  run.reduce_op = static_cast<ReduceOp>(descriptor_.reduce_op);
  run.accumulator =
      comm_->view().header->accumulate_fp32 ? Accumulator::kFp32 : Accumulator::kElementType;
  run.rank = me;
  run.barrier = &comm_->view().slot(descriptor_.sequence).barrier;
  run.operands = &prepared.operands;
  if (v_) {
    if (Fault f = PrepareLayout(prepared)) return f;
  }
  if (for_all && !MayBeAlone(comm_->view(), descriptor_)) {
    const ControlHeader& header = *comm_->view().header;
    run.claims = &comm_->view().slot(descriptor_.sequence).claims;
    run.crowded = header.oversubscribed != 0;
    run.homes = std::min({ranks, std::max(header.processors, 1u), kMaxHomes});
    uint64_t at_once = BytesMoved(descriptor_, ranks);
    if (run.shape.path == Path::kBuffered)
      at_once = std::min(at_once, 2 * ranks * run.shape.chunk_bytes);
    const uint64_t piece = std::max(kPieceBytes, at_once / (kPiecesPerHome * run.homes));
    run.shape.split = std::max(1u, static_cast<uint32_t>((at_once / piece + ranks - 1) / ranks));
  }
  if (!ValidShape(run.shape)) return Fault(FaultKind::kInternal, "the operation has no plan");
  run.plan.emplace(run.shape);
  run.phases = run.plan->phases();

  Operands& operands = prepared.operands;
  operands.in.assign(ranks, nullptr);
  operands.out.assign(ranks, nullptr);
  operands.stage_a.assign(ranks, nullptr);
  operands.stage_b.assign(ranks, nullptr);
  if (!for_all) {
    if (Fault f = OwnAddress(in_, "sendBuf", &operands.in[me])) return f;
    if (Fault f = OwnAddress(out_, "recvBuf", &operands.out[me])) return f;
  }
  uint64_t moved = 0;
  for (uint32_t r = 0; r < ranks; r++) {
    const ExtentBytes extents = ReachInto(prepared, r);
    moved += extents.in_bytes + extents.out_bytes;
    if (run.shape.path == Path::kBuffered) {
      operands.stage_a[r] = comm_->stage_a(r);
      operands.stage_b[r] = comm_->stage_b(r);
      if (!for_all) continue;
    }
    const uint64_t heap = comm_->heap_bytes(r);
    auto inside = [heap](uint64_t offset, uint64_t bytes) {
      return bytes <= heap && offset <= heap - bytes;
    };
    if (!inside(all[r].in_offset, extents.in_bytes) ||
        !inside(all[r].out_offset, extents.out_bytes)) {
      return Fault(FaultKind::kInternal, "a peer posted a buffer outside its heap");
    }
    if (extents.in_bytes) operands.in[r] = comm_->heap_base(r) + all[r].in_offset;
    if (extents.out_bytes) operands.out[r] = comm_->heap_base(r) + all[r].out_offset;
  }
  run.streaming =
      moved >= std::min(StreamingBytes(), std::max(kLeastStreamed, StreamingBytes() / outputs_));
  const bool staged = run.shape.path == Path::kBuffered && ranks > 1;
  return staged || run.bounce ? comm_->CommitStages() : Fault::None();
}

// The own blocks, and from the peers what the own arrays do not tell: the largest block of all
// ranks, on which the rounds depend, and on the window path the places in the senders' inputs. All
// arrays fit together by now.
Fault CollectiveTask::PrepareLayout(CollectiveRun& prepared) {
  const std::vector<Descriptor>& all = prepared.all;
  OpRun& run = prepared.run;
  VLayout& layout = prepared.layout;
  const uint32_t ranks = comm_->size(), me = comm_->rank();
  const uint64_t elem = run.shape.elem;
  layout = v_->layout;
  run.shape.layout = &layout;
  for (const Descriptor& d : all) {
    if (d.count > UINT64_MAX / elem)
      return Fault(FaultKind::kInternal, "a peer posted a wild count");
    layout.largest = std::max(layout.largest, d.count * elem);
  }
  if (!IsPairwiseV(run.shape.op) || run.shape.path != Path::kWindow || layout.largest == 0)
    return Fault::None();
  for (uint32_t r = 0; r < ranks; r++) {
    VBlock& block = layout.sides[0].incoming[r];
    if (r == me || block.bytes == 0) continue;
    const PeerArguments arguments(*comm_, r, all[r]);
    const uint64_t displ = arguments ? arguments.At(kSendDispls, me) : UINT64_MAX;
    // Sums with it stay small; ReachInto() has them checked against the peer's heap.
    if (displ > INT64_MAX / 2 / elem)
      return Fault(FaultKind::kInternal, "a peer posted arrays outside its heap");
    block.src = displ * elem;
  }
  return Fault::None();
}

// Bytes from the starts of the rank's input and output that this rank's pieces may touch on the
// window path.
ExtentBytes CollectiveTask::ReachInto(const CollectiveRun& prepared, uint32_t rank) const {
  const OpShape& shape = prepared.run.shape;
  if (!v_) return Extents(shape.op, shape.count, shape.elem, shape.ranks, rank, shape.root);
  const VSide& own = prepared.layout.sides[0];
  ExtentBytes reach = VExtents(own);
  if (rank == comm_->rank()) return reach;
  switch (shape.op) {
    case Op::kAllGatherV:
      return {0, reach.out_bytes};
    case Op::kReduceScatterV:
      return {reach.in_bytes, 0};
    default:
      return {own.incoming[rank].bytes ? own.incoming[rank].src + own.incoming[rank].bytes : 0, 0};
  }
}

}  // namespace hcclrun
