#pragma once
// What is in a control block (comm/control_block.h) before the ranks map it. By the server of the
// rendezvous alone; published by the packets that carry the block's descriptor.

#include <cstdint>

#include "absl/types/span.h"
#include "comm/rendezvous.h"

namespace hcclrun {

// `base`: zeroed memory of `bytes`; `hellos`: what the ranks have said of themselves, by rank.
void FillControl(void* base, uint64_t bytes, absl::Span<const Hello> hellos);

}  // namespace hcclrun
