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
// queued after the fault was returned runs. Every fault goes to the task failure hook at once.
//
// Giving tasks up. Abort() and Stop() set a mark, drop_until_: tasks up to it are destroyed instead
// of advanced, by whoever drives. A task that waits is given up at its driver's next look; a step
// that runs is short, but user code runs to its end, and neither call waits for it.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "base/clock.h"
#include "base/fault.h"
#include "base/thread_value.h"
#include "device/core_limits.h"
#include "device/task.h"

namespace hcclrun {

class Context;
class Device;

// What the hook is told about a task that failed.
struct TaskFailure {
  const Fault& fault;
  int32_t device;
  uint32_t stream;
  uint32_t task;    // number in the stream, from 1
  uint32_t thread;  // that queued it
};

// Handles (aclrtStream) are checked against a table before use: a stale or foreign handle is a
// fault, never a crash. The returned pointer keeps the stream alive while the caller works with it.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  // From the C handle. kUnknownHandle. A null handle is the current context's default stream for
  // acl calls; HCCL rejects null before it comes here.
  static Result<std::shared_ptr<Stream>> From(void* handle);
  // As From(), for streams that the calling thread asked for before: without a lock and without a
  // reference. Null: ask From(). Lives until the thread asks for another one or destroys it.
  static Stream* Known(void* handle) {
    const Last& last = ThreadValue<Last>::Get();
    return last.stream && last.handle == handle && last.removals == Removals() ? last.stream.get()
                                                                               : nullptr;
  }
  // A new stream of `context`, in the table; its handle() is the C handle. priority and flags are
  // kept for whoever asks. Observers of streams (device/stream_observers.h) are told.
  static std::shared_ptr<Stream> Create(const std::shared_ptr<Context>& context,
                                        uint32_t priority = 0, uint32_t flags = 0);
  ~Stream();

  // `hook` runs for every task that fails, on the driving thread and without a lock, before the
  // task counts as complete. One for the process.
  static void SetTaskFailureHook(void (*hook)(const TaskFailure&));
  // Whether any stream has anything queued.
  static bool AnyBusy();
  // Finds the tasks of all streams that use `memory`, which the program gives back with `call`, and
  // lets them keep `kept`, its owner, so that it lives as long as they do (null: what they use
  // stays anyway). Warns about the first. A task that is being advanced by another thread in this
  // instant is waited for, unless it runs code of the program.
  // Takes some time: ask AnyBusy() first.
  static void KeepForUsers(const MemoryInfo& memory, const char* call,
                           const std::shared_ptr<void>& kept);
  // The number of the last task that this thread queued; 0 = none.
  static uint32_t LastTaskOfThread();

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
  // Queues and advances at once a task that begins with a short step and mostly ends with it:
  // `task` itself, which is the caller's, and if that was not all, what keep(task) makes of it,
  // which is then the front of the queue. False, and nothing has happened, when the stream is not
  // idle or not in order: then Enqueue().
  bool RunAtOnce(Task& task, std::unique_ptr<Task> (*keep)(Task&));
  // As RunAtOnce(), for what takes no longer than a lock may be held: `step` runs under the
  // stream's and says whether that was all. What it does takes no time of its own in
  // last_completed_ns(): an event that is recorded behind it is queued later.
  template <class Step, class Keep>
  bool StepAtOnce(Step step, Keep keep) {
    Lock lock(mutex_);
    if (driven_ || !tasks_.empty() || closed_ || abandoned_ || dropping_ || fault_) return false;
    const bool complete = step();
    CountStep(complete);
    if (!complete) KeepFront(keep());
    return true;
  }
  // Waits for everything queued so far, driving the stream when nobody else does; returns the first
  // asynchronous fault. timeout_ms < 0 = forever.
  Fault Synchronize(int64_t timeout_ms);
  // Drives or waits until the task with this ticket is done; false when the deadline passed first.
  bool WaitUntil(uint64_t ticket, Deadline deadline);
  // Drives or waits until everything queued so far is done; leaves asynchronous faults alone.
  void WaitQueued();
  // True when nothing is queued or running.
  // Read in this order: what is complete now was queued before, so equal numbers say that there was
  // an instant without a task.
  bool Idle() const {
    const uint64_t completed = completed_.load(std::memory_order_acquire);
    return completed == queued_.load(std::memory_order_acquire);
  }
  // That, and Synchronize() would return no fault, which is there before its task counts as
  // complete. Not in tasks of this stream.
  bool Quiet() const { return Idle() && !has_fault_.load(std::memory_order_acquire); }
  // Lets run what is queued and waits for nobody: see RunWhatCan(). Nothing inside user code.
  void CatchUp();
  void SetStopOnFailure(bool stop);
  bool stop_on_failure();

  // Gives up every task queued so far and forgets the asynchronous fault; threads that wait for
  // them in Synchronize() get kStreamAborted, with `code` unless it is 0. Returns when the tasks
  // are gone, except user code that runs. kNotSupported inside a host function of this stream.
  Fault Abort(int32_t code = 0);
  // Gives up the task that runs now, if one does; those behind it go on.
  Fault Stop();

  // Leaves the table. With `wait` the tasks finish first. Without, one that waits is given up at
  // its driver's next look, and those behind it, and behind user code that does not end soon, are
  // dropped: threads in Synchronize() get kStreamAborted. When this returns nothing uses the tasks'
  // memory but user code that runs. Idempotent.
  void Close(bool wait);

  // Wakes the worker if the stream has tasks and no driver: for threads that wait for it without
  // driving it.
  void Kick();

  CoreLimits core_limits;
  const uint32_t flags;            // ACL_STREAM_*, as given to Create()
  std::atomic<uint32_t> priority;  // this and the following only kept
  std::atomic<uint32_t> overflow_switch{0};
  std::atomic<uint32_t> custom_tag{0};
  std::atomic<uint32_t> cache_op_info{0};

  // ---- for tasks, inside Advance() ----

  // When the task before the one being advanced was complete (NowNs() time), 0 for the first.
  int64_t last_completed_ns() const { return last_completed_ns_; }
  // True in a host function that runs in this stream.
  bool RunsInThisThread() const;

 private:
  // The stream that a thread asked for last, which it keeps alive: a stream that is closed is
  // empty, and its thread forgets it.
  struct Last {
    void* handle = nullptr;
    uint64_t removals = 0;  // of the table, before the look
    std::shared_ptr<Stream> stream;
  };
  static uint64_t Removals();
  // As RunsInThisThread(), of any stream.
  static bool AnyRunsInThisThread();
  enum class Driver { kHost, kWorker, kEnqueuer };
  // kSoon: after a grace period in which a host thread may come and drive.
  enum class Wake { kNow, kSoon };
  enum class Worker { kNone, kAsleep, kLooking, kUnavailable };
  using Lock = std::unique_lock<std::mutex>;

  // Written under mutex_.
  struct Counted : std::atomic<uint64_t> {
    Counted() : std::atomic<uint64_t>(0) {}
    operator uint64_t() const { return load(std::memory_order_relaxed); }
    void operator++(int) { *this += 1; }
    void operator+=(uint64_t more) { store(*this + more, std::memory_order_release); }
  };

  Stream(const std::shared_ptr<Context>& context, Device* device, uint32_t id, uint32_t priority,
         uint32_t flags);
  void GiveUp(Lock& lock, uint64_t until);
  void RunWhatCan(Lock& lock, uint64_t until);
  void FindUsers(const MemoryInfo& memory, const char* call,
                 const std::shared_ptr<void>& kept, std::string* first);
  void CountStep(bool complete);
  void KeepFront(std::unique_ptr<Task> front);
  bool HostMayDrive() const;
  bool WaitLocked(Lock& lock, uint64_t until, Deadline deadline);
  void Sleep(Lock& lock, Deadline deadline);
  void Drive(Lock& lock, Driver who, uint64_t until, Deadline deadline);
  bool AdvanceFront(Lock& lock);
  void EndTurn(Driver who, bool in_a_hurry);
  static Task::Progress AdvanceTask(const Stream* stream, Task* task, Fault* fault);
  void FinishFront(Lock& lock, Fault fault);
  void PopFront();
  void PrepareBehindFront(Lock& lock);
  void DropTasks(Lock& lock);
  void TellWorker(Wake wake);
  bool StartWorker();
  void WorkerLoop();

  Device* const device_;
  const uint64_t context_id_;
  const uint32_t id_;
  Waiter* const waiter_;  // null without a flight recorder
  void* handle_ = nullptr;

  // All below is guarded by mutex_. Of the task functions the constant ones,
  // OnAbort() and OnStreamFailed() run under it, no others.
  std::mutex mutex_;
  // completed_ grew, the role became free, a step or Prepare() ended.
  std::condition_variable progress_;
  std::condition_variable worker_;  // work for the worker
  // Only the driver pops, and uses the front outside the lock: while it is in Advance() the front
  // may be gone already.
  std::deque<std::unique_ptr<Task>> tasks_;
  // Tasks ever queued; the number of the last one is its ticket. This, the next and has_fault_ are
  // read without the lock by Quiet().
  Counted queued_;
  Counted completed_;       // tasks ever finished or dropped
  int sleepers_ = 0;        // threads in progress_
  int watchers_ = 0;        // those of them that wait for the end of a step
  bool driven_ = false;     // somebody holds the role
  uint64_t turns_ = 0;      // times the role was taken: how the worker sees the stream cared for
  bool front_started_ = false;  // the front was advanced or prepared
  bool front_waits_ = false;    // its last Advance() said so, and nobody has waited since
  bool advancing_ = false;      // the driver is in Advance()
  bool advances_user_code_ = false;  // with advancing_: the front's NeedsWorker()
  bool had_user_code_ = false;  // a task with NeedsWorker() was queued since the stream was empty
  bool driver_waits_ = false;   // the driver is in WaitForProgress(): others may prepare
  bool preparing_ = false;      // somebody calls Prepare(); the front does not move meanwhile
  size_t prepared_ = 0;         // tasks directly behind the front whose Prepare() returned true
  bool closed_ = false;         // no Enqueue any more
  bool abandoned_ = false;      // drop everything
  uint64_t drop_until_ = 0;     // tasks up to this number are given up
  uint64_t aborts_ = 0;         // calls of Abort(), and times that tasks were dropped
  int32_t abort_code_ = 0;      // of the last one
  uint64_t patience_lost_ = 0;  // with the task of this number, user code: see RunWhatCan()
  bool stop_on_failure_ = false;
  bool dropping_ = false;  // a task failed under stop-on-failure
  void KeepFault(Fault fault);
  Fault fault_;            // the first asynchronous fault; changed by KeepFault()
  std::atomic<bool> has_fault_{false};
  bool fault_returned_ = false;
  std::atomic<bool> closing_{false};  // Close() was called
  Worker worker_state_ = Worker::kNone;
  bool worker_now_ = false;  // Wake::kNow is pending

  int64_t last_completed_ns_ = 0;  // written and read by the driver; handed over with the role
};

}  // namespace hcclrun
