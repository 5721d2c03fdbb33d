#pragma once
// Exchanges: operations of a few bytes in which every rank works for itself (the protocol is with
// Slot in control_block.h).

#include <cstdint>

#include "base/fault.h"
#include "collective/types.h"
#include "comm/communicator.h"
#include "comm/control_block.h"

namespace hcclrun {

// Whether there are any in this communicator: the engine is left to us, and its few ranks have a
// processor each. With more ranks than processors it is a switch of processes for every rank that
// an operation waits for, and announcing operations early saves most of them, which exchanges
// cannot.
inline bool MayExchange(const ControlView& view) {
  return view.size <= kMostExchangers && view.header->oversubscribed == 0 &&
         view.header->engine == 0;
}

// Whether the operation is one. From facts in which matching calls agree.
bool FitsExchange(const ControlView& view, const Descriptor& own);
inline bool IsExchange(const ControlView& view, const Descriptor& own) {
  return MayExchange(view) && own.count <= kExchangeBytes && FitsExchange(view, own);
}

// Before a post: `rank`'s line, for writing.
inline void PrefetchExchange(const ControlView& view, uint64_t sequence, uint32_t rank) {
  const void* line = &view.call_of(sequence, rank);
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));  // no effect on old ones
#else
  __builtin_prefetch(line, 1, 3);
#endif
}

// Of the rank with the largest, a root if there is one.
uint64_t LargestInput(const Descriptor& d, uint32_t ranks);

// One rank's side of an exchange. Steps of its task: one thread at a time.
class Exchange {
 public:
  Exchange() = default;
  explicit Exchange(uint64_t largest_input) : input_(largest_input) {}
  // Posts; `in` is the rank's input. False while the place is in use: nothing has happened then.
  bool TryPost(Communicator& comm, const Descriptor& own, const char* in, uint64_t in_bytes);

  // Looks who has come. kNone and true: all, with the same call; kNone and false: somebody is
  // missing.
  bool AllHere(const ControlView& view, const Descriptor& own, SlotFailure* failure);

  // For a rank that gives up: whoever comes later finds that it is not there. False, and nothing
  // has happened, when all have come.
  static bool TakeBack(const ControlView& view, uint64_t sequence, uint32_t rank);

  // Before the rank leaves with a failure: ranks that came for something else may wait in the slot.
  static void TellThoseInTheSlot(const ControlView& view, const Descriptor& own, uint32_t rank);

  // When all are here: makes the own output.
  void Deliver(const Communicator& comm, const Descriptor& own, char* out, Path* path) const;

 private:
  uint32_t met_ = 0;  // bit per rank
  uint64_t input_ = 0;  // bytes of the largest, which say where all are
  bool windows_ = true;
};

}  // namespace hcclrun
