#pragma once
// Events (semantics G.2). A record makes a new *point* in a stream's order; the event refers to its
// last point, and waits take the point of their call. So a wait that was queued before a new record
// keeps the old point, and points outlive the event. Events of aclrtCreateEventWithFlag with
// ACL_EVENT_SYNC start out, and after a reset continue, with an open point that the next record
// fills in: a wait queued before that record waits for it.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/clock.h"
#include "base/fault.h"

namespace hcclrun {

class IpcEvent;
class Stream;

class EventPoint {
 public:
  bool recorded() const { return recorded_.load(std::memory_order_acquire); }
  bool complete() const { return completed_ns_.load(std::memory_order_acquire) != 0; }
  int64_t completed_ns() const { return completed_ns_.load(std::memory_order_acquire); }
  void Complete(int64_t now_ns);
  // As Complete(), because the record was given up.
  void Abort();
  bool aborted() const { return aborted_.load(std::memory_order_acquire); }
  // Sleeps until complete, at most `limit_ns`.
  void Sleep(int64_t limit_ns);
  // Lets the worker of the recording stream run it, for threads that only wait.
  void Kick();
  // For reports: the stream of the record + 1, 0 = nobody has recorded it.
  uint64_t StreamNumber();
  // Waits, driving the recording stream when possible; false when the deadline passed.
  bool Wait(Deadline deadline);

 private:
  friend class Event;
  std::mutex mutex_;
  std::condition_variable done_;
  std::weak_ptr<Stream> stream_;     // guarded by mutex_: where it was recorded
  uint32_t stream_id_ = 0;           // guarded by mutex_
  std::atomic<uint64_t> ticket_{0};  // of the record in that stream
  std::atomic<bool> recorded_{false};
  std::atomic<int64_t> completed_ns_{0};  // 0 = not complete
  std::atomic<bool> aborted_{false};      // set before complete
};

class Event {
 public:
  enum class Kind { kPlain, kWithFlag, kExWithFlag };  // the three create calls
  static constexpr uint32_t kSync = 1, kTimeline = 8;  // ACL_EVENT_SYNC, ACL_EVENT_TIME_LINE

  static void* Create(Kind kind, uint32_t flags);
  // One that other processes can open, or that another process made: all behave as kExWithFlag.
  static void* CreateShared(std::shared_ptr<IpcEvent> shared, uint32_t flags);
  static Result<std::shared_ptr<Event>> From(void* handle);  // kUnknownHandle
  static Fault Destroy(void* handle);

  Fault Record(const std::shared_ptr<Stream>& stream);
  Fault Reset(const std::shared_ptr<Stream>& stream);  // kNotSupported: neither kPlain nor kSync
  // kEventNotRecorded for a plain one. The wait itself fails with kEventWaitTimeout when it lasts
  // longer than timeout_ms from its start (< 0: for ever).
  Fault WaitIn(const std::shared_ptr<Stream>& stream, int64_t timeout_ms = -1);
  bool Complete();  // aclrtQueryEventStatus
  bool WaitsPassed() const { return pending_waits_->load(std::memory_order_acquire) == 0; }
  Fault Synchronize(int64_t timeout_ms);  // kEventTimeout
  // nullptr for an event of this process alone.
  const std::shared_ptr<IpcEvent>& shared() const { return ipc_; }
  // When the last record completed: kEventNoTimeline, kEventNotRecorded, kEventNotFinished.
  Result<int64_t> CompletedNs();

 private:
  Event(Kind kind, uint32_t flags);
  bool OpensBeforeRecord() const { return kind_ == Kind::kWithFlag && (flags_ & kSync); }
  std::shared_ptr<EventPoint> Last();

  const Kind kind_;
  const uint32_t flags_;
  std::shared_ptr<IpcEvent> ipc_;  // instead of last_; set before others see the event
  void* handle_ = nullptr;
  std::mutex mutex_;
  std::shared_ptr<EventPoint> last_;  // guarded by mutex_; nullptr = never recorded and not open
  // Waits that were queued and have not passed; shared with their tasks, which may
  // outlive the event.
  const std::shared_ptr<std::atomic<int64_t>> pending_waits_ =
      std::make_shared<std::atomic<int64_t>>(0);
};

}  // namespace hcclrun
