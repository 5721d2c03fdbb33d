#pragma once
// The communicator's abort word: set once, by whoever notices first that the communicator cannot go
// on; looked at by every wait. Afterwards the ring is not repaired: every operation of the
// communicator fails with the first cause.

#include <cstdint>

#include "base/clock.h"
#include "comm/control_block.h"

namespace hcclrun {

struct Abort {
  AbortCause cause = AbortCause::kNone;
  uint32_t rank = 0;
};

inline Abort AbortOf(const ControlView& view) {
  uint64_t word = view.header->abort_word.load(std::memory_order_seq_cst);
  if (word == 0) return {};
  return {static_cast<AbortCause>(word >> 32), static_cast<uint32_t>(word) - 1};
}

// First caller wins. Wakes everybody. Any thread, also the watching one.
inline void SetAbort(const ControlView& view, AbortCause cause, uint32_t rank) {
  uint64_t none = 0;
  view.header->abort_word.compare_exchange_strong(none, uint64_t(cause) << 32 | (rank + 1),
                                                  std::memory_order_seq_cst);
  view.NotifyAll();
}

// Whether the communicator is out of use because a rank died; `rank` is which, if anybody asks.
inline bool OutOfUseByDeath(const ControlView& view, uint32_t* rank = nullptr) {
  const Abort abort = AbortOf(view);
  if (rank) *rank = abort.rank;
  return abort.cause == AbortCause::kRankDied || abort.cause == AbortCause::kRankFailed;
}

// How long a rank that gives an operation up waits for those that are at it, which takes them
// milliseconds; less after a death, since it may be one of them that has died.
inline constexpr int64_t kPatienceMs = 1'000, kPatienceForTheDeadMs = 50;
inline Deadline PatienceToGiveUp(const ControlView& view) {
  return Deadline::After(OutOfUseByDeath(view) ? kPatienceForTheDeadMs : kPatienceMs);
}
inline constexpr int64_t kPatienceSliceNs = 1'000'000;  // they do not wake this rank for it

}  // namespace hcclrun
