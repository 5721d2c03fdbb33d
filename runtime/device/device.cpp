#include "device/device.h"

#include <cstdlib>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/settings.h"
#include "device/context.h"
#include "device/device_memory.h"
#include "device/host_functions.h"
#include "device/ipc_memory.h"
#include "device/memory_map.h"
#include "device/memory_pool.h"
#include "device/notify.h"
#include "device/stream.h"
#include "device/virtual_memory.h"

namespace hcclrun {
namespace {

// How long aclFinalize waits for unfinished tasks (semantics G.4: up to 2 s).
constexpr int64_t kFinaliseMs = 2000;

// Physical numbers of the devices that may be set (semantics E): an ascending list, cut at its
// first bad entry.
std::vector<int32_t> ReadVisible() {
  const int32_t count = static_cast<int32_t>(Settings::Get().device_count);
  std::vector<int32_t> visible;
  const char* list = getenv("ASCEND_RT_VISIBLE_DEVICES");
  if (!list) {
    for (int32_t id = 0; id < count; id++) visible.push_back(id);
    return visible;
  }
  for (absl::string_view item : absl::StrSplit(list, ',')) {
    int32_t id;
    bool digits = !item.empty();
    for (char c : item) digits = digits && absl::ascii_isdigit(c);
    if (!digits || !absl::SimpleAtoi(item, &id) || id >= count) break;
    if (!visible.empty() && id <= visible.back()) break;
    visible.push_back(id);
  }
  return visible;
}

const std::vector<int32_t>& Visible() {
  static const std::vector<int32_t>* visible = new std::vector<int32_t>(ReadVisible());
  return *visible;
}

// Never destroyed: workers use devices until the process is gone.
struct Devices {
  std::mutex mutex;
  std::vector<std::unique_ptr<Device>> all{Visible().size()};
};

Devices& Table() {
  static Devices* devices = new Devices();
  return *devices;
}

// The device if it has been used.
Device* Existing(int32_t id) {
  Devices& devices = Table();
  std::lock_guard<std::mutex> lock(devices.mutex);
  return devices.all[id].get();
}

}  // namespace

uint32_t Device::Count() { return static_cast<uint32_t>(Visible().size()); }

int32_t Device::PhysicalId(int32_t id) { return Visible()[id]; }

Fault Device::CheckId(int64_t id) {
  if (id < 0 || id >= int64_t{Count()})
    return Fault(FaultKind::kBadDevice, {uint64_t(id), Count()});
  return Fault::None();
}

Result<Device*> Device::Get(int32_t id) {
  if (Fault f = CheckId(id)) return f;
  Devices& devices = Table();
  std::lock_guard<std::mutex> lock(devices.mutex);
  std::unique_ptr<Device>& device = devices.all[id];
  if (!device) {
    Result<std::unique_ptr<Heap>> heap = Heap::Create();
    if (!heap.ok()) return heap.fault();
    AddDeviceSpace((*heap)->program_base(), (*heap)->size(), SpaceKind::kWhole, (*heap)->base());
    device.reset(new Device(id, std::move(*heap)));
  }
  return device.get();
}

Result<Device*> Device::Current() {
  Result<std::shared_ptr<Context>> context = Context::Current();
  if (!context.ok()) return context.fault();
  return (*context)->device();
}

bool Device::HasDefaultContext(int32_t id) {
  Device* device = Existing(id);
  if (!device) return false;
  std::lock_guard<std::mutex> lock(device->mutex_);
  return device->default_context_ != nullptr;
}

Fault Device::Set(int32_t id) {
  Result<Device*> found = Get(id);
  if (!found.ok()) return found.fault();
  Device* device = *found;
  std::lock_guard<std::mutex> lock(device->mutex_);
  device->references_++;
  device->finalised_ = false;
  if (!device->default_context_) device->default_context_ = Context::CreateDefault(device);
  Context::SetCurrent(device->default_context_);
  return Fault::None();
}

Fault Device::Reset(int32_t id) { return GiveBack(id, /*force=*/false); }
Fault Device::ResetForce(int32_t id) { return GiveBack(id, /*force=*/true); }

Fault Device::GiveBack(int32_t id, bool force) {
  if (Fault f = CheckId(id)) return f;
  Device* device = Existing(id);
  if (!device) return Fault(FaultKind::kNoContext);
  {
    std::lock_guard<std::mutex> lock(device->mutex_);
    if (device->references_ == 0) {
      return device->finalised_ ? Fault::None() : Fault(FaultKind::kNoContext);
    }
    device->references_ = force ? 0 : device->references_ - 1;
    if (device->references_ > 0) return Fault::None();
  }
  device->Release(/*wait=*/!force);
  return Fault::None();
}

void Device::ResetAll() {
  Deadline deadline = Deadline::After(kFinaliseMs);
  for (uint32_t id = 0; id < Count(); id++) {
    Device* device = Existing(static_cast<int32_t>(id));
    if (!device) continue;
    {
      std::lock_guard<std::mutex> lock(device->mutex_);
      device->references_ = 0;
      device->finalised_ = true;
    }
    device->Synchronize(deadline.Remaining(INT64_MAX) / 1'000'000);
    device->Release(/*wait=*/false);
  }
}

std::vector<std::shared_ptr<Context>> Device::TakeContexts() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::shared_ptr<Context>> contexts = std::move(contexts_);
  contexts_.clear();
  if (default_context_) contexts.push_back(std::move(default_context_));
  default_context_ = nullptr;
  return contexts;
}

// Waits without the lock: other threads may set the device anew meanwhile and get new contexts.
void Device::Release(bool wait) {
  for (auto& context : TakeContexts()) context->Close(wait);
  Notify::ReleaseAllOf(this);
  MemoryPool::ReleaseAllOf(this);
  ReleaseIpcMemoryOf(this);
  ReleaseVirtualMemoryOf(this);
  FreeAllDevice(this);
}

std::vector<std::shared_ptr<Stream>> Device::Streams() {
  std::vector<std::shared_ptr<Context>> contexts;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    contexts = contexts_;
    if (default_context_) contexts.push_back(default_context_);
  }
  std::vector<std::shared_ptr<Stream>> streams;
  for (auto& context : contexts) {
    for (auto& stream : context->Streams()) streams.push_back(stream);
  }
  return streams;
}

void Device::LetStreamsCatchUp() {
  if (!UserCodeQueued()) return;
  Result<Device*> device = Current();
  if (!device.ok()) return;
  for (auto& stream : (*device)->Streams()) stream->CatchUp();
}

Fault Device::Abort(int32_t code) {
  Fault first;
  for (auto& stream : Streams()) {
    Fault fault = stream->Abort(code);
    if (fault && !first) first = std::move(fault);
  }
  return first;
}

Fault Device::Synchronize(int64_t timeout_ms) {
  Deadline deadline = Deadline::After(timeout_ms);
  Fault first;
  for (auto& stream : Streams()) {
    int64_t left = deadline.never() ? -1 : (deadline.Remaining(INT64_MAX) + 999'999) / 1'000'000;
    Fault fault = stream->Synchronize(left);
    if (fault.kind == FaultKind::kStreamTimeout) {
      fault.n[0] = static_cast<uint64_t>(timeout_ms);
      return fault;
    }
    if (fault && !first) first = std::move(fault);
  }
  return first;
}

}  // namespace hcclrun
