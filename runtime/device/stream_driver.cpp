// Driving a stream: what is queued, who advances it, and what comes after each step. See stream.h.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "base/strict_mode.h"
#include "device/device.h"
#include "device/stream.h"
#include "shm/event_count.h"

namespace hcclrun {
namespace {

// The stream whose task this thread advances.
thread_local const Stream* t_running = nullptr;

thread_local uint32_t t_last_task = 0;

std::atomic<void (*)(const TaskFailure&)> g_failure_hook{nullptr};

int32_t ThreadId() {
  thread_local const int32_t id = static_cast<int32_t>(gettid());
  return id;
}

}  // namespace

void Stream::SetTaskFailureHook(void (*hook)(const TaskFailure&)) {
  g_failure_hook.store(hook, std::memory_order_release);
}

uint32_t Stream::LastTaskOfThread() { return t_last_task; }

bool Stream::RunsInThisThread() const { return t_running == this; }

bool Stream::AnyRunsInThisThread() { return t_running != nullptr; }

Fault Stream::Enqueue(std::unique_ptr<Task> task, std::atomic<uint64_t>* ticket) {
  Lock lock(mutex_);
  if (closed_) return Fault(FaultKind::kStreamAborted, {reinterpret_cast<uintptr_t>(handle_)});
  if (fault_returned_) {
    KeepFault(Fault());
    fault_returned_ = false;
    dropping_ = false;
  }
  const bool cheap = task->CheapToStart();
  had_user_code_ = (had_user_code_ && completed_ < queued_) || task->NeedsWorker();
  task->queued_by = ThreadId();
  task->waiter = waiter_;
  tasks_.push_back(std::move(task));
  queued_++;
  if (waiter_) waiter_->queued.store(queued_, std::memory_order_relaxed);
  t_last_task = static_cast<uint32_t>(queued_);
  if (ticket) ticket->store(queued_, std::memory_order_release);
  if (driven_) {
    if (driver_waits_) PrepareBehindFront(lock);
  } else if (tasks_.size() > 1) {
    // A waiting task nobody drives at present; its worker has been told.
    if (front_started_) PrepareBehindFront(lock);
  } else if (cheap) {
    Drive(lock, Driver::kEnqueuer, queued_, Deadline::Never());
  } else {
    TellWorker(Wake::kNow);
  }
  return Fault::None();
}

// The task is not in the queue while it is advanced, but counts as queued: as in AdvanceFront(),
// nobody looks at the front meanwhile, and who queues others queues them behind.
bool Stream::RunAtOnce(Task& task, std::unique_ptr<Task> (*keep)(Task&)) {
  Lock lock(mutex_);
  if (driven_ || !tasks_.empty() || closed_ || abandoned_ || dropping_ || fault_) return false;
  driven_ = true;
  turns_++;
  queued_++;
  t_last_task = static_cast<uint32_t>(queued_);
  advancing_ = true;
  advances_user_code_ = false;
  lock.unlock();
  task.queued_by = ThreadId();
  task.waiter = waiter_;
  if (waiter_) waiter_->queued.store(queued_, std::memory_order_relaxed);
  Fault fault;
  const bool done = AdvanceTask(this, &task, &fault) == Task::Progress::kDone;
  const bool well = done && !fault;
  std::unique_ptr<Task> rest;
  if (well) {
    const int64_t at = task.CompletedAtNs();
    last_completed_ns_ = at ? at : NowNs();
    task.note.Finished(last_completed_ns_, task.Took());
  } else {
    try {
      rest = keep(task);
      rest->waiter = waiter_;
      lock.lock();
      tasks_.push_front(std::move(rest));
    } catch (const std::bad_alloc&) {  // the caller gives up what the task has begun
      if (lock.owns_lock()) lock.unlock();
      rest.reset();  // what has been kept gives itself up
      lock.lock();
      advancing_ = false;
      completed_++;
      if (waiter_) waiter_->completed.store(completed_, std::memory_order_relaxed);
      EndTurn(Driver::kEnqueuer, true);
      throw;
    }
  }
  if (!lock.owns_lock()) lock.lock();
  advancing_ = false;
  if (well) {
    completed_++;
    if (waiter_) waiter_->completed.store(completed_, std::memory_order_relaxed);
  } else {
    front_started_ = true;
    front_waits_ = !done;
    if (done) {
      FinishFront(lock, std::move(fault));
    } else if (abandoned_) {
      DropTasks(lock);
    } else if (completed_ < drop_until_) {
      tasks_.front()->OnAbort();
      FinishFront(lock, Fault::None());
    }
  }
  EndTurn(Driver::kEnqueuer, false);
  return true;
}

// Of StepAtOnce(): one more is queued and perhaps complete.
void Stream::CountStep(bool complete) {
  queued_++;
  t_last_task = static_cast<uint32_t>(queued_);
  if (complete) completed_++;
  if (!waiter_) return;
  waiter_->queued.store(queued_, std::memory_order_relaxed);
  waiter_->completed.store(completed_, std::memory_order_relaxed);
}

// A front that has been advanced once and waits.
void Stream::KeepFront(std::unique_ptr<Task> front) {
  front->queued_by = ThreadId();
  front->waiter = waiter_;
  try {
    tasks_.push_front(std::move(front));
  } catch (const std::bad_alloc&) {
    front.reset();  // gives itself up, before it counts as complete
    completed_++;
    if (waiter_) waiter_->completed.store(completed_, std::memory_order_relaxed);
    throw;
  }
  front_started_ = true;
  front_waits_ = true;
  TellWorker(Wake::kSoon);
}

Fault Stream::Synchronize(int64_t timeout_ms) {
  if (RunsInThisThread()) {
    return Fault(FaultKind::kNotSupported,
                 "waiting for a stream inside a host function that runs in it");
  }
  if (Quiet()) return Fault::None();
  Deadline deadline = Deadline::After(timeout_ms);
  Lock lock(mutex_);
  const uint64_t aborts = aborts_;
  if (!WaitLocked(lock, queued_, deadline)) {
    return Fault(FaultKind::kStreamTimeout, {uint64_t(timeout_ms), queued_ - completed_});
  }
  if (aborts_ != aborts) {
    return Fault(FaultKind::kStreamAborted, {reinterpret_cast<uintptr_t>(handle_)})
        .WithCode(abort_code_);
  }
  if (!fault_) return Fault::None();
  fault_returned_ = true;
  return fault_;
}

bool Stream::WaitUntil(uint64_t ticket, Deadline deadline) {
  Lock lock(mutex_);
  return WaitLocked(lock, ticket, deadline);
}

void Stream::WaitQueued() {
  Lock lock(mutex_);
  if (!RunsInThisThread()) WaitLocked(lock, queued_, Deadline::Never());
}

bool Stream::HostMayDrive() const {
  return tasks_.empty() || worker_state_ == Worker::kUnavailable || !tasks_.front()->NeedsWorker();
}

// Waits until `until` tasks are complete; false when the deadline passed first.
bool Stream::WaitLocked(Lock& lock, uint64_t until, Deadline deadline) {
  if (completed_ >= until) return true;
  Recorder::WillWait(id_);
  bool in_time = true;
  while (completed_ < until && in_time) {
    if (!driven_ && HostMayDrive()) Drive(lock, Driver::kHost, until, deadline);
    if (completed_ >= until) break;
    in_time = !deadline.passed();
    if (in_time && (driven_ || !HostMayDrive())) Sleep(lock, deadline);
  }
  Recorder::NothingAwaited();
  return in_time;
}

void Stream::Sleep(Lock& lock, Deadline deadline) {
  Recorder::Sleeps();
  sleepers_++;
  progress_.wait_for(lock, std::chrono::nanoseconds(deadline.Remaining(EventCount::kSliceNs)));
  sleepers_--;
}

// Takes the role and gives it back. A host thread leaves when `until` tasks are complete, when the
// deadline passes or when the front needs the worker; the enqueuer leaves after one step; the
// worker stays until the stream is empty.
void Stream::Drive(Lock& lock, Driver who, uint64_t until, Deadline deadline) {
  driven_ = true;
  turns_++;
  bool stepped = false, in_a_hurry = false;
  while (!tasks_.empty()) {
    while (preparing_) Sleep(lock, Deadline::Never());
    if (abandoned_) {
      DropTasks(lock);
      break;
    }
    if (completed_ < drop_until_) {
      tasks_.front()->OnAbort();
      FinishFront(lock, Fault::None());
      continue;
    }
    const Task& front = *tasks_.front();
    if (who == Driver::kEnqueuer && (stepped || !front.CheapToStart())) break;
    if (who == Driver::kHost) {
      if (completed_ >= until) break;
      in_a_hurry = (stepped && deadline.passed()) || !HostMayDrive();
      if (in_a_hurry) break;
    }
    stepped = true;
    if (dropping_ && !front_started_) {
      if (!front.RunsAfterFailure()) {
        FinishFront(lock, Fault::None());
        continue;
      }
      tasks_.front()->OnStreamFailed();
    }
    // One that has just said that it waits is waited for at once, by who has the time.
    const bool waits = front_waits_ && who != Driver::kEnqueuer && deadline.never();
    if (!waits && AdvanceFront(lock)) continue;
    if (who == Driver::kEnqueuer) break;
    if (abandoned_ || (who == Driver::kHost && deadline.passed())) continue;
    PrepareBehindFront(lock);
    if (abandoned_) continue;
    Task* task = tasks_.front().get();
    driver_waits_ = true;
    front_waits_ = false;
    lock.unlock();
    task->WaitForProgress(deadline.Remaining(EventCount::kSliceNs));
    lock.lock();
    driver_waits_ = false;
  }
  EndTurn(who, in_a_hurry);
}

void Stream::EndTurn(Driver who, bool in_a_hurry) {
  driven_ = false;
  if (!tasks_.empty() && who != Driver::kWorker) {
    // A waiting front may well be driven by the thread that synchronises next; anything else cannot
    // wait for that.
    TellWorker(front_started_ && !in_a_hurry ? Wake::kSoon : Wake::kNow);
  }
  if (sleepers_) progress_.notify_all();
  if (closed_) worker_.notify_one();  // it may end
}

Task::Progress Stream::AdvanceTask(const Stream* stream, Task* task, Fault* fault) {
  const Stream* outer = t_running;
  t_running = stream;
  Task::Progress progress = Task::Progress::kDone;
  try {
    progress = task->Advance(fault);
  } catch (const std::bad_alloc&) {
    *fault = Fault(FaultKind::kHostMemory, {0});
  } catch (const std::exception& e) {
    *fault = Fault(FaultKind::kInternal, e.what());
  } catch (...) {
    *fault = Fault(FaultKind::kInternal, "a task threw an exception");
  }
  t_running = outer;
  if (StrictMode() && progress == Task::Progress::kDone && task->lost())
    *fault = Fault(FaultKind::kFreedInUse, *task->lost());
  if (*fault) fault->SaidBy(task->speaker());
  return progress;
}

// True when the front is finished, false when it waits.
bool Stream::AdvanceFront(Lock& lock) {
  std::unique_ptr<Task>& front = tasks_.front();  // stays where it is when others are queued
  Task* const task = front.get();
  front_started_ = true;
  advancing_ = true;
  advances_user_code_ = task->NeedsWorker();
  lock.unlock();
  Fault fault;
  const bool done = AdvanceTask(this, task, &fault) == Task::Progress::kDone;
  const bool well = done && !fault;
  if (well) {  // as in FinishFront(), without another turn of the lock
    const int64_t at = task->CompletedAtNs();
    last_completed_ns_ = at ? at : NowNs();
    task->note.Finished(last_completed_ns_, task->Took());
    Recorder::Go(waiter_);
    front.reset();
  }
  lock.lock();
  advancing_ = false;
  front_waits_ = !done;
  if ((abandoned_ || watchers_) && sleepers_) progress_.notify_all();
  if (well) {
    PopFront();
    completed_++;
    if (waiter_) waiter_->completed.store(completed_, std::memory_order_relaxed);
    if (sleepers_) progress_.notify_all();
  } else if (done) {
    FinishFront(lock, std::move(fault));
  }
  return done;
}

void Stream::PopFront() {
  tasks_.pop_front();
  front_waits_ = false;
  front_started_ = prepared_ > 0;
  if (prepared_) prepared_--;
}

// The task dies before it counts as complete: who has synchronised may destroy what it used.
void Stream::FinishFront(Lock& lock, Fault fault) {
  std::unique_ptr<Task> done = std::move(tasks_.front());
  PopFront();
  const uint64_t number = completed_ + 1;
  Recorder::Go(waiter_);
  const bool given_up = number <= drop_until_;
  if (given_up) fault = Fault();  // nobody waits for its outcome any more
  if (fault) done->note.Failed(static_cast<uint32_t>(fault.kind));
  if (auto hook = fault ? g_failure_hook.load(std::memory_order_acquire) : nullptr) {
    // The program's callback is user code in this stream: neither does it wait for the stream, nor
    // others for it who do not wait for user code.
    advancing_ = advances_user_code_ = true;
    lock.unlock();
    const Stream* const outer = std::exchange(t_running, this);
    hook({fault, device_->id(), id_, static_cast<uint32_t>(number),
          static_cast<uint32_t>(done->queued_by)});
    t_running = outer;
    lock.lock();
    advancing_ = advances_user_code_ = false;
  }
  lock.unlock();
  int64_t at = done->CompletedAtNs();
  last_completed_ns_ = at ? at : NowNs();
  if (given_up) done->note.Failed(static_cast<uint32_t>(FaultKind::kStreamAborted));
  if (!fault && !given_up) done->note.Finished(last_completed_ns_, done->Took());
  done.reset();
  lock.lock();
  if (fault && !fault_) {
    KeepFault(std::move(fault));
    fault_returned_ = false;
    dropping_ = stop_on_failure_;
  }
  completed_++;
  if (waiter_) waiter_->completed.store(completed_, std::memory_order_relaxed);
  if (sleepers_) progress_.notify_all();
}

// The front waits or was announced, and does not move while preparing_ is set (Drive()
// waits for that).
void Stream::PrepareBehindFront(Lock& lock) {
  if (preparing_ || prepared_ + 1 >= tasks_.size()) return;
  preparing_ = true;
  const void* order = tasks_.front()->Order();
  while (prepared_ + 1 < tasks_.size()) {
    Task* task = tasks_[prepared_ + 1].get();
    lock.unlock();
    bool more = task->Prepare(order);
    lock.lock();
    if (!more) break;
    prepared_++;
  }
  preparing_ = false;
  if (sleepers_) progress_.notify_all();
}

}  // namespace hcclrun
