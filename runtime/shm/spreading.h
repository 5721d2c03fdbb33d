#pragma once
// Keeps the ranks of a communicator on different processors, as evenly as there are processors.
//
// The scheduler sees threads that yield to each other and are all busy: it may leave two of two
// ranks on one processor, or six of eight, for a tenth of a second and longer, and every operation
// takes as long as the fullest processor needs to run its ranks. So each rank notes where it runs
// when it waits, and one that finds too many on its processor moves to one that has a place left:
// its thread is bound to that processor and at once set free again, to what it was allowed before.
// From there the scheduler does as it likes; if it moves the thread back, the next look comes
// later, up to kMostWaits waits.
//
// `seen` is shared memory: word r is written by rank r and read by all, relaxed, since it orders
// nothing: a stale one costs a move that was not needed. It is data, never an index. A dead rank's
// word stays as it was.

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace hcclrun {

using SeenOn = std::atomic<uint16_t>;  // number of a processor + 1; 0 = not known

// Which of `allowed` the thread of `rank` should move to, when no more than `most` ranks should be
// on one; -1: none. `on`: processors of all ranks, -1 = not known. The first `most` on a processor
// stay; the others, in the order of their ranks, take the free places in the order of `allowed`, so
// that ranks that see the same choose different ones.
int PlaceFor(uint32_t rank, const std::vector<int>& on, uint32_t most,
             const std::vector<int>& allowed);

// Of one rank; any of its threads.
class Spreading {
 public:
  // By a thread that is about to yield to others. `processors`: that the ranks share. `first`: where
  // free places are looked for first, some number that the ranks of a communicator agree about and
  // those of others mostly do not, so that not all fill the same processor.
  void BeforeYields(SeenOn* seen, uint32_t ranks, uint32_t rank, uint32_t processors,
                    uint32_t first) {
    const auto here = static_cast<uint16_t>(sched_getcpu() + 1);
    if (seen[rank].load(std::memory_order_relaxed) != here)
      seen[rank].store(here, std::memory_order_relaxed);
    const uint32_t waits = waits_.load(std::memory_order_relaxed) + 1;
    waits_.store(waits, std::memory_order_relaxed);
    if (waits >= look_after_.load(std::memory_order_relaxed))
      Look({seen, ranks, rank, here, first}, processors);
  }

 private:
  static constexpr uint32_t kFewestWaits = 16, kMostWaits = 8192;

  struct View {
    SeenOn* seen;
    uint32_t ranks, rank;
    uint16_t here;  // where this thread is, as in `seen`
    uint32_t first;
  };
  void Look(const View& view, uint32_t processors);
  void Move(const View& view, uint32_t most);

  // Written by threads that may overwrite each other's, which makes a look early or late.
  std::atomic<uint32_t> waits_{0};
  std::atomic<uint32_t> look_after_{kFewestWaits};
  std::mutex mutex_;
  // Guarded by mutex_: the affinity mask at the last move, and in CoresFirst()'s order.
  std::vector<int> allowed_, cores_first_;
};

}  // namespace hcclrun
