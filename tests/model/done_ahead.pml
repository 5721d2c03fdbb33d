/* Communicator::DoneWith where ranks exchange: the operations of one rank are over in any order, since
 * they are in several streams, and the rank says for all of them how far it is.
 *
 * Three threads drive the operations of one rank, each every third one in order. An operation is posted
 * only when all PLACES before it are done, as far as the number says; a bit of AHEAD stands for one
 * operation of those then.
 *
 *   model   code
 *   NUMBER  operations_done
 *   AHEAD   done_ahead_, bit k % PLACES
 *   post    PlaceIsFree, of this rank alone
 *
 * Proved: the number never passes an operation that is not done; once all are done it is past all of
 * them, and no bit is left; nobody waits for ever.
 */
#ifndef OPERATIONS
#define OPERATIONS 5
#endif
#define PLACES 2

#define NT 3
#define CAP 1
#define DEAD false
#define NUMBER 0
#define AHEAD 1 /* and AHEAD + 1: a word for each bit */
#define NV 3
#define NO_STORE_BUFFERS /* all is seq_cst */
#include "machine.h"

#define NUMBER_UNLOOKED mutated(1)  /* who sets a bit does not look at the number again */
#define CLEARED_UNSEEN mutated(2)   /* who clears a bit does not look whether another has */
#define RAISED_BY_STORE mutated(3)  /* the number is raised whatever it is */
#define BIT_KEPT mutated(4)         /* a bit that was a later operation's is not set again */
#define BITS_UNLOOKED mutated(5)    /* who raises the number does not look at the bits */

bool done[OPERATIONS + PLACES];
byte finished;

#define check_number() d_step { i_ = 0; do :: i_ < mem[NUMBER] -> assert(done[i_]); i_++ :: else -> break od; i_ = 0 }

proctype Stream(byte me) {
  byte k, next, w;
  bool there;
  k = me;
  do
  :: k >= OPERATIONS -> break
  :: else ->
     d_step { k < mem[NUMBER] + PLACES -> done[k] = 1 } /* posted, and over */
     /* DoneWith */
     compare_exchange(NUMBER, k, k + 1, w, skip);
     if
     :: w == k -> next = k + 1
     :: else ->
        exchange(AHEAD + k % PLACES, 1, w, skip);
        if :: NUMBER_UNLOOKED -> next = OPERATIONS + 1 :: else -> load(NUMBER, next, skip) fi
     fi;
     w = 0;
     check_number();
     do
     :: next > OPERATIONS || BITS_UNLOOKED -> break
     :: else ->
        load(AHEAD + next % PLACES, there, skip);
        if
        :: !there -> break
        :: else ->
           exchange(AHEAD + next % PLACES, 0, there, skip);
           if
           :: there || CLEARED_UNSEEN ->
              if
              :: RAISED_BY_STORE -> publish(NUMBER, next + 1)
              :: else ->
                 compare_exchange(NUMBER, next, next + 1, w, skip);
                 if
                 :: w == next || BIT_KEPT
                 :: else -> exchange(AHEAD + next % PLACES, 1, w, skip)
                 fi;
                 w = 0
              fi
           :: else
           fi;
           check_number();
           load(NUMBER, next, skip)
        fi
     od;
     skip;
     d_step { next = 0; there = 0; w = 0; k = k + NT }
  od;
  finished++
}

init {
  atomic { run Stream(0); run Stream(1); run Stream(2) }
  timeout;
  assert(finished == NT);
  assert(mem[NUMBER] == OPERATIONS && mem[AHEAD] == 0 && mem[AHEAD + 1] == 0)
}
