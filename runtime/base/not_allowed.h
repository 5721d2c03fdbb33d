#pragma once
// Arguments that are refused for a reason that no range of values expresses.

#include <string>
#include <utility>

#include "base/fault.h"

namespace hcclrun {

// `reason` says what was given, why it is refused and what to pass instead.
inline Fault NotAllowed(std::string reason) {
  return Fault(FaultKind::kBadValue, {0, 1, 0}, std::move(reason));  // an empty range
}

}  // namespace hcclrun
