#pragma once
// Whether the ranks' arrays of a V operation fit together (semantics C.2, C.5).
//
// AllGatherV and ReduceScatterV take the same arrays on every rank: who comes compares itself with
// the slot's reference. AlltoAllV and AlltoAllVC agree pair by pair: what i sends to j is what j
// expects from i. Who comes compares itself with all that have posted before, after it has posted
// itself; the posts and the looks for them are seq_cst, so of any two ranks at least one sees the
// other. Since a rank counts itself as arrived only after its comparisons, all of them are done
// when all have arrived, and every rank comes to the same verdict without a further meeting.
// AlltoAllVC has the whole matrix compared by a hash in the descriptor: elements that concern
// neither of two ranks are not in their argument rings. The rings have two sums of each row: if one
// element differs, by d, so do the sums, and the weighted ones by d times the weight of its column,
// which therefore can be found. A rank has its own matrix and the others' sums, so it can tell
// where and how one of theirs differs from its own; if any two differ, some differ from its own.

#include <cstdint>
#include <memory>
#include <optional>

#include "comm/details.h"
#include "comm/v_arguments.h"

namespace hcclrun {

class VMatch {
 public:
  // `comm` outlives it. The communicator has an argument ring.
  VMatch(Communicator& comm, std::shared_ptr<const VArguments> arguments)
      : comm_(comm), arguments_(std::move(arguments)) {}

  // Of TryPost(), in this order: writes the arrays of operation `sequence`; after the post and the
  // choice of the reference (kNoRank: this rank), compares. True if something differs.
  void Publish(uint64_t sequence) const;
  bool Differs(uint64_t sequence, uint32_t reference) const;

  // For the report of a mismatch: two numbers that should be equal, of ranks that have posted.
  std::optional<ArrayDifference> Find(uint64_t sequence) const;

 private:
  bool Comparable(uint64_t sequence, uint32_t rank) const;
  std::optional<ArrayDifference> UnequalArrays(uint64_t sequence, uint32_t a, uint32_t b) const;
  std::optional<ArrayDifference> UnequalPair(uint64_t sequence, uint32_t from, uint32_t to) const;
  std::optional<ArrayDifference> UnequalMatrix(uint64_t sequence, uint32_t rank) const;

  Communicator& comm_;
  std::shared_ptr<const VArguments> arguments_;
};

}  // namespace hcclrun
