/* comm/control_block.h, Slot, under comm/matching.cpp and comm/collective_task.cpp with the classic
 * executor: two ranks meet in operations that share one slot of the ring.
 *
 * Each rank calls OPERATIONS operations, each of which may differ from the other rank's (kind 0 or
 * 1). With -DSTREAMS=2 rank 0 has two threads, of two streams, that take turns with the operations, so
 * that one is posted before it is its turn. One thing may happen to rank 1 at any step: it is killed (its watcher sets the abort
 * word), or its process exits with 0 (an exit handler says so in the rank's record and notifies).
 *
 *   model         code
 *   kPost         CollectiveTask::Step, TryPost
 *   kMatch        AllArrived, FailureOf
 *   kTurn         `completed`, then Begin: who owes a notice gives it (owes_notice_)
 *   kRun          classic_executor.cpp: Advance; Complete by the last arrival
 *   leave         Leave
 *   wait          CollectiveTask::WaitForProgress, EventCount::WaitOnce
 *   trouble       CollectiveTask::Trouble, after each sleep: abort word, ranks that left
 *
 * Proved: nobody waits for ever, where time-outs are of use only after rank 1 has exited: a rank that
 * exits with 0 changes no condition, it is looked for after a sleep, which lasts 200 ms at most; what a rank reads of a posted descriptor is whole and of this
 * operation; both ranks come to the same verdict about it, the right one; a rank does each phase
 * once and sees all of the phase before; an operation fails because of a rank that left only if
 * that rank had not done its part before.
 */
#define KILLED 1
#define EXITED 2
#ifndef FATE
#define FATE 0 /* nothing happens to rank 1 */
#endif
#ifndef KINDS
#define KINDS 2
#endif
#ifndef OPERATIONS
#define OPERATIONS 2
#endif
#ifndef STREAMS
#define STREAMS 1
#endif
#ifndef SLOTS
#define SLOTS 1
#endif
#ifndef PHASES
#define PHASES 1
#endif

#if STREAMS > 1
#define WATCHER 4
#define HANDLER 3
#define NT 5
#else
#define WATCHER 2 /* thread of rank 0 */
#define HANDLER 3 /* thread of rank 1 */
#define NT 4
#endif
#define CAP 2
#define DEAD (died && me % 2 == 1)
bool died; /* rank 1 */

#define EPOCH 0
#define WAITERS 1
#define ABORT 2
#define COMPLETED 3
#define STATE1 4 /* of rank 1: 0 = alive, 1 = exited */
#define SLOT(k) (5 + (k) % SLOTS * 12)
#define SLOT_EPOCH(k) (SLOT(k))
#define ARRIVED(k) (SLOT(k) + 1)
#define REFERENCE(k) (SLOT(k) + 2)
#define FAILURE(k) (SLOT(k) + 3)
#define LEFT(k) (SLOT(k) + 4)
#define BARRIER(k) (SLOT(k) + 5)
#define POSTED(k, rank) (SLOT(k) + 6 + (rank))
#define CALL(k, rank) (SLOT(k) + 8 + (rank))  /* the descriptor: operation * 2 + kind + 1 */
#define DATA(k, rank) (SLOT(k) + 10 + (rank)) /* what a phase writes: operation * PHASES + phase + 1 */
#define NV (5 + SLOTS * 12)
#define SLICE_ENDLESS mutated(1)    /* a sleep has no end of its own */
#define EXPIRES (mem[STATE1] && !SLICE_ENDLESS)
#include "machine.h"

#define NO_RECHECK mutated(2)        /* sleeps without looking at the condition again */
#define OWED_NOTICE_FORGOTTEN mutated(3) /* the last to post wakes nobody before it runs */
#define OFFERED_BEFORE_WRITTEN mutated(4) /* becomes the reference, then writes the descriptor */
#define COUNTED_BEFORE_COMPARED mutated(5) /* arrives, then compares */
#define RESETS_LATE mutated(6)       /* the slot's epoch is stored before its counters */
#define ABORT_UNNOTIFIED mutated(7)  /* the abort word is set and nobody is woken */
#define ABORT_UNLOOKED mutated(8)    /* waits do not look at the abort word */
#define LAST_ARRIVAL_SILENT mutated(9) /* the last at the barrier wakes nobody */
#define LEAVER_SILENT mutated(10)    /* the last to leave wakes nobody */
#define GONE_IS_FATAL mutated(11)    /* a rank that has left is trouble even if it did its part */
#define FAILED_NOT_COMPLETED mutated(12) /* the last to leave a failed operation does not complete it */
#define COUNT_BY_STORE mutated(13)   /* arrived = arrived + 1 in two steps */

/* What really happened, for assertions. */
bool kind_of[2 * OPERATIONS];
byte ran[2 * OPERATIONS];  /* phases that the rank did */
bool did_part[OPERATIONS]; /* rank 1 has arrived at the last barrier, or left */
bool did_before_exit[OPERATIONS];
byte verdict[OPERATIONS]; /* 0 none yet, 1 equal, 2 different */
byte finished;            /* threads of rank 0 */

#define rank (me % 2)
#define STRIDE (rank == 0 -> STREAMS : 1)
#define OF(r, k) ((k) * 2 + (r))

inline notify() {
  load(WAITERS, w, skip);
  if
  :: w == 0
  :: else ->
     fetch_add(EPOCH, 1, w, skip);
     d_step {
       !DEAD;
       asleep[0] = 0; asleep[1] = 0;
#if STREAMS > 1
       asleep[2] = 0;
#endif
       w = 0
     }
  fi
}

/* CollectiveTask::CanGoOn */
inline can_go_on() {
  if
  :: stage == 0 -> load(SLOT_EPOCH(k), w, ok = (w == k); w = 0)
  :: stage == 1 ->
     load(ARRIVED(k), w, ok = (w == 2); w = 0);
     if :: ok :: else -> load(FAILURE(k), ok, skip) fi
  :: stage == 2 -> load(COMPLETED, w, ok = (w >= k); w = 0)
  :: stage == 3 -> load(BARRIER(k), w, ok = (w >= (phase + 1) * 2); w = 0)
  fi
}

inline compare() {
  compare_exchange(REFERENCE(k), 0, rank + 1, w, skip);
  if
  :: w == 0
  :: else ->
     load(CALL(k, 1 - rank), w, assert((w - 1) / 2 == k));
     if
     :: (w - 1) % 2 != kind -> compare_exchange(FAILURE(k), 0, 1, w, w = 0)
     :: else -> w = 0
     fi
  fi
}

#define write_call() plain(CALL(k, rank), k * 2 + kind + 1)

inline post() {
#if KINDS > 1
  if :: kind = 0 :: kind = 1 fi;
#endif
  kind_of[OF(rank, k)] = kind;
  if :: OFFERED_BEFORE_WRITTEN :: else -> write_call() fi;
  release_store(POSTED(k, rank), k + 1);
  if :: COUNTED_BEFORE_COMPARED :: else -> compare() fi;
  if :: OFFERED_BEFORE_WRITTEN -> write_call() :: else fi;
  if
  :: COUNT_BY_STORE -> load(ARRIVED(k), arrived, skip); publish(ARRIVED(k), arrived + 1)
  :: else -> fetch_add(ARRIVED(k), 1, arrived, skip)
  fi;
  if :: COUNTED_BEFORE_COMPARED -> compare() :: else fi;
  load(FAILURE(k), w, kind = 0);
  if
  :: w -> w = 0; notify()
  :: w == 0 && arrived == 1 -> owes = 1
  :: else
  fi;
  arrived = 0
}

inline leave() {
  fetch_add(LEFT(k), 1, w, skip);
  if
  :: w == 1 ->
     load(FAILURE(k), failed, w = 0);
     if :: RESETS_LATE -> publish(SLOT_EPOCH(k), k + SLOTS) :: else fi;
     plain(ARRIVED(k), 0);
     plain(REFERENCE(k), 0);
     plain(FAILURE(k), 0);
     plain(LEFT(k), 0);
     plain(BARRIER(k), 0);
     if :: RESETS_LATE :: else -> publish(SLOT_EPOCH(k), k + SLOTS) fi;
     if
     :: failed && !FAILED_NOT_COMPLETED -> publish(COMPLETED, k + 1)
     :: else
     fi;
     failed = 0;
     if :: LEAVER_SILENT :: else -> notify() fi
  :: else -> w = 0
  fi
}

#define AGREE(v)                                                                     \
  assert(verdict[k] == 0 || verdict[k] == v);                                        \
  assert((v == 2) == (kind_of[OF(0, k)] != kind_of[OF(1, k)]));                      \
  verdict[k] = v

/* Whether rank 1 has left and cannot do what the stage waits for: CannotPost, FirstGone. */
inline look_for_gone() {
  load(STATE1, w, gone = (w && rank == 0); w = 0);
  if
  :: gone && stage < 2 && !GONE_IS_FATAL -> load(POSTED(k, 1), w, gone = (w != k + 1); w = 0)
  :: else
  fi
}

proctype Driver(byte me) {
  byte k, stage, phase, w, seen, arrived;
  bool kind, ok, slept, owes, gone, failed, given_up;
  k = me / 2; /* the second stream of rank 0 begins with operation 1 */
  do
  :: k >= OPERATIONS || given_up -> break
  :: else ->
     can_go_on();
     if
     :: ok && stage == 0 -> slept = 0; post(); stage = 1
     :: ok && stage == 1 -> slept = 0; stage = 2
     :: ok && stage == 2 ->
        slept = 0;
        load(FAILURE(k), failed, assert(mem[COMPLETED] == k));
        if
        :: failed ->
           d_step {
             AGREE(2);
             if :: rank == 1 -> did_part[k] = 1 :: else fi;
             failed = 0
           };
           leave();
           stage = 0; k = k + STRIDE
        :: else ->
           /* All have posted: their descriptors are read (Snapshot). */
           load(CALL(k, 1 - rank), w,
                assert(w == k * 2 + kind_of[OF(1 - rank, k)] + 1); w = 0; AGREE(1));
           if
           :: owes && !OWED_NOTICE_FORGOTTEN -> owes = 0; notify()
           :: else -> owes = 0
           fi;
           stage = 3;
phase_begins:
           skip;
           d_step { !DEAD; assert(ran[OF(rank, k)] == phase); ran[OF(rank, k)] = phase + 1 };
           plain(DATA(k, rank), k * PHASES + phase + 1);
           fetch_add(BARRIER(k), 1, w,
             if :: rank == 1 && phase + 1 == PHASES -> did_part[k] = 1 :: else fi);
           if
           :: w + 1 == (phase + 1) * 2 ->
              w = 0;
              if
              :: phase + 1 < PHASES
              :: else ->
                 publish(COMPLETED, k + 1)
              fi;
              if :: LAST_ARRIVAL_SILENT :: else -> notify() fi
           :: else -> w = 0
           fi
        fi
     :: ok && stage == 3 ->
        /* The phase is over: its results are there. The next one may have begun. */
        load(DATA(k, 1 - rank), w, slept = 0; assert(w > k * PHASES + phase); w = 0);
        phase++;
        if
        :: phase < PHASES -> goto phase_begins
        :: else ->
           leave();
           phase = 0; stage = 0; k = k + STRIDE
        fi
     :: !ok ->
#if FATE
        if
        :: slept ->
           if
           :: ABORT_UNLOOKED
           :: else -> load(ABORT, failed, skip)
           fi;
           if :: failed :: else -> look_for_gone() fi;
           if
           :: failed || gone ->
              failed = 0; gone = 0;
              if
              :: GONE_IS_FATAL
              :: else -> can_go_on()
              fi;
              if
              :: ok
              :: else ->
                 given_up = 1;
                 d_step {
                   assert(died || mem[STATE1]);
                   assert(rank == 1 || !did_before_exit[k])
                 }
              fi
           :: else
           fi
        :: else
        fi;
#endif
        if
        :: ok || given_up
        :: else ->
           fetch_add(WAITERS, 1, w, w = 0; slept = (FATE != 0));
           load(EPOCH, seen, skip);
           can_go_on();
#if FATE
           if
           :: ok || ABORT_UNLOOKED
           :: else -> load(ABORT, ok, skip)
           fi;
#endif
           if :: NO_RECHECK -> ok = 0 :: else fi;
           if :: ok :: else -> futex_wait(EPOCH, seen) fi;
           fetch_add(WAITERS, 255, w, w = 0; seen = 0)
        fi
     fi;
     ok = 0
  od;
  if :: rank == 0 -> finished++ :: else fi
}

/* Of rank 0: ProcessOfRankEnded. */
proctype Watcher(byte me) {
  byte w;
  died;
  load(STATE1, w, skip);
  if
  :: w == 0 -> compare_exchange(ABORT, 0, 1, w, w = 0)
  :: else -> w = 0
  fi;
  if :: ABORT_UNNOTIFIED :: else -> notify() fi
}

/* Kills rank 1, or is its exit handler (AtExit with status 0), or leaves it alone. */
proctype Death(byte me) {
  byte w;
  if
#if FATE == KILLED
  :: died = 1
#endif
#if FATE == EXITED
  :: d_step {
       mem[STATE1] = 1;
       did_before_exit[0] = did_part[0];
#if OPERATIONS > 1
       did_before_exit[1] = did_part[1];
#endif
#if OPERATIONS > 2
       did_before_exit[2] = did_part[2];
#endif
     };
     notify();
     died = 1
#endif
  :: true
  fi
}

init {
  byte k;
  atomic {
    k = 0;
    do
    :: k < SLOTS -> mem[SLOT_EPOCH(k)] = k; k++
    :: else -> break
    od;
    k = 0;
    run Driver(0); run Driver(1);
#if STREAMS > 1
    run Driver(2);
#endif
    run Watcher(WATCHER); run Death(HANDLER)
  }
  timeout;
  assert(finished == STREAMS);
  assert(died || mem[COMPLETED] == OPERATIONS)
}
