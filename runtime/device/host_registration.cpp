#include "device/host_registration.h"

#include <map>
#include <mutex>

#include "device/device_memory.h"
#include "device/heap.h"

namespace hcclrun {
namespace {

struct Registration {
  uint64_t bytes;
  bool mapped;
};

// Never destroyed: the program may unregister from its own exit handlers.
struct Registrations {
  std::mutex mutex;
  std::map<uintptr_t, Registration> by_address;  // they do not overlap
};

Registrations& Get() {
  static Registrations* registrations = new Registrations();
  return *registrations;
}

uintptr_t Number(const void* address) { return reinterpret_cast<uintptr_t>(address); }

const Registration* FindLocked(const Registrations& all, uintptr_t at) {
  auto it = all.by_address.upper_bound(at);
  if (it == all.by_address.begin()) return nullptr;
  --it;
  return at - it->first < it->second.bytes ? &it->second : nullptr;
}

Fault Unknown(const void* address) {
  return Fault(FaultKind::kUnknownHandle, {Number(address)}, "registered host memory");
}

}  // namespace

Fault RegisterHostMemory(void* address, uint64_t bytes, bool mapped) {
  const uintptr_t at = Number(address);
  if (at % kDevicePage) return Fault(FaultKind::kUnaligned, {at, kDevicePage}, "ptr");
  Registrations& all = Get();
  std::lock_guard<std::mutex> lock(all.mutex);
  auto next = all.by_address.lower_bound(at);
  if (FindLocked(all, at) || (next != all.by_address.end() && next->first - at < bytes))
    return Fault(FaultKind::kRangeMapped, {at, bytes});
  all.by_address[at] = {bytes, mapped};
  return Fault::None();
}

Fault UnregisterHostMemory(void* address) {
  Registrations& all = Get();
  std::lock_guard<std::mutex> lock(all.mutex);
  return all.by_address.erase(Number(address)) ? Fault::None() : Unknown(address);
}

Result<void*> DevicePointerOf(void* address) {
  Registrations& all = Get();
  std::lock_guard<std::mutex> lock(all.mutex);
  const Registration* found = FindLocked(all, Number(address));
  if (!found || !found->mapped) return Unknown(address);
  return address;
}

bool IsRegisteredHostMemory(const void* address) {
  Registrations& all = Get();
  std::lock_guard<std::mutex> lock(all.mutex);
  return FindLocked(all, Number(address)) != nullptr;
}

bool IsKnownHostMemory(const void* address) {
  return IsPinnedHostMemory(address) || IsRegisteredHostMemory(address);
}

}  // namespace hcclrun
