// Devices (semantics G.3, G.4).

#include <unistd.h>

#include "acl/acl_rt.h"
#include "acl/boundary.h"
#include "device/memory_pool.h"

namespace hcclrun {
namespace {

Fault SynchronizeAndTrim(Device& device, int64_t timeout_ms) {
  Fault fault = device.Synchronize(timeout_ms);
  MemoryPool::TrimIfDue();
  return fault;
}

}  // namespace
}  // namespace hcclrun

using namespace hcclrun;

aclError aclrtSetDevice(int32_t deviceId) {
  return Answer(CallId::aclrtSetDevice, [&] { return Device::Set(deviceId); });
}

aclError aclrtResetDevice(int32_t deviceId) {
  return Answer(CallId::aclrtResetDevice, [&] { return Device::Reset(deviceId); });
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
  return Answer(CallId::aclrtResetDeviceForce, [&] { return Device::ResetForce(deviceId); });
}

aclError aclrtGetDevice(int32_t* deviceId) {
  return Answer(CallId::aclrtGetDevice, [&]() -> Fault {
    if (!deviceId) return NullArgument("deviceId");
    Result<Device*> device = Device::Current();
    if (!device.ok()) return device.fault();
    *deviceId = (*device)->id();
    return Fault::None();
  });
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  return Answer(CallId::aclrtGetDeviceCount, [&]() -> Fault {
    if (!count) return NullArgument("count");
    *count = Device::Count();
    return Fault::None();
  });
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  return Answer(CallId::aclrtGetRunMode, [&]() -> Fault {
    if (!runMode) return NullArgument("runMode");
    *runMode = ACL_HOST;
    return Fault::None();
  });
}

aclError aclrtSynchronizeDevice(void) {
  return Answer(CallId::aclrtSynchronizeDevice, []() -> Fault {
    Result<Device*> device = Device::Current();
    return device.ok() ? SynchronizeAndTrim(**device, -1) : device.fault();
  });
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  return Answer(CallId::aclrtSynchronizeDeviceWithTimeout, [&]() -> Fault {
    if (Fault f = CheckTimeout(timeout)) return f;
    Result<Device*> device = Device::Current();
    return device.ok() ? SynchronizeAndTrim(**device, timeout) : device.fault();
  });
}

aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t) {
  return Answer(CallId::aclrtDeviceTaskAbort, [&]() -> Fault {
    Result<Device*> device = Device::Get(deviceId);
    if (!device.ok()) return device.fault();
    return (*device)->Abort(ACL_ERROR_RT_DEVICE_TASK_ABORT);
  });
}

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  return Answer(CallId::aclrtSetDeviceSatMode, [&]() -> Fault {
    const int raw = RawValue(mode);
    if (raw != ACL_RT_OVERFLOW_MODE_SATURATION && raw != ACL_RT_OVERFLOW_MODE_INFNAN) {
      return InvalidArgument(raw, ACL_RT_OVERFLOW_MODE_SATURATION, ACL_RT_OVERFLOW_MODE_INFNAN,
                             "mode");
    }
    Result<Device*> device = Device::Current();
    if (!device.ok()) return device.fault();
    (*device)->saturation_mode.store(raw, std::memory_order_relaxed);
    return Fault::None();
  });
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
  return Answer(CallId::aclrtGetDeviceSatMode, [&]() -> Fault {
    if (!mode) return NullArgument("mode");
    Result<Device*> device = Device::Current();
    if (!device.ok()) return device.fault();
    *mode = static_cast<aclrtFloatOverflowMode>(
        (*device)->saturation_mode.load(std::memory_order_relaxed));
    return Fault::None();
  });
}

aclError aclrtDeviceGetBareTgid(int32_t* pid) {
  return Answer(CallId::aclrtDeviceGetBareTgid, [&]() -> Fault {
    if (!pid) return NullArgument("pid");
    *pid = getpid();
    return Fault::None();
  });
}
