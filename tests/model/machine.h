/* The machine under the models: memory behind store buffers, futexes, and threads that die.
 *
 * A thread's plain and release stores go into its store buffer, from where they reach memory at any
 * later moment, seen until then by itself alone. Plain stores to different words may overtake each
 * other and earlier release stores, as on aarch64; a release store waits for all that is older.
 * Read-modify-writes and seq_cst stores (publish) first empty the buffer. That is weaker than x86
 * and stronger than C++, whose readers could in addition read early; the protocols' readers
 * acquire.
 *
 * The models define NV (words), NT (threads), CAP (of a store buffer) and DEAD (whether thread `me`
 * has died), and have `me`, the number of the thread, in every step. A step is one access to memory
 * and what the thread does with the value by itself; it may die between any two steps. A dead
 * thread simply stays where it is; that nobody else does is asserted when nothing can happen any
 * more (timeout), so runs need -E.
 *
 * mutated(n) is true in the n-th mutation of a model, which run.sh expects to fail.
 */
c_decl {
  \#include <stdlib.h>
  static int mutation;
  __attribute__((constructor)) static void read_mutation(void) {
    if (getenv("MUTATION")) mutation = atoi(getenv("MUTATION"));
  }
}
#define mutated(n) c_expr { mutation == n }

typedef Buffer {
  byte n;
  byte at[CAP];
  byte value[CAP];
  bool release[CAP]
}

byte mem[NV];
Buffer sb[NT];
bool asleep[NT];

/* Variables of the steps themselves. */
hidden byte i_, j_;

inline drain_all(t) {
  i_ = 0;
  do
  :: i_ < sb[t].n ->
     mem[sb[t].at[i_]] = sb[t].value[i_];
     sb[t].at[i_] = 0; sb[t].value[i_] = 0; sb[t].release[i_] = 0;
     i_++
  :: else -> break
  od;
  sb[t].n = 0
}

/* dst = v, then `then_`, which uses variables of the thread alone. */
#define load(v, dst, then_)                                                      \
  d_step {                                                                       \
    !DEAD;                                                                       \
    dst = mem[v];                                                                \
    i_ = 0;                                                                      \
    do                                                                           \
    :: i_ < sb[me].n ->                                                          \
       if :: sb[me].at[i_] == v -> dst = sb[me].value[i_] :: else fi;            \
       i_++                                                                      \
    :: else -> break                                                             \
    od;                                                                          \
    i_ = 0;                                                                      \
    then_                                                                        \
  }

#define buffered(v, x, is_release)                                               \
  d_step {                                                                       \
    !DEAD && sb[me].n < CAP;                                                     \
    sb[me].at[sb[me].n] = v;                                                     \
    sb[me].value[sb[me].n] = x;                                                  \
    sb[me].release[sb[me].n] = is_release;                                       \
    sb[me].n = sb[me].n + 1                                                      \
  }
/* A seq_cst store. */
#define publish(v, x) d_step { !DEAD; drain_all(me); mem[v] = x }
#ifdef NO_STORE_BUFFERS
#define plain(v, x) publish(v, x)
#define release_store(v, x) publish(v, x)
#else
#define plain(v, x) buffered(v, x, 0)
#define release_store(v, x) buffered(v, x, 1)
#endif
/* old = v, v += x, then `then_`. */
#define fetch_add(v, x, old, then_) \
  d_step { !DEAD; drain_all(me); old = mem[v]; mem[v] = mem[v] + (x); then_ }
/* old = v; v = x if it was expected; then `then_`. */
#define compare_exchange(v, expected, x, old, then_)                             \
  d_step {                                                                       \
    !DEAD;                                                                       \
    drain_all(me);                                                               \
    old = mem[v];                                                                \
    if :: old == (expected) -> mem[v] = x :: else fi;                            \
    then_                                                                        \
  }

/* old = v; v = x; then `then_`. */
#define exchange(v, x, old, then_) d_step { !DEAD; drain_all(me); old = mem[v]; mem[v] = x; then_ }

/* The kernel compares and goes to sleep in one step. Time runs out only where a model's EXPIRES says
 * so: everything else is noticed without that. */
#ifndef EXPIRES
#define EXPIRES false
#endif
#define futex_wait(v, expected)                                                  \
  d_step { !DEAD; drain_all(me); if :: mem[v] == expected -> asleep[me] = 1 :: else fi }; \
  d_step { !DEAD && (!asleep[me] || EXPIRES) -> asleep[me] = 0 }

inline drain(t, i) {
  d_step {
    mem[sb[t].at[i]] = sb[t].value[i];
    j_ = i;
    do
    :: j_ + 1 < sb[t].n ->
       sb[t].at[j_] = sb[t].at[j_ + 1]; sb[t].value[j_] = sb[t].value[j_ + 1];
       sb[t].release[j_] = sb[t].release[j_ + 1];
       j_++
    :: else -> break
    od;
    sb[t].at[j_] = 0; sb[t].value[j_] = 0; sb[t].release[j_] = 0;
    sb[t].n = sb[t].n - 1
  }
}

/* The store buffers. They outlive their threads. */
active proctype StoreBuffers() {
  byte t;
end:
  do
  :: atomic { sb[0].n > 0 -> drain(0, 0) }
  :: atomic { sb[0].n > 1 && !sb[0].release[1] && sb[0].at[1] != sb[0].at[0] -> drain(0, 1) }
  :: atomic { sb[1].n > 0 -> drain(1, 0) }
  :: atomic { sb[1].n > 1 && !sb[1].release[1] && sb[1].at[1] != sb[1].at[0] -> drain(1, 1) }
#if NT > 2
  :: atomic { sb[2].n > 0 -> drain(2, 0) }
  :: atomic { sb[2].n > 1 && !sb[2].release[1] && sb[2].at[1] != sb[2].at[0] -> drain(2, 1) }
#endif
#if NT > 3
  :: atomic { sb[3].n > 0 -> drain(3, 0) }
  :: atomic { sb[3].n > 1 && !sb[3].release[1] && sb[3].at[1] != sb[3].at[0] -> drain(3, 1) }
#endif
  od
}
