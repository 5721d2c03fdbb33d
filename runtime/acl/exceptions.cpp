// Tells the program about tasks that fail.

#include <atomic>

#include "acl/acl_rt.h"
#include "acl/boundary.h"
#include "check/report.h"

using namespace hcclrun;

struct rtExceptionInfo {
  uint32_t task, stream, thread, device, code;
};

namespace hcclrun {
namespace {

std::atomic<aclrtExceptionInfoCallback> g_callback{nullptr};

void OnFailure(const TaskFailure& failure) {
  aclrtExceptionInfoCallback callback = g_callback.load(std::memory_order_acquire);
  if (!callback) return;
  rtExceptionInfo info = {failure.task, failure.stream, failure.thread,
                          static_cast<uint32_t>(failure.device),
                          static_cast<uint32_t>(AclCodeOf(failure.fault))};
  callback(&info);
}

uint32_t Field(const aclrtExceptionInfo* info, uint32_t rtExceptionInfo::* field) {
  return info ? info->*field : UINT32_MAX;
}

}  // namespace
}  // namespace hcclrun

aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback) {
  return Answer(CallId::aclrtSetExceptionInfoCallback, [&] {
    g_callback.store(callback, std::memory_order_release);
    Stream::SetTaskFailureHook(OnFailure);
    return Fault::None();
  });
}

uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return Field(info, &rtExceptionInfo::task);
}

uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return Field(info, &rtExceptionInfo::stream);
}

uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return Field(info, &rtExceptionInfo::thread);
}

uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return Field(info, &rtExceptionInfo::device);
}

uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo* info) {
  return Field(info, &rtExceptionInfo::code);
}

aclError aclrtGetArgsFromExceptionInfo(const aclrtExceptionInfo* info, void** devArgsPtr,
                                       uint32_t* devArgsLen) {
  return Answer(CallId::aclrtGetArgsFromExceptionInfo, [&]() -> Fault {
    if (!info) return NullArgument("info");
    if (!devArgsPtr) return NullArgument("devArgsPtr");
    if (!devArgsLen) return NullArgument("devArgsLen");
    *devArgsPtr = nullptr;
    *devArgsLen = 0;
    return Fault::None();
  });
}

aclError aclrtGetFuncHandleFromExceptionInfo(const aclrtExceptionInfo* info,
                                             aclrtFuncHandle* func) {
  return Answer(CallId::aclrtGetFuncHandleFromExceptionInfo, [&]() -> Fault {
    if (!info) return NullArgument("info");
    if (!func) return NullArgument("func");
    *func = nullptr;
    return Fault::None();
  });
}
