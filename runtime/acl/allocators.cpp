// Allocators that programs register for the memory of operators. There are no operators: a
// registration is kept for whoever asks.

#include <map>
#include <mutex>
#include <new>

#include "acl/acl_rt.h"
#include "acl/boundary.h"

namespace hcclrun {
namespace {

struct Description {
  aclrtAllocator object = nullptr;
  aclrtAllocatorAllocFunc allocate = nullptr;
  aclrtAllocatorFreeFunc free = nullptr;
  aclrtAllocatorAllocAdviseFunc advise = nullptr;
  aclrtAllocatorGetAddrFromBlockFunc address = nullptr;
};

struct Registered {
  aclrtAllocatorDesc handle;
  Description description;  // as it was at the registration
};

// By handle of the stream, which no later stream has. Never destroyed.
struct Registry {
  std::mutex mutex;
  std::map<aclrtStream, Registered> by_stream;
};

Registry& Get() {
  static Registry* registry = new Registry();
  return *registry;
}

// Streams that were destroyed take their allocators along. registry.mutex is held.
void ForgetClosedStreams(Registry& registry) {
  std::erase_if(registry.by_stream,
                [](const auto& entry) { return !Stream::From(entry.first).ok(); });
}

// Sets a field of a description to something that is not null.
template <class Field>
Fault Set(aclrtAllocatorDesc handle, Field Description::*field, Field value, const char* name) {
  if (!handle) return NullArgument("allocatorDesc");
  if (!value) return NullArgument(name);
  static_cast<Description*>(handle)->*field = value;
  return Fault::None();
}

}  // namespace
}  // namespace hcclrun

using namespace hcclrun;

aclrtAllocatorDesc aclrtAllocatorCreateDesc(void) { return new (std::nothrow) Description(); }

aclError aclrtAllocatorDestroyDesc(aclrtAllocatorDesc allocatorDesc) {
  return Answer(CallId::aclrtAllocatorDestroyDesc, [&]() -> Fault {
    if (!allocatorDesc) return NullArgument("allocatorDesc");
    delete static_cast<Description*>(allocatorDesc);
    return Fault::None();
  });
}

aclError aclrtAllocatorSetObjToDesc(aclrtAllocatorDesc allocatorDesc, aclrtAllocator allocator) {
  return Answer(CallId::aclrtAllocatorSetObjToDesc,
                [&] { return Set(allocatorDesc, &Description::object, allocator, "allocator"); });
}

aclError aclrtAllocatorSetAllocFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                          aclrtAllocatorAllocFunc func) {
  return Answer(CallId::aclrtAllocatorSetAllocFuncToDesc,
                [&] { return Set(allocatorDesc, &Description::allocate, func, "func"); });
}

aclError aclrtAllocatorSetFreeFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                         aclrtAllocatorFreeFunc func) {
  return Answer(CallId::aclrtAllocatorSetFreeFuncToDesc,
                [&] { return Set(allocatorDesc, &Description::free, func, "func"); });
}

aclError aclrtAllocatorSetAllocAdviseFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                                aclrtAllocatorAllocAdviseFunc func) {
  return Answer(CallId::aclrtAllocatorSetAllocAdviseFuncToDesc,
                [&] { return Set(allocatorDesc, &Description::advise, func, "func"); });
}

aclError aclrtAllocatorSetGetAddrFromBlockFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                                     aclrtAllocatorGetAddrFromBlockFunc func) {
  return Answer(CallId::aclrtAllocatorSetGetAddrFromBlockFuncToDesc,
                [&] { return Set(allocatorDesc, &Description::address, func, "func"); });
}

aclError aclrtAllocatorRegister(aclrtStream stream, aclrtAllocatorDesc allocatorDesc) {
  return Answer(CallId::aclrtAllocatorRegister, [&]() -> Fault {
    if (!stream) return NullArgument("stream");
    if (!allocatorDesc) return NullArgument("allocatorDesc");
    const Description& description = *static_cast<Description*>(allocatorDesc);
    if (!description.object) return NullArgument("the allocator of allocatorDesc");
    if (!description.allocate || !description.free || !description.address)
      return NullArgument("a function of allocatorDesc");
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      Registry& registry = Get();
      std::lock_guard<std::mutex> lock(registry.mutex);
      ForgetClosedStreams(registry);
      registry.by_stream[s->handle()] = {allocatorDesc, description};
      return Fault::None();
    });
  });
}

aclError aclrtAllocatorGetByStream(aclrtStream stream, aclrtAllocatorDesc* allocatorDesc,
                                   aclrtAllocator* allocator, aclrtAllocatorAllocFunc* allocFunc,
                                   aclrtAllocatorFreeFunc* freeFunc,
                                   aclrtAllocatorAllocAdviseFunc* allocAdviseFunc,
                                   aclrtAllocatorGetAddrFromBlockFunc* getAddrFromBlockFunc) {
  return Answer(CallId::aclrtAllocatorGetByStream, [&]() -> Fault {
    if (!stream) return NullArgument("stream");
    if (!allocatorDesc || !allocator || !allocFunc || !freeFunc || !allocAdviseFunc ||
        !getAddrFromBlockFunc) {
      return NullArgument("an output");
    }
    Registry& registry = Get();
    std::lock_guard<std::mutex> lock(registry.mutex);
    ForgetClosedStreams(registry);
    auto it = registry.by_stream.find(stream);
    if (it == registry.by_stream.end()) {
      return Fault(FaultKind::kUnknownHandle, {reinterpret_cast<uintptr_t>(stream)},
                   "stream with an allocator")
          .WithCode(ACL_ERROR_RT_PARAM_INVALID);
    }
    const Description& description = it->second.description;
    *allocatorDesc = it->second.handle;
    *allocator = description.object;
    *allocFunc = description.allocate;
    *freeFunc = description.free;
    *allocAdviseFunc = description.advise;
    *getAddrFromBlockFunc = description.address;
    return Fault::None();
  });
}

aclError aclrtAllocatorUnregister(aclrtStream stream) {
  return Answer(CallId::aclrtAllocatorUnregister, [&]() -> Fault {
    if (!stream) return NullArgument("stream");
    Registry& registry = Get();
    std::lock_guard<std::mutex> lock(registry.mutex);
    registry.by_stream.erase(stream);
    return Fault::None();
  });
}
