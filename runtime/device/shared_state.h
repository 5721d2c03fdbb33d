#pragma once
// A few bytes in a device's heap that other processes may come to share: the state of a notify or
// of an event. It is zero at first and lies on a page of its own, at the start. It lives, in every
// process, as long as the object that holds it; the owner's page is not used again while another
// process has it open. Any thread.

#include <boost/interprocess/mapped_region.hpp>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/fault.h"
#include "device/heap_header.h"
#include "device/sharing.h"

namespace hcclrun {

class Device;

class SharedState {
 public:
  static Result<std::unique_ptr<SharedState>> Create(Device* device, ExportKind kind,
                                                     uint64_t bytes);
  // Another process' state. kForeignHandle with the reason.
  static Result<std::unique_ptr<SharedState>> Open(const FabricHandle& handle, ExportKind kind,
                                                   uint64_t bytes);
  ~SharedState();

  void* address() const { return address_; }
  // Of own state: the handle to give to others, always the same; importers need not be listed when
  // `any_pid` of the first call. kForeignHandle for another process' state.
  Result<FabricHandle> Export(bool any_pid);
  // Lists importers. kForeignHandle unless Export() was called.
  Fault Allow(const int32_t* pids, uint64_t count);

 private:
  SharedState(Device* device, ExportKind kind) : device_(device), kind_(kind) {}

  Device* const device_;  // nullptr: another process'
  const ExportKind kind_;
  void* address_ = nullptr;
  uint64_t offset_ = 0, bytes_ = 0;
  std::unique_ptr<Import> import_;
  boost::interprocess::mapped_region view_;
  std::mutex mutex_;
  bool exported_ = false;    // guarded by mutex_
  FabricHandle handle_ = {};  // guarded by mutex_
};

}  // namespace hcclrun
