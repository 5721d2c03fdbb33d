#pragma once
// The C call of a V operation.

#include "support/rank_session.h"
#include "support/v_calls.h"

namespace hcclrun::testing {

// Makes `rank`'s call. The arrays that it passes are overwritten right after it: the runtime must
// have read them.
HcclResult EnqueueV(const Call& call, uint32_t rank, void* in, void* out, HcclComm comm,
                    aclrtStream stream);

// Whether the combination is defined (semantics C.4).
bool SupportedV(const Call& call);

}  // namespace hcclrun::testing
