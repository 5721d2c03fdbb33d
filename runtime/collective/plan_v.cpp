// Plans of the V operations: those of AllGather, ReduceScatter and AlltoAll with blocks of unequal
// length at any place.
//
// Window path: one phase. An owner of AllGatherV stores its block to everybody's output, an owner
// of ReduceScatterV reduces its block of every input, an owner of AlltoAllV collects its blocks.
//
// Buffered path: the rounds and steps of plan_buffered.cpp as if all blocks had the largest one's
// length, each transfer clipped to what its block really has. The number of rounds is therefore the
// same on every rank. ReduceScatterV and AlltoAllV stage slices of all blocks side by side, slice j
// for rank j, wherever the blocks lie in the input.

#include "collective/plan_parts.h"

namespace hcclrun {

using plan::Copy;
using plan::PeerBehind;
using plan::Range;
using plan::Share;
using plan::StepKind;

namespace {

// The part [base, base + most) of a block, as far as there is one, cut into shares.
Range ClippedShare(const VBlock& block, uint64_t base, uint64_t most, uint64_t cuts, uint64_t cut) {
  if (block.bytes <= base) return {0, 0};
  return Share(std::min(most, block.bytes - base), cuts, cut);
}

}  // namespace

Piece Plan::VWindowPiece(uint64_t index) const {
  const uint64_t per_rank = transfers_ * cuts_;
  const auto owner = static_cast<uint32_t>(index / per_rank);
  const uint64_t local = index % per_rank, distance = local / cuts_;
  const uint32_t peer = PeerBehind(owner, distance, shape_.ranks);
  const VBlock& block = shape_.layout->Of(owner).incoming[peer];
  const Range part = Share(block.bytes, cuts_, local - distance * cuts_);
  Piece piece = Copy(peer, Space::kIn, block.src + part.begin, owner, Space::kOut,
                     block.dst + part.begin, part.bytes);
  if (shape_.ranks == 1) return piece;
  if (shape_.op == Op::kAllGatherV) piece.dst_rank = kAllRanks;
  if (shape_.op == Op::kReduceScatterV) {
    piece.kind = Piece::kReduce;
    piece.src_rank = kAllRanks;
  }
  return piece;
}

void Plan::PrepareVBuffered() {
  const uint64_t ranks = shape_.ranks;
  const bool one_block = shape_.op == Op::kAllGatherV;
  rounds_.half = plan::RoundDownToUnit(shape_.chunk_bytes / 2);
  rounds_.packed = false;
  rounds_.slice = rounds_.half;
  if (!one_block) {
    // Close together while they are small, so that they share pages and cache sets evenly.
    const uint64_t lines = block_ / plan::kLine + (block_ % plan::kLine != 0);
    rounds_.slice = std::min(lines * plan::kLine, plan::RoundDownToUnit(rounds_.half / ranks));
  }
  rounds_.count = (block_ - 1) / rounds_.slice + 1;

  const auto add = [&](StepKind kind, uint64_t lag, uint64_t transfers) {
    step_[steps_++] = {kind, lag, transfers, plan::CutsPer(shape_.split, transfers)};
    phases_ = rounds_.count + lag;
  };
  add(StepKind::kStageIn, 0, one_block ? 1 : ranks);
  if (one_block) add(StepKind::kOwnCopy, 0, 1);
  add(StepKind::kDeliver, 1, one_block ? ranks - 1 : shape_.op == Op::kReduceScatterV ? 1 : ranks);
}

Piece Plan::VBufferedPiece(StepKind kind, const plan::Task& t) const {
  const VSide& side = shape_.layout->Of(t.owner);
  const auto part_of = [&](const VBlock& block) {
    return ClippedShare(block, t.base, rounds_.slice, t.cuts, t.cut);
  };
  const auto own_copy = [&](const VBlock& block) {
    const Range part = part_of(block);
    return Copy(t.owner, Space::kIn, block.src + t.base + part.begin, t.owner, Space::kOut,
                block.dst + t.base + part.begin, part.bytes);
  };
  const auto to_stage = [&](const VBlock& block, uint64_t slice) {
    const Range part = part_of(block);
    return Copy(t.owner, Space::kIn, block.src + t.base + part.begin, t.owner, Space::kStageA,
                t.half + slice * rounds_.slice + part.begin, part.bytes);
  };
  const auto from_stage = [&](const VBlock& block, uint32_t peer, uint64_t slice) {
    const Range part = part_of(block);
    return Copy(peer, Space::kStageA, t.half + slice * rounds_.slice + part.begin, t.owner,
                Space::kOut, block.dst + t.base + part.begin, part.bytes);
  };
  switch (shape_.op) {
    case Op::kAllGatherV: {
      if (kind == StepKind::kStageIn) return to_stage(side.outgoing[t.owner], 0);
      if (kind == StepKind::kOwnCopy) return own_copy(side.incoming[t.owner]);
      const uint32_t peer = PeerBehind(t.owner, 1 + t.transfer, shape_.ranks);
      return from_stage(side.incoming[peer], peer, 0);
    }
    case Op::kReduceScatterV: {
      if (kind == StepKind::kStageIn) return to_stage(side.outgoing[t.transfer], t.transfer);
      Piece piece = from_stage(side.incoming[t.owner], kAllRanks, t.owner);
      piece.kind = Piece::kReduce;
      return piece;
    }
    default: {  // AlltoAllV, AlltoAllVC: the rank's block for itself needs no stage buffer
      if (kind == StepKind::kStageIn) {
        if (t.transfer == t.owner) return {};
        return to_stage(side.outgoing[t.transfer], t.transfer);
      }
      const uint32_t peer = PeerBehind(t.owner, t.transfer, shape_.ranks);
      if (peer == t.owner) return own_copy(side.incoming[peer]);
      return from_stage(side.incoming[peer], peer, t.owner);
    }
  }
}

}  // namespace hcclrun
