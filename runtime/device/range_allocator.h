#pragma once
// Hands out ranges of [0, size): best fit, the lowest address among equals. Best fit keeps the
// untouched tail of a heap whole and hands freed ranges out first, whose pages exist already. Pure
// bookkeeping; not thread-safe.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace hcclrun {

class RangeAllocator {
 public:
  explicit RangeAllocator(uint64_t size);

  // `size` > 0 bytes at a multiple of `alignment` (a power of two); nothing when no free range
  // holds them.
  std::optional<uint64_t> Allocate(uint64_t size, uint64_t alignment);
  // The size of the range that starts at `offset` and is free from now on; nothing when
  // there is none.
  std::optional<uint64_t> Free(uint64_t offset);
  // Start and size of the allocated range that contains `offset`.
  std::optional<std::pair<uint64_t, uint64_t>> Containing(uint64_t offset) const;

  uint64_t used() const { return used_; }
  uint64_t free() const { return size_ - used_; }
  uint64_t largest_free() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }
  // Calls visit(offset, size) for every free range, in ascending order of address.
  void ForEachFree(const std::function<void(uint64_t, uint64_t)>& visit) const;

 private:
  void AddFree(uint64_t offset, uint64_t size);
  void RemoveFree(std::map<uint64_t, uint64_t>::iterator it);

  // Invariants: free_ and taken_ together tile [0, size_); no two neighbours in free_ touch;
  // by_size_ mirrors free_.
  const uint64_t size_;
  std::map<uint64_t, uint64_t> free_;                // offset -> size
  std::set<std::pair<uint64_t, uint64_t>> by_size_;  // (size, offset)
  std::map<uint64_t, uint64_t> taken_;               // offset -> size
  uint64_t used_ = 0;
};

}  // namespace hcclrun
