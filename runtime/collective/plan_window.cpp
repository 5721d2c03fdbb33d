// Window plans: one phase, every byte read once from the inputs and stored straight into the outputs. All ranks' inputs
// and outputs must be mapped wherever a piece runs.

#include "collective/plan_parts.h"

namespace hcclrun::plan {
namespace {

// Transfers per owner before they are cut: AlltoAll has one per peer, all others have one.
uint64_t Transfers(const OpShape& shape) { return shape.op == Op::kAllToAll ? shape.ranks : 1; }

}  // namespace

uint64_t WindowPiecesPerRank(const OpShape& shape) {
  return Transfers(shape) * CutsPer(shape, Transfers(shape));
}

Piece WindowPiece(const OpShape& shape, uint64_t index) {
  const uint32_t ranks = shape.ranks;
  const uint64_t block = BlockBytes(shape);
  const uint64_t cuts = CutsPer(shape, Transfers(shape));
  const uint64_t per_rank = Transfers(shape) * cuts;
  const auto owner = static_cast<uint32_t>(index / per_rank);
  const uint64_t local = index % per_rank;

  Piece piece;
  if (ranks == 1) {
    const Range part = Share(block, per_rank, local);
    piece.src_offset = piece.dst_offset = part.begin;
    piece.bytes = part.bytes;
    return piece;
  }
  switch (shape.op) {
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
      piece.dst_rank = shape.op == Op::kAllReduce ? kAllRanks : shape.root;
      piece.src_offset = piece.dst_offset = part.begin;
      piece.bytes = part.bytes;
      break;
    }
    case Op::kBroadcast: {  // the owner's share of the root's input
      const Range part = Share(block, ranks * cuts, index);
      piece.src_rank = shape.root;
      piece.dst_rank = kAllRanks;
      piece.src_offset = piece.dst_offset = part.begin;
      piece.bytes = part.bytes;
      break;
    }
    case Op::kAllToAll: {
      // The owner collects its block from every peer, beginning with itself: owners that run side by side then read
      // from different ranks.
      const Range part = Share(block, cuts, local % cuts);
      const auto peer = static_cast<uint32_t>((owner + local / cuts) % ranks);
      piece.src_rank = peer;
      piece.src_offset = owner * block + part.begin;
      piece.dst_rank = owner;
      piece.dst_offset = peer * block + part.begin;
      piece.bytes = part.bytes;
      break;
    }
    case Op::kScatter: {  // the owner's block of the root's input
      const Range part = Share(block, cuts, local);
      piece.src_rank = shape.root;
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

}  // namespace hcclrun::plan
