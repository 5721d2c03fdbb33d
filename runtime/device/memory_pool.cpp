#include "device/memory_pool.h"

#include <algorithm>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "base/not_allowed.h"
#include "device/device.h"
#include "device/device_memory.h"
#include "device/handle_table.h"
#include "device/memory_map.h"
#include "device/poison.h"
#include "device/stream.h"

namespace hcclrun {
namespace {

HandleTable<MemoryPool>& Table() {
  static HandleTable<MemoryPool>* table = new HandleTable<MemoryPool>(HandleKind::kMemoryPool);
  return *table;
}

// Of all pools. Never destroyed: tasks may end while static objects go.
struct Pools {
  std::mutex mutex;
  std::map<const void*, std::shared_ptr<MemoryPool>> owners;  // by address of the block
};

Pools& All() {
  static Pools* pools = new Pools();
  return *pools;
}

// Some pool may hold more than its threshold. A hint: who sees it late trims at the next call.
std::atomic<bool> g_trim_due{false};

}  // namespace

// Says that its stream has come to the free when it is destroyed, so also when it is given up.
class PoolFreeTask : public Task {
 public:
  PoolFreeTask(std::shared_ptr<MemoryPool> pool, char* address, uint64_t serial)
      : pool_(std::move(pool)), address_(address), serial_(serial) {}
  ~PoolFreeTask() override { MemoryPool::Freed(pool_, address_, serial_); }
  Progress Advance(Fault*) override { return Progress::kDone; }
  void WaitForProgress(int64_t) override {}
  bool CheapToStart() const override { return true; }
  bool RunsAfterFailure() const override { return true; }
  const char* Name() const override { return "free"; }

 private:
  const std::shared_ptr<MemoryPool> pool_;
  char* const address_;
  const uint64_t serial_;
};

void* MemoryPool::Create(Device* device, uint64_t limit) {
  std::shared_ptr<MemoryPool> pool(new MemoryPool(device, limit));
  return pool->handle_ = Table().Add(pool);
}

Result<std::shared_ptr<MemoryPool>> MemoryPool::From(const void* handle) {
  if (std::shared_ptr<MemoryPool> pool = Table().Find(handle)) return pool;
  return UnknownHandle(handle, "memory pool");
}

Fault MemoryPool::Destroy(const void* handle) {
  std::shared_ptr<MemoryPool> pool = Table().Remove(handle);
  if (!pool) return From(handle).fault();
  std::lock_guard<std::mutex> lock(All().mutex);
  pool->destroyed_ = true;
  pool->TrimLocked(0);
  return Fault::None();
}

void MemoryPool::ReleaseAllOf(Device* device) {
  for (const std::shared_ptr<MemoryPool>& pool : Table().All()) {
    if (pool->device_ == device) Table().Remove(pool->handle_);
  }
  std::lock_guard<std::mutex> lock(All().mutex);
  auto& owners = All().owners;
  for (auto it = owners.begin(); it != owners.end();) {
    if (it->second->device_ == device) {
      it->second->blocks_.clear();
      it->second->amounts_ = {};
      it = owners.erase(it);
    } else {
      ++it;
    }
  }
}

bool MemoryPool::HasBlock(const void* address) {
  std::lock_guard<std::mutex> lock(All().mutex);
  return All().owners.count(address) != 0;
}

MemoryPool::Blocks::iterator MemoryPool::BestFit(uint64_t bytes, uint32_t stream) {
  auto best = blocks_.end();
  for (auto it = blocks_.begin(); it != blocks_.end(); ++it) {
    const Block& block = it->second;
    if (block.bytes < bytes || block.state == State::kUsed) continue;
    if (block.state == State::kFreedInStream && block.stream != stream) continue;
    if (best == blocks_.end() || block.bytes < best->second.bytes) best = it;
  }
  return best;
}

Result<void*> MemoryPool::Allocate(uint64_t bytes, const Stream& stream) {
  std::lock_guard<std::mutex> lock(All().mutex);
  auto it = BestFit(bytes, stream.id());
  if (it == blocks_.end()) {
    if (amounts_.reserved + bytes > limit_) TrimLocked(limit_ - std::min(bytes, limit_));
    if (amounts_.reserved + bytes > limit_) {
      return Fault(FaultKind::kMemoryExhausted,
                   {bytes, limit_ - amounts_.reserved, 0, amounts_.used, limit_}, "maxSize of the pool");
    }
    constexpr const char* kMadeBy = "aclrtMemPoolMallocAsync";
    Result<void*> address = MallocDevice(device_, bytes, kMadeBy);
    if (!address.ok()) {
      TrimLocked(0);
      address = MallocDevice(device_, bytes, kMadeBy);
      if (!address.ok()) return address.fault();
    }
    it = blocks_.emplace(static_cast<char*>(*address), Block{bytes}).first;
    All().owners[it->first] = shared_from_this();
    amounts_.reserved += bytes;
    amounts_.reserved_high = std::max(amounts_.reserved_high, amounts_.reserved);
  }
  Block& block = it->second;
  // What is used again in the order of its stream may be in use until the stream comes here.
  if (block.state == State::kFree) FillPoison(EngineView(it->first), block.bytes, Poison::kFresh);
  block.state = State::kUsed;
  block.serial++;
  amounts_.used += block.bytes;
  amounts_.used_high = std::max(amounts_.used_high, amounts_.used);
  return static_cast<void*>(it->first);
}

Fault MemoryPool::FreeInStream(void* address, Stream& stream) {
  const Fault not_in_use =
      NotAllowed(absl::StrCat("ptr is ", absl::Hex(reinterpret_cast<uintptr_t>(address)),
                              ", which the program does not have from a pool; pass what "
                              "aclrtMemPoolMallocAsync gave, once"));
  std::shared_ptr<MemoryPool> pool;
  uint64_t serial;
  {
    std::lock_guard<std::mutex> lock(All().mutex);
    auto owner = All().owners.find(address);
    if (owner == All().owners.end()) return not_in_use;
    pool = owner->second;
    Block& block = pool->blocks_.at(static_cast<char*>(address));
    if (block.state != State::kUsed) return not_in_use;
    block.state = State::kFreedInStream;
    block.stream = stream.id();
    serial = ++block.serial;
    pool->amounts_.used -= block.bytes;
  }
  return stream.Enqueue(
      std::make_unique<PoolFreeTask>(std::move(pool), static_cast<char*>(address), serial));
}

void MemoryPool::Freed(const std::shared_ptr<MemoryPool>& pool, char* address, uint64_t serial) {
  std::lock_guard<std::mutex> lock(All().mutex);
  auto it = pool->blocks_.find(address);
  if (it == pool->blocks_.end() || it->second.serial != serial) return;
  it->second.state = State::kFree;
  FillPoison(EngineView(address), it->second.bytes, Poison::kFreed);
  if (pool->destroyed_) {
    pool->TrimLocked(0);
  } else if (pool->amounts_.reserved > pool->threshold_) {
    g_trim_due.store(true, std::memory_order_relaxed);
  }
}

void MemoryPool::TrimIfDue() {
  if (!g_trim_due.load(std::memory_order_relaxed)) return;
  g_trim_due.store(false, std::memory_order_relaxed);
  for (const std::shared_ptr<MemoryPool>& pool : Table().All()) pool->TrimTo(pool->threshold());
}

void MemoryPool::TrimTo(uint64_t keep) {
  std::lock_guard<std::mutex> lock(All().mutex);
  TrimLocked(keep);
}

void MemoryPool::TrimLocked(uint64_t keep) {
  const std::shared_ptr<MemoryPool> self = shared_from_this();  // blocks keep their pool
  for (auto it = blocks_.begin(); it != blocks_.end() && amounts_.reserved > keep;) {
    if (it->second.state != State::kFree) {
      ++it;
      continue;
    }
    FreeDevice(it->first, "its memory pool", true);
    All().owners.erase(it->first);
    amounts_.reserved -= it->second.bytes;
    it = blocks_.erase(it);
  }
}

MemoryPool::Amounts MemoryPool::amounts() {
  std::lock_guard<std::mutex> lock(All().mutex);
  return amounts_;
}

void MemoryPool::ResetReservedHigh() {
  std::lock_guard<std::mutex> lock(All().mutex);
  amounts_.reserved_high = amounts_.reserved;
}

void MemoryPool::ResetUsedHigh() {
  std::lock_guard<std::mutex> lock(All().mutex);
  amounts_.used_high = amounts_.used;
}

uint64_t MemoryPool::threshold() {
  std::lock_guard<std::mutex> lock(All().mutex);
  return threshold_;
}

void MemoryPool::SetThreshold(uint64_t bytes) {
  std::lock_guard<std::mutex> lock(All().mutex);
  threshold_ = bytes;
}

}  // namespace hcclrun
