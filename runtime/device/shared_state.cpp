#include "device/shared_state.h"

#include <cstring>

#include "device/device.h"

namespace hcclrun {

Result<std::unique_ptr<SharedState>> SharedState::Create(Device* device, ExportKind kind,
                                                         uint64_t bytes) {
  Result<uint64_t> offset = AllocateReclaiming(device->heap(), kDevicePage, kDevicePage);
  if (!offset.ok()) return offset.fault();
  std::unique_ptr<SharedState> state(new SharedState(device, kind));
  state->offset_ = *offset;
  state->bytes_ = bytes;
  state->address_ = device->heap().base() + *offset;
  memset(state->address_, 0, bytes);
  return state;
}

Result<std::unique_ptr<SharedState>> SharedState::Open(const FabricHandle& handle, ExportKind kind,
                                                       uint64_t bytes) {
  Result<std::unique_ptr<Import>> import = ImportRange(handle, kind, nullptr);
  if (!import.ok()) return import.fault();
  if ((*import)->size() != bytes || (*import)->offset() % kDevicePage)
    return Fault(FaultKind::kForeignHandle, "its export table is damaged");
  Result<boost::interprocess::mapped_region> view = (*import)->Map();
  if (!view.ok()) return view.fault();
  std::unique_ptr<SharedState> state(new SharedState(nullptr, kind));
  state->bytes_ = bytes;
  state->import_ = std::move(*import);
  state->view_ = std::move(*view);
  state->address_ = state->view_.get_address();
  return state;
}

SharedState::~SharedState() {
  if (!device_) return;
  if (exported_ && !CloseExport(device_, ExportKeyOf(handle_), offset_)) return;
  device_->heap().Free(offset_);
}

Result<FabricHandle> SharedState::Export(bool any_pid) {
  if (!device_) {
    return Fault(FaultKind::kForeignHandle, "only the process that made it may export it");
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (!exported_) {
    Result<FabricHandle> handle = ExportRange(device_, offset_, bytes_, kind_, 0, any_pid);
    if (!handle.ok()) return handle.fault();
    handle_ = *handle;
    exported_ = true;
  }
  return handle_;
}

Fault SharedState::Allow(const int32_t* pids, uint64_t count) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!exported_) return Fault(FaultKind::kForeignHandle, "it has not been exported");
  return AllowPids(handle_, pids, count);
}

}  // namespace hcclrun
