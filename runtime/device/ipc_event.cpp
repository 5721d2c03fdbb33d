#include "device/ipc_event.h"

#include <unistd.h>

#include <algorithm>

#include "device/heap.h"
#include "device/stream.h"
#include "shm/process_watch.h"
#include "shm/stall.h"

namespace hcclrun {
namespace {

static_assert(sizeof(IpcEventState) <= kDevicePage);

constexpr int kPidBits = 22;

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
  void OnAbort() override { event_->GiveUp(number_); }
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
        timeout_(timeout_ms) {
    pending_->fetch_add(1, std::memory_order_acq_rel);
  }
  ~IpcWaitTask() override { pending_->fetch_sub(1, std::memory_order_acq_rel); }
  Progress Advance(Fault* fault) override {
    timeout_.Begin();
    if (event_->Reached(number_)) return Progress::kDone;
    if (timeout_.passed()) {
      *fault = Fault(FaultKind::kEventWaitTimeout, {uint64_t(timeout_.milliseconds())});
      return Progress::kDone;
    }
    const int64_t now_ns = NowNs();
    if (now_ns < next_look_ns_) return Progress::kWaiting;
    next_look_ns_ = now_ns + EventCount::kSliceNs;
    *fault = event_->CheckRecorder(number_);
    return *fault || event_->Reached(number_) ? Progress::kDone : Progress::kWaiting;
  }
  void WaitForProgress(int64_t limit_ns) override {
    stall_.Note(waiter, {WaitKind::kSharedEvent, 0, 0, 0, event_->RecorderOf(number_)});
    event_->state().changed.WaitOnce([&] { return event_->Reached(number_); },
                                     timeout_.Remaining(limit_ns));
  }
  bool CheapToStart() const override { return true; }
  const char* Name() const override { return "event wait"; }

 private:
  const std::shared_ptr<IpcEvent> event_;
  const uint64_t number_;
  const std::shared_ptr<std::atomic<int64_t>> pending_;
  Timeout timeout_;
  StreamStall stall_;
  int64_t next_look_ns_ = 0;  // at the recording process
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
  return RecordOf(number).done.load(std::memory_order_seq_cst) >= number;
}

void IpcEvent::Reach(uint64_t number, int64_t now_ns) {
  Finish(number, std::max<int64_t>(now_ns, 1));
}

void IpcEvent::GiveUp(uint64_t number) { Finish(number, -NowNs()); }

bool IpcEvent::GivenUp(uint64_t number) const {
  return RecordOf(number).ns.load(std::memory_order_seq_cst) < 0;
}

// The time is there before anybody can see the record done.
void IpcEvent::Finish(uint64_t number, int64_t ns) {
  IpcEventState::Record& record = RecordOf(number);
  uint64_t seen = record.done.load(std::memory_order_seq_cst);
  if (seen < number) record.ns.store(ns, std::memory_order_seq_cst);
  while (seen < number &&
         !record.done.compare_exchange_weak(seen, number, std::memory_order_seq_cst)) {
  }
  state().changed.Notify();
}

Fault IpcEvent::CheckRecorder(uint64_t number) const {
  const uint64_t word = RecordOf(number).recorder.load(std::memory_order_seq_cst);
  const auto pid = static_cast<int32_t>(word & ((uint64_t{1} << kPidBits) - 1));
  if (word >> kPidBits != number || pid == getpid() || !ProcessEnded(pid)) return Fault::None();
  // It may have finished the record before it ended.
  if (Reached(number)) return Fault::None();
  return Fault(FaultKind::kRecorderEnded, {uint64_t(pid)});
}

uint32_t IpcEvent::RecorderOf(uint64_t number) const {
  const uint64_t word = RecordOf(number).recorder.load(std::memory_order_seq_cst);
  if (word >> kPidBits != number) return 0;
  return static_cast<uint32_t>(word & ((uint64_t{1} << kPidBits) - 1));
}

bool IpcEvent::Recorded() const { return state().queued.load(std::memory_order_seq_cst) > 0; }

bool IpcEvent::Complete() const { return Reached(state().queued.load(std::memory_order_seq_cst)); }

int64_t IpcEvent::CompletedNs() const {
  const uint64_t number = state().queued.load(std::memory_order_seq_cst);
  if (number == 0 || !Reached(number)) return 0;
  const int64_t ns = RecordOf(number).ns.load(std::memory_order_seq_cst);
  return ns < 0 ? -ns : ns;
}

Fault IpcEvent::RecordIn(Stream& stream) {
  const uint64_t number = state().queued.fetch_add(1, std::memory_order_seq_cst) + 1;
  RecordOf(number).recorder.store(number << kPidBits | static_cast<uint64_t>(getpid()),
                                  std::memory_order_seq_cst);
  std::atomic<uint64_t> ticket{0};
  Fault fault =
      stream.Enqueue(std::make_unique<IpcRecordTask>(shared_from_this(), number, &stream), &ticket);
  std::lock_guard<std::mutex> lock(mutex_);
  if (!fault && number > own_.number)
    own_ = {number, stream.weak_from_this(), ticket.load(std::memory_order_relaxed)};
  return fault;
}

IpcEvent::OwnRecord IpcEvent::own() {
  std::lock_guard<std::mutex> lock(mutex_);
  return own_;
}

Fault IpcEvent::WaitIn(Stream& stream, std::shared_ptr<std::atomic<int64_t>> pending,
                       int64_t timeout_ms) {
  const uint64_t number = state().queued.load(std::memory_order_seq_cst);
  return stream.Enqueue(
      std::make_unique<IpcWaitTask>(shared_from_this(), number, std::move(pending), timeout_ms));
}

Fault IpcEvent::Synchronize(int64_t timeout_ms) {
  const Deadline deadline = Deadline::After(timeout_ms);
  const uint64_t number = state().queued.load(std::memory_order_seq_cst);
  while (!Reached(number)) {
    if (deadline.passed()) return Fault(FaultKind::kEventTimeout, {uint64_t(timeout_ms)});
    const OwnRecord record = own();
    std::shared_ptr<Stream> stream = record.number == number ? record.stream.lock() : nullptr;
    if (stream && !stream->RunsInThisThread()) {
      stream->WaitUntil(record.ticket, deadline);
      continue;
    }
    state().changed.WaitOnce([&] { return Reached(number); },
                             deadline.Remaining(EventCount::kSliceNs));
    if (Fault fault = CheckRecorder(number)) return fault;
  }
  return number && GivenUp(number) ? Fault(FaultKind::kStreamAborted) : Fault::None();
}

}  // namespace hcclrun
