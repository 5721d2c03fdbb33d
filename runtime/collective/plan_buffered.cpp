// Buffered plans: through the ranks' HCCL buffers, in rounds.
//
// A rank copies its input into its own StageA; peers read it there and write only to their own memory. Every piece
// names one rank's user memory at most, its owner's. StageB holds the shares of an AllReduce or Reduce that the rank
// has reduced, for its peers to fetch.
//
// Each stage buffer is used as two halves, round k in half k % 2, so that the steps of successive rounds overlap: in
// phase p, step s works on round p - lag(s). A half is rewritten for round k + 2 in the phase after the one in which
// round k was last read from it:
//   phase                 0        1          2              3
//   stage in (lag 0)      round 0  round 1    round 2
//   reduce share (lag 1)           round 0    round 1        round 2      AllReduce, Reduce
//   deliver (lag 1 or 2)           (round 0)  round 0 or 1   round 1 or 2
// Output of round k is written after the input of round k, and in the operation's order of bytes never before the
// input bytes at the same or a lower place have been staged; that is what makes the in-place layouts of
// InPlaceSafe safe.

#include "collective/plan_parts.h"

namespace hcclrun::plan {
namespace {

// Operations whose ranks hold one block per peer stage a slice of every block per round; the others stage consecutive
// bytes of their only block.
bool StagesManyBlocks(Op op) { return op == Op::kReduceScatter || op == Op::kAllToAll || op == Op::kScatter; }

uint64_t RoundDown(uint64_t value, uint64_t unit) { return value - value % unit; }

// In whole cache lines where the buffer is large enough, else in whole elements of any type.
uint64_t RoundDownToUnit(uint64_t bytes) { return RoundDown(bytes, bytes >= kLine ? kLine : 16); }

struct Rounds {
  uint64_t half;    // bytes from the first to the second half of a stage buffer
  uint64_t slice;   // bytes of a block that one round moves; the last round moves what is left
  uint64_t stride;  // bytes from one block's slice to the next in the stage buffer
  uint64_t count;
  bool packed;      // all blocks fit at once: they are staged as they lie in the input, in one transfer
};

Rounds RoundsOf(const OpShape& shape) {
  const uint64_t block = BlockBytes(shape);
  Rounds r;
  r.half = RoundDownToUnit(shape.chunk_bytes / 2);
  if (!StagesManyBlocks(shape.op)) {
    r.slice = r.stride = r.half;
    r.packed = true;
  } else if (block <= r.half / shape.ranks) {
    r.slice = r.stride = block;
    r.packed = true;
  } else {
    r.slice = r.stride = RoundDownToUnit(r.half / shape.ranks);
    r.packed = false;
  }
  r.count = (block - 1) / r.slice + 1;
  return r;
}

enum class StepKind : uint8_t { kStageIn, kOwnCopy, kReduceShare, kDeliver };

struct Step {
  StepKind kind;
  uint64_t lag;        // works on round phase - lag
  uint64_t transfers;  // per rank, each cut into CutsPer pieces
};

struct Steps {
  uint32_t count;
  Step step[3];
};

Steps StepsOf(const OpShape& shape, const Rounds& rounds) {
  const uint64_t ranks = shape.ranks;
  const Step stage_in{StepKind::kStageIn, 0, rounds.packed ? 1 : ranks};
  switch (shape.op) {
    case Op::kAllGather:
      // The own block goes to the output with the stage-in, before a peer's block can overwrite an input that lies
      // inside the output.
      return {3, {stage_in, {StepKind::kOwnCopy, 0, 1}, {StepKind::kDeliver, 1, ranks - 1}}};
    case Op::kAllReduce:
    case Op::kReduce:
      return {3, {stage_in, {StepKind::kReduceShare, 1, 1}, {StepKind::kDeliver, 2, ranks}}};
    case Op::kAllToAll:
      return {2, {stage_in, {StepKind::kDeliver, 1, ranks}}};
    default:
      return {2, {stage_in, {StepKind::kDeliver, 1, 1}}};
  }
}

bool Active(const Step& step, const Rounds& rounds, uint64_t phase) {
  return phase >= step.lag && phase - step.lag < rounds.count;
}

// One transfer of one step for one owner.
struct Task {
  uint32_t owner;
  uint64_t transfer;
  uint64_t cut;   // of the transfer
  uint64_t cuts;
  uint64_t half;  // offset of the round's half in a stage buffer
  uint64_t base;  // offset of the round in every block
  uint64_t bytes; // of the round in every block
};

Piece Copy(uint32_t src_rank, Space src_space, uint64_t src_offset, uint32_t dst_rank, Space dst_space,
           uint64_t dst_offset, uint64_t bytes) {
  Piece piece;
  piece.src_rank = src_rank;
  piece.src_space = src_space;
  piece.src_offset = src_offset;
  piece.dst_rank = dst_rank;
  piece.dst_space = dst_space;
  piece.dst_offset = dst_offset;
  piece.bytes = bytes;
  return piece;
}

Piece Reduce(uint64_t src_offset, uint32_t owner, Space dst_space, uint64_t dst_offset, uint64_t bytes) {
  Piece piece = Copy(kAllRanks, Space::kStageA, src_offset, owner, dst_space, dst_offset, bytes);
  piece.kind = Piece::kReduce;
  return piece;
}

Piece StageIn(const OpShape& shape, const Rounds& rounds, const Task& t) {
  const bool root_only = shape.op == Op::kBroadcast || shape.op == Op::kScatter;
  if (root_only && t.owner != shape.root) return {};
  if (!StagesManyBlocks(shape.op) || rounds.packed) {
    const uint64_t blocks = StagesManyBlocks(shape.op) ? shape.ranks : 1;
    const Range part = Share(blocks * t.bytes, t.cuts, t.cut);
    return Copy(t.owner, Space::kIn, t.base + part.begin, t.owner, Space::kStageA, t.half + part.begin, part.bytes);
  }
  // AlltoAll and Scatter deliver a rank's block to itself without the stage buffer.
  if (shape.op != Op::kReduceScatter && t.transfer == t.owner) return {};
  const Range part = Share(t.bytes, t.cuts, t.cut);
  return Copy(t.owner, Space::kIn, t.transfer * BlockBytes(shape) + t.base + part.begin, t.owner, Space::kStageA,
              t.half + t.transfer * rounds.stride + part.begin, part.bytes);
}

// The step after which the output is final.
Piece Deliver(const OpShape& shape, const Rounds& rounds, const Task& t) {
  const uint64_t block = BlockBytes(shape);
  switch (shape.op) {
    case Op::kAllGather: {  // from every peer, beginning with the next
      const auto peer = static_cast<uint32_t>((t.owner + 1 + t.transfer) % shape.ranks);
      const Range part = Share(t.bytes, t.cuts, t.cut);
      return Copy(peer, Space::kStageA, t.half + part.begin, t.owner, Space::kOut,
                  peer * block + t.base + part.begin, part.bytes);
    }
    case Op::kAllToAll: {
      const auto peer = static_cast<uint32_t>((t.owner + t.transfer) % shape.ranks);
      const Range part = Share(t.bytes, t.cuts, t.cut);
      const uint64_t out = peer * block + t.base + part.begin;
      if (peer == t.owner) return Copy(peer, Space::kIn, out, t.owner, Space::kOut, out, part.bytes);
      return Copy(peer, Space::kStageA, t.half + t.owner * rounds.stride + part.begin, t.owner, Space::kOut, out,
                  part.bytes);
    }
    case Op::kReduceScatter: {
      const Range part = Share(t.bytes, t.cuts, t.cut);
      return Reduce(t.half + t.owner * rounds.stride + part.begin, t.owner, Space::kOut, t.base + part.begin,
                    part.bytes);
    }
    case Op::kAllReduce:
    case Op::kReduce: {  // the share that each rank has reduced
      if (shape.op == Op::kReduce && t.owner != shape.root) return {};
      const auto peer = static_cast<uint32_t>((t.owner + t.transfer) % shape.ranks);
      const uint64_t shares = CutsPer(shape, 1);
      const Range share = Share(t.bytes, shape.ranks * shares, peer * shares, shares);
      const Range part = Share(share.bytes, t.cuts, t.cut);
      const uint64_t at = share.begin + part.begin;
      return Copy(peer, Space::kStageB, t.half + at, t.owner, Space::kOut, t.base + at, part.bytes);
    }
    case Op::kBroadcast: {
      const Range part = Share(t.bytes, t.cuts, t.cut);
      const uint64_t out = t.base + part.begin;
      if (t.owner == shape.root) return Copy(shape.root, Space::kIn, out, t.owner, Space::kOut, out, part.bytes);
      return Copy(shape.root, Space::kStageA, t.half + part.begin, t.owner, Space::kOut, out, part.bytes);
    }
    case Op::kScatter: {
      const Range part = Share(t.bytes, t.cuts, t.cut);
      const uint64_t out = t.base + part.begin;
      if (t.owner == shape.root) {
        return Copy(shape.root, Space::kIn, t.owner * block + out, t.owner, Space::kOut, out, part.bytes);
      }
      return Copy(shape.root, Space::kStageA, t.half + t.owner * rounds.stride + part.begin, t.owner, Space::kOut,
                  out, part.bytes);
    }
    default:
      return {};
  }
}

}  // namespace

uint64_t BufferedPhaseCount(const OpShape& shape) {
  const Rounds rounds = RoundsOf(shape);
  const Steps steps = StepsOf(shape, rounds);
  return rounds.count + steps.step[steps.count - 1].lag;
}

uint64_t BufferedPiecesPerRank(const OpShape& shape, uint64_t phase) {
  const Rounds rounds = RoundsOf(shape);
  const Steps steps = StepsOf(shape, rounds);
  uint64_t pieces = 0;
  for (uint32_t i = 0; i < steps.count; ++i) {
    const Step& step = steps.step[i];
    if (Active(step, rounds, phase)) pieces += step.transfers * CutsPer(shape, step.transfers);
  }
  return pieces;
}

Piece BufferedPiece(const OpShape& shape, uint64_t phase, uint64_t index) {
  const Rounds rounds = RoundsOf(shape);
  const Steps steps = StepsOf(shape, rounds);
  const uint64_t per_rank = BufferedPiecesPerRank(shape, phase);
  uint64_t local = index % per_rank;
  for (uint32_t i = 0; i < steps.count; ++i) {
    const Step& step = steps.step[i];
    if (!Active(step, rounds, phase)) continue;
    const uint64_t cuts = CutsPer(shape, step.transfers);
    if (local >= step.transfers * cuts) {
      local -= step.transfers * cuts;
      continue;
    }
    const uint64_t round = phase - step.lag;
    const uint64_t base = round * rounds.slice;
    const Task t{static_cast<uint32_t>(index / per_rank), local / cuts, local % cuts, cuts,
                 round % 2 * rounds.half, base, std::min(rounds.slice, BlockBytes(shape) - base)};
    switch (step.kind) {
      case StepKind::kStageIn:
        return StageIn(shape, rounds, t);
      case StepKind::kOwnCopy: {
        const Range part = Share(t.bytes, cuts, t.cut);
        return Copy(t.owner, Space::kIn, base + part.begin, t.owner, Space::kOut,
                    t.owner * BlockBytes(shape) + base + part.begin, part.bytes);
      }
      case StepKind::kReduceShare: {
        const Range part = Share(t.bytes, shape.ranks * cuts, t.owner * cuts + t.cut);
        return Reduce(t.half + part.begin, t.owner, Space::kStageB, t.half + part.begin, part.bytes);
      }
      case StepKind::kDeliver:
        return Deliver(shape, rounds, t);
    }
  }
  return {};
}

}  // namespace hcclrun::plan
