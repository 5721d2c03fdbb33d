#pragma once
// What every HCCL entry point does around its body: refuse in a forked child, note the call, turn
// the fault into a result code, let no exception out.

#include <new>

#include "base/call.h"
#include "base/fault.h"
#include "base/fork_guard.h"
#include "check/report.h"
#include "hccl/hccl_types.h"

namespace hcclrun {

template <class Body>
HcclResult Guarded(CallId id, Body body, bool noted = true) {
  if (InForkedChild()) return HCCL_E_UNAVAIL;
  ApiCall call(id, noted);
  try {
    return static_cast<HcclResult>(call.Hccl(body()));
  } catch (const std::bad_alloc&) {
    return static_cast<HcclResult>(call.Hccl(Fault(FaultKind::kHostMemory, {0})));
  }
}

inline Fault Null(const char* parameter) { return Fault(FaultKind::kNullArgument, parameter); }

}  // namespace hcclrun
