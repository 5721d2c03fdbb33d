#pragma once
// The lock under which the operations of a communicator are numbered, and the way in for a call
// that knows the communicator by its address alone.
//
// A reference to a communicator costs two atomic read-modify-writes, a third of what there is to do
// for an operation of a few bytes. A lock is taken anyway, so it also keeps the communicator there:
// it lives on after the communicator (it is never freed), which is closed to visitors before the
// last reference of the table of handles goes. Visitor: takes the lock, then looks whether it is
// closed. Closer: closes it, then looks whether a visitor has it (all seq_cst). So at least one
// sees the other: the visitor goes away without having touched the communicator, or the closer
// waits. Visitors run no code of the program and wait for nobody, so that is soon over; who takes
// the lock otherwise holds a reference and is not waited for.
//
// Threads that issue at the same time break a rule of HCCL (semantics D.11), so whoever finds the
// lock taken need not be quick: it spins a little, yields, and then sleeps for as long as a switch
// takes, which also lets a holder of a lower priority go on.

#include <sched.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "shm/wait_policy.h"

namespace hcclrun {

class alignas(64) IssueLock {
 public:
  static IssueLock* Make();

  void lock() {
    for (int tries = 0; !TryTake(kHeld); tries++) Wait(tries);
  }
  void unlock() { state_.store(kFree, std::memory_order_release); }

  // False: it is taken, or closed. To be unlocked otherwise.
  bool Visit() {
    if (!TryTake(kVisited)) return false;
    if (!closed_.load(std::memory_order_seq_cst)) return true;
    unlock();
    return false;
  }
  // No visitor will come in any more, and none is inside when it returns. False: one still is,
  // after a second; it may be this thread, in a signal handler that ends the program.
  bool Close() {
    closed_.store(true, std::memory_order_seq_cst);
    int tries = 0;
    while (state_.load(std::memory_order_seq_cst) == kVisited && tries < kPatience) Wait(tries++);
    return tries < kPatience;
  }

 private:
  static constexpr int kPatience = 10'000;  // of Wait()
  enum State : uint32_t { kFree, kHeld, kVisited };
  bool TryTake(State as) {
    uint32_t free = kFree;
    return state_.load(std::memory_order_relaxed) == kFree &&
           state_.compare_exchange_strong(free, as, std::memory_order_seq_cst);
  }
  static void Wait(int tries) {
    if (tries < 100) {
      WaitPolicy::Pause();
    } else if (tries < 200) {
      sched_yield();
    } else {
      const timespec while_others_run = {0, 50'000};
      nanosleep(&while_others_run, nullptr);
    }
  }

  std::atomic<uint32_t> state_{kFree};
  std::atomic<bool> closed_{false};
};

}  // namespace hcclrun
