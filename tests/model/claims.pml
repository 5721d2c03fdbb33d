/* collective/claims.h and collective/cooperative_executor.cpp under comm/collective_task.cpp: two
 * ranks share the pieces of operations that use one slot of the ring one after the other.
 *
 * Every operation has two phases of two pieces in two homes. Rank 1 may be killed at any step. With
 * -DONE_THREAD all of it is done by the thread that makes itself the opener (BeginAlone), which then
 * frees the slot for all ranks: the others may find it in use by a later operation, and know by
 * `completed` that theirs is over.
 *
 *   model          code
 *   arrive         TryPost: arrived.fetch_add; the last owes its notice
 *   begin          CollectiveTask::Begin, BecomeOpener: the opener is elected, opens the first phase
 *   open           Claims::Open
 *   help, empty    Cooperative::Advance, Empty, Claims::Take
 *   finish         FinishShared, Leave
 *   wait           CanGoOn: Completed() || Claims::Any; EventCount::WaitOnce
 *
 * Proved: every piece is done exactly once, in its phase, with all results of the phase before in
 * sight; whoever sees the operation complete sees all results; without a death all operations
 * complete; with one, the survivor never hangs.
 */
#define PHASES 2
#define PIECES 2
#ifndef OPERATIONS
#define OPERATIONS 2
#endif

#define NT 4
#define CAP 2
#define DEAD (died && me == 1)
bool died; /* rank 1 */

#define EPOCH 0
#define WAITERS 1
#define ABORT 2
#define COMPLETED 3
#define SLOT_EPOCH 4
#define ARRIVED 5
#define OPENER 6
#define LEFT 7
#define OPEN 8       /* generation * 4 + phase + 1 */
#define GENERATION 9
#define DONE 10
#define HOME(h) (11 + (h)) /* generation * 4 + next piece */
#define DATA(p) (13 + (p)) /* what the pieces write: operation * PHASES + phase + 1 */
#define NV 15
#include "machine.h"

#define NO_GENERATION mutated(1)      /* claims carry no generation */
#define COUNTED_EARLY mutated(2)      /* pieces are counted before they are done */
#define CLAIM_BY_STORE mutated(3)     /* a claim is a load and a store */
#define OWED_NOTICE_FORGOTTEN mutated(4) /* ExecuteAlone completes, and wakes nobody */
#define DONE_RESET_LATE mutated(5)    /* the count is reset after the phase is opened */
#define NO_ELECTION mutated(6)        /* whoever comes opens */
#define ABORT_UNLOOKED mutated(7)  /* the condition does not look at the abort word */

byte did[OPERATIONS * 4]; /* how often a piece of a phase was done */
byte finished;



inline notify() {
  load(WAITERS, w, skip);
  if
  :: w == 0
  :: else ->
     fetch_add(EPOCH, 1, w, skip);
     d_step { !DEAD; asleep[0] = 0; asleep[1] = 0; w = 0 }
  fi
}

inline open(phase_) {
  load(GENERATION, generation, generation++);
  plain(GENERATION, generation);
  if :: NO_GENERATION -> generation = 0 :: else fi;
  if :: DONE_RESET_LATE :: else -> publish(DONE, 0) fi;
  publish(HOME(0), generation * 4);
  publish(HOME(1), generation * 4 + 1);
  publish(OPEN, generation * 4 + phase_ + 1);
  if :: DONE_RESET_LATE -> publish(DONE, 0) :: else fi;
  generation = 0
}

inline execute(phase_, piece) {
  d_step { !DEAD; did[k * 4 + phase_ * 2 + piece]++; assert(did[k * 4 + phase_ * 2 + piece] == 1) };
  load(DATA(1 - piece), w, assert(w >= k * PHASES + phase_); w = 0);
  plain(DATA(piece), k * PHASES + phase_ + 1)
}

/* Claims::Take and ExecutePiece for the one piece that a home has. */
inline empty_home(h) {
  load(HOME(h), seen, skip);
  if
  :: seen / 4 == opened / 4 && seen % 4 <= (h) ->
     if
     :: CLAIM_BY_STORE -> publish(HOME(h), seen + 1); w = seen
     :: else -> compare_exchange(HOME(h), seen, seen + 1, w, skip)
     fi;
     if
     :: w == seen -> w = 0; count++; mine = mine | (1 << (h))
     :: else -> w = 0 /* the home's only piece is gone */
     fi
  :: else
  fi;
  seen = 0
}

inline run_claimed() {
  if :: mine & 1 -> execute(phase, 0) :: else fi;
  if :: mine & 2 -> execute(phase, 1) :: else fi;
  mine = 0
}

/* Recycle. The opener's word stays: it says for which operation it is. */
inline free_slot() {
  plain(ARRIVED, 0);
  plain(LEFT, 0);
  publish(OPEN, 0);
  publish(SLOT_EPOCH, k + 1)
}

inline complete() {
#ifdef ONE_THREAD
  publish(COMPLETED, k + 1);
  free_slot();
#else
  publish(COMPLETED, k + 1);
#endif
  if :: OWED_NOTICE_FORGOTTEN :: else -> notify() fi
}

/* CollectiveTask::CanGoOn */
inline can_go_on() {
  if
  :: stage == 0 -> load(SLOT_EPOCH, w, ok = (w == k); w = 0)
  :: stage == 1 ->
     load(COMPLETED, w, ok = (w > k); w = 0);
     if :: ok :: else -> load(ARRIVED, w, ok = (w == 2); w = 0) fi
  :: stage == 2 -> load(COMPLETED, w, ok = (w >= k); w = 0)
  :: stage == 3 ->
     load(COMPLETED, w, ok = (w > k); w = 0);
#ifndef ONE_THREAD
     if
     :: ok
     :: else ->
        load(OPEN, opened, skip);
        if
        :: opened ->
           load(HOME(0), w, ok = (w / 4 == opened / 4 && w % 4 == 0); w = 0);
           if
           :: ok
           :: else -> load(HOME(1), w, ok = (w / 4 == opened / 4 && w % 4 <= 1); w = 0)
           fi
        :: else
        fi;
        opened = 0
     fi
#endif
  fi
}

inline finish() {
  load(DATA(0), w, assert(w >= (k + 1) * PHASES));
  load(DATA(1), w, assert(w >= (k + 1) * PHASES));
#ifdef ONE_THREAD
  w = 0;
#else
  fetch_add(LEFT, 1, w, skip);
  if
  :: w == 1 -> free_slot(); w = 0; notify()
  :: else -> w = 0
  fi;
#endif
  stage = 0;
  k++
}

proctype Rank(byte me) {
  byte k, stage, w, seen, opened, phase, count, mine, generation;
  bool ok, given_up;
  do
  :: k >= OPERATIONS || given_up -> break
  :: else ->
     can_go_on();
     if
     :: ok && stage == 0 ->
        fetch_add(ARRIVED, 1, w, w = 0); /* the last one's notice is owed: it goes on at once */
        stage = 1
     :: ok && stage == 1 -> stage = 2
     :: ok && stage == 2 ->
        load(COMPLETED, w, ok = (w > k); w = 0);
        if
        :: ok -> finish()
        :: else ->
           stage = 3;
           if
           :: NO_ELECTION -> w = 0
           :: else ->
              load(OPENER, seen, skip);
              if
              :: seen <= k -> compare_exchange(OPENER, seen, k + 1, w, w = (w != seen))
              :: else -> w = 1
              fi;
              seen = 0
           fi;
           if
           :: w == 0 ->
#ifdef ONE_THREAD
              execute(0, 0); execute(0, 1); execute(1, 0); execute(1, 1);
              complete()
#else
              open(0);
              notify()
#endif
           :: else -> w = 0
           fi
        fi
     :: ok && stage == 3 ->
        load(COMPLETED, w, ok = (w > k); w = 0);
        if
        :: ok -> finish()
        :: else ->
#ifndef ONE_THREAD
           load(OPEN, opened, skip);
           if
           :: opened ->
              phase = opened % 4 - 1;
              empty_home(me);
              empty_home(1 - me);
              if
              :: COUNTED_EARLY
              :: else -> run_claimed()
              fi;
              if
              :: count ->
                 fetch_add(DONE, count, w, skip);
                 if :: COUNTED_EARLY -> seen = w; run_claimed(); w = seen; seen = 0 :: else fi;
                 if
                 :: w + count == PIECES ->
                    w = 0;
                    if
                    :: phase + 1 == PHASES -> complete(); ok = 1
                    :: else -> open(phase + 1); notify()
                    fi
                 :: else -> w = 0
                 fi
              :: else
              fi;
              phase = 0; count = 0
           :: else
           fi;
           opened = 0;
#endif
           if :: ok -> finish() :: else fi
        fi
     :: !ok ->
        fetch_add(WAITERS, 1, w, w = 0);
        load(EPOCH, seen, skip);
        can_go_on();
        if
        :: ok || ABORT_UNLOOKED
        :: else -> load(ABORT, ok, given_up = ok)
        fi;
        if
        :: given_up -> given_up = 0 /* looked at below, as after every sleep */
        :: else
        fi;
        if :: ok :: else -> futex_wait(EPOCH, seen) fi;
        fetch_add(WAITERS, 255, w, w = 0; seen = 0);
        if :: ABORT_UNLOOKED :: else -> load(ABORT, given_up, skip) fi;
        if
        :: given_up ->
           can_go_on();
           given_up = !ok;
           assert(died)
        :: else
        fi
     fi;
     ok = 0
  od;
  if :: me == 0 -> finished = 1 :: else fi
}

/* Of rank 0. */
proctype Watcher(byte me) {
  byte w;
  died;
  compare_exchange(ABORT, 0, 1, w, w = 0);
  notify()
}

proctype Death() {
#ifndef NO_DEATH
  if :: died = 1 :: true fi
#else
  skip
#endif
}

init {
  atomic { run Rank(0); run Rank(1); run Watcher(2); run Death() }
  timeout;
  assert(finished);
  assert(died || mem[COMPLETED] == OPERATIONS)
}
