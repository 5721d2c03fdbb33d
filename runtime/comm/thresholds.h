#pragma once
// Sizes from which operations of a communicator are done differently.

#include <cstdint>

namespace hcclrun {

// Bytes of a rank's buffers up to which an operation may run inside the call that enqueues it:
// microseconds.
inline constexpr uint64_t kInlineBytes = 16 << 10;

// Bytes moved from which stores bypass the caches. A reader right behind the operation loses by it
// below about this size and wins above; benchmarks without a reader would like it lower.
inline constexpr uint64_t kStreamingBytes = uint64_t{32} << 20;

}  // namespace hcclrun
