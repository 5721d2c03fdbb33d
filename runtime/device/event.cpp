#include "device/event.h"

#include <algorithm>
#include <chrono>

#include "device/handle_table.h"
#include "device/ipc_event.h"
#include "device/stream.h"
#include "shm/event_count.h"
#include "shm/stall.h"

namespace hcclrun {
namespace {

HandleTable<Event>& Table() {
  static HandleTable<Event>* table = new HandleTable<Event>(HandleKind::kEvent);
  return *table;
}

// Marks the point when the stream comes to it. The time is that of the work before, which
// another process may have finished while this one slept, but not earlier than the call that
// queued the record.
class RecordTask : public Task {
 public:
  RecordTask(Stream* stream, std::shared_ptr<EventPoint> point)
      : stream_(stream), point_(std::move(point)), queued_ns_(NowNs()) {}
  ~RecordTask() override {
    // Dropped with its stream: nobody shall wait for ever.
    if (!point_->complete()) point_->Complete(NowNs());
  }
  Progress Advance(Fault*) override {
    stamp_ = std::max(queued_ns_, stream_->last_completed_ns());
    point_->Complete(stamp_);
    return Progress::kDone;
  }
  void WaitForProgress(int64_t) override {}
  bool Prepare(const void*) override { return true; }
  bool CheapToStart() const override { return true; }
  bool RunsAfterFailure() const override { return true; }
  int64_t CompletedAtNs() const override { return stamp_; }
  void OnAbort() override { point_->Abort(); }
  const char* Name() const override { return "event record"; }

 private:
  Stream* const stream_;  // owns this task
  const std::shared_ptr<EventPoint> point_;
  const int64_t queued_ns_;
  int64_t stamp_ = 0;
};

class WaitTask : public Task {
 public:
  WaitTask(std::shared_ptr<EventPoint> point, std::shared_ptr<std::atomic<int64_t>> pending,
           int64_t timeout_ms)
      : point_(std::move(point)),
        pending_(std::move(pending)),
        queued_ns_(NowNs()),
        timeout_(timeout_ms) {
    pending_->fetch_add(1, std::memory_order_acq_rel);
  }
  ~WaitTask() override { pending_->fetch_sub(1, std::memory_order_acq_rel); }
  Progress Advance(Fault* fault) override {
    timeout_.Begin();
    if (point_->complete()) return Progress::kDone;
    if (!timeout_.passed()) return Progress::kWaiting;
    // What was queued behind a wait that failed is a stream error of the task (semantics F.4).
    *fault = Fault(FaultKind::kEventWaitTimeout, {uint64_t(timeout_.milliseconds())});
    return Progress::kDone;
  }
  void WaitForProgress(int64_t limit_ns) override {
    stall_.Note(waiter, {WaitKind::kEvent, 0, 0, 0, point_->StreamNumber()});
    point_->Kick();
    point_->Sleep(timeout_.Remaining(limit_ns));
  }
  // What follows must not be announced before the event: the peer may then find it ready too early.
  bool Prepare(const void*) override { return false; }
  bool CheapToStart() const override { return true; }
  int64_t CompletedAtNs() const override { return std::max(queued_ns_, point_->completed_ns()); }
  const char* Name() const override { return "event wait"; }

 private:
  const std::shared_ptr<EventPoint> point_;
  const std::shared_ptr<std::atomic<int64_t>> pending_;
  const int64_t queued_ns_;
  Timeout timeout_;
  StreamStall stall_;
};

// The reset itself happens at the call (later calls see the open point); this keeps its place in
// the stream.
class ResetTask : public Task {
 public:
  Progress Advance(Fault*) override { return Progress::kDone; }
  void WaitForProgress(int64_t) override {}
  bool Prepare(const void*) override { return true; }
  bool CheapToStart() const override { return true; }
  bool RunsAfterFailure() const override { return true; }
  const char* Name() const override { return "event reset"; }
};

}  // namespace

void EventPoint::Complete(int64_t now_ns) {
  std::lock_guard<std::mutex> lock(mutex_);
  completed_ns_.store(std::max<int64_t>(now_ns, 1), std::memory_order_release);
  done_.notify_all();
}

void EventPoint::Abort() {
  aborted_.store(true, std::memory_order_release);
  Complete(NowNs());
}

void EventPoint::Sleep(int64_t limit_ns) {
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait_for(lock, std::chrono::nanoseconds(limit_ns), [&] { return complete(); });
}

uint64_t EventPoint::StreamNumber() {
  std::lock_guard<std::mutex> lock(mutex_);
  return recorded() ? uint64_t{stream_id_} + 1 : 0;
}

void EventPoint::Kick() {
  std::shared_ptr<Stream> stream;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stream = stream_.lock();
  }
  if (stream) stream->Kick();
}

bool EventPoint::Wait(Deadline deadline) {
  while (!complete()) {
    std::shared_ptr<Stream> stream;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stream = stream_.lock();
    }
    // The record may be under way in another thread and have no ticket yet: then sleep a little.
    uint64_t ticket = ticket_.load(std::memory_order_acquire);
    if (stream && ticket && !stream->RunsInThisThread()) {
      stream->WaitUntil(ticket, deadline);
    } else {
      Sleep(deadline.Remaining(EventCount::kSliceNs));
    }
    if (deadline.passed()) return complete();
  }
  return true;
}

Event::Event(Kind kind, uint32_t flags) : kind_(kind), flags_(flags) {
  if (OpensBeforeRecord()) last_ = std::make_shared<EventPoint>();
}

void* Event::Create(Kind kind, uint32_t flags) {
  std::shared_ptr<Event> event(new Event(kind, flags));
  event->handle_ = Table().Add(event);
  return event->handle_;
}

void* Event::CreateShared(std::shared_ptr<IpcEvent> shared, uint32_t flags) {
  std::shared_ptr<Event> event(new Event(Kind::kExWithFlag, flags));
  event->ipc_ = std::move(shared);
  event->handle_ = Table().Add(event);
  return event->handle_;
}

Result<std::shared_ptr<Event>> Event::From(void* handle) {
  std::shared_ptr<Event> event = Table().Find(handle);
  if (!event) return UnknownHandle(handle, "event");
  return event;
}

Fault Event::Destroy(void* handle) {
  if (Table().Remove(handle)) return Fault::None();
  return UnknownHandle(handle, "event");
}

std::shared_ptr<EventPoint> Event::Last() {
  std::lock_guard<std::mutex> lock(mutex_);
  return last_;
}

Fault Event::Record(const std::shared_ptr<Stream>& stream) {
  if (ipc_) return ipc_->RecordIn(*stream);
  std::shared_ptr<EventPoint> point, before;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    before = last_;
    if (!last_ || last_->recorded()) last_ = std::make_shared<EventPoint>();
    point = last_;
    std::lock_guard<std::mutex> point_lock(point->mutex_);
    point->stream_ = stream;
    point->stream_id_ = stream->id();
    point->recorded_.store(true, std::memory_order_release);
  }
  return stream->Enqueue(std::make_unique<RecordTask>(stream.get(), point), &point->ticket_);
}

Fault Event::Reset(const std::shared_ptr<Stream>& stream) {
  // Waits of such an event mean the record before them, whatever comes later.
  if (kind_ == Kind::kPlain && !ipc_) return stream->Enqueue(std::make_unique<ResetTask>());
  if (!OpensBeforeRecord()) {
    return Fault(
        FaultKind::kNotSupported,
        "resetting an event that was not made by aclrtCreateEventWithFlag with ACL_EVENT_SYNC");
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (last_->recorded()) last_ = std::make_shared<EventPoint>();
  }
  return stream->Enqueue(std::make_unique<ResetTask>());
}

Fault Event::WaitIn(const std::shared_ptr<Stream>& stream, int64_t timeout_ms) {
  if (ipc_) return ipc_->WaitIn(*stream, pending_waits_, timeout_ms);
  std::shared_ptr<EventPoint> point = Last();
  if (!point) {
    if (kind_ == Kind::kPlain)
      return Fault(FaultKind::kEventNotRecorded, {reinterpret_cast<uintptr_t>(handle_)});
    return Fault::None();
  }
  return stream->Enqueue(std::make_unique<WaitTask>(std::move(point), pending_waits_, timeout_ms));
}

bool Event::Complete() {
  if (ipc_) return ipc_->Complete();
  std::shared_ptr<EventPoint> point = Last();
  return point ? point->complete() : kind_ == Kind::kExWithFlag;
}

Fault Event::Synchronize(int64_t timeout_ms) {
  if (ipc_) return ipc_->Synchronize(timeout_ms);
  std::shared_ptr<EventPoint> point = Last();
  if (!point || !point->recorded()) return Fault::None();
  if (point->Wait(Deadline::After(timeout_ms))) {
    return point->aborted() ? Fault(FaultKind::kStreamAborted) : Fault::None();
  }
  return Fault(FaultKind::kEventTimeout, {uint64_t(timeout_ms)});
}

Result<int64_t> Event::CompletedNs() {
  uint64_t handle = reinterpret_cast<uintptr_t>(handle_);
  if (kind_ != Kind::kPlain && !(flags_ & kTimeline))
    return Fault(FaultKind::kEventNoTimeline, {handle});
  if (ipc_) {
    if (!ipc_->Recorded()) return Fault(FaultKind::kEventNotRecorded, {handle});
    const int64_t at = ipc_->CompletedNs();
    if (at == 0) return Fault(FaultKind::kEventNotFinished, {handle});
    return at;
  }
  std::shared_ptr<EventPoint> point = Last();
  if (!point || !point->recorded()) return Fault(FaultKind::kEventNotRecorded, {handle});
  int64_t ns = point->completed_ns();
  if (ns == 0) return Fault(FaultKind::kEventNotFinished, {handle});
  return ns;
}

}  // namespace hcclrun
