#pragma once
// V operations at random: counts with zeros, blocks in any order with gaps between them.

#include <cstdint>
#include <functional>
#include <vector>

#include "support/reference.h"

namespace hcclrun::testing {

inline constexpr Op kVOperations[] = {Op::kAllGatherV, Op::kReduceScatterV, Op::kAllToAllV,
                                      Op::kAllToAllVC};

// A number below the argument.
using Below = std::function<uint64_t(uint64_t)>;

// Fills the arrays of `call`, whose op and ranks are set: counts up to `most` elements, of which
// about a third are 0, gaps up to `gap` elements.
void RandomArrays(Call* call, uint64_t most, uint64_t gap, const Below& below);

// The arrays that rank `rank` passes, as AlltoAllV would take them: for AllGatherV the recv arrays
// alone, for ReduceScatterV the send arrays alone.
struct VRow {
  std::vector<uint64_t> send_counts, send_displs, recv_counts, recv_displs;
};
VRow RowOf(const Call& call, uint32_t rank);

// Bytes from the buffers' starts to the ends of their last blocks.
ExtentBytes VExtentsOf(const Call& call, uint32_t rank);

}  // namespace hcclrun::testing
