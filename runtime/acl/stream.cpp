// Streams (semantics G.1) and the words they write and wait for.

#include "acl/acl_rt.h"
#include "acl/boundary.h"
#include "acl/stream_checks.h"
#include "device/memory_pool.h"
#include "device/value_tasks.h"

namespace hcclrun {
namespace {

Fault CreateStream(aclrtStream* stream, uint32_t priority, uint32_t flags) {
  if (!stream) return NullArgument("stream");
  Result<std::shared_ptr<Context>> context = Context::Current();
  if (!context.ok()) return context.fault();
  *stream = Stream::Create(*context, priority, flags)->handle();
  return Fault::None();
}

// A default stream belongs to its context and has no handle of the user's.
Fault DestroyStream(aclrtStream handle, bool wait) {
  if (!handle) return NullArgument("stream");
  Result<std::shared_ptr<Context>> context = Context::Current();
  if (!context.ok()) return context.fault();
  Result<std::shared_ptr<Stream>> stream = Stream::From(handle);
  if (!stream.ok()) return stream.fault();
  if ((*stream)->context_id() != (*context)->id()) {
    return Fault(FaultKind::kStreamOfOtherContext, {reinterpret_cast<uintptr_t>(handle)});
  }
  if (IsDefaultStream(**stream)) {
    return NotAllowed(
        "stream is the default stream, which goes with its context; destroy only "
        "streams that were created");
  }
  (*stream)->Close(wait);
  return Fault::None();
}

}  // namespace
}  // namespace hcclrun

using namespace hcclrun;

aclError aclrtCreateStream(aclrtStream* stream) {
  return Answer(CallId::aclrtCreateStream, [&] { return CreateStream(stream, 0, 0); });
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  return Answer(CallId::aclrtCreateStreamWithConfig,
                [&] { return CreateStream(stream, priority, flag); });
}

aclError aclrtCreateStreamV2(aclrtStream* stream, const aclrtStreamConfigHandle* handle) {
  return Answer(CallId::aclrtCreateStreamV2, [&]() -> Fault {
    if (!stream) return NullArgument("stream");
    if (!handle) return NullArgument("handle");
    return CreateStream(stream, handle->priority, static_cast<uint32_t>(handle->flag));
  });
}

aclError aclrtDestroyStream(aclrtStream stream) {
  return Answer(CallId::aclrtDestroyStream, [&] { return DestroyStream(stream, /*wait=*/true); });
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return Answer(CallId::aclrtDestroyStreamForce,
                [&] { return DestroyStream(stream, /*wait=*/false); });
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  return Answer(CallId::aclrtSynchronizeStream, [&] {
    // Mostly everything has been done already.
    if (const Stream* known = stream ? Stream::Known(stream) : nullptr;
        known && known->Quiet() && Context::HasCurrent()) [[likely]] {
      MemoryPool::TrimIfDue();
      return Fault::None();
    }
    return WithStream(stream, [](const std::shared_ptr<Stream>& s) {
      Fault fault = s->Synchronize(-1);
      MemoryPool::TrimIfDue();
      return fault;
    });
  });
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  return Answer(CallId::aclrtSynchronizeStreamWithTimeout, [&]() -> Fault {
    if (Fault f = CheckTimeout(timeout)) return f;
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      Fault fault = s->Synchronize(timeout);
      MemoryPool::TrimIfDue();
      return fault;
    });
  });
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  return Answer(CallId::aclrtStreamQuery, [&]() -> Fault {
    if (!status) return NullArgument("status");
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      *status = s->Idle() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
      return Fault::None();
    });
  });
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
  return Answer(CallId::aclrtSetStreamFailureMode, [&] {
    return WithStream(
        stream, [&](const std::shared_ptr<Stream>& s) { return SetFailureMode(*s, mode, "mode"); });
  });
}

aclError aclrtStreamAbort(aclrtStream stream) {
  return Answer(CallId::aclrtStreamAbort, [&] {
    return WithStream(stream, [](const std::shared_ptr<Stream>& s) { return s->Abort(); });
  });
}

aclError aclrtStreamStop(aclrtStream stream) {
  return Answer(CallId::aclrtStreamStop, [&] {
    return WithStream(stream, [](const std::shared_ptr<Stream>& s) {
      if (IsDefaultStream(*s))
        return NotAllowed(
            "stream is the default stream, which cannot be stopped; use a created one");
      return s->Stop();
    });
  });
}

aclError aclrtValueWrite(void* devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
  return Answer(CallId::aclrtValueWrite, [&]() -> Fault {
    if (!devAddr) return NullArgument("devAddr");
    if (flag != 0) return Fault(FaultKind::kBadValue, {flag, 0, 0}, "flag");
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      return WriteValueInStream(*s, devAddr, value);
    });
  });
}

aclError aclrtValueWait(void* devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
  return Answer(CallId::aclrtValueWait, [&]() -> Fault {
    if (!devAddr) return NullArgument("devAddr");
    if (flag > ACL_STREAM_WAIT_VALUE_NOR)
      return Fault(FaultKind::kBadValue, {flag, 0, ACL_STREAM_WAIT_VALUE_NOR}, "flag");
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      return WaitValueInStream(*s, devAddr, value, static_cast<ValueTest>(flag));
    });
  });
}
