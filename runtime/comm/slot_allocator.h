#pragma once
// First-fit allocation of slot space: which part of a rank's stride mirrors which registered
// mapping. Every rank runs the same allocator over the same sequence of calls, so the offsets come
// out equal without negotiation (semantics A.1.5); the exchange of a registration only compares
// them. Not thread-safe.

#include <cstdint>
#include <map>

namespace hcclrun {

class SlotAllocator {
 public:
  explicit SlotAllocator(uint64_t bytes) { free_[0] = bytes; }

  static constexpr uint64_t kNone = UINT64_MAX;
  // Lowest free range of `bytes` (a multiple of the granularity); kNone when there is none.
  uint64_t Allocate(uint64_t bytes);
  void Free(uint64_t offset, uint64_t bytes);
  uint64_t largest_free() const;

 private:
  std::map<uint64_t, uint64_t> free_;  // offset -> bytes, no two adjacent
};

}  // namespace hcclrun
