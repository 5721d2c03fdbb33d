/* comm/control_block.h, Slot, items 6 to 8, under comm/exchange.cpp, comm/matching.cpp and
 * Communicator::DoneWith: two ranks meet in operations that share SLOTS slots, some of them exchanges.
 *
 * Each rank comes to each operation for an exchange (kind 0) or for something else (kind 1), each as it
 * likes, so that one may be in the slot and the other not.
 *
 *   model         code
 *   place         Communicator::PlaceIsFree, SlotIsFree
 *   post          Exchange::TryPost; matching.cpp's TryPost
 *   look          Exchange::AllHere
 *   kMatch..kRun  as in slot.pml, with one phase
 *   turn          IsItsTurn
 *   done          Communicator::DoneWith
 *
 *   give_up       CollectiveTask::GiveUp: Exchange::TakeBack; TakeBackArrival
 *
 * With -DGIVES_UP rank 0 comes for exchanges alone and may run out of time once; afterwards the abort word
 * makes the other one give up, too. Who has seen both calls by then may still succeed, with a copy.
 *
 * Proved: nobody waits for ever; both ranks come to the same verdict about an operation, the right
 * one; what a rank reads of the other's call and input is whole and of this operation; a slot is
 * empty when an operation begins in it; operations in slots are complete in order. Giving up: who comes
 * to an operation after the other has returned with an error does not succeed in it.
 */
#ifndef OPERATIONS
#define OPERATIONS 2
#endif
#ifndef SLOTS
#define SLOTS 1
#endif

#define NT 2
#define CAP 2
#define DEAD false

#define EPOCH 0
#define WAITERS 1
#define COMPLETED 2
#define DONE(r) (3 + (r))
#define SLOT(k) (5 + (k) % SLOTS * 9)
#define SLOT_EPOCH(k) (SLOT(k))
#define ARRIVED(k) (SLOT(k) + 1)
#define FAILURE(k) (SLOT(k) + 2)
#define LEFT(k) (SLOT(k) + 3)
#define BARRIER(k) (SLOT(k) + 4)
#define POSTED(k, r) (SLOT(k) + 5 + (r))
#define CALL(k, r) (SLOT(k) + 7 + (r)) /* the descriptor and the input: operation * 2 + kind + 1 */
#define ABORT (5 + SLOTS * 9)
#define NV (6 + SLOTS * 9)
#define NOBODY 255
#ifdef GIVES_UP
#define EXPIRES (me == 0 && !out_of_time)
bool out_of_time; /* rank 0 was, once */
#endif
#include "machine.h"

#define NO_RECHECK mutated(1)        /* sleeps without looking at the condition again */
#define SCAN_FORGOTTEN mutated(2)    /* who posts in the slot does not look for exchanges */
#define FAILURE_FORGOTTEN mutated(3) /* who exchanges does not tell who waits in the slot */
#define DONE_SILENT mutated(4)       /* a rank is done and nobody is woken */
#define PLACE_UNLOOKED mutated(5)    /* an exchange is posted though others may read the last one */
#define EPOCH_UNCLAIMED mutated(6)   /* whoever finds the slot free resets it */
#define TURN_NOT_RAISED mutated(7)   /* exchanges never count as complete */
#define RESETS_LATE mutated(8)      /* the slot's epoch is stored before its counters */
#define CALL_LATE mutated(9)        /* posted, then written */
#define NOT_TAKEN_BACK mutated(10)  /* a call stays when its rank gives up */
#define TAKEN_BACK_FOR_GOOD mutated(11) /* also when both had come, and the rank goes on */
#define ABORT_UNLOOKED mutated(12)  /* waits do not look at the abort word */

bool kind_of[2 * OPERATIONS];
byte verdict[OPERATIONS]; /* 0 none yet, 1 equal, 2 different */
byte in_order;            /* operations complete in the slots, with those between them */
byte finished;
#ifdef GIVES_UP
bool returned[2 * OPERATIONS]; /* with an error */
bool late[2 * OPERATIONS];     /* this rank came after that */
#define CAME_LATE late[OF(rank, k)]
#else
#define CAME_LATE false
#endif
byte sleep_epoch[2];      /* the event's epoch when the rank announced itself */

#define rank me
#define OF(r, k) ((k) * 2 + (r))

inline notify() {
  load(WAITERS, w, skip);
  if
  :: w == 0
  :: else ->
     fetch_add(EPOCH, 1, w, skip);
     d_step { asleep[0] = 0; asleep[1] = 0; w = 0 }
  fi
}

/* ok = every rank is done with all operations below n. */
inline done_by_all(upto) {
  load(DONE(0), w, ok = (w >= upto));
  if :: ok -> load(DONE(1), w, ok = (w >= upto)) :: else fi;
  w = 0
}

inline resets() {
  plain(ARRIVED(k), 0);
  plain(FAILURE(k), 0);
  plain(LEFT(k), 0);
  plain(BARRIER(k), 0)
}

inline place_is_free() {
  if
  :: kind == 0 ->
     if
     :: k < SLOTS || PLACE_UNLOOKED -> ok = 1
     :: else -> done_by_all(k - SLOTS + 1)
     fi
  :: else ->
     load(SLOT_EPOCH(k), seen, ok = (seen == k));
     if
     :: ok || seen > k
     :: else ->
        done_by_all(k - SLOTS + 1);
        if
        :: ok && EPOCH_UNCLAIMED -> resets(); publish(SLOT_EPOCH(k), k); notify()
        :: ok && !EPOCH_UNCLAIMED ->
           compare_exchange(SLOT_EPOCH(k), seen, NOBODY, w, skip);
           if
           :: w == seen ->
              w = 0;
              if :: RESETS_LATE -> publish(SLOT_EPOCH(k), k); resets() :: else -> resets(); publish(SLOT_EPOCH(k), k) fi;
              notify()
           :: else -> ok = (w == k); w = 0
           fi
        :: else
        fi
     fi;
     seen = 0
  fi
}

inline look() {
  load(POSTED(k, 1 - rank), w, ok = (w == k + 1); w = 0);
  if
  :: ok ->
     load(CALL(k, 1 - rank), w, assert((w - 1) / 2 == k); failed = ((w - 1) % 2 != kind); w = 0);
  :: else
  fi
}

inline turn() {
  load(COMPLETED, seen, ok = (seen >= k));
  if
  :: ok || TURN_NOT_RAISED
  :: else ->
     done_by_all(k);
     if
     :: ok ->
        do
        :: seen >= k -> break
        :: else ->
           compare_exchange(COMPLETED, seen, k, w, if :: w == seen -> seen = k :: else -> seen = w fi; w = 0)
        od
     :: else
     fi
  fi;
  seen = 0
}

inline can_go_on() {
  if
  :: stage == 0 -> place_is_free()
  :: stage == 1 && kind == 0 -> look()
  :: stage == 1 && kind == 1 ->
     load(ARRIVED(k), w, ok = (w == 2); w = 0);
     if :: ok :: else -> load(FAILURE(k), ok, skip) fi
  :: stage == 2 -> turn()
  :: stage == 3 -> load(BARRIER(k), w, ok = (w == 2); w = 0)
  fi
}

inline post() {
  if :: CALL_LATE :: else -> plain(CALL(k, rank), k * 2 + kind + 1) fi;
  if
  :: kind == 0 -> release_store(POSTED(k, rank), k + 1)
  :: else -> publish(POSTED(k, rank), k + 1)
  fi;
  if :: CALL_LATE -> plain(CALL(k, rank), k * 2 + kind + 1) :: else fi;
  if
  :: kind == 0
  :: else ->
     if
     :: SCAN_FORGOTTEN
     :: else ->
        load(POSTED(k, 1 - rank), w, ok = (w == k + 1); w = 0);
        if
        :: ok ->
           load(CALL(k, 1 - rank), w, assert((w - 1) / 2 == k); failed = ((w - 1) % 2 == 0); w = 0);
           if
           :: failed -> compare_exchange(FAILURE(k), 0, 1, w, w = 0; failed = 0)
           :: else
           fi
        :: else
        fi
     fi;
     fetch_add(ARRIVED(k), 1, w, assert(w < 2); ok = (w == 1); w = 0);
     if :: ok :: else -> load(FAILURE(k), ok, skip) fi;
     if :: ok -> notify() :: else fi
  fi
}

#ifdef GIVES_UP
/* gone = the rank returns an error; otherwise it goes on, since both have come. */
inline give_up() {
  gone = 1;
  if
  :: stage == 1 && kind == 0 && !NOT_TAKEN_BACK ->
     publish(POSTED(k, rank), 0);
     load(POSTED(k, 1 - rank), w, gone = (w != k + 1); w = 0);
     if
     :: gone || TAKEN_BACK_FOR_GOOD
     :: else -> publish(POSTED(k, rank), k + 1)
     fi
  :: stage == 1 && kind == 1 -> /* the other never arrives */
     fetch_add(ARRIVED(k), 255, w, assert(w == 1); w = 0)
  :: else
  fi;
  if
  :: gone ->
     d_step { returned[OF(rank, k)] = 1; stage = 4 };
     publish(ABORT, 1);
     notify()
  :: else
  fi
}
#endif

#define AGREE(v)                                                                     \
  assert(v == 2 || !CAME_LATE);                                                      \
  assert(verdict[k] == 0 || verdict[k] == v);                                        \
  assert((v == 2) == (kind_of[OF(0, k)] != kind_of[OF(1, k)]));                      \
  verdict[k] = v

inline leave() {
  fetch_add(LEFT(k), 1, w, skip);
  if
  :: w == 1 -> w = 0; resets(); publish(SLOT_EPOCH(k), k + SLOTS); notify()
  :: else -> w = 0
  fi
}

proctype Rank(byte me) {
  byte k, stage, w, seen;
  bool kind, ok, failed, called, gone;
  do
  :: k >= OPERATIONS || gone -> break
  :: else ->
     if
     :: stage == 0 && !called ->
        if
        :: kind = 0
#ifdef GIVES_UP
        :: me == 1 -> kind = 1
#else
        :: kind = 1
#endif
        fi;
        kind_of[OF(rank, k)] = kind;
        called = 1
     :: else
     fi;
     can_go_on();
     if
     :: ok && stage == 0 ->
#ifdef GIVES_UP
        late[OF(rank, k)] = returned[OF(1 - rank, k)];
#endif
        post();
        stage = 1
     :: ok && stage == 1 && kind == 0 ->
        if
        :: failed && !FAILURE_FORGOTTEN -> /* TellThoseInTheSlot: there is one, who was found */
           compare_exchange(FAILURE(k), 0, 1, w, w = 0);
           notify()
        :: else
        fi;
        d_step { if :: failed -> AGREE(2) :: else -> AGREE(1) fi; failed = 0; stage = 4 }
     :: ok && stage == 1 && kind == 1 -> stage = 2
     :: ok && stage == 2 ->
        load(FAILURE(k), failed, assert(mem[COMPLETED] == k));
        if
        :: failed -> d_step { AGREE(2); failed = 0 }; leave(); stage = 4
        :: else ->
           load(CALL(k, 1 - rank), w, assert(w == k * 2 + 2); w = 0; AGREE(1));
           fetch_add(BARRIER(k), 1, w, assert(in_order <= k));
           if
           :: w == 1 ->
              w = 0; in_order = k + 1;
              publish(COMPLETED, k + 1);
              notify()
           :: else -> w = 0
           fi;
           stage = 3
        fi
     :: ok && stage == 3 -> leave(); stage = 4
     :: !ok ->
        fetch_add(WAITERS, 1, w, w = 0);
        load(EPOCH, seen, skip);
        sleep_epoch[me] = seen;
        seen = 0;
        can_go_on();
        failed = 0;
        if :: NO_RECHECK -> ok = 0 :: else fi;
#ifdef GIVES_UP
        if :: ok || ABORT_UNLOOKED :: else -> load(ABORT, ok, skip) fi;
#endif
        if :: ok :: else -> futex_wait(EPOCH, sleep_epoch[me]) fi;
        sleep_epoch[me] = 0;
        fetch_add(WAITERS, 255, w, w = 0);
#ifdef GIVES_UP
        if
        :: me == 0 && !out_of_time -> seen = 1; out_of_time = 1
        :: ABORT_UNLOOKED
        :: !ABORT_UNLOOKED -> load(ABORT, seen, skip)
        fi;
        if
        :: seen ->
           seen = 0;
           can_go_on();
           failed = 0;
           if :: ok :: else -> give_up() fi
        :: else
        fi
#endif
     fi;
     ok = 0;
     if
     :: stage == 4 ->
        fetch_add(DONE(rank), 1, w, w = 0);
        if :: DONE_SILENT :: else -> notify() fi;
        stage = 0; called = 0; k++
     :: else
     fi
  od;
  finished++
}

init {
  byte k;
  atomic {
    do
    :: k < SLOTS -> mem[SLOT_EPOCH(k)] = k; k++
    :: else -> break
    od;
    k = 0;
    run Rank(0); run Rank(1)
  }
  timeout;
  assert(finished == 2)
}
