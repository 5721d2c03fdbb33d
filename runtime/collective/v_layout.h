#pragma once
// Blocks of the V operations: what rank i contributes to rank j, where it lies in i's input and
// where it goes in j's output. Lengths and places differ from block to block, may leave gaps and
// need no order.

#include <cstdint>
#include <vector>

#include "collective/types.h"

namespace hcclrun {

// UINT64_MAX, which no memory has, where the sum does not fit.
constexpr uint64_t SaturatingSum(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

// Bytes. A block without bytes has no place: both offsets are 0, whatever
// the caller's displacements.
struct VBlock {
  uint64_t bytes = 0;
  uint64_t src = 0;  // from the start of the sender's input
  uint64_t dst = 0;  // from the start of the receiver's output
};

// One rank's blocks by peer. AllGatherV sends one block to everybody; ReduceScatterV's block for
// rank j is the same piece of every input.
struct VSide {
  std::vector<VBlock> outgoing, incoming;
};

// A caller's arrays in elements, one number per rank. AllGatherV has the recv arrays alone,
// ReduceScatterV the send arrays alone, AlltoAllV and AlltoAllVC have all four.
struct VArrays {
  const uint64_t* send_counts = nullptr;
  const uint64_t* send_displs = nullptr;
  const uint64_t* recv_counts = nullptr;
  const uint64_t* recv_displs = nullptr;
};

// The blocks of `rank` as its own arrays tell them; numbers that do not fit become UINT64_MAX. Of
// AlltoAllV they tell everything but the src of incoming blocks of other ranks, which stays 0: only
// the window path needs it, and only the sender's arrays have it.
VSide MakeVSide(Op op, uint32_t rank, uint32_t ranks, uint32_t elem, const VArrays& arrays);

// Bytes from the start of the input and of the output up to the end of the last block.
ExtentBytes VExtents(const VSide& side);

// The largest block, in bytes.
uint64_t LargestBlock(const VSide& side);

// What the plan of a V operation consults: the sides of ranks [first_rank, first_rank +
// sides.size()). A plan can be asked about pieces of these owners only, but phases and numbers of
// pieces are right for all: they depend on `largest` alone.
struct VLayout {
  uint32_t first_rank = 0;
  uint64_t largest = 0;  // bytes of the largest block between any two ranks
  std::vector<VSide> sides;

  const VSide& Of(uint32_t rank) const { return sides[rank - first_rank]; }
};

}  // namespace hcclrun
