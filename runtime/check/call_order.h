#pragma once
// Ranks whose calls are shifted against the others': looked for in what the flight recorder holds
// of the calls behind the one that differs, which queued operations have not posted yet.

#include <string>

#include "comm/details.h"

namespace hcclrun {

// "; rank 2 seems to have left out ..." for the ranks that are not with the most; "" where the
// calls do not look like that, nothing is known of later ones, or nobody records.
std::string ShiftInRecords(const OpDetail& mismatch);

}  // namespace hcclrun
