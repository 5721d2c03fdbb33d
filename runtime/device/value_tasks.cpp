#include "device/value_tasks.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "device/memory_map.h"
#include "device/stream.h"
#include "shm/stall.h"

namespace hcclrun {
namespace {

constexpr int64_t kLookNs = 50'000, kLazyLookNs = 1'000'000;
constexpr int kEagerLooks = 40;

// Writes of this process; `count` only grows. Never destroyed, as workers use it.
struct Writes {
  std::mutex mutex;
  std::condition_variable happened;
  uint64_t count = 0;  // guarded by mutex
};

Writes& Get() {
  static Writes* writes = new Writes();
  return *writes;
}

Fault CheckWord(const void* address) {
  const uint64_t number = reinterpret_cast<uintptr_t>(address);
  if (number % sizeof(uint64_t))
    return Fault(FaultKind::kUnaligned, {number, sizeof(uint64_t)}, "devAddr");
  return CheckDeviceRange(address, sizeof(uint64_t), "devAddr");
}

bool Holds(uint64_t word, uint64_t value, ValueTest test) {
  switch (test) {
    case ValueTest::kGreaterOrEqual:
      return static_cast<int64_t>(word - value) >= 0;
    case ValueTest::kEqual:
      return word == value;
    case ValueTest::kAnd:
      return (word & value) != 0;
    case ValueTest::kNor:
      return ~(word | value) != 0;
  }
  return true;
}

class WriteTask : public Task {
 public:
  WriteTask(void* address, uint64_t value) : address_(address), value_(value) {}
  Progress Advance(Fault* fault) override {
    *fault = CheckWord(address_);
    if (*fault) return Progress::kDone;
    std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(EngineView(address_)))
        .store(value_, std::memory_order_release);
    Writes& writes = Get();
    std::lock_guard<std::mutex> lock(writes.mutex);
    writes.count++;
    writes.happened.notify_all();
    return Progress::kDone;
  }
  void WaitForProgress(int64_t) override {}
  bool CheapToStart() const override { return true; }
  bool Uses(const MemoryInfo& memory) const override { return Overlaps(address_, sizeof(uint64_t), memory); }
  const char* Name() const override { return "value write"; }

 private:
  void* const address_;
  const uint64_t value_;
};

class WaitTask : public Task {
 public:
  WaitTask(void* address, uint64_t value, ValueTest test)
      : address_(address), value_(value), test_(test) {}
  Progress Advance(Fault* fault) override {
    {
      // Before the look: a write that this look misses is counted later and ends the sleep.
      Writes& writes = Get();
      std::lock_guard<std::mutex> lock(writes.mutex);
      seen_ = writes.count;
    }
    *fault = CheckWord(address_);
    if (*fault) return Progress::kDone;
    uint64_t word = std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(EngineView(address_)))
                        .load(std::memory_order_acquire);
    return Holds(word, value_, test_) ? Progress::kDone : Progress::kWaiting;
  }
  void WaitForProgress(int64_t limit_ns) override {
    stall_.Note(waiter, {WaitKind::kValue, 0, 0, 0, reinterpret_cast<uintptr_t>(address_)});
    const int64_t look = looks_ < kEagerLooks ? kLookNs : kLazyLookNs;
    looks_ = std::min(looks_ + 1, kEagerLooks);
    Writes& writes = Get();
    std::unique_lock<std::mutex> lock(writes.mutex);
    writes.happened.wait_for(lock, std::chrono::nanoseconds(std::min(limit_ns, look)),
                             [&] { return writes.count != seen_; });
  }
  bool CheapToStart() const override { return true; }
  bool Uses(const MemoryInfo& memory) const override { return Overlaps(address_, sizeof(uint64_t), memory); }
  const char* Name() const override { return "value wait"; }

 private:
  void* const address_;
  const uint64_t value_;
  const ValueTest test_;
  StreamStall stall_;
  uint64_t seen_ = 0;
  int looks_ = 0;
};

}  // namespace

Fault WriteValueInStream(Stream& stream, void* address, uint64_t value) {
  if (Fault f = CheckWord(address)) return f;
  return stream.Enqueue(std::make_unique<WriteTask>(address, value));
}

Fault WaitValueInStream(Stream& stream, void* address, uint64_t value, ValueTest test) {
  if (Fault f = CheckWord(address)) return f;
  return stream.Enqueue(std::make_unique<WaitTask>(address, value, test));
}

}  // namespace hcclrun
