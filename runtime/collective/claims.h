#pragma once
// The shared state of one operation under the cooperative executor: which pieces of its plan are
// still to be had.
//
// The pieces of a phase are dealt out to *homes*, queues of consecutive pieces. An executing thread
// empties its own home first: pieces of one home touch the same ranks' buffers, which stay in that
// processor's caches from operation to operation. Then it takes from the other homes, so that a
// rank whose thread does not run holds up nobody.
//
// Who writes: one thread opens the operation (its caller elects it), any thread of any rank of the
// operation claims and finishes pieces, the thread that finishes the last piece of a phase opens
// the next one. Ordering, all seq_cst:
//  * Open() stores the homes and `done`, then `open`. Who read `open` sees them, and everything
//    that was written before: the pieces of the earlier phases.
//  * A claim is a compare-exchange on a home's word, which carries the generation of the phase. A
//    thread that was stopped between reading the word and exchanging it fails if a later phase has
//    begun meanwhile, whatever its number of pieces: generations of a slot repeat after 2^32
//    phases.
//  * A piece's stores come before the fetch_add on `done` that counts it (kernels fence their
//    non-temporal stores). The last one to count has read all others' counts, so all pieces are
//    visible to it and, through what it publishes next (`open` or the operation's completion), to
//    everybody after it.
// A thread that dies, with its process, between claim and count leaves the phase unfinished for
// ever: a piece cannot be done twice, because a reduction in place has overwritten its input. The
// others wait, and every wait looks at the abort word, which the death sets.
//
// Reset() is for the last one to use it for an operation, when nobody can claim any more.

#include <atomic>
#include <cstdint>

namespace hcclrun {

inline constexpr uint32_t kMaxHomes = 16;

struct Claims {
  struct alignas(64) Home {
    std::atomic<uint64_t> word;  // generation << 32 | next piece
  };

  alignas(64) std::atomic<uint64_t> open;  // generation << 32 | phase + 1; 0 = nothing to claim
  std::atomic<uint32_t> generation;        // the last one used; written by whoever opens
  alignas(64) std::atomic<uint64_t> done;  // finished pieces of the phase
  Home homes[kMaxHomes];

  static constexpr uint64_t First(uint32_t home, uint32_t homes, uint64_t pieces) {
    return pieces * home / homes;
  }

  void Open(uint64_t phase, uint32_t home_count, uint64_t pieces) {
    const uint32_t now = generation.load(std::memory_order_relaxed) + 1;
    generation.store(now, std::memory_order_relaxed);
    const uint64_t tag = uint64_t{now} << 32;
    done.store(0, std::memory_order_seq_cst);
    for (uint32_t h = 0; h < home_count; h++)
      homes[h].word.store(tag | First(h, home_count, pieces), std::memory_order_seq_cst);
    open.store(tag | (phase + 1), std::memory_order_seq_cst);
  }

  // Takes the next piece of a home in the phase `opened`; false when it is empty or the phase over.
  bool Take(uint64_t opened, uint32_t home, uint32_t home_count, uint64_t pieces, uint64_t* piece) {
    const uint64_t end = First(home + 1, home_count, pieces);
    std::atomic<uint64_t>& word = homes[home].word;
    for (uint64_t seen = word.load(std::memory_order_seq_cst);;) {
      if ((seen ^ opened) >> 32 != 0 || (seen & 0xffffffff) >= end) return false;
      if (word.compare_exchange_weak(seen, seen + 1, std::memory_order_seq_cst)) {
        *piece = seen & 0xffffffff;
        return true;
      }
    }
  }

  // Whether some home has a piece.
  bool Any(uint64_t opened, uint32_t home_count, uint64_t pieces) const {
    for (uint32_t h = 0; h < home_count; h++) {
      const uint64_t seen = homes[h].word.load(std::memory_order_seq_cst);
      if ((seen ^ opened) >> 32 == 0 && (seen & 0xffffffff) < First(h + 1, home_count, pieces))
        return true;
    }
    return false;
  }

  void Reset() { open.store(0, std::memory_order_seq_cst); }
};

}  // namespace hcclrun
