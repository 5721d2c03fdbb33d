#pragma once
// From opaque C handles to objects. A handle is a number that is never used twice within
// the process, dressed up as a pointer of a kind of its own, so that stale, foreign and
// invented handles are recognised and never dereferenced. Tables are created on first use
// and never destroyed: worker threads and exit handlers of the program may still call while
// static objects go.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "base/fault.h"
#include "base/thread_value.h"

namespace hcclrun {

// The kind goes into the handle's upper bits, which lie outside the kernel's usual mappings but
// below 2^47.
enum class HandleKind : uint64_t {
  kContext = 0x11,
  kStream = 0x12,
  kEvent = 0x13,
  kPhysicalMemory = 0x14,
  kNotify = 0x15,
  kMemoryPool = 0x16
};

// A handle that is in no table of the objects that it should name, `kind` in words.
inline Fault UnknownHandle(const void* handle, const char* kind) {
  return Fault(FaultKind::kUnknownHandle, {reinterpret_cast<uintptr_t>(handle)}, kind);
}

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
  // nullptr when the handle is not in the table. A thread that asks for the same object again
  // needs no lock: what it found last still holds while nothing has been removed since. The count
  // of removals is read (acquire) after the removal that the caller could know of had counted
  // itself, under the lock; a removal that runs at the same time may come before or after.
  std::shared_ptr<T> Find(const void* handle) const {
    Last& last = ThreadValue<Last>::Get();
    if (last.IsAbout(this, handle)) {
      if (std::shared_ptr<T> object = last.object.lock()) return object;
    }
    std::shared_lock<std::shared_mutex> lock(mutex_);
    auto it = objects_.find(reinterpret_cast<uint64_t>(handle));
    if (it == objects_.end()) return nullptr;
    last = {this, handle, removals_.load(std::memory_order_relaxed), it->second};
    return it->second;
  }
  // Whether Find() would find something, without taking a reference to it.
  bool Holds(const void* handle) const {
    return ThreadValue<Last>::Get().IsAbout(this, handle) || Find(handle) != nullptr;
  }
  // The object leaves the table; nullptr when it is not there. Of two racing callers one gets it.
  std::shared_ptr<T> Remove(const void* handle) {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    auto it = objects_.find(reinterpret_cast<uint64_t>(handle));
    if (it == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(it->second);
    objects_.erase(it);
    removals_.fetch_add(1, std::memory_order_release);
    return object;
  }
  // Grows with every removal: what was found after a load of this value is in the table as long as
  // another load returns the same.
  uint64_t removals() const { return removals_.load(std::memory_order_acquire); }
  // Whether `test` holds for any object; under the table's lock.
  template <class Test>
  bool Any(Test test) const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    for (auto& [handle, object] : objects_) {
      if (test(*object)) return true;
    }
    return false;
  }
  std::vector<std::shared_ptr<T>> All() const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    std::vector<std::shared_ptr<T>> all;
    for (auto& [handle, object] : objects_) all.push_back(object);
    return all;
  }

 private:
  // What a thread found last; keeps nothing alive.
  struct Last {
    const HandleTable* table = nullptr;
    const void* handle = nullptr;
    uint64_t removals = 0;  // at that time
    std::weak_ptr<T> object;
    bool IsAbout(const HandleTable* asked, const void* wanted) const {
      return table == asked && handle == wanted &&
             removals == asked->removals_.load(std::memory_order_acquire);
    }
  };

  const uint64_t prefix_;
  mutable std::shared_mutex mutex_;
  std::atomic<uint64_t> removals_{0};  // changed under mutex_
  uint64_t last_ = 0;
  std::unordered_map<uint64_t, std::shared_ptr<T>> objects_;
};

}  // namespace hcclrun
