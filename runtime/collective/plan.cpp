#include "collective/plan.h"

namespace hcclrun {
namespace {

bool HasPlan(Op op) { return op <= Op::kBarrier; }

bool MovesNothing(const OpShape& shape) {
  if (shape.layout) return shape.layout->largest == 0;
  return shape.op == Op::kBarrier || shape.count == 0;
}

// One rank has nobody to exchange with: a copy, whatever the path, which touches only the rank's
// own memory.
bool UsesWindowPlan(const OpShape& shape) {
  return shape.path == Path::kWindow || shape.ranks == 1;
}

bool Overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) {
  return a_bytes != 0 && b_bytes != 0 && (a < b ? b - a < a_bytes : a - b < b_bytes);
}

bool ValidBlocks(const std::vector<VBlock>& blocks, const OpShape& shape) {
  if (blocks.size() != shape.ranks) return false;
  for (const VBlock& block : blocks) {
    if (block.bytes > shape.layout->largest || block.bytes % shape.elem != 0) return false;
  }
  return true;
}

bool ValidLayout(const OpShape& shape) {
  const VLayout& layout = *shape.layout;
  if (layout.first_rank > shape.ranks || layout.sides.size() > shape.ranks - layout.first_rank)
    return false;
  for (const VSide& side : layout.sides) {
    if (!ValidBlocks(side.outgoing, shape) || !ValidBlocks(side.incoming, shape)) return false;
  }
  return true;
}

// A V operation: every block of the input against every block of the output, since gaps
// do not count.
Aliasing ClassifyBlocks(const OpShape& shape, uint32_t rank, uint64_t in, uint64_t out) {
  const VSide& side = shape.layout->Of(rank);
  const ExtentBytes extents = VExtents(side);
  if (!Overlap(in, extents.in_bytes, out, extents.out_bytes)) return Aliasing::kDisjoint;
  const bool gathers = shape.op == Op::kAllGatherV, scatters = shape.op == Op::kReduceScatterV;
  const uint32_t sources = gathers ? 1 : shape.ranks, destinations = scatters ? 1 : shape.ranks;
  Aliasing found = Aliasing::kDisjoint;
  for (uint32_t i = 0; i < sources; ++i) {
    for (uint32_t j = 0; j < destinations; ++j) {
      const VBlock &from = side.outgoing[i], &to = side.incoming[j];
      if (!Overlap(in + from.src, from.bytes, out + to.dst, to.bytes)) continue;
      const bool one_place = in + from.src == out + to.dst;
      if (found != Aliasing::kDisjoint || !one_place) return Aliasing::kOverlap;
      if (shape.ranks == 1) {
        found = Aliasing::kSame;
      } else if (gathers || scatters) {
        found = (gathers ? j : i) == rank ? Aliasing::kOwnBlock : Aliasing::kBlock;
      } else {
        return Aliasing::kOverlap;
      }
    }
  }
  return found;
}

}  // namespace

bool ValidShape(const OpShape& shape) {
  const bool has_plan = shape.layout ? IsVOperation(shape.op) : HasPlan(shape.op);
  if (!has_plan || shape.ranks == 0 || shape.root >= shape.ranks || shape.split == 0) return false;
  if (shape.elem == 0 || shape.elem > 16 || (shape.elem & (shape.elem - 1)) != 0) return false;
  uint64_t block, all;
  if (shape.layout) {
    if (!ValidLayout(shape)) return false;
    block = shape.layout->largest;
  } else if (__builtin_mul_overflow(shape.count, shape.elem, &block)) {
    return false;
  }
  if (__builtin_mul_overflow(block, shape.ranks, &all) || all > INT64_MAX) return false;
  return UsesWindowPlan(shape) || shape.chunk_bytes >= MinChunkBytes(shape.ranks);
}

Plan::Plan(const OpShape& shape)
    : shape_(shape),
      block_(shape.layout ? shape.layout->largest : shape.count * shape.elem),
      window_(UsesWindowPlan(shape)) {
  if (MovesNothing(shape)) return;
  window_ ? PrepareWindow() : PrepareBuffered();
}

uint64_t Plan::PiecesPerRank(uint64_t phase) const {
  if (window_) return transfers_ * cuts_;
  uint64_t pieces = 0;
  for (uint32_t i = 0; i < steps_; ++i) {
    const plan::Step& step = step_[i];
    if (phase - step.lag < rounds_.count)
      pieces += step.transfers * step.cuts;  // wraps to a large number before lag
  }
  return pieces;
}

Piece Plan::At(uint64_t phase, uint64_t index) const {
  return window_ ? WindowPiece(index) : BufferedPiece(phase, index);
}

uint64_t PhaseCount(const OpShape& shape) { return Plan(shape).phases(); }

uint64_t PiecesPerRank(const OpShape& shape, uint64_t phase) {
  return Plan(shape).PiecesPerRank(phase);
}

Piece PieceAt(const OpShape& shape, uint64_t phase, uint64_t index) {
  return Plan(shape).At(phase, index);
}

Aliasing ClassifyAliasing(const OpShape& shape, uint32_t rank, uint64_t in, uint64_t out) {
  if (shape.layout) return ClassifyBlocks(shape, rank, in, out);
  const ExtentBytes extents =
      Extents(shape.op, shape.count, shape.elem, shape.ranks, rank, shape.root);
  if (!Overlap(in, extents.in_bytes, out, extents.out_bytes)) return Aliasing::kDisjoint;
  if (shape.ranks == 1) return in == out ? Aliasing::kSame : Aliasing::kOverlap;
  const uint64_t block = shape.count * shape.elem;
  uint64_t distance;  // from the larger buffer's start to the smaller buffer
  switch (shape.op) {
    case Op::kAllGather:
      if (in < out) return Aliasing::kOverlap;
      distance = in - out;
      break;
    case Op::kReduceScatter:
    case Op::kScatter:
      if (out < in) return Aliasing::kOverlap;
      distance = out - in;
      break;
    default:
      return in == out ? Aliasing::kSame : Aliasing::kOverlap;
  }
  // A block that starts inside the larger buffer at a multiple of the block size also
  // ends inside it.
  if (distance % block != 0) return Aliasing::kOverlap;
  return distance / block == rank ? Aliasing::kOwnBlock : Aliasing::kBlock;
}

bool InPlaceSafe(const OpShape& shape, Aliasing aliasing) {
  switch (aliasing) {
    case Aliasing::kDisjoint:
    case Aliasing::kOwnBlock:
      return true;
    case Aliasing::kSame:
      return !UsesWindowPlan(shape) || shape.op != Op::kAllToAll || shape.ranks == 1;
    case Aliasing::kBlock:
      return !UsesWindowPlan(shape);
    case Aliasing::kOverlap:
      break;
  }
  return false;
}

}  // namespace hcclrun
