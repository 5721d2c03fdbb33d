#pragma once

#include <cstdint>

namespace hcclrun {

// How long a wait that is queued now may last, as aclrtSetOpWaitTimeout says; -1 = for ever.
int64_t OpWaitTimeoutMs();

}  // namespace hcclrun
