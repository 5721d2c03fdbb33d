#include "shm/spreading.h"

#include <algorithm>
#include <new>
#include <utility>

#include "shm/processors.h"

namespace hcclrun {

int PlaceFor(uint32_t rank, const std::vector<int>& on, uint32_t most,
             const std::vector<int>& allowed) {
  const auto those_on = [&on](int processor, size_t below) {
    return static_cast<uint32_t>(std::count(on.begin(), on.begin() + below, processor));
  };
  if (on[rank] < 0 || those_on(on[rank], rank) < most) return -1;
  uint32_t before = 0;  // ranks below that have to move, too
  for (uint32_t r = 0; r < rank; r++) before += on[r] >= 0 && those_on(on[r], r) >= most;
  for (const int processor : allowed) {
    const uint32_t there = those_on(processor, on.size());
    const uint32_t free = there < most ? most - there : 0;
    if (before < free) return processor;
    before -= free;
  }
  return -1;
}

void Spreading::Look(const View& view, uint32_t processors) {
  const uint32_t most = processors ? (view.ranks + processors - 1) / processors : view.ranks;
  waits_.store(0, std::memory_order_relaxed);
  // What PlaceFor() begins with, without a system call and without memory.
  uint32_t before = 0;
  for (uint32_t r = 0; r < view.rank && view.here; r++)
    before += view.seen[r].load(std::memory_order_relaxed) == view.here;
  const uint32_t after = look_after_.load(std::memory_order_relaxed);
  if (before < most) {
    look_after_.store(std::max(kFewestWaits, after - (after / 64 + 1)), std::memory_order_relaxed);
    return;
  }
  look_after_.store(std::min(kMostWaits, after * 2), std::memory_order_relaxed);
  try {
    Move(view, most);
  } catch (const std::bad_alloc&) {  // then it stays
  }
}

void Spreading::Move(const View& view, uint32_t most) {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock) return;
  std::vector<int> allowed = ProcessorsOf(0);
  if (allowed.size() < 2) return;
  if (allowed != allowed_) {
    cores_first_ = CoresFirst(allowed);
    std::rotate(cores_first_.begin(), cores_first_.begin() + view.first % cores_first_.size(),
                cores_first_.end());
    allowed_ = std::move(allowed);
  }
  std::vector<int> on(view.ranks);
  for (uint32_t r = 0; r < view.ranks; r++)
    on[r] = int{view.seen[r].load(std::memory_order_relaxed)} - 1;
  on[view.rank] = int{view.here} - 1;
  const int to = PlaceFor(view.rank, on, most, cores_first_);
  if (to < 0 || !MoveThread(to, allowed_)) return;
  view.seen[view.rank].store(static_cast<uint16_t>(to + 1), std::memory_order_relaxed);
}

}  // namespace hcclrun
