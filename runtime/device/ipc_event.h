#pragma once
// Events that several processes share (ACL_EVENT_IPC).
//
// The state lies in the heap of the device on which the event was made (device/shared_state.h).
// Records are numbered by `queued` at their call, in any process; when the stream comes to record n,
// `completed` becomes at least n. A wait takes the number of its call, so that a later record does
// not move it, and passes when `completed` has reached it. All words are seq_cst (shm/event_count
// says why). When the process of the last record ends before its stream came to it, waits for it
// fail: they look at most every 200 ms whether that process lives.

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/fault.h"
#include "device/shared_state.h"
#include "shm/event_count.h"

namespace hcclrun {

class Device;
class Stream;

struct IpcEventState {
  std::atomic<uint64_t> queued;
  std::atomic<uint64_t> completed;
  std::atomic<int64_t> completed_ns;  // when `completed` last grew
  std::atomic<int32_t> recorder;      // pid of the last record
  EventCount changed;
};

class IpcEvent : public std::enable_shared_from_this<IpcEvent> {
 public:
  static Result<std::shared_ptr<IpcEvent>> Create(Device* device);
  static Result<std::shared_ptr<IpcEvent>> Open(const FabricHandle& handle);
  explicit IpcEvent(std::unique_ptr<SharedState> shared) : shared_(std::move(shared)) {}

  // The bytes that another process opens it by; any process of the user may.
  Result<FabricHandle> Export() { return shared_->Export(/*any_pid=*/true); }

  Fault RecordIn(Stream& stream);
  // `pending` counts the waits that have not passed.
  Fault WaitIn(Stream& stream, std::shared_ptr<std::atomic<int64_t>> pending, int64_t timeout_ms);
  // Of the last record; an event that was never recorded is complete.
  bool Complete() const;
  int64_t CompletedNs() const;  // 0 = never recorded or not complete
  bool Recorded() const;
  // kEventTimeout, kForeignHandle when the recording process has ended.
  Fault Synchronize(int64_t timeout_ms);

  // ---- for its tasks ----
  IpcEventState& state() const { return *static_cast<IpcEventState*>(shared_->address()); }
  bool Reached(uint64_t number) const;
  void Reach(uint64_t number, int64_t now_ns);
  // None while the process of the last record lives.
  Fault CheckRecorder() const;

 private:
  const std::unique_ptr<SharedState> shared_;
};

}  // namespace hcclrun
