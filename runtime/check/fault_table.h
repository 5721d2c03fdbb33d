#pragma once
// One row per kind of fault: its usual result codes, its EI code, whether a user is told at once,
// and whom it concerns.

#include <cstdint>

#include "base/fault.h"

namespace hcclrun {

struct FaultRow {
  FaultKind kind;
  int32_t acl;     // aclError
  int32_t hccl;    // HcclResult
  const char* ei;  // code of semantics F.2, or nullptr
  // False: an expected answer (a time-out, a miss); only aclGetRecentErrMsg and the log have it.
  bool told;
  // It comes from what another rank did or did not do.
  bool blames_another_rank = false;
};

const FaultRow& RowOf(FaultKind kind);

}  // namespace hcclrun
