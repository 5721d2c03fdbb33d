#include "device/ipc_memory.h"

#include <sys/mman.h>

#include <boost/interprocess/mapped_region.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/strict_mode.h"
#include "device/device.h"
#include "device/memory_detail.h"
#include "device/memory_map.h"
#include "device/shared_key.h"

namespace hcclrun {
namespace {

// An address for another process' memory. The view leaves the map before the pages go.
struct Imported {
  Device* device;
  std::unique_ptr<Import> import;
  boost::interprocess::mapped_region region;
  boost::interprocess::mapped_region closed;  // the program's view, if it is another one
  char* program_address = nullptr;            // null until it is in the map
  ~Imported() {
    if (!program_address) return;
    RemovePeerView(program_address);
    RemoveDeviceSpace(program_address);
  }
};

// Never destroyed: memory may be released from exit handlers.
struct Imports {
  std::mutex mutex;
  std::multimap<std::string, std::unique_ptr<Imported>> by_key;
};

Imports& Get() {
  static Imports* imports = new Imports();
  return *imports;
}

}  // namespace

Result<std::string> ExportIpcMemory(void* address, uint64_t bytes, bool any_pid) {
  if (Fault f = CheckDeviceRange(address, bytes, "devPtr")) return f;
  const MemoryInfo info = FindMemory(address);
  if (info.kind != MemoryKind::kAllocation)
    return NotDeviceMemory(address, "devPtr");
  const uint64_t offset =
      info.heap_offset + static_cast<uint64_t>(static_cast<char*>(address) - info.base);
  Result<FabricHandle> handle =
      ExportRange(info.device, offset, bytes, ExportKind::kMemory, 0, any_pid);
  if (!handle.ok()) return handle.fault();
  return KeyText(ExportKind::kMemory, *handle);
}

Fault AllowIpcPids(const char* key, const int32_t* pids, uint64_t count) {
  Result<FabricHandle> handle = ParseKey(ExportKind::kMemory, key);
  return handle.ok() ? AllowPids(*handle, pids, count) : handle.fault();
}

Result<void*> ImportIpcMemory(const char* key, Device* device) {
  Result<FabricHandle> handle = ParseKey(ExportKind::kMemory, key);
  if (!handle.ok()) return handle.fault();
  auto imported = std::make_unique<Imported>();
  imported->device = device;
  Result<std::unique_ptr<Import>> import = ImportRange(*handle, ExportKind::kMemory, nullptr);
  if (!import.ok()) return import.fault();
  imported->import = std::move(*import);
  Result<boost::interprocess::mapped_region> region = imported->import->Map();
  if (!region.ok()) return region.fault();
  imported->region = std::move(*region);
  char* const view = static_cast<char*>(imported->region.get_address());
  char* address = view;
  const uint64_t size = imported->import->size();
  if (StrictMode()) {
    Result<boost::interprocess::mapped_region> closed = imported->import->Map();
    if (!closed.ok()) return closed.fault();
    imported->closed = std::move(*closed);
    address = static_cast<char*>(imported->closed.get_address());
    const uintptr_t lead = reinterpret_cast<uintptr_t>(address) % kDevicePage;
    if (mprotect(address - lead, lead + size, PROT_NONE) != 0)
      return Fault(FaultKind::kSystem, {uint64_t(errno)}, "close device memory to the host");
  }
  AddDeviceSpace(address, size, SpaceKind::kWhole, view);
  AddPeerView(address, size);
  imported->program_address = address;
  Imports& imports = Get();
  std::lock_guard<std::mutex> lock(imports.mutex);
  imports.by_key.emplace(key, std::move(imported));
  return static_cast<void*>(address);
}

Fault CloseIpcMemory(const char* key) {
  Device::LetStreamsCatchUp();
  Imports& imports = Get();
  std::vector<std::unique_ptr<Imported>> closed;  // die outside the lock
  std::lock_guard<std::mutex> lock(imports.mutex);
  auto [first, last] = imports.by_key.equal_range(key);
  for (auto it = first; it != last; ++it) closed.push_back(std::move(it->second));
  imports.by_key.erase(first, last);
  if (!closed.empty()) return Fault::None();
  Result<FabricHandle> own = ParseKey(ExportKind::kMemory, key);
  return own.ok() ? WithdrawExport(*own) : own.fault();
}

void ReleaseIpcMemoryOf(Device* device) {
  Imports& imports = Get();
  std::vector<std::unique_ptr<Imported>> closed;
  std::lock_guard<std::mutex> lock(imports.mutex);
  for (auto it = imports.by_key.begin(); it != imports.by_key.end();) {
    auto here = it++;
    if (here->second->device != device) continue;
    closed.push_back(std::move(here->second));
    imports.by_key.erase(here);
  }
}

}  // namespace hcclrun
