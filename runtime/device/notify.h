#pragma once
// Notifies: flags that one stream sets and another waits for and clears, in this or another
// process.
//
// The state lies in the heap of the device that made the notify (device/shared_state.h). Whoever
// records stores 1 and wakes, whoever waits exchanges it for 0: of several waits a record ends one,
// and records without a wait between them are one. Flag and EventCount are seq_cst (shm/event_count
// says why). A process that dies can leave the flag set or clear, never locked; who waits for a
// process that died waits until the time-out, and can give up by Stream::Abort().

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/fault.h"
#include "device/shared_state.h"
#include "shm/event_count.h"

namespace hcclrun {

class Stream;

struct NotifyState {
  std::atomic<uint32_t> set;
  EventCount changed;
};

class Notify : public std::enable_shared_from_this<Notify> {
 public:
  static Result<void*> Create(Device* device);
  static Result<void*> Import(const char* key, Device* device);
  static Result<std::shared_ptr<Notify>> From(void* handle);  // kUnknownHandle
  // Tasks that use it keep it alive. kUnknownHandle.
  static Fault Destroy(void* handle);
  // Handles of notifies that were made or imported for the device become invalid.
  static void ReleaseAllOf(Device* device);

  Fault RecordIn(Stream& stream);
  // The task fails with kNotifyTimeout when it waits longer; timeout_ms < 0: for ever.
  Fault WaitIn(Stream& stream, int64_t timeout_ms);
  Result<std::string> ExportKey(bool any_pid);
  Fault AllowPids(const int32_t* pids, uint64_t count) { return shared_->Allow(pids, count); }

  NotifyState& state() { return *static_cast<NotifyState*>(shared_->address()); }
  void* handle() const { return handle_; }

 private:
  Notify(Device* device, std::unique_ptr<SharedState> shared)
      : device_(device), shared_(std::move(shared)) {}
  static void* Enter(Device* device, std::unique_ptr<SharedState> shared);

  Device* const device_;
  const std::unique_ptr<SharedState> shared_;
  void* handle_ = nullptr;
};

}  // namespace hcclrun
