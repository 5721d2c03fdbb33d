#pragma once
// Sizes from which operations of a communicator are done differently.

#include <cstdint>

namespace hcclrun {

// Bytes of a rank's buffers up to which an operation may run inside the call that enqueues it:
// microseconds.
inline constexpr uint64_t kInlineBytes = 16 << 10;

// Bytes moved from which a processor may be busy for a time slice with an operation, or with a
// batch of them.
inline constexpr uint64_t kLongWorkBytes = 4 << 20;

// Bytes moved from which stores bypass the caches: what the last-level cache holds, where that is
// known, since what an operation writes beyond it is gone from there before anybody reads it; 8 to
// 32 MiB. With a larger cache a reader right behind the operation loses by it below about 32 MiB
// and wins above.
uint64_t StreamingBytes();

}  // namespace hcclrun
