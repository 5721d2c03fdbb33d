#pragma once
// Device memory that is allocated and freed in stream order.
//
// A block is an allocation of MallocDevice. It is in use; or freed on a stream that has not come to
// that point yet, when only the same stream may have it again, because its tasks run in order; or
// free for all. A task in the stream makes the second into the third, unless the block has been
// reused meanwhile, which its serial number tells. Any thread; one mutex for all pools.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>

#include "base/fault.h"

namespace hcclrun {

class Device;
class Stream;

class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  struct Amounts {
    uint64_t reserved, reserved_high;  // blocks of any kind
    uint64_t used, used_high;          // of those in use
  };

  // The C handle. `limit` bytes at most.
  static void* Create(Device* device, uint64_t limit);
  // kUnknownHandle.
  static Result<std::shared_ptr<MemoryPool>> From(const void* handle);
  // Unused blocks are released now, the others when they are freed.
  static Fault Destroy(const void* handle);
  // Before the device releases its memory.
  static void ReleaseAllOf(Device* device);
  // Whether `address` is the start of a block of any pool.
  static bool HasBlock(const void* address);
  // Frees a block in stream order; kBadValue when it is none, or not in use.
  static Fault FreeInStream(void* address, Stream& stream);
  // For synchronising calls: releases what pools hold above their thresholds.
  static void TrimIfDue();

  // kMemoryExhausted.
  Result<void*> Allocate(uint64_t bytes, const Stream& stream);
  // Releases free blocks until at most `keep` bytes are held.
  void TrimTo(uint64_t keep);

  Amounts amounts();
  void ResetReservedHigh();
  void ResetUsedHigh();
  uint64_t threshold();
  void SetThreshold(uint64_t bytes);

  static constexpr int kSwitches = 3;
  std::atomic<uint32_t> switches[kSwitches] = {1, 1, 1};  // of reuse; kept only

 private:
  friend class PoolFreeTask;
  enum class State { kUsed, kFreedInStream, kFree };
  struct Block {
    uint64_t bytes;
    State state = State::kUsed;
    uint32_t stream = 0;  // kFreedInStream: its id
    uint64_t serial = 0;  // grows with every change of the state
  };
  using Blocks = std::map<char*, Block>;

  MemoryPool(Device* device, uint64_t limit) : device_(device), limit_(limit) {}
  // The stream has come to the free with this serial.
  static void Freed(const std::shared_ptr<MemoryPool>& pool, char* address, uint64_t serial);
  void TrimLocked(uint64_t keep);
  Blocks::iterator BestFit(uint64_t bytes, uint32_t stream);

  Device* const device_;
  const uint64_t limit_;
  void* handle_ = nullptr;
  // Guarded by the mutex of all pools.
  Blocks blocks_;
  Amounts amounts_ = {};
  uint64_t threshold_ = 0;
  bool destroyed_ = false;
};

}  // namespace hcclrun
