#pragma once
// From opaque C handles to objects. A handle is a number that is never used twice within
// the process, dressed up as a pointer of a kind of its own, so that stale, foreign and
// invented handles are recognised and never dereferenced. Tables are created on first use
// and never destroyed: worker threads and exit handlers of the program may still call while
// static objects go.

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace hcclrun {

// The kind goes into the handle's upper bits, which lie outside the kernel's usual mappings but
// below 2^47.
enum class HandleKind : uint64_t {
  kContext = 0x11,
  kStream = 0x12,
  kEvent = 0x13,
  kPhysicalMemory = 0x14,
  kNotify = 0x15
};

template <class T>
class HandleTable {
 public:
  explicit HandleTable(HandleKind kind) : prefix_(static_cast<uint64_t>(kind) << 40) {}

  void* Add(std::shared_ptr<T> object) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    uint64_t handle = prefix_ + (++last_ << 4);
    objects_.emplace(handle, std::move(object));
    return reinterpret_cast<void*>(handle);
  }
  // Under a handle that Add() returned before for the same object.
  void Restore(void* handle, std::shared_ptr<T> object) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    objects_.emplace(reinterpret_cast<uint64_t>(handle), std::move(object));
  }
  // nullptr when the handle is not in the table.
  std::shared_ptr<T> Find(const void* handle) const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    auto it = objects_.find(reinterpret_cast<uint64_t>(handle));
    return it == objects_.end() ? nullptr : it->second;
  }
  // The object leaves the table; nullptr when it is not there. Of two racing callers one gets it.
  std::shared_ptr<T> Remove(const void* handle) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    auto it = objects_.find(reinterpret_cast<uint64_t>(handle));
    if (it == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(it->second);
    objects_.erase(it);
    return object;
  }
  std::vector<std::shared_ptr<T>> All() const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    std::vector<std::shared_ptr<T>> all;
    for (auto& [handle, object] : objects_) all.push_back(object);
    return all;
  }

 private:
  const uint64_t prefix_;
  mutable std::shared_mutex mutex_;
  uint64_t last_ = 0;
  std::unordered_map<uint64_t, std::shared_ptr<T>> objects_;
};

}  // namespace hcclrun
