/* Communicator::DoneWith where ranks exchange: the operations of one rank are over in any order, since
 * they are in several streams, and the rank says for all of them how far it is.
 *
 * Three threads drive the operations of one rank, each every third one in order, and any thread may be
 * ahead of the others as far as it likes.
 *
 *   model     code
 *   NUMBER    operations_done
 *   ANY       any_ahead_
 *   ahead[k]  whether done_ahead_ has k
 *   locked    ahead_mutex_
 *
 * Proved: the number never passes an operation that is not done; once all are done it is past all of
 * them, and none is left ahead.
 */
#ifndef OPERATIONS
#define OPERATIONS 7
#endif

#define NT 3
#define CAP 1
#define DEAD false
#define NUMBER 0
#define ANY 1
#define NV 2
#define NO_STORE_BUFFERS /* all is seq_cst */
#include "machine.h"

#define NUMBER_UNLOOKED mutated(1) /* who is ahead does not look at the number */
#define ANY_UNLOOKED mutated(2)    /* who raises the number does not look whether any are ahead */
#define SAID_LATE mutated(3)       /* that one is ahead is said after the look at the number */
#define EMPTIED_ANYWAY mutated(4)  /* it is taken back although some are left */
#define ONE_TAKEN mutated(5)       /* who raises the number takes no more than one out */

bool done[OPERATIONS + 1];
bool ahead[OPERATIONS + 1];
bool locked;
byte left_ahead, finished;

inline check_number() {
  d_step {
    i_ = 0;
    do
    :: i_ < mem[NUMBER] -> assert(done[i_]); i_++
    :: else -> break
    od;
    i_ = 0
  }
}

proctype Stream(byte me) {
  byte k, w;
  bool first, look;
  k = me;
  do
  :: k >= OPERATIONS -> break
  :: else ->
     done[k] = 1;
     /* DoneWith */
     compare_exchange(NUMBER, k, k + 1, w, first = (w == k));
     look = 1;
     if
     :: first && ANY_UNLOOKED -> look = 0
     :: first && !ANY_UNLOOKED -> load(ANY, look, skip)
     :: else
     fi;
     if
     :: look ->
        d_step { !locked -> locked = 1 };
        if
        :: first
        :: else ->
           ahead[k] = 1;
           left_ahead++;
           if :: SAID_LATE :: else -> publish(ANY, 1) fi
        fi;
        if
        :: !first && NUMBER_UNLOOKED
        :: else ->
           do
           :: load(NUMBER, w, skip);
              if
              :: w < OPERATIONS && ahead[w] ->
                 ahead[w] = 0;
                 left_ahead--;
                 publish(NUMBER, w + 1);
                 check_number();
                 if :: ONE_TAKEN -> break :: else fi
              :: else -> break
              fi
           od
        fi;
        if :: !first && SAID_LATE -> publish(ANY, 1) :: else fi;
        if
        :: left_ahead == 0 || EMPTIED_ANYWAY -> publish(ANY, 0)
        :: else
        fi;
        locked = 0
     :: else
     fi;
     check_number();
     d_step { w = 0; first = 0; look = 0; k = k + NT }
  od;
  finished++
}

init {
  atomic { run Stream(0); run Stream(1); run Stream(2) }
  timeout;
  assert(finished == NT);
  assert(mem[NUMBER] == OPERATIONS && left_ahead == 0)
}
