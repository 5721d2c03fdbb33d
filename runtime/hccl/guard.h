#pragma once
// What every HCCL entry point does around its body: refuse in a forked child, note the call, turn
// the fault into a result code, let no exception out.

#include <utility>

#include "base/call.h"
#include "base/fault.h"
#include "base/fork_guard.h"
#include "check/answer.h"
#include "hccl/hccl_types.h"

namespace hcclrun {

template <class Body>
HcclResult Guarded(CallId id, Body body, bool noted = true) noexcept {
  if (InForkedChild()) return HCCL_E_UNAVAIL;
  return static_cast<HcclResult>(AnswerCall(id, noted, &ApiCall::Hccl, std::move(body)));
}

inline Fault Null(const char* parameter) { return Fault(FaultKind::kNullArgument, parameter); }

}  // namespace hcclrun
