#include "comm/communicator.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/job.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/step.h"
#include "base/strict_mode.h"
#include "collective/plan.h"
#include "comm/abort.h"
#include "comm/collective_task.h"
#include "comm/exchange.h"
#include "comm/hccl_buffers.h"
#include "comm/hccl_env.h"
#include "comm/matching.h"
#include "comm/path_choice.h"
#include "comm/symmetric_heap.h"
#include "comm/thresholds.h"
#include "comm/v_arguments.h"
#include "comm/warning.h"
#include "comm/zero_copy.h"
#include "device/heap.h"
#include "shm/job_ranks.h"
#include "shm/lifeline.h"
#include "shm/private_copy.h"
#include "shm/recorder.h"
#include "shm/wait_policy.h"

namespace hcclrun {
namespace {

// The part of an HCCL buffer that the buffered path cycles through: small enough that what the ranks
// stage is still in a cache, which they share, when their peers fetch it, and that the next round
// finds it there again; with 4 MiB everything staged goes to memory and comes back, at half the
// speed. Less if there are so many ranks that their pages would fill the machine.
constexpr uint64_t kChunkBytes = uint64_t{512} << 10;
constexpr uint64_t kChunkBytesOfAll = uint64_t{256} << 20;

constexpr uint64_t ChunkBytes(uint32_t ranks, uint64_t smallest_buffer) {
  const uint64_t share = kChunkBytesOfAll / ranks & ~uint64_t{4095};
  return std::max(MinChunkBytes(ranks), std::min({smallest_buffer, kChunkBytes, share}));
}

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

}  // namespace

Communicator::Communicator(Device* device, uint32_t ranks, uint32_t rank, const CommConfig& config)
    : device_(device), size_(ranks), rank_(rank), config_(config), issuing_(*IssueLock::Make()) {}

Communicator::~Communicator() {
  Recorder::EndCommunicator(record_);
  meeting_.reset();
  liveness_.reset();
  windows_.reset();
}

Result<std::shared_ptr<Communicator>> Communicator::Create(const RootInfo& info, uint32_t ranks,
                                                           uint32_t rank,
                                                           const CommConfig& config) {
  Result<Device*> device = Device::Current();
  if (!device.ok()) return device.fault();
  Hello hello;
  Result<std::shared_ptr<Communicator>> comm = Prepare(*device, info, ranks, rank, config, &hello);
  if (!comm.ok()) return comm.fault();
  if (Waiter* thread = Recorder::Thread())
    Recorder::Wait(thread, {WaitKind::kMembers, (*comm)->record_});
  Result<Membership> membership = JoinRendezvous(info, hello, (*device)->heap().object().fd());
  if (!membership.ok()) {
    const FaultKind kind = membership.fault().kind;
    if (kind == FaultKind::kRanksMissing || kind == FaultKind::kRootUnreachable)
      Lifeline::AskForReport(ReportCause::kConnectTimeout);
    return membership.fault();
  }
  if (Fault f = (*comm)->Attach(std::move(*membership))) return f;
  return comm;
}

Result<std::shared_ptr<Communicator>> Communicator::CreateUnmet(Device* device,
                                                                const RootInfo& info,
                                                                uint32_t ranks, uint32_t rank,
                                                                const CommConfig& config,
                                                                Ancestry ancestry) {
  Hello hello;
  Result<std::shared_ptr<Communicator>> comm = Prepare(device, info, ranks, rank, config, &hello);
  if (!comm.ok()) return comm.fault();
  (*comm)->meeting_ = std::make_unique<Meeting>(comm->get(), info, hello,
                                                device->heap().object().fd(), std::move(ancestry));
  if (Fault f = (*comm)->meeting_->Start()) return f;
  return comm;
}

// What one rank alone can do: its HCCL buffers, and what it has to say to the others.
Result<std::shared_ptr<Communicator>> Communicator::Prepare(Device* device, const RootInfo& info,
                                                            uint32_t ranks, uint32_t rank,
                                                            const CommConfig& config,
                                                            Hello* hello) {
  std::shared_ptr<Communicator> comm(new Communicator(device, ranks, rank, config));
  if (comm->config_.name.empty()) comm->config_.name = info.name;
  comm->key_ = KeyOf(info);
  Heap& heap = device->heap();
  PeerHeaps::RegisterOwn(heap.uid(), heap.base(), heap.program_base(), heap.size());

  // Address space only; pages come with the first buffered operation. A quarter of the heap bounds
  // it, so that tiny heaps still work.
  const uint64_t bytes =
      std::max(MinChunkBytes(ranks), std::min(config.buffer_bytes, heap.size() / 4)) &
      ~uint64_t{4095};
  Result<std::shared_ptr<HcclBuffers>> buffers =
      HcclBuffers::Get(device, config.buffer_name, bytes);
  if (!buffers.ok()) return buffers.fault();
  if ((*buffers)->bytes() < MinChunkBytes(ranks)) {
    return Fault(FaultKind::kConfigInvalid, {(*buffers)->bytes()},
                 "hcclBufferName of HCCL buffers too small for so many ranks; bytes");
  }
  comm->buffers_ = std::move(*buffers);
  comm->record_ = Recorder::AddCommunicator(std::hash<std::string>()(comm->key_),
                                            comm->name().c_str(), rank, ranks,
                                            comm->buffers_->bytes());

  memset(hello, 0, sizeof *hello);
  hello->ranks = ranks;
  hello->rank = rank;
  hello->pid = getpid();
  // Numbers that mean the same in every process, whatever ASCEND_RT_VISIBLE_DEVICES each has.
  hello->device = Device::PhysicalId(device->id());
  hello->device_count = Settings::Get().device_count;
  hello->heap_uid = heap.uid();
  hello->heap_bytes = heap.size();
  hello->stage_a = comm->buffers_->a();
  hello->stage_b = comm->buffers_->b();
  hello->stage_bytes = comm->buffers_->bytes();
  hello->connect_timeout_ms = config.connect_timeout_ms;
  if (config.places.server.empty()) {
    hello->server = Job::Get().place().server;
    hello->superpod = Job::Get().place().superpod;
    const std::string& logic = HcclEnv::Get().logic_superpod;
    memcpy(hello->logic_superpod, logic.data(),
           std::min(logic.size(), sizeof hello->logic_superpod - 1));
  } else {
    hello->server = config.places.server[rank];
    hello->superpod = config.places.pod[rank];
  }
  return comm;
}

Fault Communicator::Attach(Membership membership) {
  membership_ = std::make_shared<const Membership>(std::move(membership));
  HCCLRUN_STEP("init.attached");
  if (Fault f = CheckPeers()) return f;
  if (config_.places.server.empty()) {
    for (uint32_t r = 0; r < size_; r++) {
      config_.places.server.push_back(view().ranks[r].server);
      config_.places.pod.push_back(view().ranks[r].pod);
    }
  }
  if (CommunicatorRecord* record = Recorder::Communicator(record_)) {
    const std::vector<uint32_t>& servers = config_.places.server;
    record->servers.store(std::set<uint32_t>(servers.begin(), servers.end()).size(),
                          std::memory_order_relaxed);
  }
  no_window_path_ =
      Settings::Get().atlas_a3
          ? config_.places.WindowPathRefused(HcclEnv::Get().inter_hccs_disable)
          : "item 4: the chip (HCCLRUN_SOC) is no Atlas A3, and only that has windows";
  windows_ = std::make_unique<SymmetricHeap>(this);
  liveness_ = std::make_unique<Liveness>(membership_, rank_);
  if (Fault f = liveness_->Watch()) {
    SetAbort(view(), AbortCause::kInternal, rank_);  // the others have a communicator already
    return f;
  }
  if (Recorder::Mine()) {
    std::vector<int32_t> pids;
    for (uint32_t r = 0; r < size_; r++) pids.push_back(view().ranks[r].pid);
    job_ranks_ = JobRanksOf(pids);
  }
  // The rest would have a task anyway, or something to say.
  exchanges_ = MayExchange(view()) && !StrictMode() && !config_.strict && !buffers_->shared() &&
               !Settings::Get().explain;
  HCCLRUN_STEP("init.watching");
  connected_.store(true, std::memory_order_release);
  return Fault::None();
}

const char* Communicator::no_windows() const {
  if (const char* why = config_.places.WindowsRefused()) return why;
  return Settings::Get().atlas_a3
             ? nullptr
             : "a symmetric window on another chip than Atlas A3 (HCCLRUN_SOC)";
}

uint64_t Communicator::CountDerived(const std::string& tail) {
  std::lock_guard<std::mutex> lock(derived_mutex_);
  return derived_[tail]++;
}

// Copies what later becomes addresses, validated against what is really mapped.
Fault Communicator::CheckPeers() {
  uint64_t smallest = UINT64_MAX;
  for (uint32_t r = 0; r < size_; r++) {
    const RankRecord& record = view().ranks[r];
    const uint64_t a = PrivateCopy(record.stage_a), b = PrivateCopy(record.stage_b),
                   bytes = PrivateCopy(record.stage_bytes), heap = heap_bytes(r);
    if (bytes > heap || a > heap - bytes || b > heap - bytes) {
      return Fault(FaultKind::kInternal, "a peer announced HCCL buffers outside its heap");
    }
    stages_.push_back({heap_base(r) + a, heap_base(r) + b});
    smallest = std::min(smallest, bytes);
  }
  chunk_bytes_ = ChunkBytes(size_, smallest);
  return Fault::None();
}

Fault Communicator::CommitStages() {
  if (stages_committed_.load(std::memory_order_acquire)) return Fault::None();
  std::lock_guard<std::mutex> lock(stage_mutex_);
  if (stages_committed_.load(std::memory_order_relaxed)) return Fault::None();
  if (Fault f = buffers_->Commit(chunk_bytes_)) return f;
  stages_committed_.store(true, std::memory_order_release);
  return Fault::None();
}

Fault Communicator::MakeArgumentRing() {
  std::lock_guard<std::mutex> lock(stage_mutex_);
  if (arguments_) return Fault::None();
  Result<std::unique_ptr<ArgumentRing>> ring = ArgumentRing::Create(device_->heap(), size_);
  if (!ring.ok()) return ring.fault();
  arguments_ = std::move(*ring);
  return Fault::None();
}

Fault Communicator::Locate(const void* address, uint64_t bytes, const char* parameter,
                           Buffer* buffer) {
  return IsKnown(address, bytes, buffer) ? Fault::None()
                                         : LocateAnew(address, bytes, parameter, buffer);
}

bool Communicator::IsKnown(const void* address, uint64_t bytes, Buffer* buffer) {
  buffer->address = static_cast<char*>(const_cast<void*>(address));
  buffer->bytes = bytes;
  if (bytes == 0) return true;
  const uint64_t map_generation = MemoryMapGeneration(), window_generation = windows_->generation();
  for (const KnownMemory& known : known_) {
    const uint64_t at = uint64_t(buffer->address - known.whole.address);
    if (at >= known.whole.bytes || bytes > known.whole.bytes - at) continue;
    if (known.map_generation != map_generation || known.window_generation != window_generation)
      continue;
    buffer->heap_offset = known.whole.heap_offset + at;
    if (known.whole.window_offset != kNoWindow)
      buffer->window_offset = known.whole.window_offset + at;
    return true;
  }
  return false;
}

Fault Communicator::FindPlace(const MemoryInfo& memory, const char* parameter,
                              Buffer* buffer) const {
  const uintptr_t address = reinterpret_cast<uintptr_t>(buffer->address);
  if (memory.kind == MemoryKind::kPeerView || memory.imported) {
    if (buffer->bytes > memory.size - uint64_t(buffer->address - memory.base)) {
      return Fault(FaultKind::kOutsideAllocation,
                   {address, buffer->bytes, reinterpret_cast<uintptr_t>(memory.base), memory.size},
                   parameter);
    }
    buffer->is_private = true;
    return Fault::None();
  }
  bool scattered = false;
  Result<HeapRange> range = ResolveRange(buffer->address, buffer->bytes, parameter, &scattered);
  if (!range.ok()) return range.fault();
  if (range->device != device_) {
    return Fault(FaultKind::kOtherDevice,
                 {address, uint64_t(range->device->id()), uint64_t(device_->id())}, parameter);
  }
  buffer->is_private = scattered;
  buffer->heap_offset = range->offset;
  return Fault::None();
}

Fault Communicator::CheckBuffer(const void* address, uint64_t bytes, const char* parameter) const {
  if (bytes == 0) return Fault::None();
  Buffer buffer;
  buffer.address = static_cast<char*>(const_cast<void*>(address));
  buffer.bytes = bytes;
  return FindPlace(FindMemory(address), parameter, &buffer);
}

Fault Communicator::Ready() {
  if (suspended.load(std::memory_order_relaxed)) return Fault(FaultKind::kSuspended);
  return connected() ? Fault::None() : meeting_->Await();
}

// Also remembers the whole of what the buffer lies in, if the rest of it is like the buffer.
Fault Communicator::LocateAnew(const void* address, uint64_t bytes, const char* parameter,
                               Buffer* buffer) {
  KnownMemory known;
  known.map_generation = MemoryMapGeneration();
  known.window_generation = windows_->generation();
  const MemoryInfo memory = FindMemory(address);
  if (Fault f = FindPlace(memory, parameter, buffer)) return f;
  if (memory.kind == MemoryKind::kPeerView || memory.imported) return Fault::None();
  buffer->window_offset = windows_->OffsetOf(buffer->address, bytes, memory.identity);
  if (memory.kind == MemoryKind::kNone || memory.device != device_) return Fault::None();
  known.whole.address = memory.base;
  known.whole.bytes = memory.size;
  known.whole.heap_offset = memory.heap_offset;
  known.whole.window_offset = windows_->OffsetOf(memory.base, memory.size, memory.identity);
  // A mapping may be in a window only in part; allocations never are in one.
  if (known.whole.window_offset != kNoWindow || memory.kind == MemoryKind::kAllocation ||
      !windows_->Any()) {
    known_[next_known_] = known;
    next_known_ = (next_known_ + 1) % kKnown;
  }
  return Fault::None();
}

// The buffers' places in one space: the heap, where both have one.
static std::pair<uint64_t, uint64_t> PlacesOf(const Buffer& in, const Buffer& out) {
  if (!in.is_private && !out.is_private) return {in.heap_offset, out.heap_offset};
  return {reinterpret_cast<uintptr_t>(in.address), reinterpret_cast<uintptr_t>(out.address)};
}

static bool Overlap(const Buffer& in, const Buffer& out) {
  const auto [from, to] = PlacesOf(in, out);
  return from < to + out.bytes && to < from + in.bytes &&
         (from != to || in.bytes != out.bytes);
}

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
  if (ExchangeNow(request, *stream, 0)) return Fault::None();
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
  if (Fault f = Queue(d, in, out, request, *stream, note)) {
    note.Failed(static_cast<uint32_t>(f.kind));
    return f;
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

// An exchange needs no task at all if the others' calls come soon, as they mostly do: within the time
// that queueing one and coming back to it would take. Whatever need not be done before the others see
// the call is done after it is posted, while they come: the notes for reports, and the count of calls,
// which says less than the call that is there. (Who asks for the count looks for the call first, and who
// has left its communicator or the process is not in this function.)
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
  auto keep = [&] {
    if (!posted) note = RecordOperation(*this, d, known->reason, std::max(in.bytes, out.bytes), 0);
    auto task = std::make_unique<CollectiveTask>(shared_from_this(), d, in, out);
    task->note = note;
    if (posted) task->GoOnFrom(exchange);
    return task;
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
  if (!request.v && !buffers_->shared() && in.bytes + out.bytes <= kInlineBytes) {
    CollectiveTask task(std::shared_ptr<Communicator>(std::shared_ptr<void>(), this), descriptor, in,
                        out);
    task.note = note;
    if (stream.RunAtOnce(task, CollectiveTask::Keep)) return Fault::None();
  }
  auto task =
      std::make_unique<CollectiveTask>(shared_from_this(), descriptor, in, out, request.v);
  task->note = note;
  return stream.Enqueue(std::move(task));
}

// Where ranks exchange, operations_done is the first operation that is not done, and done_ahead_ has
// those behind it that are, of other streams: any number, since what one thread does alone for all is
// over before this rank has noticed. Two threads: one raises the number and looks whether any are
// ahead, the other says that there is one and looks at the number (all seq_cst), so at least one sees
// the other. From an operation that is ahead only who takes it out raises the number. The last access
// of this rank to the operation's descriptors comes before.
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
      done_ahead_.insert(sequence);
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

Fault Communicator::AsyncFault() const {
  if (!connected()) return meeting_ ? meeting_->Outcome() : Fault::None();
  Abort abort = AbortOf(view());
  if (abort.cause == AbortCause::kNone) return Fault::None();
  uint64_t here = view().header->done.completed.load(std::memory_order_seq_cst);
  if (MayExchange(view())) here = std::max(here, DoneByAll(view()));
  switch (abort.cause) {
    case AbortCause::kRankFailed:
      // A rank that failed because another one had left before is not the cause.
      if (uint32_t left = CannotPost(view(), here);
          left != kNoRank && left != abort.rank &&
          view().ranks[left].state.load(std::memory_order_seq_cst) !=
              uint32_t(RankState::kFailed)) {
        return OperationFault(FaultKind::kRankExited, view(), name(), rank_, here, left);
      }
      [[fallthrough]];
    case AbortCause::kRankDied:
      return OperationFault(FaultKind::kRankDied, view(), name(), rank_, here,
                            std::min(abort.rank, size_ - 1));
    case AbortCause::kTimeout: {
      Fault fault = OperationFault(FaultKind::kExecTimeout, view(), name(), rank_, here);
      fault.n[2] = uint64_t{abort.rank} + 1;
      return fault;
    }
    case AbortCause::kDropped:
      return Fault(FaultKind::kCommBroken,
                   "rank " + std::to_string(abort.rank) +
                       " dropped operations that it had called, by destroying their stream or "
                       "resetting its device before they were complete; synchronise first");
    default:
      return Fault(FaultKind::kCommBroken,
                   "an operation failed half-way on some rank (see its message)");
  }
}

Fault Communicator::OutOfUse() const {
  if (Fault f = AsyncFault()) return f;
  return buffers_->Lost(name());
}

// For HcclCommDestroy: what was called and is not done. Nothing of a communicator that is out of use.
void Communicator::WarnOfUnfinished() const {
  const RankRecord& record = view().ranks[rank_];
  if (AbortOf(view()).cause != AbortCause::kNone) return;
  const uint64_t operations = record.issued.load(std::memory_order_seq_cst),
                 operations_done = record.operations_done.load(std::memory_order_seq_cst),
                 transfers = record.transfers.load(std::memory_order_seq_cst),
                 transfers_done = record.transfers_done.load(std::memory_order_seq_cst);
  if (operations <= operations_done && transfers <= transfers_done) return;
  const bool collective = operations > operations_done;
  const uint64_t left = collective ? operations - operations_done : transfers - transfers_done;
  Tell(LogLevel::kWarning,
       absl::StrCat("HcclCommDestroy: of communicator ", name(), " ", left,
                    collective ? " operations" : " calls of sends or receives",
                    " are queued and not done, the last one is #",
                    collective ? operations : transfers,
                    "; here they go on, on hardware they use what is gone. Synchronise their stream "
                    "first"));
}

void Communicator::Destroy() {
  Recorder::Local(record_, static_cast<uint32_t>(CallId::HcclCommDestroy));
  Recorder::EndCommunicator(record_);
  if (meeting_) meeting_->End();
  if (!connected()) return;
  HCCLRUN_STEP("destroy.begin");
  RankRecord& record = view().ranks[rank_];
  uint32_t alive = static_cast<uint32_t>(RankState::kAlive);
  record.state.compare_exchange_strong(alive, static_cast<uint32_t>(RankState::kDestroyed),
                                       std::memory_order_seq_cst);
  HCCLRUN_STEP("destroy.left");
  WarnOfUnfinished();
  windows_->Clear();
  view().NotifyAll();
  HCCLRUN_STEP("destroy.told");
}

}  // namespace hcclrun
