/* shm/event_count.h: no wake-up is lost.
 *
 * Two waiters and a waker. The condition is a counter in shared memory that the waker raises twice;
 * waiter i waits until it is i + 1. The waker may die anywhere; then the watcher of its process does
 * what comm/liveness.cpp does: it sets the abort word, which is part of every condition, and
 * notifies. There are no time-outs in the model: the slices of 200 ms are not needed for progress.
 *
 *   model               code
 *   announce            WaitOnce: waiters.fetch_add
 *   read the epoch      WaitOnce: epoch.load
 *   check               WaitOnce: done(), which also looks at the abort word
 *   sleep               WaitOnce: FutexWait(&epoch, seen)
 *   make it true        any seq_cst store or read-modify-write of a condition
 *   notify              Notify: waiters.load, epoch.fetch_add, FutexWakeAll
 */
#define NV 4
#define NT 4
#define CAP 2
#define DEAD (me == 2 && died)
bool died;
#include "machine.h"

#define NO_RECHECK mutated(1)      /* sleeps without looking at the condition again */
#define EPOCH_READ_LATE mutated(2) /* reads the epoch after that look */
#define ANNOUNCED_LATE mutated(3)  /* announces itself after that look */
#define WEAK_CONDITION mutated(4)  /* the condition is stored with release order only */
#define NO_NEW_EPOCH mutated(5)    /* wakes without a new epoch */
#define ABORT_UNNOTIFIED mutated(6) /* the abort word is set and nobody is woken */
#define ABORT_UNLOOKED mutated(7)  /* the condition does not look at the abort word */

#define CONDITION 0
#define EPOCH 1
#define WAITERS 2
#define ABORT 3

byte finished;

inline notify() {
  load(WAITERS, w, skip);
  if
  :: w == 0
  :: else ->
     if :: NO_NEW_EPOCH :: else -> fetch_add(EPOCH, 1, w, skip) fi;
     d_step { !DEAD; asleep[0] = 0; asleep[1] = 0; w = 0 }
  fi
}

inline check() {
  load(CONDITION, w, ok = w > me);
  if
  :: ok || ABORT_UNLOOKED
  :: else -> load(ABORT, ok, skip)
  fi
}

proctype Waiter(byte me) {
  byte w, seen;
  bool ok;
  do
  :: check();
     if :: ok -> break :: else fi;
     if
     :: ANNOUNCED_LATE -> load(EPOCH, seen, skip); check(); fetch_add(WAITERS, 1, w, w = 0)
     :: EPOCH_READ_LATE -> fetch_add(WAITERS, 1, w, w = 0); check(); load(EPOCH, seen, skip)
     :: else -> fetch_add(WAITERS, 1, w, w = 0); load(EPOCH, seen, skip); check()
     fi;
     if :: NO_RECHECK -> ok = 0 :: else fi;
     if :: ok :: else -> futex_wait(EPOCH, seen) fi;
     fetch_add(WAITERS, 255, w, w = 0; seen = 0) /* -1 */
  od;
  finished++
}

proctype Waker(byte me) {
  byte w;
  if :: WEAK_CONDITION -> release_store(CONDITION, 1) :: else -> publish(CONDITION, 1) fi;
  notify();
  if :: WEAK_CONDITION -> release_store(CONDITION, 2) :: else -> publish(CONDITION, 2) fi;
  notify()
}

proctype Watcher(byte me) {
  byte w;
  died;
  publish(ABORT, 1);
  if :: ABORT_UNNOTIFIED :: else -> notify() fi
}

proctype Death() {
  if :: died = 1 :: true fi
}

init {
  atomic { run Waiter(0); run Waiter(1); run Waker(2); run Watcher(3); run Death() }
  timeout;
  assert(finished == 2)
}
