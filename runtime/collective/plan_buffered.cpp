// Buffered plans: through the ranks' HCCL buffers, in rounds.
//
// A rank copies its input into its own StageA; peers read it there and write only to their own
// memory. Every piece names one rank's user memory at most, its owner's. StageB holds the shares of
// an AllReduce or Reduce that the rank has reduced, for its peers to fetch.
//
// Each stage buffer is used as two halves, round k in half k % 2, so that the steps of successive
// rounds overlap: in phase p, step s works on round p - lag(s). A half is rewritten for round k + 2
// in the phase after the one in which round k was last read from it:
//   phase                 0        1          2              3
//   stage in (lag 0)      round 0  round 1    round 2
//   reduce share (lag 1)           round 0    round 1        round 2      AllReduce, Reduce
//   deliver (lag 1 or 2)           (round 0)  round 0 or 1   round 1 or 2
// In place: a phase that delivers round k stages round k + 1 or later. Delivered bytes lie at round
// k's place in a block, staged bytes at a later round's place; so where blocks of the output are
// blocks of the input, no byte is overwritten before it has been staged.

#include "collective/plan_parts.h"

namespace hcclrun {

using plan::Copy;
using plan::PeerBehind;
using plan::Range;
using plan::Reduce;
using plan::RoundDownToUnit;
using plan::Share;
using plan::Step;
using plan::StepKind;
using plan::Task;

namespace {

// Operations whose ranks hold one block per peer stage a slice of every block per round; the others
// stage consecutive bytes of their only block.
bool StagesManyBlocks(Op op) {
  return op == Op::kReduceScatter || op == Op::kAllToAll || op == Op::kScatter;
}

}  // namespace

void Plan::PrepareBuffered() {
  if (shape_.layout) return PrepareVBuffered();
  const uint64_t ranks = shape_.ranks, split = shape_.split;
  rounds_.half = RoundDownToUnit(shape_.chunk_bytes / 2);
  if (!StagesManyBlocks(shape_.op)) {
    rounds_.slice = rounds_.half;
    rounds_.packed = true;
  } else if (const uint64_t most = rounds_.half / ranks; block_ <= most) {
    rounds_.slice = block_;
    rounds_.packed = true;
  } else {
    rounds_.slice = RoundDownToUnit(most);
    rounds_.packed = false;
  }
  rounds_.count = (block_ - 1) / rounds_.slice + 1;

  const auto add = [&](StepKind kind, uint64_t lag, uint64_t transfers) {
    step_[steps_++] = {kind, lag, transfers, plan::CutsPer(split, transfers)};
    phases_ = rounds_.count + lag;
  };
  add(StepKind::kStageIn, 0, rounds_.packed ? 1 : ranks);
  switch (shape_.op) {
    case Op::kAllGather:
      // The own block goes to the output with the stage-in, before a peer's block can overwrite an
      // input that lies inside the output.
      add(StepKind::kOwnCopy, 0, 1);
      add(StepKind::kDeliver, 1, ranks - 1);
      break;
    case Op::kAllReduce:
    case Op::kReduce:
      add(StepKind::kReduceShare, 1, 1);
      add(StepKind::kDeliver, 2, ranks);
      break;
    case Op::kAllToAll:
      add(StepKind::kDeliver, 1, ranks);
      break;
    default:
      add(StepKind::kDeliver, 1, 1);
      break;
  }
}

Piece Plan::BufferedPiece(uint64_t phase, uint64_t index) const {
  const uint64_t per_rank = PiecesPerRank(phase);
  const auto owner = static_cast<uint32_t>(index / per_rank);
  uint64_t local = index % per_rank;
  for (uint32_t i = 0; i < steps_; ++i) {
    const Step& step = step_[i];
    const uint64_t round = phase - step.lag;  // wraps to a large number before lag
    if (round >= rounds_.count) continue;
    if (local >= step.transfers * step.cuts) {
      local -= step.transfers * step.cuts;
      continue;
    }
    const uint64_t base = round * rounds_.slice;
    Task t{owner,
           local,
           0,
           step.cuts,
           round % 2 * rounds_.half,
           base,
           std::min(rounds_.slice, block_ - base)};
    if (step.cuts != 1) {
      t.transfer = local / step.cuts;
      t.cut = local % step.cuts;
    }
    if (shape_.layout) return VBufferedPiece(step.kind, t);
    switch (step.kind) {
      case StepKind::kStageIn:
        return StageIn(t);
      case StepKind::kOwnCopy: {
        const Range part = Share(t.bytes, t.cuts, t.cut);
        return Copy(owner, Space::kIn, base + part.begin, owner, Space::kOut,
                    owner * block_ + base + part.begin, part.bytes);
      }
      case StepKind::kReduceShare: {
        const Range part = Share(t.bytes, shape_.ranks * t.cuts, owner * t.cuts + t.cut);
        return Reduce(t.half + part.begin, owner, Space::kStageB, t.half + part.begin, part.bytes);
      }
      case StepKind::kDeliver:
        return Deliver(t);
    }
  }
  return {};
}

Piece Plan::StageIn(const Task& t) const {
  const bool root_only = shape_.op == Op::kBroadcast || shape_.op == Op::kScatter;
  if (root_only && t.owner != shape_.root) return {};
  if (rounds_.packed) {
    const uint64_t blocks = StagesManyBlocks(shape_.op) ? shape_.ranks : 1;
    const Range part = Share(blocks * t.bytes, t.cuts, t.cut);
    return Copy(t.owner, Space::kIn, t.base + part.begin, t.owner, Space::kStageA,
                t.half + part.begin, part.bytes);
  }
  // AlltoAll and Scatter deliver a rank's block to itself without the stage buffer.
  if (shape_.op != Op::kReduceScatter && t.transfer == t.owner) return {};
  const Range part = Share(t.bytes, t.cuts, t.cut);
  return Copy(t.owner, Space::kIn, t.transfer * block_ + t.base + part.begin, t.owner,
              Space::kStageA, t.half + t.transfer * rounds_.slice + part.begin, part.bytes);
}

// The step after which the output is final.
Piece Plan::Deliver(const Task& t) const {
  const uint64_t block = block_;
  const uint32_t ranks = shape_.ranks;
  switch (shape_.op) {
    case Op::kAllGather: {
      const uint32_t peer = PeerBehind(t.owner, 1 + t.transfer, ranks);
      const Range part = Share(t.bytes, t.cuts, t.cut);
      return Copy(peer, Space::kStageA, t.half + part.begin, t.owner, Space::kOut,
                  peer * block + t.base + part.begin, part.bytes);
    }
    case Op::kAllToAll: {
      const uint32_t peer = PeerBehind(t.owner, t.transfer, ranks);
      const Range part = Share(t.bytes, t.cuts, t.cut);
      const uint64_t out = peer * block + t.base + part.begin;
      if (peer == t.owner)
        return Copy(peer, Space::kIn, out, t.owner, Space::kOut, out, part.bytes);
      return Copy(peer, Space::kStageA, t.half + t.owner * rounds_.slice + part.begin, t.owner,
                  Space::kOut, out, part.bytes);
    }
    case Op::kReduceScatter: {
      const Range part = Share(t.bytes, t.cuts, t.cut);
      return Reduce(t.half + t.owner * rounds_.slice + part.begin, t.owner, Space::kOut,
                    t.base + part.begin, part.bytes);
    }
    case Op::kAllReduce:
    case Op::kReduce: {  // the share that each rank has reduced
      if (shape_.op == Op::kReduce && t.owner != shape_.root) return {};
      const uint32_t peer = PeerBehind(t.owner, t.transfer, ranks);
      const uint64_t shares = shape_.split;  // of each rank, see kReduceShare
      const Range share = Share(t.bytes, ranks * shares, peer * shares, shares);
      const Range part = Share(share.bytes, t.cuts, t.cut);
      const uint64_t at = share.begin + part.begin;
      return Copy(peer, Space::kStageB, t.half + at, t.owner, Space::kOut, t.base + at, part.bytes);
    }
    case Op::kBroadcast: {
      const Range part = Share(t.bytes, t.cuts, t.cut);
      const uint64_t out = t.base + part.begin;
      if (t.owner == shape_.root)
        return Copy(shape_.root, Space::kIn, out, t.owner, Space::kOut, out, part.bytes);
      return Copy(shape_.root, Space::kStageA, t.half + part.begin, t.owner, Space::kOut, out,
                  part.bytes);
    }
    case Op::kScatter: {
      const Range part = Share(t.bytes, t.cuts, t.cut);
      const uint64_t out = t.base + part.begin;
      if (t.owner == shape_.root) {
        return Copy(shape_.root, Space::kIn, t.owner * block + out, t.owner, Space::kOut, out,
                    part.bytes);
      }
      return Copy(shape_.root, Space::kStageA, t.half + t.owner * rounds_.slice + part.begin,
                  t.owner, Space::kOut, out, part.bytes);
    }
    default:
      return {};
  }
}

}  // namespace hcclrun
