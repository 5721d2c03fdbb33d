#pragma once
// How a thread waits for another rank before it sleeps on a futex.
//
// While every rank can have a processor of its own, a short spin is cheapest. Once ranks outnumber
// processors a spin only keeps the rank that is waited for from running: the thread yields instead,
// which is ten times cheaper than a futex round trip, until a yield comes back late. A late yield
// means that a foreign thread holds the processor; then yielding costs whole time slices, so the
// next waits go to the futex at once, more of them each time it happens. Not so in a thread's first
// waits: then it was mostly a rank that is still starting, and would cost the first operations half
// of their speed.

#include <sched.h>

#include <cstdint>
#include <utility>

#include "base/clock.h"
#include "shm/tick_scale.h"

namespace hcclrun {

class WaitPolicy {
 public:
  // Of the calling thread.
  static WaitPolicy& OfThread();

  static void Pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    asm volatile("yield");
#endif
  }

  // Tries to outlast a short wait. True when ready() became true; false: sleep on a futex.
  template <class Condition>
  bool Outlast(bool oversubscribed, Condition ready) {
    if (!oversubscribed) {
      for (int i = 0; i < kSpins; i++) {
        if (ready()) return true;
        Pause();
      }
    }
    if (futex_only_ > 0) {
      futex_only_--;
      return ready();
    }
    if (ready()) return true;
    if (first_waits_ > 0) first_waits_--;
    // A look at the clock is four pages of code and data, which cost more after a switch than the look.
    const int64_t late_ticks = Scale().TicksIn(kLateYieldNs);
    const auto now = [&] { return late_ticks ? static_cast<int64_t>(Ticks()) : NowNs(); };
    const int64_t late = late_ticks ? late_ticks : kLateYieldNs;
    int64_t before = now();
    for (int i = 0; i < kYields; i++) {
      sched_yield();
      const int64_t after = now();
      if (after - std::exchange(before, after) > late) {
        if (first_waits_ > 0) return ready();
        futex_only_ = backoff_;
        backoff_ = backoff_ * 2 > kMaxBackoff ? kMaxBackoff : backoff_ * 2;
        prompt_yields_ = 0;
        return ready();
      }
      if (ready()) return true;
      if (++prompt_yields_ > kPromptYields) {
        prompt_yields_ = 0;
        backoff_ = backoff_ / 2 < kMinBackoff ? kMinBackoff : backoff_ / 2;
      }
    }
    return false;
  }

 private:
  static constexpr int kSpins = 2000, kYields = 100;
  static constexpr uint32_t kFirstWaits = 8;
  static constexpr int64_t kLateYieldNs = 2'500'000;
  // The first one is longer: with foreign threads about, every rank has to learn it.
  static constexpr uint32_t kFirstBackoff = 2048, kMinBackoff = 512, kMaxBackoff = 16384;
  static constexpr uint32_t kPromptYields = 2000;

  static const TickScale& Scale() {
    static const TickScale scale;
    return scale;
  }

  uint32_t first_waits_ = kFirstWaits;  // left
  uint32_t futex_only_ = 0;  // waits left that do not yield
  uint32_t backoff_ = kFirstBackoff;
  uint32_t prompt_yields_ = 0;
};

inline WaitPolicy& WaitPolicy::OfThread() {
  thread_local WaitPolicy policy;
  return policy;
}

}  // namespace hcclrun
