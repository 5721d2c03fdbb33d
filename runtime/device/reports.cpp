#include "device/reports.h"

#include <pthread.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "absl/cleanup/cleanup.h"
#include "device/stream.h"
#include "shm/event_count.h"

namespace hcclrun {
namespace {

struct Item {
  enum class State { kQueued, kRunning, kDone, kDropped };
  void (*function)(void*);
  void* argument;
  uint32_t stream;
  State state = State::kQueued;  // guarded by Set::mutex
};

// Of one kind of subscription. Never destroyed: workers use it until the process ends.
struct Set {
  std::mutex mutex;
  std::condition_variable changed;                                           // any item or queue
  std::unordered_map<uint32_t, uint64_t> thread_of;                          // by stream id
  std::unordered_map<uint64_t, std::deque<std::shared_ptr<Item>>> queue_of;  // by thread
};

Set& Get(ReportSet which) {
  static auto* sets = new std::array<Set, 2>();
  return (*sets)[static_cast<size_t>(which)];
}

const char* NameOf(ReportSet set) {
  return set == ReportSet::kReports ? "callbacks of this stream (aclrtSubscribeReport)"
                                    : "host functions of this stream (aclrtSubscribeHostFunc)";
}

// The queue of a thread goes with its last subscription.
void RemoveLocked(Set& set, uint32_t stream) {
  auto it = set.thread_of.find(stream);
  if (it == set.thread_of.end()) return;
  const uint64_t thread = it->second;
  set.thread_of.erase(it);
  auto& queue = set.queue_of[thread];
  for (auto item = queue.begin(); item != queue.end();) {
    if ((*item)->stream != stream) {
      ++item;
      continue;
    }
    (*item)->state = Item::State::kDropped;
    item = queue.erase(item);
  }
  bool last = true;
  for (auto& [other, its_thread] : set.thread_of) last = last && its_thread != thread;
  if (last) set.queue_of.erase(thread);
  set.changed.notify_all();
}

class ReportTask : public Task {
 public:
  ReportTask(ReportSet set, uint32_t stream, void (*function)(void*), void* argument, bool blocks)
      : which_(set),
        blocks_(blocks),
        item_(std::make_shared<Item>(Item{function, argument, stream})) {}
  ~ReportTask() override {
    if (!blocks_ || !queued_) return;
    Set& set = Get(which_);
    std::lock_guard<std::mutex> lock(set.mutex);
    if (item_->state == Item::State::kQueued) item_->state = Item::State::kDropped;
  }
  Progress Advance(Fault* fault) override {
    Set& set = Get(which_);
    std::lock_guard<std::mutex> lock(set.mutex);
    if (!queued_) {
      auto subscriber = set.thread_of.find(item_->stream);
      if (subscriber == set.thread_of.end()) {
        *fault = Fault(FaultKind::kNotSubscribed, {0}, NameOf(which_));
        return Progress::kDone;
      }
      set.queue_of[subscriber->second].push_back(item_);
      set.changed.notify_all();
      queued_ = true;
      if (!blocks_) return Progress::kDone;
    }
    if (item_->state == Item::State::kDropped)
      *fault = Fault(FaultKind::kNotSubscribed, {0}, NameOf(which_));
    return Ended() ? Progress::kDone : Progress::kWaiting;
  }
  void WaitForProgress(int64_t limit_ns) override {
    Set& set = Get(which_);
    std::unique_lock<std::mutex> lock(set.mutex);
    set.changed.wait_for(lock, std::chrono::nanoseconds(limit_ns), [&] { return Ended(); });
  }
  // Reports tell of what happened, so they come after failures, too.
  bool RunsAfterFailure() const override { return which_ == ReportSet::kReports; }
  const char* Name() const override { return "callback"; }

 private:
  bool Ended() const {
    return item_->state == Item::State::kDone || item_->state == Item::State::kDropped;
  }
  const ReportSet which_;
  const bool blocks_;
  const std::shared_ptr<Item> item_;
  bool queued_ = false;
};

// Whoever waits for the function goes on even when it throws. The lock is held before and after.
void Run(Set& set, std::unique_lock<std::mutex>& lock, Item& item) {
  item.state = Item::State::kRunning;
  absl::Cleanup end = [&] {
    lock.lock();
    item.state = Item::State::kDone;
    set.changed.notify_all();
  };
  lock.unlock();
  item.function(item.argument);
}

}  // namespace

Fault Subscribe(ReportSet which, uint64_t thread, Stream& stream) {
  Set& set = Get(which);
  std::lock_guard<std::mutex> lock(set.mutex);
  auto [it, fresh] = set.thread_of.emplace(stream.id(), thread);
  if (!fresh && it->second != thread) return Fault(FaultKind::kBusy, "stream");
  set.queue_of[thread];
  set.changed.notify_all();
  return Fault::None();
}

Fault Unsubscribe(ReportSet which, uint64_t thread, Stream& stream) {
  Set& set = Get(which);
  std::lock_guard<std::mutex> lock(set.mutex);
  auto it = set.thread_of.find(stream.id());
  if (it == set.thread_of.end() || it->second != thread)
    return Fault(FaultKind::kNotSubscribed, {thread}, NameOf(which));
  RemoveLocked(set, stream.id());
  return Fault::None();
}

bool IsSubscribed(ReportSet which, Stream& stream) {
  Set& set = Get(which);
  std::lock_guard<std::mutex> lock(set.mutex);
  return set.thread_of.count(stream.id()) > 0;
}

void ForgetSubscriptions(Stream& stream) {
  for (ReportSet which : {ReportSet::kReports, ReportSet::kHostFunctions}) {
    Set& set = Get(which);
    std::lock_guard<std::mutex> lock(set.mutex);
    RemoveLocked(set, stream.id());
  }
}

Fault ReportInStream(ReportSet which, Stream& stream, void (*function)(void*), void* argument,
                     bool blocks) {
  if (!IsSubscribed(which, stream)) return Fault(FaultKind::kNotSubscribed, {0}, NameOf(which));
  return stream.Enqueue(
      std::make_unique<ReportTask>(which, stream.id(), function, argument, blocks));
}

Fault ProcessReports(ReportSet which, int64_t timeout_ms) {
  const uint64_t self = pthread_self();
  const Deadline deadline = Deadline::After(timeout_ms);
  Set& set = Get(which);
  std::unique_lock<std::mutex> lock(set.mutex);
  size_t here = 0;
  for (;;) {
    auto queue = set.queue_of.find(self);
    if (queue != set.queue_of.end() && !queue->second.empty()) {
      here = queue->second.size();
      break;
    }
    if (deadline.passed()) {
      if (queue == set.queue_of.end())
        return Fault(FaultKind::kNotSubscribed, {self}, NameOf(which));
      return Fault(FaultKind::kReportTimeout, {uint64_t(timeout_ms)});
    }
    set.changed.wait_for(lock, std::chrono::nanoseconds(deadline.Remaining(EventCount::kSliceNs)));
  }
  // Each function may end the subscription that the next one came by, and the queue with it.
  for (; here > 0; here--) {
    auto queue = set.queue_of.find(self);
    if (queue == set.queue_of.end() || queue->second.empty()) break;
    const std::shared_ptr<Item> item = std::move(queue->second.front());
    queue->second.pop_front();
    if (item->state == Item::State::kQueued) Run(set, lock, *item);
  }
  return Fault::None();
}

}  // namespace hcclrun
