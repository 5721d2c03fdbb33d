#include "comm/comm_table.h"

#include <atomic>
#include <map>
#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "base/thread_value.h"
#include "device/handle_table.h"

namespace hcclrun {
namespace {

// Far from anything that could be a pointer of the program, so that a mix-up is caught.
constexpr uintptr_t kFirstComm = 0x4843000010;
constexpr uintptr_t kFirstWindow = 0x4857000010;
constexpr uintptr_t kStep = 16;

struct Table {
  std::mutex mutex;
  absl::flat_hash_map<void*, std::shared_ptr<Communicator>> comms;            // guarded by mutex
  std::map<void*, std::pair<std::weak_ptr<Communicator>, uint64_t>> windows;  // guarded by mutex
  uintptr_t next_comm = kFirstComm;                                           // guarded by mutex
  uintptr_t next_window = kFirstWindow;                                       // guarded by mutex
  std::atomic<uint64_t> removals{0};  // of communicators; changed under mutex
};

Table& GetTable() {
  static Table* table = new Table();
  return *table;
}

// The communicator that a thread found last, which holds while none has been removed since: as in
// device/handle_table.h. Keeps nothing alive.
struct LastFound {
  void* handle = nullptr;
  uint64_t removals = 0;
  std::weak_ptr<Communicator> comm;
  Communicator* address = nullptr;
  IssueLock* issuing = nullptr;  // its own, which outlives it
};

}  // namespace

Fault CheckNameFree(const std::string& name, int32_t device) {
  return FindByName(name, device) ? Fault(FaultKind::kNameTaken, name) : Fault::None();
}

void* AddCommunicator(std::shared_ptr<Communicator> comm) {
  Table& t = GetTable();
  std::lock_guard<std::mutex> lock(t.mutex);
  void* handle = reinterpret_cast<void*>(t.next_comm);
  t.next_comm += kStep;
  t.comms[handle] = std::move(comm);
  return handle;
}

void* FindByName(const std::string& name, int32_t device) {
  Table& t = GetTable();
  std::lock_guard<std::mutex> lock(t.mutex);
  for (const auto& [handle, comm] : t.comms) {
    if (comm->name() == name && comm->device()->id() == device) return handle;
  }
  return nullptr;
}

bool HasRankTableCommunicator(int32_t device) {
  Table& t = GetTable();
  std::lock_guard<std::mutex> lock(t.mutex);
  for (const auto& [handle, comm] : t.comms) {
    if (comm->config().from_rank_table && comm->device()->id() == device) return true;
  }
  return false;
}

Result<std::shared_ptr<Communicator>> FindCommunicator(void* handle) {
  Table& t = GetTable();
  LastFound& last = ThreadValue<LastFound>::Get();
  if (last.handle == handle && last.removals == t.removals.load(std::memory_order_acquire)) {
    if (std::shared_ptr<Communicator> comm = last.comm.lock()) return comm;
  }
  std::lock_guard<std::mutex> lock(t.mutex);
  auto it = t.comms.find(handle);
  if (it == t.comms.end()) return UnknownHandle(handle, "communicator");
  last = {handle, t.removals.load(std::memory_order_relaxed), it->second, it->second.get(),
          &it->second->issuing()};
  return it->second;
}

uint32_t SpeakerOfCommunicator(void* handle) {
  Result<std::shared_ptr<Communicator>> comm = FindCommunicator(handle);
  return comm.ok() ? (*comm)->speaker() : 0;
}

Communicator* VisitCommunicator(void* handle) {
  const LastFound& last = ThreadValue<LastFound>::Get();
  return last.handle == handle && last.issuing && last.issuing->Visit() ? last.address : nullptr;
}

Fault RemoveCommunicator(void* handle) {
  std::shared_ptr<Communicator> comm;
  Table& t = GetTable();
  {
    std::lock_guard<std::mutex> lock(t.mutex);
    auto it = t.comms.find(handle);
    if (it == t.comms.end()) return UnknownHandle(handle, "communicator");
    comm = std::move(it->second);
    t.comms.erase(it);
    t.removals.fetch_add(1, std::memory_order_release);
    std::erase_if(t.windows, [&](const auto& w) { return w.second.first.lock() == comm; });
  }
  if (!comm->issuing().Close())
    new std::shared_ptr<Communicator>(comm);  // stays for the one inside
  comm->Destroy();
  return Fault::None();
}

void* AddWindow(const std::shared_ptr<Communicator>& comm, uint64_t window) {
  Table& t = GetTable();
  std::lock_guard<std::mutex> lock(t.mutex);
  void* handle = reinterpret_cast<void*>(t.next_window);
  t.next_window += kStep;
  t.windows[handle] = {comm, window};
  return handle;
}

Result<WindowRef> FindWindow(void* handle) {
  Table& t = GetTable();
  std::lock_guard<std::mutex> lock(t.mutex);
  auto it = t.windows.find(handle);
  if (it != t.windows.end()) {
    if (auto comm = it->second.first.lock()) return WindowRef{std::move(comm), it->second.second};
  }
  return UnknownHandle(handle, "window");
}

void* HandleOfWindow(const Communicator& comm, uint64_t window) {
  Table& t = GetTable();
  std::lock_guard<std::mutex> lock(t.mutex);
  for (const auto& [handle, entry] : t.windows) {
    if (entry.second == window && entry.first.lock().get() == &comm) return handle;
  }
  return nullptr;
}

void RemoveWindow(void* handle) {
  Table& t = GetTable();
  std::lock_guard<std::mutex> lock(t.mutex);
  t.windows.erase(handle);
}

}  // namespace hcclrun
