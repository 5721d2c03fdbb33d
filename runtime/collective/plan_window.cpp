// Window plans: one phase, every byte read once from the inputs and stored straight into the
// outputs. All ranks' inputs and outputs must be mapped wherever a piece runs.

#include "collective/plan_parts.h"

namespace hcclrun {

using plan::Range;
using plan::Share;

void Plan::PrepareWindow() {
  // AlltoAll has one transfer per owner and peer, all others have one per owner.
  const bool per_peer = shape_.op == Op::kAllToAll || IsPairwiseV(shape_.op);
  transfers_ = per_peer ? shape_.ranks : 1;
  cuts_ = plan::CutsPer(shape_.split, transfers_);
  phases_ = 1;
}

Piece Plan::WindowPiece(uint64_t index) const {
  if (shape_.layout) return VWindowPiece(index);
  const uint32_t ranks = shape_.ranks;
  const uint64_t block = block_;
  const uint64_t cuts = cuts_;
  const uint64_t per_rank = transfers_ * cuts;
  const auto owner = static_cast<uint32_t>(index / per_rank);
  const uint64_t local = index % per_rank;

  Piece piece;
  if (ranks == 1) {
    const Range part = Share(block, per_rank, local);
    piece.src_offset = piece.dst_offset = part.begin;
    piece.bytes = part.bytes;
    return piece;
  }
  switch (shape_.op) {
    case Op::kAllGather: {  // the owner's block to everybody
      const Range part = Share(block, cuts, local);
      piece.src_rank = owner;
      piece.src_offset = part.begin;
      piece.dst_rank = kAllRanks;
      piece.dst_offset = owner * block + part.begin;
      piece.bytes = part.bytes;
      break;
    }
    case Op::kReduceScatter: {  // the owner's block of every input
      const Range part = Share(block, cuts, local);
      piece.kind = Piece::kReduce;
      piece.src_rank = kAllRanks;
      piece.src_offset = owner * block + part.begin;
      piece.dst_rank = owner;
      piece.dst_offset = part.begin;
      piece.bytes = part.bytes;
      break;
    }
    case Op::kAllReduce:
    case Op::kReduce: {  // the owner's share of every input
      const Range part = Share(block, ranks * cuts, index);
      piece.kind = Piece::kReduce;
      piece.src_rank = kAllRanks;
      piece.dst_rank = shape_.op == Op::kAllReduce ? kAllRanks : shape_.root;
      piece.src_offset = piece.dst_offset = part.begin;
      piece.bytes = part.bytes;
      break;
    }
    case Op::kBroadcast: {  // the owner's share of the root's input
      const Range part = Share(block, ranks * cuts, index);
      piece.src_rank = shape_.root;
      piece.dst_rank = kAllRanks;
      piece.src_offset = piece.dst_offset = part.begin;
      piece.bytes = part.bytes;
      break;
    }
    case Op::kAllToAll: {
      // The owner collects its block from every peer, beginning with itself: owners that run side
      // by side then read from different ranks.
      const uint64_t distance = cuts == 1 ? local : local / cuts;
      const Range part = Share(block, cuts, local - distance * cuts);
      const auto peer = static_cast<uint32_t>(owner + distance < ranks ? owner + distance
                                                                       : owner + distance - ranks);
      piece.src_rank = peer;
      piece.src_offset = owner * block + part.begin;
      piece.dst_rank = owner;
      piece.dst_offset = peer * block + part.begin;
      piece.bytes = part.bytes;
      break;
    }
    case Op::kScatter: {  // the owner's block of the root's input
      const Range part = Share(block, cuts, local);
      piece.src_rank = shape_.root;
      piece.src_offset = owner * block + part.begin;
      piece.dst_rank = owner;
      piece.dst_offset = part.begin;
      piece.bytes = part.bytes;
      break;
    }
    default:
      break;
  }
  return piece;
}

}  // namespace hcclrun
