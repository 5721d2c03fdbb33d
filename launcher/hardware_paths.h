#pragma once
// Which path an A3 would take for the same calls (semantics A.10). Pure.

#include <cstdint>

#include "launcher/job_history.h"

namespace hcclrun {

// Item 8 of A.10, which hcclrun does not apply, for a call to which items 1 to 7 apply.
enum class HardwarePath {
  kBuffered,
  kWindow,
  kDepends,  // on whether the devices form double rings
};
// `bytes` is count times the element's size; `stage_bytes` an HCCL buffer.
HardwarePath PathByThresholds(Op op, uint64_t bytes, uint32_t ranks, uint32_t servers,
                              uint64_t stage_bytes);

// Items 1 to 7 let the call use windows: it does, or its buffers overlap, which only hcclrun minds.
// Reasons begin with the item that does not hold.
bool Eligible(const RankHistory& rank, const RecordedCall& call);

// PathByThresholds of such a call.
HardwarePath OnHardware(const RankHistory& rank, const RecordedCall& call);

}  // namespace hcclrun
