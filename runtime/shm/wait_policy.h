#pragma once
// How a thread waits for another rank before it sleeps on a futex.
//
// While every rank can have a processor of its own, a short spin is cheapest. Once ranks outnumber
// processors a spin only keeps the rank that is waited for from running: the thread yields instead,
// which is ten times cheaper than a futex round trip, until a yield comes back late. Then this wait
// goes to the futex, and shm/wait_mode.h decides about the next ones. A thread that yields also
// sees to it that the ranks do not crowd on one processor (shm/spreading.h).
//
// Long operations are another matter than short ones: a rank that works on one takes time slices
// like a foreign program, and whether it is better to sleep meanwhile says nothing about waits of
// microseconds. So all is there twice, for waits of both kinds.
//
// What ranks share is in WaitWords. Any rank raises sleep_until_ns; who has said the time that is
// there takes it back when it has passed, or anybody some time later, if that rank does not come
// any more. All relaxed: they order nothing, and a rank that misses something yields once more, or
// counts one more.

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "shm/spreading.h"
#include "shm/tick_scale.h"
#include "shm/wait_mode.h"

namespace hcclrun {

struct WaitWords {
  std::atomic<int64_t> sleep_until_ns;  // time of NowNs() until which all sleep at once; 0 = not
  std::atomic<uint64_t> late;           // operations in which a yield of any rank was late
  std::atomic<uint64_t> last_late;      // the last of them, as its rank numbers it
};

// Of one rank in one communicator; any of its threads.
class WaitPolicy {
 public:
  // What a wait is about.
  struct Surroundings {
    uint32_t rank, ranks;
    uint32_t processors;  // that they share
    bool takes_long;      // what is waited for; see kLongWorkBytes
    WaitWords& words;     // of such waits
    SeenOn* seen_on;
    const std::atomic<uint64_t>& operations;  // that this rank is done with, so far; and likewise
    const std::atomic<uint64_t>& transfers;
    uint32_t first_processor;  // see Spreading

    bool crowded() const { return ranks > processors; }
  };

  static void Pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    asm volatile("yield");
#endif
  }

  // Tries to outlast a short wait. True when ready() became true; false: sleep on a futex.
  template <class Condition>
  bool Outlast(const Surroundings& s, Condition ready) {
    if (s.words.sleep_until_ns.load(std::memory_order_relaxed) != 0) [[unlikely]] {
      if (Sleeps(s)) return ready();
    }
    if (!s.crowded()) {
      for (int i = 0; i < kSpins; i++) {
        if (ready()) return true;
        Pause();
      }
    }
    if (ready()) return true;
    const uint32_t first_waits = first_waits_.load(std::memory_order_relaxed);
    if (first_waits) first_waits_.store(first_waits - 1, std::memory_order_relaxed);
    spreading_.BeforeYields(s.seen_on, s.ranks, s.rank, s.processors, s.first_processor);
    // A look at the clock is four pages of code and data, which cost more after a switch than the
    // look.
    const int64_t late_ticks = Scale().TicksIn(kLateYieldNs);
    const auto now = [&] { return late_ticks ? static_cast<int64_t>(Ticks()) : NowNs(); };
    const int64_t late = late_ticks ? late_ticks : kLateYieldNs;
    int64_t before = now();
    for (int i = 0; i < kYields; i++) {
      sched_yield();
      const int64_t after = now();
      if (after - std::exchange(before, after) > late) {
        // Among the first waits it was mostly a rank that is still starting.
        if (!first_waits) WasLate(s);
        return ready();
      }
      if (ready()) return true;
    }
    return false;
  }

 private:
  static constexpr int kSpins = 2000, kYields = 100;
  static constexpr uint32_t kFirstWaits = 8;
  static constexpr int64_t kLateYieldNs = 2'500'000;

  static const TickScale& Scale() {
    static const TickScale scale;
    return scale;
  }
  static uint64_t Done(const Surroundings& s) {
    return s.operations.load(std::memory_order_relaxed) +
           s.transfers.load(std::memory_order_relaxed);
  }
  bool Sleeps(const Surroundings& s);
  void WasLate(const Surroundings& s);

  std::atomic<uint32_t> first_waits_{kFirstWaits};  // left
  Spreading spreading_;
  std::mutex mutex_;
  WaitMode modes_[2];  // guarded by mutex_; [1]: of waits for what takes long
};

}  // namespace hcclrun
