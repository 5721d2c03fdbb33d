/* comm/control_block.h, Slot, step 5, with operations that one thread may do alone: two ranks meet in
 * operations that share one slot, and a rank may give its operation up at any moment, because its time
 * is up or because its stream is dropped.
 *
 * Who opens an operation does it alone, for both, and recycles the slot, or lets each rank do its own
 * share. One rank may run out of time once, or drop its task; afterwards the abort word makes the other
 * one give up, too. With -DKILLED rank 1 is killed at any step instead.
 *
 *   model        code
 *   can_go_on    CollectiveTask::CanGoOn
 *   begin        CollectiveTask::Begin, BecomeOpener; BeginAlone, or BeginOwnShare
 *   complete     Complete, Recycle
 *   leave        Leave
 *   own_share    ClassicExecutor, PhaseBarrier, with one phase
 *   give_up      CollectiveTask::GiveUp
 *   close        the opener's place
 *   close_shares PhaseBarrier::Close
 *   take_back    TakeBackArrival
 *   drop         ~CollectiveTask
 *   fail         BeginInStep: this rank cannot do its share
 *   wait         WaitForProgress, EventCount::WaitOnce; then Trouble, as in Go
 *
 * Proved: once a rank has returned an error nobody executes the operation, for both or as a share that
 * writes to both's buffers, neither begins nor goes on with it (patience has no end here but a death);
 * whoever reports success sees the results; an operation is executed once; nobody waits for ever; when a
 * rank wanted to give up and found its operation complete, both go on to the end.
 */
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
#define OPENER 6    /* operation + 1 */
#define EACH_RANK 7 /* operation + 1 */
#define BARRIER 8   /* arrivals, 16 for a share under way, 128: closed */
#define LEFT 9
#define DATA 10     /* what one thread alone writes for both: operation + 1 */
#define NV 11
#define CLOSED 99
#include "machine.h"

#define NOT_TAKEN_BACK mutated(1)       /* an arrival stays when its rank gives up */
#define TAKEN_BACK_FOR_GOOD mutated(2)  /* also that at a later operation of the slot */
#define NOT_CLOSED mutated(3)           /* the opener's place is not taken */
#define ELECTED_BY_STORE mutated(4)     /* the opener takes its place whatever is there */
#define NOT_WAITED_FOR mutated(5)       /* an opener that is at work is not waited for */
#define ABORT_UNNOTIFIED mutated(6)     /* the abort word is set and nobody is woken */
#define ABORT_UNLOOKED mutated(7)       /* waits do not look at the abort word */
#define EACH_RANK_SILENT mutated(8)     /* who chooses each_rank wakes nobody */
#define COMPLETED_UNLOOKED mutated(9)   /* a rank waits for arrivals only */
#define NO_BARRIER_CLOSED mutated(10)   /* who gives up leaves the barrier open */
#define SHARE_NOT_WAITED_FOR mutated(11) /* a share under way is not waited for */
#define ENTERED_ANYWAY mutated(12)      /* a closed barrier keeps nobody out */
#define FAILS_SILENTLY mutated(13)      /* a rank that cannot do its share does not give up first */

bool returned[2 * OPERATIONS]; /* an error, and the buffers */
byte executed[OPERATIONS];     /* alone, for both */
byte ended;                    /* ranks */
bool out_of_time;              /* somebody was */

inline notify() {
  load(WAITERS, w, skip);
  if
  :: w == 0
  :: else ->
     fetch_add(EPOCH, 1, w, skip);
     d_step { !DEAD; asleep[0] = 0; asleep[1] = 0; w = 0 }
  fi
}

inline can_go_on() {
  if
  :: stage == 0 -> load(SLOT_EPOCH, w, ok = (w == k); w = 0)
  :: stage == 1 ->
     if :: COMPLETED_UNLOOKED :: else -> load(COMPLETED, w, ok = (w > k); w = 0) fi;
     if :: ok :: else -> load(ARRIVED, w, ok = (w == 2); w = 0) fi
  :: stage == 2 ->
     load(COMPLETED, w, ok = (w > k); w = 0);
     if :: ok :: else -> load(EACH_RANK, w, ok = (w == k + 1); w = 0) fi
  :: stage == 3 -> load(BARRIER, w, ok = ((w & 15) == 2); w = 0)
  fi
}

inline recycle() {
  plain(ARRIVED, 0);
  plain(LEFT, 0);
  plain(BARRIER, 0);
  publish(SLOT_EPOCH, k + 1)
}

inline nobody_has_returned() {
  d_step { !DEAD; assert(!returned[k * 2] && !returned[k * 2 + 1]) }
}

inline execute_alone() {
  nobody_has_returned();
  d_step { !DEAD; executed[k]++; assert(executed[k] == 1) };
  plain(DATA, k + 1);
  nobody_has_returned();
  publish(COMPLETED, k + 1);
  recycle();
  notify()
}

inline succeed_alone() {
  load(DATA, w, assert(w >= k + 1); w = 0);
  stage = 0;
  k++
}

/* Refused: the rank waits until it is told why. */
inline own_share() {
  stage = 3;
  fetch_add(BARRIER, 16, w, skip);
  if
  :: (w & 128) && !ENTERED_ANYWAY -> fetch_add(BARRIER, -16, w, skip)
  :: else ->
     nobody_has_returned();
     nobody_has_returned();
     fetch_add(BARRIER, 1 - 16, w, skip);
     if
     :: (w & 15) == 1 -> publish(COMPLETED, k + 1); notify()
     :: else
     fi
  fi;
  w = 0
}

/* Arrivals are 0, 1 or 2; only 1 is one that can be taken back. `given` is the answer. */
inline take_back() {
  if
  :: NOT_TAKEN_BACK -> given = 1
  :: else ->
     compare_exchange(ARRIVED, 1, 0, seen, skip);
     if
     :: seen == 1 ->
        load(COMPLETED, w, given = (w <= k); w = 0);
        if
        :: given || TAKEN_BACK_FOR_GOOD
        :: else -> fetch_add(ARRIVED, 1, w, w = 0); notify()
        fi
     :: else
     fi;
     seen = 0
  fi
}

inline close_shares() {
  if
  :: NO_BARRIER_CLOSED
  :: else -> d_step { !DEAD; drain_all(me); mem[BARRIER] = mem[BARRIER] | 128 }
  fi;
  if
  :: SHARE_NOT_WAITED_FOR
  :: else -> d_step { !DEAD && ((mem[BARRIER] & 112) == 0 || died) -> skip }
  fi;
  load(COMPLETED, w, given = (w <= k); w = 0)
}

inline close() {
  load(OPENER, seen, skip);
  do
  :: seen > k -> break
  :: else ->
     if
     :: NOT_CLOSED -> given = 1; break
     :: else ->
        compare_exchange(OPENER, seen, CLOSED, w, given = (w == seen); seen = w; w = 0);
        if :: given -> break :: else fi
     fi
  od;
  if
  :: given
  :: seen == CLOSED -> given = 1
  :: else ->
     if
     :: NOT_WAITED_FOR
     :: else -> d_step { !DEAD && (mem[COMPLETED] > k || mem[EACH_RANK] == k + 1 || died) -> skip }
     fi;
     load(EACH_RANK, w, seen = (w == k + 1); w = 0);
     if
     :: seen -> close_shares()
     :: else -> load(COMPLETED, w, given = (w <= k); w = 0)
     fi
  fi;
  seen = 0
}

inline give_up() {
  load(COMPLETED, w, ok = (w > k); w = 0);
  if
  :: stage == 0 -> given = 1
  :: stage != 0 && ok
  :: stage == 3 && !ok -> close_shares()
  :: stage == 1 && !ok -> take_back()
  :: stage == 2 && !ok -> close()
  fi;
  ok = 0
}

inline set_abort() {
  compare_exchange(ABORT, 0, 1, w, w = 0);
  if :: ABORT_UNNOTIFIED :: else -> notify() fi
}

inline return_error() {
  d_step { !DEAD; returned[k * 2 + me] = 1 };
  gone = 1
}

proctype Rank(byte me) {
  byte k, stage, w, seen;
  bool ok, trouble, given, gone;
  do
  :: k >= OPERATIONS || gone -> break
#ifndef KILLED
  :: k < OPERATIONS && !gone && !out_of_time && stage != 0 ->
     /* drop: the task is destroyed, whatever it waits for */
     d_step { !DEAD; out_of_time = 1 };
     give_up();
     if
     :: !given && stage == 1 -> stage = 2; give_up() /* all have come */
     :: else
     fi;
     given = 0;
     return_error();
     set_abort()
#endif
  :: k < OPERATIONS && !gone ->
     can_go_on();
     if
     :: ok && stage == 0 ->
        fetch_add(ARRIVED, 1, w, w = 0); /* the last one's notice is owed: it goes on at once */
        stage = 1
     :: ok && stage == 1 ->
        load(COMPLETED, w, ok = (w > k); w = 0);
        if
        :: ok -> succeed_alone()
        :: else ->
           stage = 2;
           load(OPENER, seen, skip);
           if
           :: ELECTED_BY_STORE && seen != k + 1 -> publish(OPENER, k + 1); w = 1
           :: seen <= k && !ELECTED_BY_STORE ->
              compare_exchange(OPENER, seen, k + 1, w, w = (w == seen))
           :: else
           fi;
           seen = 0;
           if
           :: w -> /* it decides */
              w = 0;
              if
              :: execute_alone(); succeed_alone()
              :: publish(EACH_RANK, k + 1);
                 if :: EACH_RANK_SILENT :: else -> notify() fi;
                 own_share()
              fi
           :: else
           fi
        fi
     :: ok && stage == 2 ->
        load(COMPLETED, w, ok = (w > k); w = 0);
        if
        :: ok ->
           /* Also when each rank was to do its share this rank has not: then it is not complete. */
           d_step { !DEAD; assert(executed[k] == 1) };
           succeed_alone()
        :: !ok -> own_share()
#ifndef KILLED
        :: !ok && !out_of_time ->
           d_step { !DEAD; out_of_time = 1 };
           stage = 3;
           if :: FAILS_SILENTLY :: else -> give_up(); assert(given) fi;
           given = 0;
           return_error();
           set_abort()
#endif
        fi
     :: ok && stage == 3 ->
        fetch_add(LEFT, 1, w, skip);
        if
        :: w == 1 -> recycle(); notify()
        :: else
        fi;
        w = 0; stage = 0;
        k++
     :: !ok ->
        fetch_add(WAITERS, 1, w, w = 0);
        load(EPOCH, seen, skip);
        can_go_on();
        if
        :: ok || ABORT_UNLOOKED
        :: else -> load(ABORT, ok, skip)
        fi;
        if
        :: ok
#ifndef KILLED
        :: !ok && !out_of_time -> d_step { !DEAD; out_of_time = 1; trouble = 1 }
#endif
        :: !ok -> futex_wait(EPOCH, seen)
        fi;
        seen = 0;
        fetch_add(WAITERS, 255, w, w = 0);
        if
        :: trouble || ABORT_UNLOOKED
        :: else -> load(ABORT, trouble, skip)
        fi;
        if
        :: trouble ->
           trouble = 0;
           ok = 0;
           can_go_on();
           if
           :: ok
           :: else ->
              give_up();
              if
              :: given -> given = 0; return_error(); set_abort()
              :: else
              fi
           fi
        :: else
        fi
     fi;
     ok = 0
  od;
  ended++
}

/* Of rank 0. */
proctype Watcher(byte me) {
  byte w;
  died;
  set_abort()
}

proctype Death() {
#ifdef KILLED
  if :: died = 1 :: true fi
#else
  skip
#endif
}

init {
  atomic { run Rank(0); run Rank(1); run Watcher(2); run Death() }
  timeout;
  assert(ended == 2 || (died && ended == 1));
  assert(died || mem[ABORT] || mem[COMPLETED] == OPERATIONS)
}
