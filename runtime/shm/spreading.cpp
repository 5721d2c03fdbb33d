#include "shm/spreading.h"

#include <algorithm>
#include <new>

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

void Spreading::Look(SeenOn* seen, uint32_t ranks, uint32_t rank, uint32_t processors) {
  const uint32_t most = processors ? (ranks + processors - 1) / processors : ranks;
  waits_.store(0, std::memory_order_relaxed);
  const uint16_t here = seen[rank].load(std::memory_order_relaxed);
  uint32_t before = 0;
  for (uint32_t r = 0; r < rank && here; r++)
    before += seen[r].load(std::memory_order_relaxed) == here;
  const uint32_t looks_after = look_after_.load(std::memory_order_relaxed);
  if (before < most) {
    look_after_.store(std::max(kFewestWaits, looks_after - looks_after / 64),
                      std::memory_order_relaxed);
  } else {
    look_after_.store(std::min(kMostWaits, looks_after * 2), std::memory_order_relaxed);
    try {
      Move(seen, ranks, rank, most);
    } catch (const std::bad_alloc&) {  // then it stays
    }
  }
}

void Spreading::Move(SeenOn* seen, uint32_t ranks, uint32_t rank, uint32_t most) {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock) return;
  const std::vector<int> allowed = ProcessorsOf(0);
  if (allowed.size() < 2) return;
  if (!std::is_permutation(allowed.begin(), allowed.end(), cores_first_.begin(),
                           cores_first_.end()))
    cores_first_ = CoresFirst(allowed);
  std::vector<int> on(ranks);
  for (uint32_t r = 0; r < ranks; r++) on[r] = int{seen[r].load(std::memory_order_relaxed)} - 1;
  const int to = PlaceFor(rank, on, most, cores_first_);
  if (to < 0 || !MoveThread(to, allowed)) return;
  seen[rank].store(static_cast<uint16_t>(to + 1), std::memory_order_relaxed);
}

}  // namespace hcclrun
