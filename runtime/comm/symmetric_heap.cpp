#include "comm/symmetric_heap.h"

#include <algorithm>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/step.h"
#include "comm/abort.h"
#include "comm/communicator.h"
#include "comm/details.h"
#include "comm/liveness.h"
#include "comm/matching.h"
#include "device/heap.h"
#include "device/memory_map.h"
#include "device/virtual_memory.h"
#include "shm/lifeline.h"
#include "shm/recorder.h"
#include "shm/wait_policy.h"

namespace hcclrun {
namespace {

// Result codes that semantics A.3 fixes for the first call of a communicator.
constexpr int32_t kFirstRoundMissing = 4;
constexpr int32_t kParameter = 1, kNullPointer = 2;

}  // namespace

SymmetricHeap::SymmetricHeap(Communicator* comm)
    : comm_(comm), slots_(comm->config().stride_bytes) {}

// A.4, the parts that can fail here. What needs the other ranks is part of the first exchange.
Fault SymmetricHeap::Initialise() {
  const uint64_t stride = comm_->config().stride_bytes, hbm = comm_->device()->heap().size();
  if (stride == 0 || stride > hbm || stride % kGranule)
    return Fault(FaultKind::kStrideInvalid, {stride, hbm});
  return Fault::None();
}

uint64_t SymmetricHeap::Add(Window window) {
  std::lock_guard<std::mutex> lock(mutex_);
  windows_[next_window_] = std::move(window);
  return next_window_++;
}

Result<uint64_t> SymmetricHeap::Register(void* address, uint64_t bytes) {
  std::lock_guard<std::mutex> serial(register_mutex_);
  if (const char* why = comm_->no_windows())  // steps 7 and 8
    return Fault(FaultKind::kNotSupported, why);
  // Step 10 comes first in A.4's order too: a single rank never has a heap.
  if (comm_->size() == 1) return Add({nullptr, static_cast<char*>(address), bytes});
  if (!initialised_) {
    initialised_ = true;
    broken_ = Initialise();
  }
  if (broken_) return broken_;

  MemoryInfo memory = FindMemory(address);
  const uint64_t at = reinterpret_cast<uintptr_t>(address);
  if (memory.kind != MemoryKind::kMapping || memory.imported || memory.device != comm_->device()) {
    return Fault(FaultKind::kWindowNotVmm, {at});  // steps 11-13
  }
  if (bytes > memory.size - uint64_t(static_cast<char*>(address) - memory.base)) {  // step 14
    return Fault(FaultKind::kOutsideAllocation,
                 {at, bytes, reinterpret_cast<uintptr_t>(memory.base), memory.size}, "addr");
  }
  Result<std::shared_ptr<PhysicalMemory>> physical = PhysicalMemoryAt(address);
  if (!physical.ok()) return Fault(FaultKind::kWindowNotVmm, {at});
  std::shared_ptr<SymmetricMapping> mapping;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<SymmetricMapping>& known = by_identity_[memory.identity];
    if (!known) {
      uint64_t offset = slots_.Allocate(memory.size);
      if (offset == SlotAllocator::kNone) {  // step 15
        by_identity_.erase(memory.identity);
        return Fault(FaultKind::kWindowSlotsFull,
                     {memory.size, slots_.largest_free(), comm_->config().stride_bytes});
      }
      known = std::make_shared<SymmetricMapping>();
      known->identity = memory.identity;
      known->memory = *physical;
      known->base = memory.base;
      known->bytes = memory.size;
      known->slot_offset = offset;
      known->birth_round = rounds_;
      by_base_[known->base] = known;
      Changed();
    }
    mapping = known;
    mapping->references++;
  }
  if (Fault f = Exchange(mapping.get(), bytes, memory.heap_offset)) {
    Drop(mapping);
    return f;
  }
  return Add({mapping, static_cast<char*>(address), bytes});
}

// Steps 17 and 18. Who writes what: this rank its entry of the round's bank, before its arrival
// (seq_cst); everybody reads all entries after all arrivals. A rank that never comes is named after
// the connect timeout, at once if it can no longer come; the heap is out of use on all ranks then,
// because a late arrival would complete the wrong round (A.5).
Fault SymmetricHeap::Exchange(SymmetricMapping* mapping, uint64_t user_bytes,
                              uint64_t heap_offset) {
  const ControlView& view = comm_->view();
  const uint32_t ranks = comm_->size(), me = comm_->rank();
  const uint64_t round = rounds_++;
  const uint64_t target = (round + 1) * ranks;
  std::atomic<uint64_t>& arrivals = view.header->window_arrivals;
  // Every change of `arrivals` before target is an arrival at this round, or the end of it.
  auto complete = [&] {
    return (arrivals.load(std::memory_order_seq_cst) & ~kWindowsBroken) >= target;
  };
  auto given_up = [&] {
    return (arrivals.load(std::memory_order_seq_cst) & kWindowsBroken) != 0 && !complete();
  };
  const int64_t begin = NowNs();
  auto missing = [&](bool late) {
    if (!late) Lifeline::AskForReport(ReportCause::kConnectTimeout);
    broken_ =
        RoundFault(FaultKind::kWindowMissingRank, round, uint64_t(NowNs() - begin) / 1'000'000);
    broken_.n[2] = late;
    if (round == 0) broken_.code_override = kFirstRoundMissing;
    return broken_;
  };
  if (given_up()) return missing(true);

  HCCLRUN_STEP("register.begin");
  WindowEntry& mine = view.window(round, me);
  mine = {round,
          mapping->slot_offset,
          mapping->bytes,
          user_bytes,
          mapping->birth_round,
          heap_offset,
          comm_->config().stride_bytes,
          0};
  view.ranks[me].call.store(static_cast<uint32_t>(CallId::HcclCommSymWinRegister),
                            std::memory_order_relaxed);
  view.ranks[me].windows.store(round + 1, std::memory_order_seq_cst);
  Recorder::Local(comm_->record(), static_cast<uint32_t>(CallId::HcclCommSymWinRegister), round + 1,
                  user_bytes);
  HCCLRUN_STEP("register.written");
  for (uint64_t now = arrivals.load(std::memory_order_seq_cst);;) {
    if (now & kWindowsBroken) return missing(true);
    if (!arrivals.compare_exchange_weak(now, now + 1, std::memory_order_seq_cst)) continue;
    HCCLRUN_STEP("register.arrived");
    if (now + 1 == target) view.header->event.Notify();
    break;
  }

  const Deadline deadline = Deadline::After(comm_->config().connect_timeout_ms);
  const int64_t waiting_since_ns = NowNs();
  while (!complete()) {
    auto ready = [&] {
      return complete() || given_up() || AbortOf(view).cause != AbortCause::kNone;
    };
    if (!comm_->OutlastWait(ready, 0)) {
      NoteWaiting(round);
      view.header->event.WaitOnce(ready, deadline.Remaining(EventCount::kSliceNs));
    }
    if (complete()) break;
    if (given_up()) return missing(false);
    // A rank that left without a failure, before what else may have happened because of that.
    bool hopeless = false;
    for (uint32_t r = 0; r < ranks; r++) {
      const auto state =
          static_cast<RankState>(view.ranks[r].state.load(std::memory_order_seq_cst));
      hopeless |= (state == RankState::kDestroyed || state == RankState::kExited) &&
                  view.ranks[r].windows.load(std::memory_order_seq_cst) <= round;
    }
    // So is one that waited in an operation, for those that are here, until it gave up.
    const Abort abort = AbortOf(view);
    hopeless |= abort.cause == AbortCause::kTimeout && abort.rank < ranks &&
                view.ranks[abort.rank].windows.load(std::memory_order_seq_cst) <= round;
    if (!hopeless) {
      if (Fault f = comm_->AsyncFault()) return broken_ = f;
    }
    if (!hopeless && !deadline.passed()) {
      // The lowest rank that is there speaks for all.
      bool speaks = true;
      for (uint32_t r = 0; r < me; r++)
        speaks &= view.ranks[r].windows.load(std::memory_order_relaxed) <= round;
      if (speaks && comm_->stall().Due(waiting_since_ns)) {
        TellStall(RoundFault(FaultKind::kWindowMissingRank, round,
                             uint64_t(NowNs() - waiting_since_ns) / 1'000'000));
      }
      continue;
    }
    HCCLRUN_STEP("register.gives_up");
    uint64_t now = arrivals.load(std::memory_order_seq_cst);
    while (now < target &&
           !arrivals.compare_exchange_weak(now, now | kWindowsBroken, std::memory_order_seq_cst)) {
    }
    view.header->event.Notify();
  }
  HCCLRUN_STEP("register.complete");
  std::vector<WindowEntry> entries(&view.window(round, 0),
                                   &view.window(round, 0) + ranks);  // private copies
  if (Fault f = Compare(entries, round)) return f;
  std::vector<uint64_t> offsets;
  for (uint32_t r = 0; r < ranks; r++) {
    const uint64_t heap = comm_->heap_bytes(r);
    if (entries[r].heap_offset > heap || entries[r].mapped_bytes > heap - entries[r].heap_offset) {
      return Fault(FaultKind::kInternal, "a peer registered memory outside its heap");
    }
    offsets.push_back(entries[r].heap_offset);
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (mapping->heap_offsets != offsets) {
    ClosePeers(*mapping, nullptr);
    mapping->heap_offsets = std::move(offsets);
    for (uint32_t r = 0; r < ranks; r++)
      OpenPeerRange(comm_->program_base(r) + mapping->heap_offsets[r], mapping->bytes);
  }
  Changed();
  return Fault::None();
}

Fault SymmetricHeap::Compare(const std::vector<WindowEntry>& entries, uint64_t round) {
  const WindowEntry& first = entries[0];
  bool sizes_agree = true, strides_agree = true;
  for (const WindowEntry& e : entries) {
    if (e.slot_offset != first.slot_offset || e.mapped_bytes != first.mapped_bytes ||
        e.birth_round != first.birth_round) {
      return RoundFault(FaultKind::kWindowMismatch, round, 0);
    }
    sizes_agree &= e.user_bytes == first.user_bytes;
    strides_agree &= e.stride == first.stride;
  }
  if (!sizes_agree && Settings::Get().check_is_error) {
    return RoundFault(FaultKind::kWindowMismatch, round, 0).WithCode(kParameter);
  }
  if (!sizes_agree || !strides_agree) {
    for (uint32_t r = 1; r < entries.size(); r++) {
      const bool size = entries[r].user_bytes != first.user_bytes,
                 stride = entries[r].stride != first.stride;
      if (!size && !stride) continue;
      Tell(LogLevel::kWarning,
           absl::StrCat("HcclCommSymWinRegister on ", comm_->shown_name(), ": ",
                        size ? "size" : "hcclSymWinMaxMemSizePerRank", " is ",
                        size ? first.user_bytes : first.stride, " on rank 0 and ",
                        size ? entries[r].user_bytes : entries[r].stride, " on rank ", r,
                        "; all ranks should pass the same (HCCLRUN_CHECK=error refuses this)"),
           comm_->speaker());
      break;
    }
  }
  return Fault::None();
}

// For reports: whom this thread waits for.
void SymmetricHeap::NoteWaiting(uint64_t round) const {
  Waiter* thread = Recorder::Thread();
  if (!thread) return;
  Waiting w;
  w.kind = WaitKind::kRegister;
  w.comm = comm_->record();
  w.sequence = round;
  for (uint32_t r = 0; r < comm_->size(); r++) {
    if (comm_->view().ranks[r].windows.load(std::memory_order_relaxed) <= round) w.AddMissing(r);
  }
  Recorder::Wait(thread, w);
}

Fault SymmetricHeap::RoundFault(FaultKind kind, uint64_t round, uint64_t waited_ms) {
  auto detail = std::make_shared<WindowDetail>();
  detail->communicator = comm_->shown_name();
  detail->ranks = comm_->size();
  detail->own_rank = comm_->rank();
  for (uint32_t r = 0; r < comm_->size(); r++) {
    RankPosition position = PositionOf(comm_->view(), r);
    detail->calls.push_back({position, position.windows > round, comm_->view().window(round, r)});
  }
  detail->claim_telling = [weak = comm_->weak_from_this(), round] {
    const std::shared_ptr<Communicator> comm = weak.lock();
    return comm ? ClaimTelling(comm->view(), kTellsWindows + round, comm->rank()) : kNoRank;
  };
  Fault fault(kind, {round, waited_ms});
  fault.speaker = comm_->speaker();
  fault.detail = std::move(detail);
  return fault;
}

// Peer pointers into it are not for use any more.
void SymmetricHeap::ClosePeers(const SymmetricMapping& mapping, const char* ended_by) {
  for (uint32_t r = 0; r < mapping.heap_offsets.size(); r++)
    ClosePeerRange(comm_->program_base(r) + mapping.heap_offsets[r], mapping.bytes, ended_by);
}

void SymmetricHeap::Drop(const std::shared_ptr<SymmetricMapping>& mapping) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (--mapping->references > 0) return;
  ClosePeers(*mapping, "HcclCommSymWinDeregister");
  slots_.Free(mapping->slot_offset, mapping->bytes);
  by_identity_.erase(mapping->identity);
  // Other memory may have been mapped there and registered since.
  if (auto it = by_base_.find(mapping->base); it != by_base_.end() && it->second == mapping)
    by_base_.erase(it);
  Changed();
}

bool SymmetricHeap::Deregister(uint64_t window) {
  bool last = false;
  std::shared_ptr<SymmetricMapping> mapping;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto it = windows_.find(window);
    if (it == windows_.end()) return false;
    mapping = it->second.mapping;
    last = mapping && mapping->references == 1;
    windows_.erase(it);
  }
  if (last) {
    MemoryInfo memory;  // as part of a window
    memory.kind = MemoryKind::kPeerView;
    memory.device = comm_->device();
    memory.base = mapping->base;
    memory.size = mapping->bytes;
    memory.made_by = "a symmetric window";
    Stream::KeepForUsers(memory, "HcclCommSymWinDeregister", nullptr);
  }
  if (mapping) Drop(mapping);
  Recorder::Local(comm_->record(), static_cast<uint32_t>(CallId::HcclCommSymWinDeregister));
  return true;
}

Result<uint64_t> SymmetricHeap::Find(const void* address, uint64_t bytes, uint64_t* offset) {
  if (const char* why = comm_->no_windows())  // A.8: there is no heap to look into
    return Fault(FaultKind::kNotSupported, why).WithCode(kNullPointer);
  const char* p = static_cast<const char*>(address);
  std::lock_guard<std::mutex> lock(mutex_);
  // Ascending mapping base, then the earliest window on it (A.8); only one mapping can
  // hold the address.
  auto it = by_base_.upper_bound(const_cast<char*>(p));
  if (it != by_base_.begin()) {
    const std::shared_ptr<SymmetricMapping>& mapping = std::prev(it)->second;
    const uint64_t at = uint64_t(p - mapping->base);
    if (at < mapping->bytes && bytes <= mapping->bytes - at) {
      for (const auto& [number, window] : windows_) {
        if (window.mapping != mapping) continue;
        *offset = at;
        return number;
      }
    }
  }
  return Fault(FaultKind::kWindowNotFound, {reinterpret_cast<uintptr_t>(address), bytes});
}

Result<char*> SymmetricHeap::PeerPointer(uint64_t window, uint64_t offset, uint32_t peer) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = windows_.find(window);
  if (it == windows_.end()) return Fault(FaultKind::kUnknownHandle, {window}, "window");
  const Window& w = it->second;
  const uint64_t bytes = w.mapping ? w.mapping->bytes : w.bytes;
  if (peer >= comm_->size())
    return Fault(FaultKind::kBadValue, {peer, 0, comm_->size() - 1}, "peerRank");
  if (offset >= bytes) return Fault(FaultKind::kBadValue, {offset, 0, bytes - 1}, "offset");
  if (!w.mapping) return w.address + offset;
  return comm_->program_base(peer) + w.mapping->heap_offsets[peer] + offset;
}

uint64_t SymmetricHeap::OffsetOf(const char* address, uint64_t bytes, uint64_t identity) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = by_base_.upper_bound(const_cast<char*>(address));
  if (it == by_base_.begin()) return kNoWindow;
  const SymmetricMapping& mapping = *std::prev(it)->second;
  const uint64_t at = uint64_t(address - mapping.base);
  if (mapping.identity != identity || mapping.heap_offsets.empty()) return kNoWindow;
  if (at >= mapping.bytes || bytes > mapping.bytes - at) return kNoWindow;
  return mapping.slot_offset + at;
}

bool SymmetricHeap::Any() {
  std::lock_guard<std::mutex> lock(mutex_);
  return !by_base_.empty();
}

void SymmetricHeap::Clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [base, mapping] : by_base_) ClosePeers(*mapping, "HcclCommDestroy");
  windows_.clear();
  by_identity_.clear();
  by_base_.clear();
  Changed();
  slots_ = SlotAllocator(comm_->config().stride_bytes);
}

}  // namespace hcclrun
