// Events (semantics G.2).

#include "device/event.h"

#include <cstddef>
#include <cstring>

#include "acl/acl_rt.h"
#include "acl/boundary.h"
#include "acl/limits.h"
#include "device/ipc_event.h"

namespace hcclrun {
namespace {

constexpr uint32_t kKnownFlags = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS |
                                 ACL_EVENT_TIME_LINE | ACL_EVENT_DEVICE_USE_ONLY |
                                 ACL_EVENT_EXTERNAL | ACL_EVENT_IPC;

Fault CreateEvent(aclrtEvent* event, Event::Kind kind, uint32_t flags) {
  if (!event) return NullArgument("event");
  if (flags & ~kKnownFlags) return Fault(FaultKind::kBadEnum, {flags}, "flag");
  Result<Device*> device = Device::Current();
  if (!device.ok()) return device.fault();
  if (flags & ACL_EVENT_IPC) {
    Result<std::shared_ptr<IpcEvent>> shared = IpcEvent::Create(*device);
    if (!shared.ok()) return shared.fault();
    *event = Event::CreateShared(*shared, flags);
  } else {
    *event = Event::Create(kind, flags);
  }
  return Fault::None();
}

// Calls `use(event)` with the event of a C handle.
template <class Use>
Fault WithEvent(aclrtEvent handle, const char* parameter, Use&& use) {
  if (!handle) return NullArgument(parameter);
  Result<std::shared_ptr<Event>> event = Event::From(handle);
  if (!event.ok()) return event.fault();
  return use(**event);
}

}  // namespace
}  // namespace hcclrun

using namespace hcclrun;

aclError aclrtCreateEvent(aclrtEvent* event) {
  return Answer(CallId::aclrtCreateEvent,
                [&] { return CreateEvent(event, Event::Kind::kPlain, ACL_EVENT_SYNC); });
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  return Answer(CallId::aclrtCreateEventWithFlag,
                [&] { return CreateEvent(event, Event::Kind::kWithFlag, flag); });
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  return Answer(CallId::aclrtCreateEventExWithFlag,
                [&] { return CreateEvent(event, Event::Kind::kExWithFlag, flag); });
}

aclError aclrtDestroyEvent(aclrtEvent event) {
  return Answer(CallId::aclrtDestroyEvent, [&]() -> Fault {
    if (!event) return NullArgument("event");
    return Event::Destroy(event);
  });
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return Answer(CallId::aclrtRecordEvent, [&] {
    return WithEvent(event, "event", [&](Event& e) {
      return WithStream(stream, [&](const std::shared_ptr<Stream>& s) { return e.Record(s); });
    });
  });
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  return Answer(CallId::aclrtResetEvent, [&] {
    return WithEvent(event, "event", [&](Event& e) {
      return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
        Fault fault = e.Reset(s);
        if (fault.kind == FaultKind::kNotSupported)
          fault.code_override = ACL_ERROR_RT_PARAM_INVALID;
        return fault;
      });
    });
  });
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return Answer(CallId::aclrtStreamWaitEvent, [&] {
    return WithEvent(event, "event", [&](Event& e) {
      return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
        Fault fault = e.WaitIn(s, OpWaitTimeoutMs());
        if (fault.kind == FaultKind::kEventNotRecorded)
          fault.code_override = ACL_ERROR_RT_PARAM_INVALID;
        return fault;
      });
    });
  });
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  return Answer(CallId::aclrtQueryEventStatus, [&]() -> Fault {
    if (!status) return NullArgument("status");
    return WithEvent(event, "event", [&](Event& e) {
      *status =
          e.Complete() ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
      return Fault::None();
    });
  });
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  return Answer(CallId::aclrtQueryEvent, [&]() -> Fault {
    if (!status) return NullArgument("status");
    return WithEvent(event, "event", [&](Event& e) {
      *status = e.Complete() ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
      return Fault::None();
    });
  });
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
  return Answer(CallId::aclrtQueryEventWaitStatus, [&]() -> Fault {
    if (!status) return NullArgument("status");
    return WithEvent(event, "event", [&](Event& e) {
      *status = e.WaitsPassed() ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
      return Fault::None();
    });
  });
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return Answer(CallId::aclrtSynchronizeEvent, [&] {
    return WithEvent(event, "event", [](Event& e) { return e.Synchronize(-1); });
  });
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  return Answer(CallId::aclrtSynchronizeEventWithTimeout, [&]() -> Fault {
    if (Fault f = CheckTimeout(timeout)) return f;
    return WithEvent(event, "event", [&](Event& e) { return e.Synchronize(timeout); });
  });
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  return Answer(CallId::aclrtEventElapsedTime, [&]() -> Fault {
    if (!ms) return NullArgument("ms");
    if (!endEvent) return NullArgument("endEvent");
    return WithEvent(startEvent, "startEvent", [&](Event& start) {
      return WithEvent(endEvent, "endEvent", [&](Event& end) -> Fault {
        Result<int64_t> from = start.CompletedNs(), to = end.CompletedNs();
        if (!from.ok()) return from.fault();
        if (!to.ok()) return to.fault();
        *ms = static_cast<float>(static_cast<double>(*to - *from) / 1e6);
        return Fault::None();
      });
    });
  });
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
  return Answer(CallId::aclrtEventGetTimestamp, [&]() -> Fault {
    if (!timestamp) return NullArgument("timestamp");
    return WithEvent(event, "event", [&](Event& e) -> Fault {
      Result<int64_t> at = e.CompletedNs();
      if (!at.ok()) return at.fault();
      *timestamp = static_cast<uint64_t>(*at) / 1000;
      return Fault::None();
    });
  });
}

aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle* handle) {
  return Answer(CallId::aclrtIpcGetEventHandle, [&]() -> Fault {
    if (!handle) return NullArgument("handle");
    return WithEvent(event, "event", [&](Event& e) -> Fault {
      if (!e.shared()) {
        return Fault(FaultKind::kForeignHandle, "the event was created without ACL_EVENT_IPC")
            .WithCode(ACL_ERROR_RT_PARAM_INVALID);
      }
      Result<FabricHandle> exported = e.shared()->Export();
      if (!exported.ok()) return exported.fault();
      *handle = {};
      static_assert(offsetof(FabricHandle, reserved) <= sizeof handle->reserved);
      memcpy(handle->reserved, &*exported, offsetof(FabricHandle, reserved));
      return Fault::None();
    });
  });
}

aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent* event) {
  return Answer(CallId::aclrtIpcOpenEventHandle, [&]() -> Fault {
    if (!event) return NullArgument("event");
    if (Fault f = NeedContext()) return f;
    FabricHandle exported = {};
    memcpy(&exported, handle.reserved, offsetof(FabricHandle, reserved));
    Result<std::shared_ptr<IpcEvent>> shared = IpcEvent::Open(exported);
    if (!shared.ok()) return shared.fault();
    *event = Event::CreateShared(*shared, ACL_EVENT_IPC);
    return Fault::None();
  });
}
