// Limits, parameters and time-outs that programs set for kernels. Only the time-out of event waits
// has an effect.

#include "acl/limits.h"

#include <atomic>

#include "acl/acl_rt.h"
#include "acl/boundary.h"
#include "acl/chip.h"

namespace hcclrun {
namespace {

std::atomic<uint32_t> g_op_wait_timeout_s{0};
std::atomic<int64_t> g_parameters[Context::kParameters] = {};

// Handle of the stream whose limits are this thread's; nullptr = none.
thread_local void* t_limiting_stream = nullptr;

Fault CheckType(int type) {
  if (type == ACL_RT_DEV_RES_CUBE_CORE || type == ACL_RT_DEV_RES_VECTOR_CORE) return Fault::None();
  return Fault(FaultKind::kBadEnum, {uint64_t(type)}, "type");
}

uint32_t CoresOfChip(int type) {
  return type == ACL_RT_DEV_RES_CUBE_CORE ? kCubeCores : kVectorCores;
}

Fault Limit(CoreLimits& limits, int type, uint32_t value) {
  if (Fault f = CheckType(type)) return f;
  if (value == 0 || value > CoresOfChip(type))
    return Fault(FaultKind::kBadValue, {value, 1, CoresOfChip(type)}, "value");
  limits.of[type].store(value, std::memory_order_relaxed);
  return Fault::None();
}

uint32_t LimitOf(Device& device, int type) {
  uint32_t limit = device.core_limits.of[type].load(std::memory_order_relaxed);
  return limit ? limit : CoresOfChip(type);
}

uint32_t LimitOf(Stream& stream, int type) {
  uint32_t limit = stream.core_limits.of[type].load(std::memory_order_relaxed);
  return limit ? limit : LimitOf(*stream.device(), type);
}

template <class Use>
Fault WithDevice(int32_t id, Use&& use) {
  Result<Device*> device = Device::Get(id);
  return device.ok() ? use(**device) : device.fault();
}

Fault CheckParameter(int option, int highest) {
  if (option >= ACL_OPT_DETERMINISTIC && option <= highest) return Fault::None();
  return Fault(FaultKind::kBadEnum, {uint64_t(option)}, "opt");
}

Fault CheckParameterValue(int option, int64_t value) {
  const int64_t highest = option == ACL_OPT_DETERMINISTIC ? 3 : 1;
  if (value >= 0 && value <= highest) return Fault::None();
  return Fault(FaultKind::kBadValue, {uint64_t(value), 0, uint64_t(highest)}, "value");
}

}  // namespace

int64_t OpWaitTimeoutMs() {
  const int64_t seconds = g_op_wait_timeout_s.load(std::memory_order_relaxed);
  return seconds ? seconds * 1000 : -1;
}

}  // namespace hcclrun

using namespace hcclrun;

aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t* value) {
  return Answer(CallId::aclrtGetDeviceResLimit, [&]() -> Fault {
    if (!value) return NullArgument("value");
    if (Fault f = CheckType(RawValue(type))) return f;
    return WithDevice(deviceId, [&](Device& device) {
      *value = LimitOf(device, RawValue(type));
      return Fault::None();
    });
  });
}

aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value) {
  return Answer(CallId::aclrtSetDeviceResLimit, [&] {
    return WithDevice(
        deviceId, [&](Device& device) { return Limit(device.core_limits, RawValue(type), value); });
  });
}

aclError aclrtResetDeviceResLimit(int32_t deviceId) {
  return Answer(CallId::aclrtResetDeviceResLimit, [&] {
    return WithDevice(deviceId, [](Device& device) {
      device.core_limits.Reset();
      return Fault::None();
    });
  });
}

aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t* value) {
  return Answer(CallId::aclrtGetStreamResLimit, [&]() -> Fault {
    if (!value) return NullArgument("value");
    if (Fault f = CheckType(RawValue(type))) return f;
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      *value = LimitOf(*s, RawValue(type));
      return Fault::None();
    });
  });
}

aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value) {
  return Answer(CallId::aclrtSetStreamResLimit, [&] {
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      return Limit(s->core_limits, RawValue(type), value);
    });
  });
}

aclError aclrtResetStreamResLimit(aclrtStream stream) {
  return Answer(CallId::aclrtResetStreamResLimit, [&] {
    return WithStream(stream, [](const std::shared_ptr<Stream>& s) {
      s->core_limits.Reset();
      return Fault::None();
    });
  });
}

aclError aclrtUseStreamResInCurrentThread(aclrtStream stream) {
  return Answer(CallId::aclrtUseStreamResInCurrentThread, [&] {
    return WithStream(stream, [](const std::shared_ptr<Stream>& s) {
      t_limiting_stream = s->handle();
      return Fault::None();
    });
  });
}

aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream) {
  return Answer(CallId::aclrtUnuseStreamResInCurrentThread, [&] {
    return WithStream(stream, [](const std::shared_ptr<Stream>& s) {
      if (t_limiting_stream == s->handle()) t_limiting_stream = nullptr;
      return Fault::None();
    });
  });
}

aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
  return Answer(CallId::aclrtGetResInCurrentThread, [&]() -> Fault {
    if (!value) return NullArgument("value");
    if (Fault f = CheckType(RawValue(type))) return f;
    Result<Device*> device = Device::Current();
    if (!device.ok()) return device.fault();
    *value = LimitOf(**device, RawValue(type));
    if (t_limiting_stream) {
      // It may have been destroyed meanwhile; then its limits are nobody's.
      Result<std::shared_ptr<Stream>> stream = Stream::From(t_limiting_stream);
      if (stream.ok()) *value = LimitOf(**stream, RawValue(type));
    }
    return Fault::None();
  });
}

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return Answer(CallId::aclrtSetSysParamOpt, [&]() -> Fault {
    const int option = RawValue(opt);
    if (Fault f = CheckParameter(option, ACL_OPT_ENABLE_KERNEL_EARLY_START)) return f;
    if (Fault f = CheckParameterValue(option, value)) return f;
    g_parameters[option].store(value, std::memory_order_relaxed);
    return Fault::None();
  });
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return Answer(CallId::aclrtGetSysParamOpt, [&]() -> Fault {
    if (!value) return NullArgument("value");
    if (Fault f = CheckParameter(RawValue(opt), ACL_OPT_ENABLE_KERNEL_EARLY_START)) return f;
    *value = g_parameters[RawValue(opt)].load(std::memory_order_relaxed);
    return Fault::None();
  });
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return Answer(CallId::aclrtCtxSetSysParamOpt, [&]() -> Fault {
    const int option = RawValue(opt);
    if (Fault f = CheckParameter(option, ACL_OPT_STRONG_CONSISTENCY)) return f;
    if (Fault f = CheckParameterValue(option, value)) return f;
    Result<std::shared_ptr<Context>> context = Context::Current();
    if (!context.ok()) return context.fault();
    (*context)->parameters[option].store(value, std::memory_order_relaxed);
    return Fault::None();
  });
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return Answer(CallId::aclrtCtxGetSysParamOpt, [&]() -> Fault {
    if (!value) return NullArgument("value");
    const int option = RawValue(opt);
    if (Fault f = CheckParameter(option, ACL_OPT_STRONG_CONSISTENCY)) return f;
    Result<std::shared_ptr<Context>> context = Context::Current();
    if (!context.ok()) return context.fault();
    *value = (*context)->parameters[option].load(std::memory_order_relaxed);
    if (*value == Context::kUnset) *value = g_parameters[option].load(std::memory_order_relaxed);
    return Fault::None();
  });
}

aclError aclrtSetOpWaitTimeout(uint32_t timeout) {
  return Answer(CallId::aclrtSetOpWaitTimeout, [&] {
    g_op_wait_timeout_s.store(timeout, std::memory_order_relaxed);
    return Fault::None();
  });
}

aclError aclrtSetOpExecuteTimeOut(uint32_t) {
  return Answer(CallId::aclrtSetOpExecuteTimeOut, [] { return Fault::None(); });
}

aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t* actualTimeout) {
  return Answer(CallId::aclrtSetOpExecuteTimeOutV2, [&]() -> Fault {
    if (!actualTimeout) return NullArgument("actualTimeout");
    *actualTimeout = timeout ? timeout : UINT64_MAX;
    return Fault::None();
  });
}
