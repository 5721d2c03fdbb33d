#include "device/context.h"

#include <algorithm>

#include "base/not_allowed.h"
#include "device/device.h"
#include "device/handle_table.h"
#include "device/stream.h"

namespace hcclrun {
namespace {

HandleTable<Context>& Table() {
  static HandleTable<Context>* table = new HandleTable<Context>(HandleKind::kContext);
  return *table;
}

// A number and not a pointer: needs no destructor at thread exit, and a destroyed context is simply
// not found.
thread_local uint64_t t_current = 0;

}  // namespace

Result<std::shared_ptr<Context>> Context::From(void* handle) {
  std::shared_ptr<Context> context = Table().Find(handle);
  if (!context) return UnknownHandle(handle, "context");
  return context;
}

Result<std::shared_ptr<Context>> Context::Current() {
  if (t_current) {
    if (std::shared_ptr<Context> context = Table().Find(reinterpret_cast<void*>(t_current)))
      return context;
  }
  return Fault(FaultKind::kNoContext);
}

bool Context::HasCurrent() {
  return t_current && Table().Holds(reinterpret_cast<void*>(t_current));
}

void Context::SetCurrent(const std::shared_ptr<Context>& context) { t_current = context->id_; }

void Context::SetCurrentId(uint64_t id) { t_current = id; }

std::shared_ptr<Context> Context::Create(Device* device, bool is_default) {
  std::shared_ptr<Context> context(new Context(device, is_default));
  context->id_ = reinterpret_cast<uintptr_t>(Table().Add(context));
  return context;
}

std::shared_ptr<Context> Context::CreateDefault(Device* device) { return Create(device, true); }

Result<std::shared_ptr<Context>> Context::CreateOn(int32_t id) {
  Result<Device*> device = Device::Get(id);
  if (!device.ok()) return device.fault();
  std::shared_ptr<Context> context = Create(*device, false);
  {
    std::lock_guard<std::mutex> lock((*device)->mutex_);
    (*device)->contexts_.push_back(context);
  }
  SetCurrent(context);
  return context;
}

Fault Context::Destroy(void* handle) {
  Result<std::shared_ptr<Context>> context = From(handle);
  if (!context.ok()) return context.fault();
  if ((*context)->is_default_) {
    return NotAllowed("context is the default context of a device; aclrtResetDevice releases it");
  }
  Device* device = (*context)->device_;
  {
    std::lock_guard<std::mutex> lock(device->mutex_);
    auto& all = device->contexts_;
    all.erase(std::remove(all.begin(), all.end(), *context), all.end());
  }
  (*context)->Close(true);
  return Fault::None();
}

std::shared_ptr<Stream> Context::DefaultStream() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (default_stream_) return default_stream_;
  }
  std::shared_ptr<Stream> fresh = Stream::Create(shared_from_this());
  std::lock_guard<std::mutex> lock(mutex_);
  if (!default_stream_) default_stream_ = fresh;  // a second one of two racing threads stays unused
  return default_stream_;
}

bool Context::IsDefaultStream(const Stream* stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  return default_stream_.get() == stream;
}

void Context::AddStream(std::shared_ptr<Stream> stream) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!closed_) {
    streams_.push_back(std::move(stream));
    return;
  }
  lock.unlock();
  stream->Close(false);  // the context went away meanwhile
}

void Context::RemoveStream(const Stream* stream) {
  std::shared_ptr<Stream> last;  // dies outside the lock
  std::lock_guard<std::mutex> lock(mutex_);
  auto it =
      std::find_if(streams_.begin(), streams_.end(), [&](auto& s) { return s.get() == stream; });
  if (it == streams_.end()) return;
  last = std::move(*it);
  streams_.erase(it);
}

std::vector<std::shared_ptr<Stream>> Context::Streams() {
  std::lock_guard<std::mutex> lock(mutex_);
  return streams_;
}

void Context::Close(bool wait) {
  // First the streams, so that their tasks still find a context; then the handle.
  for (;;) {
    std::vector<std::shared_ptr<Stream>> streams;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      closed_ = true;
      streams.swap(streams_);
      default_stream_.reset();
    }
    if (streams.empty()) break;
    for (auto& stream : streams) stream->Close(wait);
  }
  Table().Remove(handle());
}

}  // namespace hcclrun
