#include "device/stream_observers.h"

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

namespace hcclrun {
namespace {

// Never destroyed: streams may close in exit handlers.
struct Observers {
  std::mutex mutex;
  std::map<std::string, StreamObserver> by_name;
  std::atomic<size_t> count{0};  // so that nobody needs the lock in the usual case of none
};

Observers& Get() {
  static Observers* observers = new Observers();
  return *observers;
}

}  // namespace

Fault AddStreamObserver(const std::string& name, StreamObserver observer) {
  Observers& observers = Get();
  std::lock_guard<std::mutex> lock(observers.mutex);
  if (!observers.by_name.emplace(name, std::move(observer)).second) {
    return Fault(FaultKind::kBusy, "callback name (" + name + ", which is registered)");
  }
  observers.count.store(observers.by_name.size(), std::memory_order_release);
  return Fault::None();
}

Fault RemoveStreamObserver(const std::string& name) {
  Observers& observers = Get();
  std::lock_guard<std::mutex> lock(observers.mutex);
  if (observers.by_name.erase(name) == 0)
    return Fault(FaultKind::kUnknownHandle, {0}, "stream state callback " + name);
  observers.count.store(observers.by_name.size(), std::memory_order_release);
  return Fault::None();
}

void TellStreamObservers(void* handle, StreamState state) {
  Observers& observers = Get();
  if (observers.count.load(std::memory_order_acquire) == 0) return;
  std::vector<StreamObserver> called;
  {
    std::lock_guard<std::mutex> lock(observers.mutex);
    for (auto& [name, observer] : observers.by_name) called.push_back(observer);
  }
  for (StreamObserver& observer : called) observer(handle, state);
}

}  // namespace hcclrun
