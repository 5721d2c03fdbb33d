#pragma once
// An in-order queue of tasks on a device.
//
// Who advances a stream. One thread at a time holds the driver's role: a host thread inside a
// synchronise call (no thread hop), the enqueuing thread for one cheap step when the stream is
// idle, or the stream's worker, a thread that is started at first need. While the front task waits,
// the driver lets the tasks behind it announce themselves (Task::Prepare) and sleeps in
// Task::WaitForProgress for at most 200 ms. A host thread whose time is up hands the role over.
// Invariant: a stream with tasks has a driver, or its worker has been told to look.
//
// Asynchronous faults (semantics G.1). The first fault of a task is kept and every synchronise call
// returns it, until it has been returned once and new work is queued: a caller that repeats the
// failing call sees the same answer. With stop-on-failure, tasks queued before that point are
// dropped (records and resets of events still happen, so that nobody waits for ever); what is
// queued after the fault was returned runs.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "base/clock.h"
#include "base/fault.h"
#include "device/task.h"

namespace hcclrun {

class Context;
class Device;

// Handles (aclrtStream) are checked against a table before use: a stale or foreign handle is a
// fault, never a crash. The returned pointer keeps the stream alive while the caller works with it.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  // From the C handle. kUnknownHandle. A null handle is the current context's default stream for
  // acl calls; HCCL rejects null before it comes here.
  static Result<std::shared_ptr<Stream>> From(void* handle);
  // A new stream of `context`, in the table; its handle() is the C handle.
  static std::shared_ptr<Stream> Create(const std::shared_ptr<Context>& context);
  ~Stream();

  Device* device() const { return device_; }
  uint32_t id() const { return id_; }
  void* handle() const { return handle_; }
  uint64_t context_id() const { return context_id_; }

  // Queues the task and returns. The thread may advance it once when the stream is idle and the
  // task says so. kStreamAborted when the stream is being destroyed.
  Fault Enqueue(std::unique_ptr<Task> task) { return Enqueue(std::move(task), nullptr); }
  // As above; *ticket receives the number of the task, for WaitUntil(). It is set before the task
  // can run.
  Fault Enqueue(std::unique_ptr<Task> task, std::atomic<uint64_t>* ticket);
  // Waits for everything queued so far, driving the stream when nobody else does; returns the first
  // asynchronous fault. timeout_ms < 0 = forever.
  Fault Synchronize(int64_t timeout_ms);
  // Drives or waits until the task with this ticket is done; false when the deadline passed first.
  bool WaitUntil(uint64_t ticket, Deadline deadline);
  // True when nothing is queued or running.
  bool Idle();
  void SetStopOnFailure(bool stop);

  // Leaves the table. With `wait` the tasks finish first; without, tasks that have not started are
  // dropped and one that waits is given up at its driver's next look. Idempotent.
  void Close(bool wait);

  // Wakes the worker if the stream has tasks and no driver: for threads that wait for it without
  // driving it.
  void Kick();

  // ---- for tasks, inside Advance() ----

  // When the task before the one being advanced was complete (NowNs() time), 0 for the first.
  int64_t last_completed_ns() const { return last_completed_ns_; }
  // True in a host function that runs in this stream.
  bool RunsInThisThread() const;

 private:
  enum class Driver { kHost, kWorker, kEnqueuer };
  enum class Wake {
    kNow,
    kSoon
  };  // kSoon: after a grace period in which a host thread may come and drive
  enum class Worker { kNone, kAsleep, kLooking, kUnavailable };
  using Lock = std::unique_lock<std::mutex>;

  Stream(const std::shared_ptr<Context>& context, Device* device, uint32_t id);
  bool HostMayDrive() const;
  bool WaitLocked(Lock& lock, uint64_t until, Deadline deadline);
  void Sleep(Lock& lock, Deadline deadline);
  void Drive(Lock& lock, Driver who, uint64_t until, Deadline deadline);
  Task::Progress AdvanceFront(Lock& lock, Fault* fault);
  void FinishFront(Lock& lock, Fault fault);
  void PrepareBehindFront(Lock& lock);
  void DropTasks(Lock& lock);
  void TellWorker(Wake wake);
  bool StartWorker();
  void WorkerLoop();

  Device* const device_;
  const uint64_t context_id_;
  const uint32_t id_;
  void* handle_ = nullptr;

  // All below is guarded by mutex_. Of the task functions only the constant ones run under it.
  std::mutex mutex_;
  std::condition_variable
      progress_;  // completed_ grew, the role became free, a step or Prepare() ended
  std::condition_variable worker_;  // work for the worker
  std::deque<std::unique_ptr<Task>>
      tasks_;               // only the driver pops, and uses the front outside the lock
  uint64_t queued_ = 0;     // tasks ever queued; the number of the last one is its ticket
  uint64_t completed_ = 0;  // tasks ever finished or dropped
  int sleepers_ = 0;        // threads in progress_
  bool driven_ = false;     // somebody holds the role
  uint64_t turns_ =
      0;  // times the role was taken: how the worker sees that the stream is cared for
  bool front_started_ = false;  // the front was advanced or prepared
  bool advancing_ = false;      // the driver is in Advance()
  bool driver_waits_ = false;   // the driver is in WaitForProgress(): others may prepare
  bool preparing_ = false;      // somebody calls Prepare(); the front does not move meanwhile
  size_t prepared_ = 0;         // tasks directly behind the front whose Prepare() returned true
  bool closed_ = false;         // no Enqueue any more
  bool abandoned_ = false;      // drop everything
  bool stop_on_failure_ = false;
  bool dropping_ = false;  // a task failed under stop-on-failure
  Fault fault_;            // the first asynchronous fault
  bool fault_returned_ = false;
  Worker worker_state_ = Worker::kNone;
  bool worker_now_ = false;  // Wake::kNow is pending

  int64_t last_completed_ns_ = 0;  // written and read by the driver; handed over with the role
};

}  // namespace hcclrun
