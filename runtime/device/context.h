#pragma once
// Contexts (semantics G.3): what a thread works in. A context belongs to a device and owns streams,
// among them its default stream, which is made at first need. A device's default context is shared
// by all threads that set the device; others are made by aclrtCreateContext. Which context is
// current is a property of the thread.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/fault.h"

namespace hcclrun {

class Device;
class Stream;

class Context : public std::enable_shared_from_this<Context> {
 public:
  // From the C handle; kUnknownHandle.
  static Result<std::shared_ptr<Context>> From(void* handle);
  // The calling thread's; kNoContext when it has none or it was destroyed.
  static Result<std::shared_ptr<Context>> Current();
  // Whether Current() would find one.
  static bool HasCurrent();
  static void SetCurrent(const std::shared_ptr<Context>& context);
  // Makes this thread work in the context with this id from now on, as far as it lives.
  static void SetCurrentId(uint64_t id);

  // A default context, not known to the device.
  static std::shared_ptr<Context> CreateDefault(Device* device);
  // For aclrtCreateContext and aclrtDestroyContext. Creating makes it current.
  static Result<std::shared_ptr<Context>> CreateOn(int32_t device);
  // kBadValue for a default context. Waits for the streams it still has and destroys them.
  static Fault Destroy(void* handle);

  // Parameters of kernels that were set for this context, by option; kUnset where the process'
  // value holds. Kept for whoever asks.
  static constexpr int kParameters = 4;
  static constexpr int64_t kUnset = -1;
  std::atomic<int64_t> parameters[kParameters] = {kUnset, kUnset, kUnset, kUnset};

  Device* device() const { return device_; }
  uint64_t id() const { return id_; }
  void* handle() const { return reinterpret_cast<void*>(id_); }

  std::shared_ptr<Stream> DefaultStream();
  bool IsDefaultStream(const Stream* stream);
  void AddStream(std::shared_ptr<Stream> stream);
  void RemoveStream(const Stream* stream);
  std::vector<std::shared_ptr<Stream>> Streams();
  // Closes all streams and leaves the table; threads on which it was current have no context then.
  void Close(bool wait);

 private:
  Context(Device* device, bool is_default) : device_(device), is_default_(is_default) {}
  static std::shared_ptr<Context> Create(Device* device, bool is_default);

  Device* const device_;
  const bool is_default_;
  uint64_t id_ = 0;
  std::mutex mutex_;
  bool closed_ = false;                           // guarded by mutex_
  std::shared_ptr<Stream> default_stream_;        // guarded by mutex_
  std::vector<std::shared_ptr<Stream>> streams_;  // guarded by mutex_
};

}  // namespace hcclrun
