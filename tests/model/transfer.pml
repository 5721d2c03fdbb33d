/* comm/transfer_channel.h, comm/transfer_steps.cpp and comm/transfer_task.cpp: the sends of rank 0 meet
 * the receives of rank 1 in one slot, TRANSFERS of them, of two or three parts each, which the sender
 * takes from the front and the receiver from the back.
 *
 * Every transfer may be called with different sizes (kinds) on the two ends, and the receiver's
 * buffer may be one that only the receiver can address (not so with -DALIKE). Rank 1 may be killed at any step. With
 * -DSTREAMS=2 the sender has two threads, of two streams, that take turns. With -DGIVES_UP one end may run
 * out of time, or be dropped, once; the abort word makes the other one give up, too.
 *
 *   model      code
 *   kPost      TryPost: the call is written, the end's bit is set, the peer is notified if it is there
 *   take       DoForBoth, of a transfer of one part, here of both parts at once; or not: it is too long
 *   kMatch     Step: Match, but for one that the other end does
 *   kMove      Move: TakePart, CopyBytes, moved.fetch_add
 *   leave      Leave: the second end resets the slot and notifies both ranks
 *   wait       WaitForProgress: each rank sleeps on its own event
 *   give_up    GiveUp
 *
 * Proved: every part is moved once; an end that finds the transfer complete sees all of it; what an
 * end reads of the other's call is whole and of this transfer; both ends find a mismatch, and only a
 * mismatch; nobody waits for ever. Once an end has returned an error no part is moved any more, nor is
 * one still being moved (patience has no end here but a death).
 */
#ifndef TRANSFERS
#define TRANSFERS 2
#endif
#ifndef STREAMS
#define STREAMS 1
#endif
#ifndef PARTS
#define PARTS 2
#endif

#define NT 4
#define WATCHER 3
#define CAP 2
#define DEAD (died && me == 1)
bool died; /* rank 1 */

#define EPOCH(r) (r)
#define WAITERS(r) (2 + (r))
#define ABORT 4
#define SLOT_GENERATION 5
#define ENDS 6
#define LEFT 7
#define CLAIMED 8
#define MOVED 9
#define CALL(r) (10 + (r)) /* transfer * 4 + private * 2 + kind + 1 */
#define DATA(p) (12 + (p)) /* what the parts write: transfer + 1 */
#define NV (12 + PARTS)
#include "machine.h"

#define NO_RECHECK mutated(1)       /* sleeps without looking at the condition again */
#define BIT_FIRST mutated(2)        /* the end's bit is set before its call is written */
#define CLAIM_BY_STORE mutated(3)   /* a claim is a load and a store */
#define COUNTED_EARLY mutated(4)    /* a part is counted before it is moved */
#define LAST_PART_SILENT mutated(5) /* the last part wakes nobody */
#define POST_SILENT mutated(6)      /* the second end wakes nobody when it posts */
#define RESETS_LATE mutated(7)      /* the slot's generation is stored before its counters */
#define LEAVER_SILENT mutated(8)    /* the second end to leave wakes nobody */
#define ABORT_UNNOTIFIED mutated(9) /* the abort word is set and nobody is woken */
#define PRIVATE_CLAIMED mutated(10) /* the sender moves parts into a buffer that it cannot address */

#define NOT_TAKEN_BACK mutated(11)  /* the end's bit stays when it gives up */
#define NOT_CLOSED mutated(12)      /* the parts do not count as claimed */
#define NOT_WAITED_FOR mutated(13)  /* parts that the other end is moving are not waited for */

#define TAKEN_BY_ADD mutated(14)    /* the bit is set although the other end is gone */
#define TAKEN_CLAIMED mutated(15)   /* who finds that the other end does it all claims a part */
#define TAKEN_LEFT_LATE mutated(16) /* the part is counted before the end has left */
#define TAKEN_FORGOTTEN mutated(17) /* who gives up does not wait for the end that does it all */
#define ONE_SIDE mutated(18)        /* both ends take their parts from the front */
#define OWN_COUNTED mutated(19)     /* an end takes parts as long as its own are not all */
#define CLAIM_UNLOOKED mutated(20)  /* a part is had if there was one before the claim */
#define TAKEN_COMPARED_LATE mutated(21) /* the bit is set before the calls are compared */
#define TAKEN 7

/* TransferSlot::claimed: the front's parts, and ten for each of the back's. */
#define OWN_PART (rank == 0 -> 1 : 10)
#define FRONT(c) ((c) % 10)
#define BACK(c) ((c) / 10)
#define TAKEN_PARTS(c) (OWN_COUNTED -> (rank == 0 -> FRONT(c) : BACK(c)) : FRONT(c) + BACK(c))

#define ALL_CLAIMED 100
bool returned[TRANSFERS]; /* one end has returned an error, and its buffer */
bool out_of_time;         /* somebody was */

bool kind_of[2 * TRANSFERS];
bool is_private[TRANSFERS];
byte moved_by[TRANSFERS * PARTS]; /* rank + 1 */
byte finished;                    /* threads of rank 0 */

#define rank (me == 1)
#define STRIDE (rank == 0 -> STREAMS : 1)

inline notify(r) {
  load(WAITERS(r), w, skip);
  if
  :: w == 0
  :: else ->
     fetch_add(EPOCH(r), 1, w, skip);
     d_step {
       !DEAD;
       if :: (r) == 0 -> asleep[0] = 0; asleep[2] = 0 :: else -> asleep[1] = 0 fi;
       w = 0
     }
  fi
}

/* TransferTask::CanGoOn */
inline can_go_on() {
  if
  :: stage == 0 -> load(SLOT_GENERATION, w, ok = (w == k); w = 0)
  :: stage == 1 -> load(ENDS, w, ok = (w == 3 || w == TAKEN); w = 0)
  :: stage == 2 ->
     load(MOVED, w, ok = (w == PARTS); w = 0);
     if
     :: ok || !remote
     :: else -> load(CLAIMED, w, ok = (TAKEN_PARTS(w) < PARTS); w = 0)
     fi
  fi
}

inline leave() {
  fetch_add(LEFT, 1, w, skip);
  if
  :: w == 1 ->
     w = 0;
     if :: RESETS_LATE -> publish(SLOT_GENERATION, k + 1) :: else fi;
     plain(ENDS, 0);
     plain(LEFT, 0);
     plain(CLAIMED, 0);
     plain(MOVED, 0);
     if :: RESETS_LATE :: else -> publish(SLOT_GENERATION, k + 1) fi;
     if
     :: LEAVER_SILENT
     :: else -> notify(1 - rank); notify(rank)
     fi
  :: else -> w = 0
  fi;
  stage = 0; remote = 0;
  k = k + STRIDE
}

/* When it was alone it takes its bit back; otherwise nobody takes a part any more. */
inline give_up() {
  if
  :: stage == 1 || stage == 2 ->
     if
     :: NOT_TAKEN_BACK -> w = 3
     :: else -> compare_exchange(ENDS, 1 + rank, 0, w, skip)
     fi;
     if
     :: w == 1 + rank || (NOT_TAKEN_BACK && mem[ENDS] != 3)
     :: else ->
        taken = (w == TAKEN && !TAKEN_FORGOTTEN);
        if
        :: NOT_CLOSED -> load(CLAIMED, seen, skip)
        :: else -> exchange(CLAIMED, ALL_CLAIMED, seen, skip)
        fi;
        if
        :: seen >= ALL_CLAIMED -> seen = 0 /* the other end has given up before */
        :: seen < ALL_CLAIMED && (TAKEN_PARTS(seen) > PARTS || taken) -> seen = PARTS
        :: else -> seen = TAKEN_PARTS(seen)
        fi;
        if
        :: NOT_WAITED_FOR
        :: else -> d_step { !DEAD && (mem[MOVED] >= seen || died) -> skip }
        fi;
        seen = 0;
        taken = 0
     fi;
     w = 0
  :: else
  fi;
  d_step { !DEAD; returned[k] = 1 };
  compare_exchange(ABORT, 0, 1, w, w = 0);
  notify(1 - rank); notify(rank);
  given_up = 1
}

inline nobody_has_returned() { d_step { !DEAD; assert(!returned[k]) } }

#define write_call() plain(CALL(rank), k * 4 + secret * 2 + kind + 1)

/* taken = both parts are moved, and this end has left. What it reads of the other end's call is only
 * sure to be of this transfer once the exchange has gone well. */
inline take() {
  load(ENDS, w, taken = (w == 2 - rank); w = 0);
  if
  :: taken -> load(CALL(1 - rank), w, taken = (((w - 1) % 4 == kind || TAKEN_COMPARED_LATE) && !secret); w = 0)
  :: else
  fi;
  if
  :: taken ->
     write_call();
     if
     :: TAKEN_BY_ADD -> publish(ENDS, TAKEN)
     :: else -> compare_exchange(ENDS, 2 - rank, TAKEN, w, taken = (w == 2 - rank); w = 0)
     fi
  :: else
  fi;
  if
  :: taken ->
     d_step {
       !DEAD;
       assert(!returned[k]);
       for (part : 0 .. PARTS - 1) {
         assert(moved_by[k * PARTS + part] == 0);
         moved_by[k * PARTS + part] = rank + 1
       };
       part = 0
     };
     plain(DATA(0), k + 1);
     plain(DATA(1), k + 1);
#if PARTS > 2
     plain(DATA(2), k + 1);
#endif
     nobody_has_returned();
     if :: TAKEN_LEFT_LATE :: else -> plain(LEFT, 1) fi;
     publish(MOVED, PARTS);
     if :: TAKEN_LEFT_LATE -> plain(LEFT, 1) :: else fi;
     notify(1 - rank)
  :: else
  fi
}

proctype End(byte me) {
  byte k, stage, w, seen, part;
  bool ok, kind, secret, remote, given_up, trouble, taken;
  k = me / 2;
  do
  :: k >= TRANSFERS || given_up -> break
#ifdef GIVES_UP
  :: k < TRANSFERS && !given_up && !out_of_time -> /* its task is dropped */
     d_step { !DEAD; out_of_time = 1 };
     give_up()
#endif
  :: k < TRANSFERS && !given_up ->
     can_go_on();
     if
     :: ok && stage == 0 ->
#ifndef ALIKE
        if :: kind = 0 :: kind = 1 fi;
        if :: rank == 1 -> secret = 1 :: secret = 0 fi;
#endif
        d_step {
          kind_of[k * 2 + rank] = kind;
          if :: rank == 1 -> is_private[k] = secret :: else fi
        };
        if :: take() :: skip fi;
        if
        :: taken -> d_step { taken = 0; kind = 0; secret = 0 }; k = k + STRIDE
        :: else ->
           if :: BIT_FIRST :: else -> write_call() fi;
           fetch_add(ENDS, 1 + rank, w, skip);
           if :: BIT_FIRST -> write_call() :: else fi;
           if
           :: w && !POST_SILENT -> w = 0; notify(1 - rank)
           :: else -> w = 0
           fi;
           stage = 1
        fi
     :: ok && stage == 1 ->
        load(ENDS, w, taken = (w == TAKEN && !TAKEN_CLAIMED); w = 0);
        if
        :: taken ->
           d_step {
             assert(kind_of[k * 2] == kind_of[k * 2 + 1] && !is_private[k]);
             taken = 0; kind = 0; secret = 0
           };
           stage = 2
        :: else ->
           load(CALL(1 - rank), w, assert((w - 1) / 4 == k); w = (w - 1) % 4);
           if
           :: w % 2 != kind ->
              d_step { assert(kind_of[k * 2] != kind_of[k * 2 + 1]); w = 0; kind = 0; secret = 0 };
              leave()
           :: else ->
              d_step {
                assert(kind_of[k * 2] == kind_of[k * 2 + 1]);
                remote = (w / 2 == 0 || PRIVATE_CLAIMED);
                w = 0; kind = 0; secret = 0
              };
              stage = 2
           fi
        fi
     :: ok && stage == 2 ->
        if
        :: remote -> load(CLAIMED, part, skip)
        :: else -> part = PARTS
        fi;
        if
        :: TAKEN_PARTS(part) < PARTS ->
           if
           :: CLAIM_BY_STORE -> publish(CLAIMED, part + OWN_PART)
           :: CLAIM_UNLOOKED -> fetch_add(CLAIMED, OWN_PART, w, w = 0)
           :: else -> fetch_add(CLAIMED, OWN_PART, part, skip)
           fi
        :: else
        fi;
        if
        :: TAKEN_PARTS(part) >= PARTS -> part = PARTS
        :: else -> part = (rank == 0 -> FRONT(part) : (ONE_SIDE -> BACK(part) : PARTS - 1 - BACK(part)))
        fi;
        if
        :: part < PARTS ->
           d_step {
             !DEAD;
             assert(!returned[k]);
             assert(moved_by[k * PARTS + part] == 0);
             assert(rank == 1 || !is_private[k]);
             moved_by[k * PARTS + part] = rank + 1
           };
           if :: COUNTED_EARLY :: else -> plain(DATA(part), k + 1) fi;
           nobody_has_returned();
           fetch_add(MOVED, 1, w, skip);
           if :: COUNTED_EARLY -> plain(DATA(part), k + 1) :: else fi;
           if
           :: w + 1 == PARTS && !LAST_PART_SILENT -> w = 0; notify(1 - rank)
           :: else -> w = 0
           fi;
           part = 0
        :: else ->
           part = 0;
           load(MOVED, w, ok = (w == PARTS); w = 0);
           if
           :: ok ->
              load(DATA(0), w, assert(w == k + 1); w = 0);
              load(DATA(1), w, assert(w == k + 1); w = 0);
#if PARTS > 2
              load(DATA(2), w, assert(w == k + 1); w = 0);
#endif
              leave()
           :: else
           fi
        fi
     :: !ok ->
        fetch_add(WAITERS(rank), 1, w, w = 0);
        load(EPOCH(rank), seen, skip);
        can_go_on();
        if :: ok :: else -> load(ABORT, ok, skip) fi;
        if :: NO_RECHECK -> ok = 0 :: else fi;
        if
        :: ok
#ifdef GIVES_UP
        :: !ok && !out_of_time -> d_step { !DEAD; out_of_time = 1; trouble = 1 }
#endif
        :: !ok -> futex_wait(EPOCH(rank), seen)
        fi;
        fetch_add(WAITERS(rank), 255, w, w = 0; seen = 0);
        if
        :: trouble
        :: else -> load(ABORT, trouble, skip)
        fi;
        if
        :: trouble ->
           ok = 0;
           can_go_on();
           trouble = 0;
           if
           :: ok
           :: else -> assert(died || out_of_time); give_up()
           fi
        :: else
        fi
     fi;
     ok = 0
  od;
  if :: rank == 0 -> finished++ :: else fi
}

/* Of rank 0. */
proctype Watcher(byte me) {
  byte w;
  died;
  compare_exchange(ABORT, 0, 1, w, w = 0);
  if :: ABORT_UNNOTIFIED :: else -> notify(0); notify(1) fi
}

proctype Death() {
#ifndef NO_DEATH
  if :: died = 1 :: true fi
#else
  skip
#endif
}

init {
  atomic {
    run End(0); run End(1);
#if STREAMS > 1
    run End(2);
#endif
    run Watcher(WATCHER); run Death()
  }
  timeout;
  assert(finished == STREAMS);
  assert(died || out_of_time || mem[SLOT_GENERATION] == TRANSFERS)
}
