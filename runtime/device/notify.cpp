#include "device/notify.h"

#include "base/clock.h"
#include "device/handle_table.h"
#include "device/heap.h"
#include "device/shared_key.h"
#include "device/stream.h"
#include "shm/stall.h"

namespace hcclrun {
namespace {

static_assert(sizeof(NotifyState) <= kDevicePage);

HandleTable<Notify>& Table() {
  static HandleTable<Notify>* table = new HandleTable<Notify>(HandleKind::kNotify);
  return *table;
}

class NotifyRecordTask : public Task {
 public:
  explicit NotifyRecordTask(std::shared_ptr<Notify> notify) : notify_(std::move(notify)) {}
  Progress Advance(Fault*) override {
    notify_->state().set.store(1, std::memory_order_seq_cst);
    notify_->state().changed.Notify();
    return Progress::kDone;
  }
  void WaitForProgress(int64_t) override {}
  bool CheapToStart() const override { return true; }
  bool RunsAfterFailure() const override { return true; }
  const char* Name() const override { return "notify record"; }

 private:
  const std::shared_ptr<Notify> notify_;
};

class NotifyWaitTask : public Task {
 public:
  NotifyWaitTask(std::shared_ptr<Notify> notify, int64_t timeout_ms)
      : notify_(std::move(notify)), timeout_(timeout_ms) {}
  Progress Advance(Fault* fault) override {
    timeout_.Begin();
    if (notify_->state().set.exchange(0, std::memory_order_seq_cst)) return Progress::kDone;
    if (!timeout_.passed()) return Progress::kWaiting;
    *fault = Fault(FaultKind::kNotifyTimeout, {reinterpret_cast<uintptr_t>(notify_->handle()),
                                               uint64_t(timeout_.milliseconds())});
    return Progress::kDone;
  }
  void WaitForProgress(int64_t limit_ns) override {
    stall_.Note(waiter, {WaitKind::kNotify, 0, 0, 0,
                         reinterpret_cast<uintptr_t>(notify_->handle())});
    NotifyState& state = notify_->state();
    state.changed.WaitOnce([&] { return state.set.load(std::memory_order_seq_cst) != 0; },
                           timeout_.Remaining(limit_ns));
  }
  bool CheapToStart() const override { return true; }
  const char* Name() const override { return "notify wait"; }

 private:
  const std::shared_ptr<Notify> notify_;
  Timeout timeout_;
  StreamStall stall_;
};

}  // namespace

void* Notify::Enter(Device* device, std::unique_ptr<SharedState> shared) {
  std::shared_ptr<Notify> notify(new Notify(device, std::move(shared)));
  notify->handle_ = Table().Add(notify);
  return notify->handle_;
}

Result<void*> Notify::Create(Device* device) {
  Result<std::unique_ptr<SharedState>> shared =
      SharedState::Create(device, ExportKind::kNotify, sizeof(NotifyState));
  if (!shared.ok()) return shared.fault();
  return Enter(device, std::move(*shared));
}

Result<void*> Notify::Import(const char* key, Device* device) {
  Result<FabricHandle> parsed = ParseKey(ExportKind::kNotify, key);
  if (!parsed.ok()) return parsed.fault();
  Result<std::unique_ptr<SharedState>> shared =
      SharedState::Open(*parsed, ExportKind::kNotify, sizeof(NotifyState));
  if (!shared.ok()) return shared.fault();
  return Enter(device, std::move(*shared));
}

Result<std::shared_ptr<Notify>> Notify::From(void* handle) {
  std::shared_ptr<Notify> notify = Table().Find(handle);
  if (!notify) return UnknownHandle(handle, "notify");
  return notify;
}

Fault Notify::Destroy(void* handle) {
  if (Table().Remove(handle)) return Fault::None();
  return UnknownHandle(handle, "notify");
}

void Notify::ReleaseAllOf(Device* device) {
  for (const std::shared_ptr<Notify>& notify : Table().All()) {
    if (notify->device_ == device) Table().Remove(notify->handle_);
  }
}

Fault Notify::RecordIn(Stream& stream) {
  return stream.Enqueue(std::make_unique<NotifyRecordTask>(shared_from_this()));
}

Fault Notify::WaitIn(Stream& stream, int64_t timeout_ms) {
  return stream.Enqueue(std::make_unique<NotifyWaitTask>(shared_from_this(), timeout_ms));
}

Result<std::string> Notify::ExportKey(bool any_pid) {
  Result<FabricHandle> handle = shared_->Export(any_pid);
  if (!handle.ok()) return handle.fault();
  return KeyText(ExportKind::kNotify, *handle);
}

}  // namespace hcclrun
