/* comm/symmetric_heap.cpp, Exchange: two ranks register windows in ROUNDS rounds, whose arrivals one
 * word counts. A rank may give up a round at any time (its deadline passes, or a rank has left).
 *
 *   model       code
 *   write       view.window(round, me) = ..., in the bank of the round
 *   arrive      compare_exchange of window_arrivals, refused when the heap is broken
 *   give up     compare_exchange that sets kWindowsBroken, unless the round is complete
 *   read        the entries of all ranks, after `complete`
 *
 * Proved: both ranks come to the same end of every round, in every round that is complete both read
 * the other's entry of this round, and nobody waits for ever for a rank that comes or gives up.
 */
#ifndef ROUNDS
#define ROUNDS 3
#endif
#define NT 2
#define CAP 2
#define DEAD false

#define EPOCH 0
#define WAITERS 1
#define ARRIVALS 2 /* + BROKEN */
#define ENTRY(round, r) (3 + (round) % 2 * 2 + (r))
#define NV 7
#define BROKEN 128
#include "machine.h"

#define BROKEN_BY_STORE mutated(1)   /* giving up does not compare */
#define GIVES_UP_ALONE mutated(2)    /* a rank that gives up tells nobody */
#define ENTRY_LATE mutated(3)        /* arrives, then writes its entry */
#define ARRIVES_ANYWAY mutated(4)    /* arrives in a heap that is broken */
#define ONE_BANK mutated(5)          /* rounds share the places of their entries */
#define ARRIVAL_SILENT mutated(6)    /* the last to arrive wakes nobody */

byte outcome[ROUNDS]; /* 0 none yet, 1 complete, 2 given up */
byte finished;

inline notify() {
  load(WAITERS, w, skip);
  if
  :: w == 0
  :: else -> fetch_add(EPOCH, 1, w, skip); d_step { asleep[0] = 0; asleep[1] = 0; w = 0 }
  fi
}

#define COMPLETE(x) ((x) % BROKEN >= (round + 1) * 2)
#define GIVEN_UP(x) ((x) >= BROKEN && !COMPLETE(x))
#define END(v) assert(outcome[round] == 0 || outcome[round] == v); outcome[round] = v

proctype Rank(byte me) {
  byte round, w, seen, now;
  bool ok, over, arrived;
  do
  :: round >= ROUNDS || over -> break
  :: else ->
     if
     :: ENTRY_LATE
     :: else ->
        if
        :: ONE_BANK -> plain(ENTRY(0, me), round + 1)
        :: else -> plain(ENTRY(round, me), round + 1)
        fi
     fi;
     load(ARRIVALS, now, skip);
     arrived = 0;
     do
     :: arrived || over -> break
     :: else ->
        if
        :: now >= BROKEN && !ARRIVES_ANYWAY -> d_step { END(2); over = 1 }
        :: else ->
           compare_exchange(ARRIVALS, now, now + 1, w, arrived = (w == now); now = w)
        fi
     od;
     if :: ENTRY_LATE && !over -> plain(ENTRY(round, me), round + 1) :: else fi;
     if
     :: !over && now + 1 == (round + 1) * 2 && !ARRIVAL_SILENT -> w = 0; notify()
     :: else -> w = 0
     fi;
     arrived = 0; now = 0;
     do
     :: over -> break
     :: else ->
        load(ARRIVALS, now, skip);
        if
        :: COMPLETE(now) -> break
        :: GIVEN_UP(now) -> d_step { END(2); over = 1 }
        :: else ->
           if
           :: /* gives up */
              if
              :: GIVES_UP_ALONE -> d_step { END(2); over = 1 }
              :: BROKEN_BY_STORE -> publish(ARRIVALS, now + BROKEN)
              :: else ->
                 ok = 0;
                 do
                 :: ok || COMPLETE(now) || now >= BROKEN -> break
                 :: else ->
                    compare_exchange(ARRIVALS, now, now + BROKEN, w, ok = (w == now); now = w)
                 od;
                 ok = 0
              fi;
              w = 0;
              notify()
           :: /* waits */
              fetch_add(WAITERS, 1, w, w = 0);
              load(EPOCH, seen, skip);
              load(ARRIVALS, now, ok = (COMPLETE(now) || GIVEN_UP(now)));
              if :: ok :: else -> futex_wait(EPOCH, seen) fi;
              fetch_add(WAITERS, 255, w, w = 0; seen = 0);
              ok = 0
           fi
        fi;
        now = 0
     od;
     now = 0;
     if
     :: over
     :: else ->
        d_step { END(1) };
        if
        :: ONE_BANK -> load(ENTRY(0, 1 - me), w, assert(w == round + 1); w = 0)
        :: else -> load(ENTRY(round, 1 - me), w, assert(w == round + 1); w = 0)
        fi;
        round++
     fi
  od;
  finished++
}

init {
  atomic { run Rank(0); run Rank(1) }
  timeout;
  assert(finished == 2)
}
