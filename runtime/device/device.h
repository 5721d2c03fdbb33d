#pragma once
// An emulated NPU of this process: a heap and the contexts and streams on it.
//
// A device object, once made, lives as long as the process, and so does its heap: peers have it
// mapped. Resetting a device releases what its user made on it, not the device.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/fault.h"
#include "device/core_limits.h"
#include "device/heap.h"

namespace hcclrun {

class Context;
class Stream;

class Device {
 public:
  // Device `id` of this process; created with its heap at first use. kBadDevice when id is
  // out of range.
  static Result<Device*> Get(int32_t id);
  // The calling thread's current device (semantics G.3); kNoContext without one.
  static Result<Device*> Current();
  // Devices that this process may set: HCCLRUN_DEVICE_COUNT, or fewer by ASCEND_RT_VISIBLE_DEVICES
  // (semantics E).
  static uint32_t Count();
  // kBadDevice unless 0 <= id < Count().
  static Fault CheckId(int64_t id);
  // The number that a rank table gives device `id`: differs only under ASCEND_RT_VISIBLE_DEVICES.
  static int32_t PhysicalId(int32_t id);

  // Whether device `id` has its default context now. `id` passed CheckId().
  static bool HasDefaultContext(int32_t id);

  // Semantics G.3 and G.4. Set makes the default context current on the calling thread and
  // takes a reference.
  static Fault Set(int32_t id);
  // Gives a reference back; the last one waits for the device's tasks and releases contexts,
  // streams and memory.
  static Fault Reset(int32_t id);
  // Releases at once, whatever the references.
  static Fault ResetForce(int32_t id);
  // Of all devices, for aclFinalize. Afterwards Reset() succeeds without effect until the device is
  // set again.
  static void ResetAll();

  int32_t id() const { return id_; }
  Heap& heap() { return *heap_; }

  // Waits for all streams of the device, at most timeout_ms together (< 0: for ever); the first
  // asynchronous fault.
  Fault Synchronize(int64_t timeout_ms);

  // Before the host touches memory that queued user code of the calling thread's device may be
  // meant to have worked on already: Stream::CatchUp() for all streams, if there is any such code.
  static void LetStreamsCatchUp();
  // Gives up what is queued on the device's streams (Stream::Abort()); `code` is what threads that
  // wait for it get.
  Fault Abort(int32_t code);

  std::atomic<int32_t> saturation_mode{1};  // aclrtFloatOverflowMode, recorded only (semantics C.4)
  CoreLimits core_limits;

 private:
  friend class Context;
  Device(int32_t id, std::unique_ptr<Heap> heap) : id_(id), heap_(std::move(heap)) {}
  std::vector<std::shared_ptr<Context>> TakeContexts();
  std::vector<std::shared_ptr<Stream>> Streams();
  static Fault GiveBack(int32_t id, bool force);
  void Release(bool wait);

  const int32_t id_;
  const std::unique_ptr<Heap> heap_;

  std::mutex mutex_;
  uint32_t references_ = 0;                         // guarded by mutex_
  bool finalised_ = false;                          // guarded by mutex_: released by ResetAll()
  std::shared_ptr<Context> default_context_;        // guarded by mutex_
  std::vector<std::shared_ptr<Context>> contexts_;  // guarded by mutex_: made by aclrtCreateContext
};

}  // namespace hcclrun
