#include "device/ipc_event.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "device/stream.h"
#include "shm/process_watch.h"

namespace hcclrun {
namespace {

constexpr int64_t kSliceNs = 200'000'000;
constexpr int32_t kTaskTimeout = 107020;    // ACL_ERROR_RT_TASK_TIMEOUT
constexpr int32_t kRemoteSuspect = 507057;  // ACL_ERROR_RT_SUSPECT_REMOTE_ERROR

class IpcRecordTask : public Task {
 public:
  IpcRecordTask(std::shared_ptr<IpcEvent> event, uint64_t number, Stream* stream)
      : event_(std::move(event)), number_(number), stream_(stream), queued_ns_(NowNs()) {}
  ~IpcRecordTask() override {
    if (!event_->Reached(number_))
      event_->Reach(number_, NowNs());  // dropped with its stream: nobody shall wait for ever
  }
  Progress Advance(Fault*) override {
    stamp_ = std::max(queued_ns_, stream_->last_completed_ns());
    event_->Reach(number_, stamp_);
    return Progress::kDone;
  }
  void WaitForProgress(int64_t) override {}
  bool CheapToStart() const override { return true; }
  bool RunsAfterFailure() const override { return true; }
  int64_t CompletedAtNs() const override { return stamp_; }
  const char* Name() const override { return "event record"; }

 private:
  const std::shared_ptr<IpcEvent> event_;
  const uint64_t number_;
  Stream* const stream_;  // owns this task
  const int64_t queued_ns_;
  int64_t stamp_ = 0;
};

class IpcWaitTask : public Task {
 public:
  IpcWaitTask(std::shared_ptr<IpcEvent> event, uint64_t number,
              std::shared_ptr<std::atomic<int64_t>> pending, int64_t timeout_ms)
      : event_(std::move(event)),
        number_(number),
        pending_(std::move(pending)),
        timeout_ms_(timeout_ms) {
    pending_->fetch_add(1, std::memory_order_acq_rel);
  }
  ~IpcWaitTask() override { pending_->fetch_sub(1, std::memory_order_acq_rel); }
  Progress Advance(Fault* fault) override {
    if (!started_) deadline_ = Deadline::After(timeout_ms_);
    started_ = true;
    if (event_->Reached(number_)) return Progress::kDone;
    if (deadline_.passed()) {
      *fault = Fault(FaultKind::kEventTimeout, {uint64_t(timeout_ms_)}).WithCode(kTaskTimeout);
      return Progress::kDone;
    }
    *fault = event_->CheckRecorder();
    // The process may have finished the record before it ended.
    if (*fault && event_->Reached(number_)) *fault = Fault::None();
    return *fault || event_->Reached(number_) ? Progress::kDone : Progress::kWaiting;
  }
  void WaitForProgress(int64_t limit_ns) override {
    event_->state().changed.WaitOnce([&] { return event_->Reached(number_); },
                                     deadline_.Remaining(limit_ns));
  }
  bool CheapToStart() const override { return true; }
  const char* Name() const override { return "event wait"; }

 private:
  const std::shared_ptr<IpcEvent> event_;
  const uint64_t number_;
  const std::shared_ptr<std::atomic<int64_t>> pending_;
  const int64_t timeout_ms_;
  bool started_ = false;
  Deadline deadline_ = Deadline::Never();
};

}  // namespace

Result<std::shared_ptr<IpcEvent>> IpcEvent::Create(Device* device) {
  Result<std::unique_ptr<SharedState>> shared =
      SharedState::Create(device, ExportKind::kEvent, sizeof(IpcEventState));
  if (!shared.ok()) return shared.fault();
  return std::make_shared<IpcEvent>(std::move(*shared));
}

Result<std::shared_ptr<IpcEvent>> IpcEvent::Open(const FabricHandle& handle) {
  Result<std::unique_ptr<SharedState>> shared =
      SharedState::Open(handle, ExportKind::kEvent, sizeof(IpcEventState));
  if (!shared.ok()) return shared.fault();
  return std::make_shared<IpcEvent>(std::move(*shared));
}

bool IpcEvent::Reached(uint64_t number) const {
  return state().completed.load(std::memory_order_seq_cst) >= number;
}

void IpcEvent::Reach(uint64_t number, int64_t now_ns) {
  IpcEventState& s = state();
  uint64_t seen = s.completed.load(std::memory_order_seq_cst);
  if (seen < number) s.completed_ns.store(now_ns, std::memory_order_seq_cst);
  while (seen < number &&
         !s.completed.compare_exchange_weak(seen, number, std::memory_order_seq_cst)) {
  }
  s.changed.Notify();
}

Fault IpcEvent::CheckRecorder() const {
  const int32_t pid = state().recorder.load(std::memory_order_seq_cst);
  if (pid <= 0 || pid == getpid() || !ProcessEnded(pid)) return Fault::None();
  return Fault(FaultKind::kForeignHandle,
               absl::StrCat("process ", pid, ", which recorded the event, has ended"))
      .WithCode(kRemoteSuspect);
}

bool IpcEvent::Recorded() const { return state().queued.load(std::memory_order_seq_cst) > 0; }

bool IpcEvent::Complete() const {
  return Reached(state().queued.load(std::memory_order_seq_cst));
}

int64_t IpcEvent::CompletedNs() const {
  return Recorded() && Complete() ? state().completed_ns.load(std::memory_order_seq_cst) : 0;
}

Fault IpcEvent::RecordIn(Stream& stream) {
  state().recorder.store(getpid(), std::memory_order_seq_cst);
  const uint64_t number = state().queued.fetch_add(1, std::memory_order_seq_cst) + 1;
  return stream.Enqueue(std::make_unique<IpcRecordTask>(shared_from_this(), number, &stream));
}

Fault IpcEvent::WaitIn(Stream& stream, std::shared_ptr<std::atomic<int64_t>> pending,
                       int64_t timeout_ms) {
  const uint64_t number = state().queued.load(std::memory_order_seq_cst);
  return stream.Enqueue(std::make_unique<IpcWaitTask>(shared_from_this(), number,
                                                      std::move(pending), timeout_ms));
}

Fault IpcEvent::Synchronize(int64_t timeout_ms) {
  const Deadline deadline = Deadline::After(timeout_ms);
  const uint64_t number = state().queued.load(std::memory_order_seq_cst);
  while (!Reached(number)) {
    if (deadline.passed()) return Fault(FaultKind::kEventTimeout, {uint64_t(timeout_ms)});
    state().changed.WaitOnce([&] { return Reached(number); }, deadline.Remaining(kSliceNs));
    if (Fault f = CheckRecorder(); f && !Reached(number)) return f;
  }
  return Fault::None();
}

}  // namespace hcclrun
