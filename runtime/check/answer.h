#pragma once
// What every public function does around its body: note the call, turn the fault into a result
// code, tell the user, and let no exception out: programs in C call us, too.

#include <exception>
#include <new>
#include <utility>

#include "check/report.h"

namespace hcclrun {

// `to_code` is &ApiCall::Acl or &ApiCall::Hccl; `body` returns a Fault. Not for
// forked children (base/fork_guard.h).
template <class Body>
int32_t AnswerCall(CallId id, bool noted, int32_t (ApiCall::*to_code)(const Fault&),
                   Body&& body) noexcept {
  ApiCall call(id, noted);
  try {
    const Fault fault = body();
    if (!fault) [[likely]]
      return 0;
    return (call.*to_code)(fault);
  } catch (const std::bad_alloc&) {
    return (call.*to_code)(Fault(FaultKind::kHostMemory, {0}));
  } catch (const std::exception& e) {
    return (call.*to_code)(Fault(FaultKind::kInternal, e.what()));
  } catch (...) {
    return (call.*to_code)(Fault(FaultKind::kInternal, "an exception reached the C boundary"));
  }
}

}  // namespace hcclrun
