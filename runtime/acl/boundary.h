#pragma once
// What every function of the C boundary does around its body: refuse calls in forked children
// without touching a lock, note the call, keep exceptions inside, turn the fault into a code and
// tell the user. The bodies check the arguments in the order of semantics B.1 and B.2, translate
// and call device/; nothing else.

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "acl/acl_base_rt.h"
#include "acl/last_error.h"
#include "base/call.h"
#include "base/fault.h"
#include "base/fork_guard.h"
#include "base/not_allowed.h"
#include "base/raw_value.h"
#include "check/answer.h"
#include "device/context.h"
#include "device/device.h"
#include "device/stream.h"

namespace hcclrun {

// `body` returns a Fault.
template <class Body>
aclError Answer(CallId id, Body&& body) noexcept {
  if (InForkedChild()) return ACL_ERROR_RT_FEATURE_NOT_SUPPORT;
  const aclError code = AnswerCall(id, true, &ApiCall::Acl, std::forward<Body>(body));
  if (code != ACL_SUCCESS) NoteLastError(code);
  return code;
}

inline Fault NullArgument(const char* parameter) {
  return Fault(FaultKind::kNullArgument, parameter);
}

// A zero size or count, which the acl layer itself refuses (semantics B.1).
inline Fault ZeroArgument(const char* parameter) {
  return Fault(FaultKind::kBadValue, {0, 1, UINT64_MAX}, parameter)
      .WithCode(ACL_ERROR_INVALID_PARAM);
}

// A value that the acl layer itself refuses.
inline Fault InvalidArgument(uint64_t given, uint64_t lowest, uint64_t highest,
                             const char* parameter) {
  return Fault(FaultKind::kBadValue, {given, lowest, highest}, parameter)
      .WithCode(ACL_ERROR_INVALID_PARAM);
}

// kNoContext on a thread without a device (semantics G.3).
inline Fault NeedContext() {
  return Context::HasCurrent() ? Fault::None() : Fault(FaultKind::kNoContext);
}

// A value that the acl layer itself refuses, with the whole reason.
inline Fault InvalidArgument(std::string reason) {
  return NotAllowed(std::move(reason)).WithCode(ACL_ERROR_INVALID_PARAM);
}

inline Fault BadTimeout(int32_t timeout, int32_t lowest) {
  return NotAllowed(absl::StrCat("timeout is ", timeout,
                                 "; it must be -1, which waits for ever, or at least ", lowest,
                                 " milliseconds"));
}

// Time-outs of synchronising calls: -1 for ever, less is refused (semantics G.1, G.2).
inline Fault CheckTimeout(int32_t timeout) {
  return timeout >= -1 ? Fault::None() : BadTimeout(timeout, 0);
}

// Calls `use(stream)` with the stream of a C handle, on a thread that has a context.
template <class Use>
Fault WithStream(aclrtStream handle, Use&& use) {
  if (Fault f = NeedContext()) return f;
  Result<std::shared_ptr<Stream>> stream = Stream::From(handle);
  if (!stream.ok()) return stream.fault();
  return use(*stream);
}

}  // namespace hcclrun
