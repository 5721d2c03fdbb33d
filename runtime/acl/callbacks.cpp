// Host functions in streams: on the stream's own thread, or on a thread that the program
// subscribed.

#include "acl/acl_rt.h"
#include "acl/boundary.h"
#include "device/host_functions.h"
#include "device/reports.h"
#include "hcclrun/launch.h"

namespace hcclrun {
namespace {

// Codes of the subscription calls.
Fault WithSubscriptionCodes(Fault fault) {
  if (fault.kind == FaultKind::kBusy) fault.code_override = ACL_ERROR_RT_STREAM_SUBSCRIBE;
  if (fault.kind == FaultKind::kNotSubscribed) fault.code_override = ACL_ERROR_RT_THREAD_SUBSCRIBE;
  return fault;
}

Fault SubscribeChecked(ReportSet set, uint64_t thread, aclrtStream stream) {
  return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
    return WithSubscriptionCodes(Subscribe(set, thread, *s));
  });
}

Fault UnsubscribeChecked(ReportSet set, uint64_t thread, aclrtStream stream) {
  return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
    return WithSubscriptionCodes(Unsubscribe(set, thread, *s));
  });
}

Fault ProcessChecked(ReportSet set, int32_t timeout) {
  if (timeout < -1 || timeout == 0) {
    return BadTimeout(timeout, 1).WithCode(ACL_ERROR_INVALID_PARAM);
  }
  return WithSubscriptionCodes(ProcessReports(set, timeout));
}

}  // namespace
}  // namespace hcclrun

using namespace hcclrun;

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
  return Answer(CallId::aclrtLaunchHostFunc, [&]() -> Fault {
    if (!fn) return NullArgument("fn");
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      if (IsSubscribed(ReportSet::kHostFunctions, *s))
        return ReportInStream(ReportSet::kHostFunctions, *s, fn, args, /*blocks=*/true);
      return RunInStream(*s, fn, args);
    });
  });
}

aclError hcclrunLaunch(aclrtStream stream, hcclrunKernel kernel, void* arg) {
  return Answer(CallId::hcclrunLaunch, [&]() -> Fault {
    if (!kernel) return NullArgument("kernel");
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      return RunKernelInStream(*s, kernel, arg);
    });
  });
}

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return Answer(CallId::aclrtSubscribeReport,
                [&] { return SubscribeChecked(ReportSet::kReports, threadId, stream); });
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return Answer(CallId::aclrtUnSubscribeReport,
                [&] { return UnsubscribeChecked(ReportSet::kReports, threadId, stream); });
}

aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType,
                             aclrtStream stream) {
  return Answer(CallId::aclrtLaunchCallback, [&]() -> Fault {
    if (!fn) return NullArgument("fn");
    const int block = RawValue(blockType);
    if (block != ACL_CALLBACK_NO_BLOCK && block != ACL_CALLBACK_BLOCK)
      return InvalidArgument(uint64_t(block), ACL_CALLBACK_NO_BLOCK, ACL_CALLBACK_BLOCK,
                             "blockType");
    return WithStream(stream, [&](const std::shared_ptr<Stream>& s) {
      Fault fault =
          ReportInStream(ReportSet::kReports, *s, fn, userData, block == ACL_CALLBACK_BLOCK);
      if (fault.kind == FaultKind::kNotSubscribed)
        fault.code_override = ACL_ERROR_RT_STREAM_NO_CB_REG;
      return fault;
    });
  });
}

aclError aclrtProcessReport(int32_t timeout) {
  return Answer(CallId::aclrtProcessReport,
                [&] { return ProcessChecked(ReportSet::kReports, timeout); });
}

aclError aclrtSubscribeHostFunc(uint64_t hostFuncThreadId, aclrtStream exeStream) {
  return Answer(CallId::aclrtSubscribeHostFunc, [&]() -> Fault {
    if (!exeStream) return NullArgument("exeStream");
    return SubscribeChecked(ReportSet::kHostFunctions, hostFuncThreadId, exeStream);
  });
}

aclError aclrtProcessHostFunc(int32_t timeout) {
  return Answer(CallId::aclrtProcessHostFunc,
                [&] { return ProcessChecked(ReportSet::kHostFunctions, timeout); });
}

aclError aclrtUnSubscribeHostFunc(uint64_t hostFuncThreadId, aclrtStream exeStream) {
  return Answer(CallId::aclrtUnSubscribeHostFunc, [&]() -> Fault {
    if (!exeStream) return NullArgument("exeStream");
    return UnsubscribeChecked(ReportSet::kHostFunctions, hostFuncThreadId, exeStream);
  });
}

aclError aclrtGetThreadLastTaskId(uint32_t* taskId) {
  return Answer(CallId::aclrtGetThreadLastTaskId, [&]() -> Fault {
    if (!taskId) return NullArgument("taskId");
    if (Fault f = NeedContext()) return f;
    *taskId = Stream::LastTaskOfThread();
    return Fault::None();
  });
}
