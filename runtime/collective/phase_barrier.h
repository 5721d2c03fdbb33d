#pragma once
// Where the ranks of an operation meet between its phases when each does its own share.

#include <atomic>
#include <cstdint>

namespace hcclrun {

// In shared memory, 0 at first; written by all ranks, with seq_cst read-modify-writes. A rank
// enters, does its share of the phase, and arrives; phase p is over at (p + 1) * ranks arrivals.
// What was written in a phase is visible to everybody after it: an arrival comes after the share's
// stores (the kernels fence their non-temporal ones), a look at the arrivals before the next
// phase's loads.
//
// A share writes to other ranks' buffers. A rank that takes its own back closes the barrier, after
// which nobody enters, and waits until no share is under way: both are in one word, so whoever
// entered before is counted in it, and whoever comes later finds it closed. A rank that dies in its
// share stays counted and one that dies before it never arrives: waits for either have an end of
// their own, and look at the abort word.
class PhaseBarrier {
 public:
  // False: closed, and no share may be done.
  bool Enter() {
    if (!(word_.fetch_add(kShare, std::memory_order_seq_cst) & kClosed)) return true;
    word_.fetch_sub(kShare, std::memory_order_seq_cst);
    return false;
  }
  // At the end of the share; the number of arrivals with this one.
  uint64_t Arrive() {
    return (word_.fetch_sub(kShare - 1, std::memory_order_seq_cst) & kArrivals) + 1;
  }
  uint64_t arrivals() const { return word_.load(std::memory_order_seq_cst) & kArrivals; }

  void Close() { word_.fetch_or(kClosed, std::memory_order_seq_cst); }
  bool closed() const { return word_.load(std::memory_order_seq_cst) & kClosed; }
  bool ShareUnderWay() const {
    return word_.load(std::memory_order_seq_cst) & ~(kClosed | kArrivals);
  }

  // By who alone has the slot; published with it.
  void Reset() { word_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kShare = uint64_t{1} << 48;  // of at most some thousand ranks
  static constexpr uint64_t kArrivals = kShare - 1;
  static constexpr uint64_t kClosed = uint64_t{1} << 63;
  std::atomic<uint64_t> word_;
};

}  // namespace hcclrun
