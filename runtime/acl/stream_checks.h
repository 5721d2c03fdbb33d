#pragma once
// Checks that several calls for streams share.

#include <cstdint>

#include "acl/acl_rt.h"
#include "base/not_allowed.h"
#include "device/context.h"
#include "device/stream.h"

namespace hcclrun {

// Whether the stream is the default stream of its context.
inline bool IsDefaultStream(const Stream& stream) {
  Result<std::shared_ptr<Context>> context =
      Context::From(reinterpret_cast<void*>(stream.context_id()));
  return context.ok() && (*context)->IsDefaultStream(&stream);
}

// Default streams have none.
inline Fault SetFailureMode(Stream& stream, uint64_t mode, const char* parameter) {
  if (mode > ACL_STOP_ON_FAILURE) {
    return Fault(FaultKind::kBadValue, {mode, ACL_CONTINUE_ON_FAILURE, ACL_STOP_ON_FAILURE},
                 parameter);
  }
  if (IsDefaultStream(stream))
    return NotAllowed("a default stream has no failure mode; use a created stream");
  stream.SetStopOnFailure(mode == ACL_STOP_ON_FAILURE);
  return Fault::None();
}

}  // namespace hcclrun
