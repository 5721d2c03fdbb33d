#pragma once
// Sleep until some condition in shared memory changes, without a lock.
//
// The waiter announces itself, reads the epoch, re-checks its condition and only then sleeps on the
// epoch. The waker first makes the condition true, then looks for announced waiters and, if there
// are any, advances the epoch and wakes. This is Dekker's pattern: (store waiters; load condition)
// against (store condition; load waiters). Both sides are seq_cst, and the caller's stores and
// loads of the condition must be seq_cst too, so at least one side sees the other: either the
// waiter sees the condition, or the waker sees the waiter and the changed epoch keeps it from
// sleeping. A waiter that dies leaves `waiters` too high: later wakers make a needless system call,
// nothing worse. A waker that dies between the condition and the wake is covered by the bounded
// sleep (kSliceNs).

#include <atomic>
#include <cstdint>

#include "base/step.h"
#include "shm/futex.h"

namespace hcclrun {

struct EventCount {
  // The longest sleep without a look at the abort word.
  static constexpr int64_t kSliceNs = 200'000'000;

  std::atomic<uint32_t> epoch;
  std::atomic<uint32_t> waiters;

  // Sleeps once unless done() is true; at most `limit_ns`. Returns the last value of done().
  template <class Condition>
  bool WaitOnce(Condition done, int64_t limit_ns) {
    waiters.fetch_add(1, std::memory_order_seq_cst);
    uint32_t seen = epoch.load(std::memory_order_seq_cst);
    HCCLRUN_STEP("wait.announced");
    bool ok = done();
    if (!ok) {
      HCCLRUN_STEP("wait.sleeps");
      FutexWait(&epoch, seen, limit_ns < kSliceNs ? limit_ns : kSliceNs);
      HCCLRUN_STEP("wait.woken");
      ok = done();
    }
    waiters.fetch_sub(1, std::memory_order_seq_cst);
    return ok;
  }

  // Call after the condition became true (seq_cst).
  void Notify() {
    if (waiters.load(std::memory_order_seq_cst) == 0) return;
    epoch.fetch_add(1, std::memory_order_seq_cst);
    FutexWakeAll(&epoch);
  }
};

}  // namespace hcclrun
