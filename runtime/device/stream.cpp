#include "device/stream.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/fork_guard.h"
#include "base/log.h"
#include "base/strict_mode.h"
#include "device/context.h"
#include "device/device.h"
#include "device/handle_table.h"
#include "device/memory_detail.h"
#include "device/memory_map.h"
#include "device/reports.h"
#include "device/stream_observers.h"
#include "shm/event_count.h"

namespace hcclrun {
namespace {

HandleTable<Stream>& Table() {
  static HandleTable<Stream>* table = new HandleTable<Stream>(HandleKind::kStream);
  return *table;
}

// The stream whose task this thread advances.
thread_local const Stream* t_running = nullptr;

thread_local uint32_t t_last_task = 0;

std::atomic<void (*)(const TaskFailure&)> g_failure_hook{nullptr};

Fault GivingUpInside() {
  return Fault(FaultKind::kNotSupported,
               "giving up the tasks of a stream inside a host function that runs in it");
}

int32_t ThreadId() {
  thread_local const int32_t id = static_cast<int32_t>(gettid());
  return id;
}

}  // namespace

Result<std::shared_ptr<Stream>> Stream::From(void* handle) {
  if (handle == nullptr) {
    Result<std::shared_ptr<Context>> context = Context::Current();
    if (!context.ok()) return context.fault();
    return (*context)->DefaultStream();
  }
  Last& last = ThreadValue<Last>::Get();
  const uint64_t removals = Removals();
  if (last.handle == handle && last.removals == removals && last.stream) return last.stream;
  std::shared_ptr<Stream> stream = Table().Find(handle);
  if (!stream)
    return Fault(FaultKind::kUnknownHandle, {reinterpret_cast<uintptr_t>(handle)}, "stream");
  last = {handle, removals, stream};
  return stream;
}

uint64_t Stream::Removals() { return Table().removals(); }

std::shared_ptr<Stream> Stream::Create(const std::shared_ptr<Context>& context, uint32_t priority,
                                       uint32_t flags) {
  static std::atomic<uint32_t> last{0};
  uint32_t id = last.fetch_add(1, std::memory_order_relaxed);
  std::shared_ptr<Stream> stream(new Stream(context, context->device(), id, priority, flags));
  stream->handle_ = Table().Add(stream);
  context->AddStream(stream);
  TellStreamObservers(stream->handle_, StreamState::kCreated);
  return stream;
}

Stream::Stream(const std::shared_ptr<Context>& context, Device* device, uint32_t id,
               uint32_t stream_priority, uint32_t stream_flags)
    : flags(stream_flags),
      priority(stream_priority),
      device_(device),
      context_id_(context->id()),
      id_(id),
      waiter_(Recorder::AddStream(id)) {}

void Stream::SetTaskFailureHook(void (*hook)(const TaskFailure&)) {
  g_failure_hook.store(hook, std::memory_order_release);
}

uint32_t Stream::LastTaskOfThread() { return t_last_task; }

bool Stream::AnyBusy() {
  return Table().Any([](Stream& stream) { return !stream.Idle(); });
}

void Stream::KeepForUsers(const MemoryInfo& memory, const char* call,
                          const std::shared_ptr<void>& kept) {
  std::string first;
  for (const std::shared_ptr<Stream>& stream : Table().All()) {
    if (!stream->Idle()) stream->FindUsers(memory, call, kept, &first);
  }
  if (first.empty()) return;
  Tell(LogLevel::kWarning,
       absl::StrCat(call, " gives back ", NameOf(memory), " while ", first,
                    " is queued and uses it; on hardware that fails or corrupts memory. ",
                    !kept          ? "Here it goes on"
                    : StrictMode() ? "It stays until then, and the task will fail (--strict)"
                                   : "It stays until then",
                    ". Synchronise the stream first"));
}

void Stream::FindUsers(const MemoryInfo& memory, const char* call,
                       const std::shared_ptr<void>& kept, std::string* first) {
  Lock lock(mutex_);
  auto look = [&](Task& task) {
    if (!task.Uses(memory)) return;
    if (kept) task.KeepMemory(kept, absl::StrCat(NameOf(memory), ", which ", call, " gave back"));
    if (!first->empty()) return;
    const std::string which = task.Which();
    *first = absl::StrCat(task.Name(), which.empty() ? "" : " ", which, " in stream ", id_);
  };
  // While a task is advanced it belongs to its driver, and need not even be in the queue.
  const bool busy = advancing_;
  const uint64_t front = completed_ + 1;
  const bool outside = queued_ - completed_ > tasks_.size();
  for (size_t i = busy && !outside ? 1 : 0; i < tasks_.size(); i++) look(*tasks_[i]);
  if ((!busy && !outside) || RunsInThisThread()) return;
  watchers_++;
  // One that is given up may have others at its buffers until it is destroyed.
  while (completed_ < front && !(advancing_ && advances_user_code_) &&
         (advancing_ || queued_ - completed_ > tasks_.size()))
    Sleep(lock, Deadline::Never());
  watchers_--;
  if (!advancing_ && completed_ < front && !tasks_.empty()) look(*tasks_.front());
}

Stream::~Stream() {
  if (waiter_ && !InForkedChild()) Recorder::Release(waiter_);
}

bool Stream::RunsInThisThread() const { return t_running == this; }

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
    rest = keep(task);
    rest->waiter = waiter_;
  }
  lock.lock();
  advancing_ = false;
  if (well) {
    completed_++;
    if (waiter_) waiter_->completed.store(completed_, std::memory_order_relaxed);
  } else {
    tasks_.push_front(std::move(rest));
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
  tasks_.push_front(std::move(front));
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

// Read in this order: what is complete now was queued before, so equal numbers say that there was an
// instant without a task.
bool Stream::Idle() const {
  const uint64_t completed = completed_.load(std::memory_order_acquire);
  return completed == queued_.load(std::memory_order_acquire);
}

// A fault is there before its task counts as complete.
bool Stream::Quiet() const { return Idle() && !has_fault_.load(std::memory_order_acquire); }

void Stream::SetStopOnFailure(bool stop) {
  Lock lock(mutex_);
  stop_on_failure_ = stop;
}

bool Stream::stop_on_failure() {
  Lock lock(mutex_);
  return stop_on_failure_;
}

Fault Stream::Abort(int32_t code) {
  if (RunsInThisThread()) return GivingUpInside();
  Lock lock(mutex_);
  aborts_++;
  abort_code_ = code;
  KeepFault(Fault());
  fault_returned_ = false;
  dropping_ = false;
  GiveUp(lock, queued_);
  return Fault::None();
}

Fault Stream::Stop() {
  if (RunsInThisThread()) return GivingUpInside();
  Lock lock(mutex_);
  if (front_started_ && !tasks_.empty()) GiveUp(lock, completed_ + 1);
  return Fault::None();
}

void Stream::GiveUp(Lock& lock, uint64_t until) {
  drop_until_ = std::max(drop_until_, until);
  while (completed_ < until && !(advancing_ && advances_user_code_)) {
    if (driven_) {
      Sleep(lock, Deadline::Never());
    } else {
      Drive(lock, Driver::kHost, until, Deadline::Never());
    }
  }
}

void Stream::Kick() {
  Lock lock(mutex_);
  if (!tasks_.empty() && !driven_) TellWorker(Wake::kNow);
}

void Stream::Close(bool wait) {
  std::shared_ptr<Stream> self = shared_from_this();
  if (!closing_.exchange(true)) TellStreamObservers(handle_, StreamState::kClosing);
  if (!wait) ForgetSubscriptions(*this);
  Table().Remove(handle_);
  if (Last& last = ThreadValue<Last>::Get(); last.stream == self) last = {};
  if (Result<std::shared_ptr<Context>> context =
          Context::From(reinterpret_cast<void*>(context_id_));
      context.ok()) {
    (*context)->RemoveStream(this);
  }
  Lock lock(mutex_);
  closed_ = true;
  if (wait && !RunsInThisThread()) {
    WaitLocked(lock, queued_, Deadline::Never());
  } else {
    if (!t_running && had_user_code_) RunWhatCan(lock, queued_);
    abandoned_ = true;
    // What the tasks use may be given back as soon as this returns: a copy that runs is short, and a
    // driver that waits gives its task up when it next looks. User code may take long.
    while (preparing_ || (driven_ && !RunsInThisThread() && !(advancing_ && advances_user_code_)))
      Sleep(lock, Deadline::Never());
    if (!driven_) {
      driven_ = true;
      DropTasks(lock);
      driven_ = false;
    }
  }
  worker_.notify_one();
  progress_.notify_all();
  lock.unlock();
  ForgetSubscriptions(*this);
}

// Programs launch a kernel, and then copy its result or destroy its stream without synchronising
// with it. On hardware they find the work done, since it has begun at once and is short. So tasks that
// wait for nobody run here before; user code that takes longer is waited for once.
void Stream::RunWhatCan(Lock& lock, uint64_t until) {
  constexpr int64_t kAllMs = 5000, kUserCodeMs = 20, kLookMs = 2;
  const Deadline all = Deadline::After(kAllMs);
  Deadline user_code = Deadline::Never();
  while (completed_ < until && !driver_waits_ && patience_lost_ <= completed_ && !all.passed()) {
    if (advancing_ && advances_user_code_) {
      if (user_code.never()) user_code = Deadline::After(kUserCodeMs);
      if (user_code.passed()) patience_lost_ = completed_ + 1;
    } else if (!driven_ && HostMayDrive()) {
      const uint64_t before = completed_;
      Drive(lock, Driver::kHost, completed_ + 1, Deadline::After(0));
      if (completed_ == before) break;
      continue;
    } else if (!driven_) {
      TellWorker(Wake::kNow);
    }
    Sleep(lock, Deadline::After(kLookMs));
  }
}

void Stream::CatchUp() {
  Lock lock(mutex_);
  if (completed_ < queued_ && !t_running) RunWhatCan(lock, queued_);
}

void Stream::KeepFault(Fault fault) {
  fault_ = std::move(fault);
  has_fault_.store(bool(fault_), std::memory_order_release);
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
  } catch (const std::exception& e) {
    *fault = Fault(FaultKind::kInternal, e.what());
  } catch (...) {
    *fault = Fault(FaultKind::kInternal, "a task threw an exception");
  }
  t_running = outer;
  if (StrictMode() && progress == Task::Progress::kDone && task->lost())
    *fault = Fault(FaultKind::kFreedInUse, *task->lost());
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

// By the driver of an abandoned stream.
void Stream::DropTasks(Lock& lock) {
  while (!tasks_.empty()) {
    std::deque<std::unique_ptr<Task>> dropped = std::move(tasks_);
    tasks_.clear();
    prepared_ = 0;
    front_started_ = false;
    front_waits_ = false;
    lock.unlock();
    size_t count = dropped.size();
    dropped.clear();
    lock.lock();
    aborts_++;  // who synchronises is told
    abort_code_ = 0;
    completed_ += count;
    if (waiter_) waiter_->completed.store(completed_, std::memory_order_relaxed);
    Recorder::Go(waiter_);
  }
  if (sleepers_) progress_.notify_all();
}

}  // namespace hcclrun
