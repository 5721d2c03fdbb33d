#pragma once
// How the ranks' calls of one operation meet in its slot (protocol in control_block.h): posting,
// comparing as each arrives, reading all descriptors, leaving.

#include <cstdint>
#include <functional>
#include <vector>

#include "base/fault.h"
#include "collective/types.h"
#include "comm/control_block.h"

namespace hcclrun {

class VMatch;
struct ArrayDifference;

// Posts the rank's descriptor, with the arrays `v` of a V operation (null for all others). False
// while the slot still serves an earlier operation: nothing has happened then. The last
// to post wakes the others, or with `last` sets it and leaves that to the caller.
bool TryPost(const ControlView& view, uint32_t rank, const Descriptor& descriptor,
             const VMatch* v = nullptr, bool* last = nullptr);

// First difference that makes two calls not the same operation; "" when they match. Names of
// parameters as in the API.
const char* FirstDifference(const Descriptor& a, const Descriptor& b);

// Window calls must name the same place of the symmetric heap on every rank (semantics A.10). Other
// operations take the window path for reasons that hardware does not have, and by their real
// addresses.
bool SameWindows(const Descriptor& a, const Descriptor& b);

// The first failure of a slot counts.
void Fail(Slot& slot, SlotFailure failure);

// Whether the slot serves the operation now, and whether all operations before it are complete.
// Where ranks exchange that may be so without having been noted, which is made up for.
bool SlotIsFree(const ControlView& view, uint64_t sequence);
bool IsItsTurn(const ControlView& view, uint64_t sequence);
// Where ranks exchange: all ranks are done with all operations below.
uint64_t DoneByAll(const ControlView& view);

inline SlotFailure FailureOf(const ControlView& view, uint64_t sequence) {
  return static_cast<SlotFailure>(view.slot(sequence).failure.load(std::memory_order_seq_cst));
}
inline bool AllArrived(const ControlView& view, uint64_t sequence) {
  return view.slot(sequence).arrived.load(std::memory_order_seq_cst) == view.size;
}
inline bool HasPosted(const ControlView& view, uint64_t sequence, uint32_t rank) {
  return view.posted_by(sequence, rank).load(std::memory_order_acquire) == sequence + 1;
}

// Takes a rank's arrival back: the operation can then never have all arrivals, and no rank can
// begin it. False, and nothing has happened, when all have arrived: then no rank can take its
// arrival back any more. So ranks that give up and ranks that go on agree.
bool TakeBackArrival(const ControlView& view, uint64_t sequence);

// Private copies of all descriptors; after AllArrived.
void Snapshot(const ControlView& view, uint64_t sequence, std::vector<Descriptor>* all);

// Has the lines that TryPost() writes fetched meanwhile.
void PrefetchToPost(const ControlView& view, uint64_t sequence, uint32_t rank);

// All pieces of the operation, whose turn it is, are done and visible to this thread: counts it as
// complete and wakes whoever waits. `alone`: this thread did everything, with the path noted in the
// slot; then all ranks are done with the slot, too, and must not touch it again.
void Complete(const ControlView& view, uint64_t sequence, int64_t at_ns, bool alone);

// About an operation that is complete, for a rank that has posted it and not left its slot.
struct Completion {
  bool left;  // the slot is left already, on behalf of all ranks
  Path path;
  int64_t at_ns;
};
Completion CompletionOf(const ControlView& view, uint64_t sequence);

// The rank is done with the slot. The last rank recycles it; after a failure it also completes
// the operation, for which every rank must leave only when the operation's turn has come
// (completed == sequence).
void Leave(const ControlView& view, uint64_t sequence);

// The facts about all ranks' calls of an operation, or about `only` (kNoRank = all); for a
// mismatch of a V operation, with the arrays compared.
Fault OperationFault(FaultKind kind, const ControlView& view, const std::string& communicator,
                     uint32_t own_rank, uint64_t sequence, uint32_t only = kNoRank,
                     const VMatch* v = nullptr, std::function<uint32_t()> claim_telling = {});

// The right to tell how an operation has failed, or with kTellsWindows + n how registration n has:
// kNoRank, or the rank that has told.
inline constexpr uint64_t kTellsWindows = uint64_t{1} << 50;
uint32_t ClaimTelling(const ControlView& view, uint64_t sequence, uint32_t rank);
// As above, of a transfer whose ends differ.
uint32_t ClaimTellingTransfer(const ControlView& view, uint32_t sender, uint32_t receiver,
                              uint64_t transfer, uint32_t rank);

}  // namespace hcclrun
