#include "comm/v_matching.h"

#include "comm/communicator.h"
#include "comm/matching.h"

namespace hcclrun {
namespace {

// The arrays that AllGatherV and ReduceScatterV have.
constexpr VArray FirstArray(Op op) { return op == Op::kAllGatherV ? kRecvCounts : kSendCounts; }

}  // namespace

void VMatch::Publish(uint64_t sequence) const { comm_.arguments().Write(sequence, *arguments_); }

// Whether the rank has posted the same kind of operation, with readable arrays.
bool VMatch::Comparable(uint64_t sequence, uint32_t rank) const {
  const ControlView& view = comm_.view();
  if (view.posted_by(sequence, rank).load(std::memory_order_seq_cst) != sequence + 1) return false;
  const Descriptor& posted = view.descriptor(sequence, rank);
  return posted.op == static_cast<uint8_t>(arguments_->op) && PeerArguments(comm_, rank, posted);
}

bool VMatch::Differs(uint64_t sequence, uint32_t reference) const {
  const uint32_t me = comm_.rank();
  if (!IsPairwiseV(arguments_->op)) {
    return reference != kNoRank && Comparable(sequence, reference) &&
           UnequalArrays(sequence, reference, me);
  }
  const ControlView& view = comm_.view();
  if (arguments_->op == Op::kAllToAllVC && reference != kNoRank &&
      view.descriptor(sequence, reference).args_hash != arguments_->matrix_hash)
    return true;
  for (uint32_t r = 0; r < comm_.size(); r++) {
    if (!Comparable(sequence, r)) continue;
    if (UnequalPair(sequence, me, r) || UnequalPair(sequence, r, me)) return true;
  }
  return false;
}

std::optional<ArrayDifference> VMatch::Find(uint64_t sequence) const {
  const ControlView& view = comm_.view();
  std::vector<uint32_t> there;
  for (uint32_t r = 0; r < comm_.size(); r++) {
    // One that has left may have given its ring back.
    const bool here = r == comm_.rank() || view.ranks[r].state.load(std::memory_order_seq_cst) ==
                                               uint32_t(RankState::kAlive);
    if (here && Comparable(sequence, r)) there.push_back(r);
  }
  if (arguments_->op == Op::kAllToAllVC) {
    for (uint32_t r : there) {
      if (auto found = UnequalMatrix(sequence, r)) return found;
    }
    return std::nullopt;
  }
  for (size_t i = 0; i < there.size(); i++) {
    if (!IsPairwiseV(arguments_->op)) {
      if (i == 0) continue;
      if (auto found = UnequalArrays(sequence, there[0], there[i])) return found;
      continue;
    }
    for (uint32_t r : there) {
      if (auto found = UnequalPair(sequence, there[i], r)) return found;
    }
  }
  return std::nullopt;
}

// Both arrays of AllGatherV or ReduceScatterV.
std::optional<ArrayDifference> VMatch::UnequalArrays(uint64_t sequence, uint32_t a,
                                                     uint32_t b) const {
  const PeerArguments of_a(comm_, a, comm_.view().descriptor(sequence, a)),
      of_b(comm_, b, comm_.view().descriptor(sequence, b));
  const bool gathers = arguments_->op == Op::kAllGatherV;
  const VArray counts = FirstArray(arguments_->op);
  for (const VArray array : {counts, VArray(counts + 1)}) {
    const char* name = array == counts ? (gathers ? "recvCounts" : "sendCounts")
                                       : (gathers ? "recvDispls" : "sendDispls");
    for (uint32_t i = 0; i < comm_.size(); i++) {
      const uint64_t x = of_a.At(array, i), y = of_b.At(array, i);
      if (x != y) return ArrayDifference{{a, name, i, kNoIndex, x}, {b, name, i, kNoIndex, y}};
    }
  }
  return std::nullopt;
}

std::optional<ArrayDifference> VMatch::UnequalPair(uint64_t sequence, uint32_t from,
                                                   uint32_t to) const {
  const ControlView& view = comm_.view();
  const uint64_t sent =
      PeerArguments(comm_, from, view.descriptor(sequence, from)).At(kSendCounts, to);
  const uint64_t expected =
      PeerArguments(comm_, to, view.descriptor(sequence, to)).At(kRecvCounts, from);
  if (sent == expected) return std::nullopt;
  return ArrayDifference{{from, "sendCounts", to, kNoIndex, sent},
                         {to, "recvCounts", from, kNoIndex, expected}};
}

// The own matrix against the row sums that another rank has posted: the first row that differs, and
// the element, if it is one alone.
std::optional<ArrayDifference> VMatch::UnequalMatrix(uint64_t sequence, uint32_t rank) const {
  const PeerArguments theirs(comm_, rank, comm_.view().descriptor(sequence, rank));
  const uint32_t ranks = comm_.size(), me = comm_.rank();
  const char* name = "sendCountMatrix";
  for (uint32_t row = 0; row < ranks; row++) {
    const uint64_t sum = arguments_->array(kRowSums)[row],
                   weighted = arguments_->array(kRowWeightedSums)[row];
    const uint64_t more = theirs.At(kRowSums, row) - sum,
                   more_weighted = theirs.At(kRowWeightedSums, row) - weighted;
    if (more == 0 && more_weighted == 0) continue;
    for (uint32_t column = 0; more != 0 && column < ranks; column++) {
      if (more * WeightOf(column) != more_weighted) continue;
      const uint64_t mine = arguments_->matrix[uint64_t{row} * ranks + column];
      return ArrayDifference{{me, name, row, column, mine}, {rank, name, row, column, mine + more}};
    }
    return ArrayDifference{{me, name, row, kNoIndex, 0}, {rank, name, row, kNoIndex, 0}, false};
  }
  return std::nullopt;
}

}  // namespace hcclrun
