// Streams (semantics G.1) and host functions in them.

#include "acl/acl_rt.h"
#include "acl/boundary.h"
#include "device/copy.h"

namespace hcclrun {
namespace {

Fault CreateStream(aclrtStream* stream) {
  if (!stream) return NullArgument("stream");
  Result<std::shared_ptr<Context>> context = Context::Current();
  if (!context.ok()) return context.fault();
  *stream = Stream::Create(*context)->handle();
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
  (*stream)->Close(wait);
  return Fault::None();
}

}  // namespace
}  // namespace hcclrun

using namespace hcclrun;

aclError aclrtCreateStream(aclrtStream* stream) {
  return Answer(CallId::aclrtCreateStream, [&] { return CreateStream(stream); });
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t /*priority*/,
                                     uint32_t /*flag*/) {
  return Answer(CallId::aclrtCreateStreamWithConfig, [&] { return CreateStream(stream); });
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
    return WithStream(stream, [](const std::shared_ptr<Stream>& s) { return s->Synchronize(-1); });
  });
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  return Answer(CallId::aclrtSynchronizeStreamWithTimeout, [&]() -> Fault {
    if (Fault f = CheckTimeout(timeout)) return f;
    return WithStream(stream,
                      [&](const std::shared_ptr<Stream>& s) { return s->Synchronize(timeout); });
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
  return Answer(CallId::aclrtSetStreamFailureMode, [&]() -> Fault {
    if (mode > ACL_STOP_ON_FAILURE) {
      return Fault(FaultKind::kBadValue, {mode, ACL_CONTINUE_ON_FAILURE, ACL_STOP_ON_FAILURE},
                   "mode");
    }
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      s->SetStopOnFailure(mode == ACL_STOP_ON_FAILURE);
      return Fault::None();
    });
  });
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
  return Answer(CallId::aclrtLaunchHostFunc, [&]() -> Fault {
    if (!fn) return NullArgument("fn");
    return WithStream(stream,
                      [&](const std::shared_ptr<Stream>& s) { return RunInStream(*s, fn, args); });
  });
}
