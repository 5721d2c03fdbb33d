// Errors of the calling thread (semantics F.3) and of devices.

#include "acl/acl_rt.h"
#include "acl/boundary.h"
#include "acl/last_error.h"

namespace hcclrun {
namespace {

thread_local int t_last_error = ACL_SUCCESS;

// These calls report an error and have none themselves: asking changes nothing.
aclError Ask(aclrtLastErrLevel level, int (*read)()) {
  if (InForkedChild()) return ACL_ERROR_RT_FEATURE_NOT_SUPPORT;
  return RawValue(level) == ACL_RT_THREAD_LEVEL ? read() : ACL_ERROR_INVALID_PARAM;
}

}  // namespace

void NoteLastError(int code) { t_last_error = code; }
int LastError() { return t_last_error; }
int TakeLastError() {
  const int code = t_last_error;
  t_last_error = ACL_SUCCESS;
  return code;
}

}  // namespace hcclrun

using namespace hcclrun;

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) { return Ask(level, LastError); }

aclError aclrtGetLastError(aclrtLastErrLevel level) { return Ask(level, TakeLastError); }

aclError aclrtGetMemUceInfo(int32_t deviceId, aclrtMemUceInfo* memUceInfoArray, size_t arraySize,
                            size_t* retSize) {
  return Answer(CallId::aclrtGetMemUceInfo, [&]() -> Fault {
    if (!memUceInfoArray) return NullArgument("memUceInfoArray");
    if (arraySize == 0) return ZeroArgument("arraySize");
    if (!retSize) return NullArgument("retSize");
    if (Fault f = Device::CheckId(deviceId)) return f;
    *retSize = 0;
    return Fault::None();
  });
}

aclError aclrtMemUceRepair(int32_t deviceId, aclrtMemUceInfo* memUceInfoArray, size_t) {
  return Answer(CallId::aclrtMemUceRepair, [&]() -> Fault {
    if (!memUceInfoArray) return NullArgument("memUceInfoArray");
    return Device::CheckId(deviceId);
  });
}

aclError aclrtRepairError(int32_t deviceId, const aclrtErrorInfo* errorInfo) {
  return Answer(CallId::aclrtRepairError, [&]() -> Fault {
    if (!errorInfo) return NullArgument("errorInfo");
    return Device::CheckId(deviceId);
  });
}

aclError aclrtGetErrorVerbose(int32_t deviceId, aclrtErrorInfo* errorInfo) {
  return Answer(CallId::aclrtGetErrorVerbose, [&]() -> Fault {
    if (!errorInfo) return NullArgument("errorInfo");
    if (Fault f = Device::CheckId(deviceId)) return f;
    *errorInfo = {};
    errorInfo->errorType = ACL_RT_NO_ERROR;
    return Fault::None();
  });
}
