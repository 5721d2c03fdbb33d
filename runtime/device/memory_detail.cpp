#include "device/memory_detail.h"

#include <pthread.h>
#include <time.h>

#include <mutex>
#include <shared_mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "device/device.h"
#include "device/device_memory.h"
#include "device/host_registration.h"
#include "device/memory_map_state.h"

namespace hcclrun {
namespace {

using Gone = MemoryMaps::Gone;
using Place = MemoryDetail::Place;

// What the map itself knows; newest first of what is gone.
void DescribeLocked(const MemoryMaps& maps, uintptr_t at, MemoryDetail* detail) {
  const MemoryInfo* info = maps.Find(at);
  // All of a peer's heap is an entry: says nothing more than that it is the peer's.
  if (info && (info->kind != MemoryKind::kPeerView || !maps.WindowsEnded(at))) {
    detail->place = Place::kInside;
    detail->memory = *info;
    return;
  }
  for (size_t i = 0; i < maps.gone.size(); i++) {
    const size_t size = maps.gone.size();
    const Gone& gone = maps.gone[(maps.next_gone + size - 1 - i) % size];
    if (at - AddressNumber(gone.memory.base) >= gone.memory.size) continue;
    detail->place = Place::kGone;
    detail->memory = gone.memory;
    detail->ended_by = gone.ended_by;
    return;
  }
  const auto space = maps.SpaceOf(at);
  if (space == maps.spaces.end()) return;
  detail->place = space->second.kind == SpaceKind::kPieces ? Place::kReserved : Place::kDevice;
  detail->memory.base = reinterpret_cast<char*>(space->first);
  detail->memory.size = space->second.size;
}

bool OnOwnStack(const void* address) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
  void* base = nullptr;
  size_t size = 0;
  const bool known = pthread_attr_getstack(&attributes, &base, &size) == 0;
  pthread_attr_destroy(&attributes);
  return known && AddressNumber(address) - AddressNumber(base) < size;
}

}  // namespace

MemoryDetail DescribeMemory(const void* address) {
  MemoryDetail detail;
  {
    MemoryMaps& maps = MemoryMaps::Get();
    std::shared_lock<std::shared_mutex> lock(maps.mutex);
    DescribeLocked(maps, AddressNumber(address), &detail);
  }
  if (detail.place != Place::kUnknown) return detail;
  if (FindPinnedHostMemory(address, &detail.memory)) {
    detail.place = Place::kPinnedHost;
  } else if (IsRegisteredHostMemory(address)) {
    detail.place = Place::kRegisteredHost;
  } else if (OnOwnStack(address)) {
    detail.place = Place::kStack;
  }
  return detail;
}

std::string NameOf(const MemoryInfo& memory) {
  std::string name = memory.made_by ? memory.made_by : "memory";
  if (memory.number) absl::StrAppend(&name, " #", memory.number);
  absl::StrAppend(&name, absl::StrFormat(" (%d bytes at %#x", memory.size, AddressNumber(memory.base)));
  if (memory.device) absl::StrAppend(&name, ", device ", memory.device->id());
  return name + ")";
}

bool DescribeClosed(const void* address, MemoryDetail* detail) {
  MemoryMaps& maps = MemoryMaps::Get();
  constexpr int kTries = 200;
  constexpr timespec kPause = {0, 1'000'000};
  for (int i = 0; i < kTries; i++) {
    if (!maps.mutex.try_lock_shared()) {
      nanosleep(&kPause, nullptr);
      continue;
    }
    const auto space = maps.SpaceOf(AddressNumber(address));
    const bool closed =
        space != maps.spaces.end() && space->second.view != reinterpret_cast<char*>(space->first);
    if (closed) DescribeLocked(maps, AddressNumber(address), detail);
    maps.mutex.unlock_shared();
    return closed;
  }
  return false;
}

Fault NotDeviceMemory(const void* address, const char* parameter) {
  Fault fault(FaultKind::kNotDeviceMemory, {AddressNumber(address)}, parameter);
  fault.detail = std::make_shared<MemoryDetail>(DescribeMemory(address));
  return fault;
}

}  // namespace hcclrun
