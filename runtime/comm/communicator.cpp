// A communicator of one rank: how it is made, what keeps it from going on, and how it is left. What
// operations do with it is in operations.cpp, buffer_places.cpp and transfers.cpp.

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
#include "base/speaker.h"
#include "base/step.h"
#include "base/strict_mode.h"
#include "collective/plan.h"
#include "comm/abort.h"
#include "comm/exchange.h"
#include "comm/hccl_buffers.h"
#include "comm/hccl_env.h"
#include "comm/matching.h"
#include "comm/symmetric_heap.h"
#include "comm/v_arguments.h"
#include "device/heap.h"
#include "shm/job_ranks.h"
#include "shm/lifeline.h"
#include "shm/private_copy.h"
#include "shm/recorder.h"

namespace hcclrun {
namespace {

// The part of an HCCL buffer that the buffered path cycles through: small enough that what the
// ranks stage is still in a cache, which they share, when their peers fetch it, and that the next
// round finds it there again; with 4 MiB everything staged goes to memory and comes back, at half
// the speed. Less if there are so many ranks that their pages would fill the machine.
constexpr uint64_t kChunkBytes = uint64_t{512} << 10;
constexpr uint64_t kChunkBytesOfAll = uint64_t{256} << 20;

constexpr uint64_t ChunkBytes(uint32_t ranks, uint64_t smallest_buffer) {
  const uint64_t share = kChunkBytesOfAll / ranks & ~uint64_t{4095};
  return std::max(MinChunkBytes(ranks), std::min({smallest_buffer, kChunkBytes, share}));
}

// In place of one that there was no memory for.
class FailedTask : public Task {
 public:
  explicit FailedTask(uint32_t speaker) : speaker_(speaker) {}
  Progress Advance(Fault* fault) override {
    *fault = Fault(FaultKind::kHostMemory, {0});
    return Progress::kDone;
  }
  void WaitForProgress(int64_t) override {}
  uint32_t speaker() const override { return speaker_; }
  const char* Name() const override { return "operation without memory"; }

 private:
  const uint32_t speaker_;
};

}  // namespace

Communicator::Communicator(Device* device, uint32_t ranks, uint32_t rank, const CommConfig& config)
    : device_(device), size_(ranks), rank_(rank), config_(config), issuing_(*IssueLock::Make()) {}

Communicator::~Communicator() {
  Recorder::EndCommunicator(record_);
  meeting_.reset();
  liveness_.reset();
  windows_.reset();
  RetireSpeaker(speaker_);
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
    return std::move(membership.fault()).SaidBy((*comm)->speaker());
  }
  if (Fault f = (*comm)->Attach(std::move(*membership)))
    return std::move(f).SaidBy((*comm)->speaker());
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
  comm->shown_name_ = ShownName(comm->name());
  comm->speaker_ = AddSpeaker({rank, ranks, comm->shown_name_});
  comm->last_resort_ = std::make_unique<FailedTask>(comm->speaker_);
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

Fault Communicator::Ready() {
  if (suspended.load(std::memory_order_relaxed)) return Fault(FaultKind::kSuspended);
  return connected() ? Fault::None() : meeting_->Await();
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
        return OperationFault(FaultKind::kRankExited, view(), shown_name_, rank_, here, left);
      }
      [[fallthrough]];
    case AbortCause::kRankDied:
      return OperationFault(FaultKind::kRankDied, view(), shown_name_, rank_, here,
                            std::min(abort.rank, size_ - 1));
    case AbortCause::kTimeout: {
      Fault fault = OperationFault(FaultKind::kExecTimeout, view(), shown_name_, rank_, here);
      fault.n[2] = uint64_t{abort.rank} + 1;
      return fault;
    }
    case AbortCause::kDropped:
      return Fault(FaultKind::kCommBroken,
                   "rank " + std::to_string(abort.rank) +
                       " dropped operations that it had called, by destroying their stream or "
                       "resetting its device before they were complete (synchronise first), or for "
                       "lack of host memory");
    default:
      return Fault(FaultKind::kCommBroken,
                   "an operation failed half-way on some rank (see its message)");
  }
}

Fault Communicator::OutOfUse() const {
  if (Fault f = AsyncFault()) return f;
  return buffers_->Lost(name());
}

// For HcclCommDestroy: what was called and is not done. Nothing of a communicator that is out of
// use.
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
       absl::StrCat(
           "HcclCommDestroy: of communicator ", shown_name_, " ", left,
           collective ? " operations" : " calls of sends or receives",
           " are queued and not done, the last one is #", collective ? operations : transfers,
           "; here they go on, on hardware they use what is gone. Synchronise their stream "
           "first"),
       speaker_);
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
