#pragma once
// One row per kind of fault: its usual result codes, its EI code and whether a user is told at
// once.

#include <cstdint>

#include "base/fault.h"

namespace hcclrun {

struct FaultRow {
  FaultKind kind;
  int32_t acl;     // aclError
  int32_t hccl;    // HcclResult
  const char* ei;  // code of semantics F.2, or nullptr
  bool told;  // false: an expected answer (a time-out, a miss); only aclGetRecentErrMsg and the log
              // have it
};

const FaultRow& RowOf(FaultKind kind);

}  // namespace hcclrun
