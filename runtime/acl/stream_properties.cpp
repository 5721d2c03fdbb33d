// What streams are created with and what is kept with them, and who is told of them.

#include <cstring>
#include <new>
#include <string>

#include "acl/acl_rt.h"
#include "acl/boundary.h"
#include "acl/stream_checks.h"
#include "device/stream_observers.h"

namespace hcclrun {
namespace {

constexpr int32_t kLeastPriority = 7, kGreatestPriority = 0;

// Calls `read(stream)` for the value of a query.
template <class Value, class Read>
Fault Query(aclrtStream stream, Value* out, const char* parameter, Read&& read) {
  if (!out) return NullArgument(parameter);
  return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
    *out = read(*s);
    return Fault::None();
  });
}

Fault CheckAtMost(uint32_t value, uint32_t highest, const char* parameter) {
  if (value <= highest) return Fault::None();
  return Fault(FaultKind::kBadValue, {value, 0, highest}, parameter);
}

Fault SetAttribute(Stream& stream, int attribute, const aclrtStreamAttrValue& value) {
  switch (attribute) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
      return SetFailureMode(stream, value.failureMode, "value.failureMode");
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
      if (Fault f = CheckAtMost(value.overflowSwitch, 1, "value.overflowSwitch")) return f;
      stream.overflow_switch.store(value.overflowSwitch, std::memory_order_relaxed);
      return Fault::None();
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
      stream.custom_tag.store(value.userCustomTag, std::memory_order_relaxed);
      return Fault::None();
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
      if (Fault f = CheckAtMost(value.cacheOpInfoSwitch, 1, "value.cacheOpInfoSwitch")) return f;
      stream.cache_op_info.store(value.cacheOpInfoSwitch, std::memory_order_relaxed);
      return Fault::None();
    case ACL_STREAM_ATTR_PRIORITY:
      if (Fault f = CheckAtMost(value.streamPriority, kLeastPriority, "value.streamPriority"))
        return f;
      stream.priority.store(value.streamPriority, std::memory_order_relaxed);
      return Fault::None();
  }
  return Fault(FaultKind::kBadEnum, {uint64_t(attribute)}, "stmAttrType");
}

Fault GetAttribute(Stream& stream, int attribute, aclrtStreamAttrValue* value) {
  aclrtStreamAttrValue found = {};
  switch (attribute) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
      found.failureMode = stream.stop_on_failure() ? ACL_STOP_ON_FAILURE : ACL_CONTINUE_ON_FAILURE;
      break;
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
      found.overflowSwitch = stream.overflow_switch.load(std::memory_order_relaxed);
      break;
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
      found.userCustomTag = stream.custom_tag.load(std::memory_order_relaxed);
      break;
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
      found.cacheOpInfoSwitch = stream.cache_op_info.load(std::memory_order_relaxed);
      break;
    case ACL_STREAM_ATTR_PRIORITY:
      found.streamPriority = stream.priority.load(std::memory_order_relaxed);
      break;
    default:
      return Fault(FaultKind::kBadEnum, {uint64_t(attribute)}, "stmAttrType");
  }
  *value = found;
  return Fault::None();
}

// Copies an option of a stream's configuration if it has the right size.
template <class Field>
Fault ReadOption(Field* field, const void* value, size_t bytes) {
  if (bytes != sizeof *field)
    return InvalidArgument(bytes, sizeof *field, sizeof *field, "valueSize");
  memcpy(field, value, sizeof *field);
  return Fault::None();
}

}  // namespace
}  // namespace hcclrun

using namespace hcclrun;

aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId) {
  return Answer(CallId::aclrtStreamGetId, [&] {
    return Query(stream, streamId, "streamId",
                 [](Stream& s) { return static_cast<int32_t>(s.id()); });
  });
}

aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t* priority) {
  return Answer(CallId::aclrtStreamGetPriority, [&] {
    return Query(stream, priority, "priority",
                 [](Stream& s) { return s.priority.load(std::memory_order_relaxed); });
  });
}

aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t* flags) {
  return Answer(CallId::aclrtStreamGetFlags,
                [&] { return Query(stream, flags, "flags", [](Stream& s) { return s.flags; }); });
}

aclError aclrtDeviceGetStreamPriorityRange(int32_t* leastPriority, int32_t* greatestPriority) {
  return Answer(CallId::aclrtDeviceGetStreamPriorityRange, [&] {
    if (leastPriority) *leastPriority = kLeastPriority;
    if (greatestPriority) *greatestPriority = kGreatestPriority;
    return Fault::None();
  });
}

aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag) {
  return Answer(CallId::aclrtSetStreamOverflowSwitch, [&]() -> Fault {
    if (Fault f = CheckAtMost(flag, 1, "flag")) return f;
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      s->overflow_switch.store(flag, std::memory_order_relaxed);
      return Fault::None();
    });
  });
}

aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t* flag) {
  return Answer(CallId::aclrtGetStreamOverflowSwitch, [&] {
    return Query(stream, flag, "flag",
                 [](Stream& s) { return s.overflow_switch.load(std::memory_order_relaxed); });
  });
}

aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                 aclrtStreamAttrValue* value) {
  return Answer(CallId::aclrtSetStreamAttribute, [&]() -> Fault {
    if (!value) return NullArgument("value");
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      return SetAttribute(*s, RawValue(stmAttrType), *value);
    });
  });
}

aclError aclrtGetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                 aclrtStreamAttrValue* value) {
  return Answer(CallId::aclrtGetStreamAttribute, [&]() -> Fault {
    if (!value) return NullArgument("value");
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      return GetAttribute(*s, RawValue(stmAttrType), value);
    });
  });
}

aclrtStreamConfigHandle* aclrtCreateStreamConfigHandle(void) {
  return new (std::nothrow) aclrtStreamConfigHandle{};
}

aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle* handle) {
  return Answer(CallId::aclrtDestroyStreamConfigHandle, [&]() -> Fault {
    if (!handle) return NullArgument("handle");
    delete handle;
    return Fault::None();
  });
}

aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle* handle, aclrtStreamConfigAttr attr,
                                 const void* attrValue, size_t valueSize) {
  return Answer(CallId::aclrtSetStreamConfigOpt, [&]() -> Fault {
    if (!handle) return NullArgument("handle");
    if (!attrValue) return NullArgument("attrValue");
    switch (RawValue(attr)) {
      case ACL_RT_STREAM_WORK_ADDR_PTR:
        return ReadOption(&handle->workptr, attrValue, valueSize);
      case ACL_RT_STREAM_WORK_SIZE:
        return ReadOption(&handle->workSize, attrValue, valueSize);
      case ACL_RT_STREAM_FLAG: {
        if (valueSize == sizeof handle->flag)
          return ReadOption(&handle->flag, attrValue, valueSize);
        uint32_t flag = 0;
        if (Fault f = ReadOption(&flag, attrValue, valueSize)) return f;
        handle->flag = flag;
        return Fault::None();
      }
      case ACL_RT_STREAM_PRIORITY:
        return ReadOption(&handle->priority, attrValue, valueSize);
    }
    return InvalidArgument(uint64_t(RawValue(attr)), ACL_RT_STREAM_WORK_ADDR_PTR,
                           ACL_RT_STREAM_PRIORITY, "attr");
  });
}

aclError aclrtRegStreamStateCallback(const char* regName, aclrtStreamStateCallback callback,
                                     void* args) {
  return Answer(CallId::aclrtRegStreamStateCallback, [&]() -> Fault {
    if (!regName) return NullArgument("regName");
    if (*regName == 0) return InvalidArgument(0, 1, UINT64_MAX, "the length of regName");
    Fault fault =
        callback ? AddStreamObserver(regName,
                                     [callback, args](void* handle, StreamState state) {
                                       callback(handle, static_cast<aclrtStreamState>(state), args);
                                     })
                 : RemoveStreamObserver(regName);
    if (fault) fault.code_override = ACL_ERROR_RT_PARAM_INVALID;
    return fault;
  });
}
