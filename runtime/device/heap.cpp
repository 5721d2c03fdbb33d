#include "device/heap.h"

#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/strict_mode.h"
#include "device/heap_header.h"
#include "device/memory_map.h"
#include "device/program_view.h"
#include "shm/budget.h"

namespace hcclrun {
namespace {

constexpr uint64_t kSmallestHeap = uint64_t{256} << 20;
// Of RLIMIT_AS; the rest is for the views of other ranks' heaps and for the program.
constexpr uint64_t kShareOfAddressLimit = 16;
// Free() returns pages at once when less than 1/kScarce of the budget is left.
constexpr uint64_t kScarce = 4;

// The size to try first. A limit on address space gives the same size to all ranks that
// run under it.
uint64_t WantedSize() {
  uint64_t size = Settings::Get().hbm_bytes;
#ifdef __SANITIZE_THREAD__
  // ThreadSanitizer's shadow has no room for more.
  if (!getenv("HCCLRUN_HBM_SIZE")) size = std::min(size, uint64_t{1} << 30);
#endif
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const uint64_t views = StrictMode() ? 2 : 1;
    uint64_t fitting = std::max(
        kSmallestHeap, uint64_t{limit.rlim_cur} / (views * kShareOfAddressLimit) & ~(kGranule - 1));
    if (size > fitting) {
      Tell(LogLevel::kWarning,
           absl::StrCat("the limit on address space (ulimit -v) allows device heaps of ",
                        fitting >> 20, " MiB only, instead of ", size >> 20,
                        " MiB (HCCLRUN_HBM_SIZE)"));
      size = fitting;
    }
  }
  return std::max(size, 2 * kGranule);
}

uint64_t RandomUid() {
  uint64_t uid = 0;
  while (uid == 0) (void)!getrandom(&uid, sizeof uid, 0);
  return uid;
}

// The heaps of this process, for giving back what they keep. Never destroyed.
struct Registry {
  std::mutex mutex;  // taken before any heap's
  std::set<Heap*> heaps;
};

Registry& AllHeaps() {
  static Registry* registry = new Registry();
  return *registry;
}

uint64_t AlignUp(uint64_t n, uint64_t alignment) { return (n + alignment - 1) & ~(alignment - 1); }

}  // namespace

Result<std::unique_ptr<Heap>> Heap::Create() {
  uint64_t size = WantedSize();
  for (;;) {
    Result<std::unique_ptr<Heap>> heap = CreateSized(size);
    if (heap.ok() || heap.fault().kind != FaultKind::kAddressSpace || size / 2 < kSmallestHeap)
      return heap;
    Tell(LogLevel::kWarning,
         absl::StrCat("no address space for a device heap of ", size >> 20, " MiB, trying half"));
    size = AlignUp(size / 2, kGranule);
  }
}

Result<std::unique_ptr<Heap>> Heap::CreateSized(uint64_t size) {
  Result<MemoryObject> object = MemoryObject::Create(size);
  if (!object.ok()) return object.fault();
  Result<boost::interprocess::mapped_region> region = object->Map();
  if (!region.ok()) return region.fault();
  boost::interprocess::mapped_region closed;
  if (StrictMode()) {
    Result<boost::interprocess::mapped_region> view = object->MapClosed(NextProgramAddress(size));
    if (!view.ok()) return view.fault();
    closed = std::move(*view);
  }
  std::unique_ptr<Heap> heap(
      new Heap(std::move(*object), std::move(*region), std::move(closed)));
  // Only the page of the constants; slots get pages with the first export.
  if (Fault f = heap->Commit(0, kDevicePage)) return f;
  heap->uid_ = RandomUid();
  HeapHeader* header = reinterpret_cast<HeapHeader*>(heap->base_);
  header->identity = {kHeapMagic, kHeapVersion, getpid(), heap->uid_, size};
  return heap;
}

Heap::Heap(MemoryObject object, boost::interprocess::mapped_region region,
           boost::interprocess::mapped_region closed)
    : object_(std::move(object)),
      region_(std::move(region)),
      closed_(std::move(closed)),
      base_(static_cast<char*>(region_.get_address())),
      program_base_(closed_.get_address() ? static_cast<char*>(closed_.get_address()) : base_),
      size_(object_.size()),
      ranges_(size_),
      commits_(size_) {
  ranges_.Allocate(kGranule, kGranule);  // the header, at offset 0
  Registry& registry = AllHeaps();
  std::lock_guard<std::mutex> lock(registry.mutex);
  registry.heaps.insert(this);
}

Heap::~Heap() {
  Registry& registry = AllHeaps();
  std::lock_guard<std::mutex> lock(registry.mutex);
  registry.heaps.erase(this);
  Budget::Get().Refund(commits_.committed_bytes());  // the pages go with the object
}

// When the budget has no room, everything that heaps of this process keep is given back and the
// request tried once more: kept pages must never be the reason for a refusal.
Result<uint64_t> Heap::Allocate(uint64_t bytes, uint64_t alignment) {
  for (bool again = false;; again = true) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      Result<uint64_t> offset = AllocateLocked(bytes, alignment);
      if (!offset.ok()) return offset;
      Fault fault = CommitLocked(*offset, bytes);
      if (!fault) {
        peak_ = std::max(peak_, UsedLocked());
        return offset;
      }
      ranges_.Free(*offset);
      if (again || fault.kind != FaultKind::kMemoryExhausted)
        return ExhaustedLocked(bytes, std::move(fault));
    }
    DecommitIdleEverywhere();
  }
}

Result<uint64_t> Heap::AllocateUncommitted(uint64_t bytes, uint64_t alignment) {
  std::lock_guard<std::mutex> lock(mutex_);
  Result<uint64_t> offset = AllocateLocked(bytes, alignment);
  peak_ = std::max(peak_, UsedLocked());
  return offset;
}

Fault Heap::Commit(uint64_t offset, uint64_t bytes) {
  if (offset > size_ || bytes > size_ - offset)
    return Fault(FaultKind::kInternal, "commit beyond the heap");
  for (bool again = false;; again = true) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      Fault fault = CommitLocked(offset, bytes);
      if (!fault) return fault;
      if (again || fault.kind != FaultKind::kMemoryExhausted)
        return ExhaustedLocked(bytes, std::move(fault));
    }
    DecommitIdleEverywhere();
  }
}

void Heap::Free(uint64_t offset) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::optional<uint64_t> size = ranges_.Free(offset);
  if (!size || *size < kGranule) return;
  Budget& budget = Budget::Get();
  uint64_t left = budget.limit() - std::min(budget.limit(), budget.used());
  if (left < budget.limit() / kScarce) DecommitIdleLocked();
}

Result<uint64_t> Heap::AllocateLocked(uint64_t bytes, uint64_t alignment) {
  alignment = std::max(alignment, kDevicePage);
  if (bytes <= size_) {
    if (std::optional<uint64_t> offset = ranges_.Allocate(AlignUp(bytes, kDevicePage), alignment))
      return *offset;
  }
  return ExhaustedLocked(bytes, Fault(FaultKind::kMemoryExhausted, {}, "HCCLRUN_HBM_SIZE"));
}

// All or nothing.
Fault Heap::CommitLocked(uint64_t offset, uint64_t bytes) {
  std::vector<std::pair<uint64_t, uint64_t>> done;
  Fault fault;
  commits_.ForEachRun(offset, bytes, false, [&](uint64_t at, uint64_t run) {
    fault = object_.Commit(at, run);
    if (!fault) done.emplace_back(at, run);
    return !fault;
  });
  for (auto [at, run] : done) {
    if (fault) {
      object_.Decommit(at, run);
    } else {
      commits_.Mark(at, run, true);
    }
  }
  return fault;
}

void Heap::DecommitIdleEverywhere() {
  Registry& registry = AllHeaps();
  std::lock_guard<std::mutex> lock(registry.mutex);
  for (Heap* heap : registry.heaps) {
    std::lock_guard<std::mutex> heap_lock(heap->mutex_);
    heap->DecommitIdleLocked();
  }
}

// A block goes only if all of it is free; blocks that a neighbour shares stay.
void Heap::DecommitIdleLocked() {
  std::vector<std::pair<uint64_t, uint64_t>> idle;
  ranges_.ForEachFree([&](uint64_t offset, uint64_t size) {
    uint64_t begin = AlignUp(offset, kCommitBlock), end = (offset + size) & ~(kCommitBlock - 1);
    if (begin >= end) return;
    commits_.ForEachRun(begin, end - begin, true, [&](uint64_t at, uint64_t run) {
      idle.emplace_back(at, run);
      return true;
    });
  });
  for (auto [at, run] : idle) {
    object_.Decommit(at, run);
    commits_.Mark(at, run, false);
  }
}

Fault Heap::ExhaustedLocked(uint64_t bytes, Fault cause) const {
  if (cause.kind != FaultKind::kMemoryExhausted) return cause;
  Budget& budget = Budget::Get();
  const uint64_t available = budget.available(), free = std::min(ranges_.free(), available);
  if (available < ranges_.free()) {  // of the whole job; addresses without memory do not count
    return Fault(
        FaultKind::kMemoryExhausted,
        {bytes, free, std::min(ranges_.largest_free(), free), budget.used(), budget.limit(), 0},
        std::move(cause.text));
  }
  return Fault(FaultKind::kMemoryExhausted,
               {bytes, free, std::min(ranges_.largest_free(), free), UsedLocked(),
                std::min(size_, budget.limit()), peak_},
               std::move(cause.text));
}

uint64_t Heap::peak_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return peak_;
}

uint64_t Heap::used_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return UsedLocked();
}

uint64_t Heap::free_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  uint64_t idle = 0;  // committed and free: available without asking the budget
  ranges_.ForEachFree([&](uint64_t offset, uint64_t size) {
    idle += size - std::min(size, commits_.MissingBytes(offset, size));
  });
  return std::min(ranges_.free(), Budget::Get().available() + idle);
}

uint64_t Heap::committed_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return commits_.committed_bytes();
}

}  // namespace hcclrun
