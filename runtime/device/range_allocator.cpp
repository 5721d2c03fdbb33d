#include "device/range_allocator.h"

namespace hcclrun {

RangeAllocator::RangeAllocator(uint64_t size) : size_(size) {
  if (size) AddFree(0, size);
}

void RangeAllocator::AddFree(uint64_t offset, uint64_t size) {
  free_.emplace(offset, size);
  by_size_.emplace(size, offset);
}

void RangeAllocator::RemoveFree(std::map<uint64_t, uint64_t>::iterator it) {
  by_size_.erase({it->second, it->first});
  free_.erase(it);
}

std::optional<uint64_t> RangeAllocator::Allocate(uint64_t size, uint64_t alignment) {
  if (size == 0 || size > size_) return std::nullopt;
  for (auto it = by_size_.lower_bound({size, 0}); it != by_size_.end(); ++it) {
    auto [range_size, range] = *it;
    uint64_t offset = (range + alignment - 1) & ~(alignment - 1);
    if (offset < range || offset - range > range_size - size) continue;
    uint64_t end = range + range_size;
    RemoveFree(free_.find(range));
    if (offset > range) AddFree(range, offset - range);
    if (offset + size < end) AddFree(offset + size, end - (offset + size));
    taken_.emplace(offset, size);
    used_ += size;
    return offset;
  }
  return std::nullopt;
}

std::optional<uint64_t> RangeAllocator::Free(uint64_t offset) {
  auto it = taken_.find(offset);
  if (it == taken_.end()) return std::nullopt;
  uint64_t size = it->second;
  taken_.erase(it);
  used_ -= size;
  uint64_t begin = offset, end = offset + size;
  auto after = free_.lower_bound(offset);
  if (after != free_.begin()) {
    auto before = std::prev(after);
    if (before->first + before->second == begin) {
      begin = before->first;
      RemoveFree(before);
    }
  }
  if (after != free_.end() && after->first == end) {
    end += after->second;
    RemoveFree(after);
  }
  AddFree(begin, end - begin);
  return size;
}

std::optional<std::pair<uint64_t, uint64_t>> RangeAllocator::Containing(uint64_t offset) const {
  auto it = taken_.upper_bound(offset);
  if (it == taken_.begin()) return std::nullopt;
  --it;
  if (offset - it->first >= it->second) return std::nullopt;
  return *it;
}

void RangeAllocator::ForEachFree(const std::function<void(uint64_t, uint64_t)>& visit) const {
  for (auto [offset, size] : free_) visit(offset, size);
}

}  // namespace hcclrun
