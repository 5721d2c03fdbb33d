#pragma once
// Events that several processes share (ACL_EVENT_IPC).
//
// The state lies in the heap of the device on which the event was made (device/shared_state.h).
// Records are numbered by `queued` at their call, in any process; record n has place n % 128, and
// only when its stream comes to it does `done` of that place become at least n: records of other
// streams may be done long before. A wait takes the number of its call, so that a later record does
// not move it, and passes when `done` of its place has reached it. Of more than 128 records under
// way at once, a later one stands for the earlier one that has the same place. All words are
// seq_cst (shm/event_count says why).
//
// When the process of a record ends before its stream came to it, waits for it fail: they look at
// most every 200 ms whether that process lives. `recorder` holds number and process in one word, so
// that nobody takes the process of an earlier record in the place for that of the later one. A
// process that dies between taking a number and naming itself leaves a record that only a time-out
// ends.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/clock.h"
#include "base/fault.h"
#include "device/shared_state.h"
#include "shm/event_count.h"

namespace hcclrun {

class Device;
class Stream;

struct IpcEventState {
  static constexpr uint64_t kPlaces = 128;
  struct Record {
    std::atomic<uint64_t> done;      // number of the last record of this place that is done
    std::atomic<int64_t> ns;         // when it was; negative: it was given up then
    std::atomic<uint64_t> recorder;  // number << kPidBits | pid of who queued it
  };
  std::atomic<uint64_t> queued;
  EventCount changed;
  Record records[kPlaces];
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
  // Waits, driving the recording stream when it is one of this process. kEventTimeout,
  // kRecorderEnded, kStreamAborted when the record was given up.
  Fault Synchronize(int64_t timeout_ms);

  // ---- for its tasks ----
  IpcEventState& state() const { return *static_cast<IpcEventState*>(shared_->address()); }
  bool Reached(uint64_t number) const;
  void Reach(uint64_t number, int64_t now_ns);
  // As Reach(), because the record was given up.
  void GiveUp(uint64_t number);
  // kRecorderEnded when the process of this record has ended before the record was done.
  Fault CheckRecorder(uint64_t number) const;
  // For reports: the pid of the process that records `number`, 0 = not known.
  uint32_t RecorderOf(uint64_t number) const;

 private:
  // The last record that this process queued.
  struct OwnRecord {
    uint64_t number = 0;
    std::weak_ptr<Stream> stream;
    uint64_t ticket = 0;  // in the stream
  };

  IpcEventState::Record& RecordOf(uint64_t number) const {
    return state().records[number % IpcEventState::kPlaces];
  }
  bool GivenUp(uint64_t number) const;
  void Finish(uint64_t number, int64_t ns);
  OwnRecord own();

  const std::unique_ptr<SharedState> shared_;
  std::mutex mutex_;
  OwnRecord own_;  // guarded by mutex_
};

}  // namespace hcclrun
