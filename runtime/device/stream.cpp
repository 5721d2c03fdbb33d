// Streams as objects: their handles, what becomes of their tasks when memory is given back, giving
// tasks up and closing. Driving is in stream_driver.cpp and stream_worker.cpp.

#include "device/memory_detail.h"
#include "device/stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/fork_guard.h"
#include "base/log.h"
#include "base/strict_mode.h"
#include "device/context.h"
#include "device/handle_table.h"
#include "device/memory_map.h"
#include "device/reports.h"
#include "device/stream_observers.h"

namespace hcclrun {
namespace {

HandleTable<Stream>& Table() {
  static HandleTable<Stream>* table = new HandleTable<Stream>(HandleKind::kStream);
  return *table;
}

Fault GivingUpInside() {
  return Fault(FaultKind::kNotSupported,
               "giving up the tasks of a stream inside a host function that runs in it");
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
  if (!stream) return UnknownHandle(handle, "stream");
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

Stream::~Stream() {
  if (waiter_ && !InForkedChild()) Recorder::Release(waiter_);
}

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

void Stream::SetStopOnFailure(bool stop) {
  Lock lock(mutex_);
  stop_on_failure_ = stop;
}

bool Stream::stop_on_failure() {
  Lock lock(mutex_);
  return stop_on_failure_;
}

void Stream::KeepFault(Fault fault) {
  fault_ = std::move(fault);
  has_fault_.store(bool(fault_), std::memory_order_release);
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
    if (!AnyRunsInThisThread() && had_user_code_) RunWhatCan(lock, queued_);
    abandoned_ = true;
    // What the tasks use may be given back as soon as this returns: a copy that runs is short, and
    // a driver that waits gives its task up when it next looks. User code may take long.
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
// with it. On hardware they find the work done, since it has begun at once and is short. So tasks
// that wait for nobody run here before; user code that takes longer is waited for once.
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
  if (completed_ < queued_ && !AnyRunsInThisThread()) RunWhatCan(lock, queued_);
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
