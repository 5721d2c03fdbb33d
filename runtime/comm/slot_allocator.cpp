#include "comm/slot_allocator.h"

#include <algorithm>
#include <iterator>

namespace hcclrun {

uint64_t SlotAllocator::Allocate(uint64_t bytes) {
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second < bytes) continue;
    const uint64_t offset = it->first, left = it->second - bytes;
    free_.erase(it);
    if (left) free_[offset + bytes] = left;
    return offset;
  }
  return kNone;
}

void SlotAllocator::Free(uint64_t offset, uint64_t bytes) {
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + bytes == next->first) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_[offset] = bytes;
}

uint64_t SlotAllocator::largest_free() const {
  uint64_t largest = 0;
  for (const auto& [offset, bytes] : free_) largest = std::max(largest, bytes);
  return largest;
}

}  // namespace hcclrun
