#pragma once
// One row per kind of fault: its usual result codes, its EI code, whether a user is told at once,
// and who caused it.

#include <cstdint>

#include "base/fault.h"

namespace hcclrun {

// What makes a call fail. kSomeRank: ranks called different things.
enum class Cause : uint8_t { kThisRank, kAnotherRank, kSomeRank };

struct FaultRow {
  FaultKind kind;
  int32_t acl;     // aclError
  int32_t hccl;    // HcclResult
  const char* ei;  // code of semantics F.2, or nullptr
  // False: an expected answer (a time-out, a miss); only aclGetRecentErrMsg and the log have it.
  bool told;
  Cause cause = Cause::kThisRank;
};

const FaultRow& RowOf(FaultKind kind);

}  // namespace hcclrun
