#include "collective/v_layout.h"

#include <algorithm>

namespace hcclrun {
namespace {

uint64_t Product(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

VBlock Block(uint64_t count, uint64_t src, uint64_t dst, uint32_t elem) {
  if (count == 0) return {};
  return {Product(count, elem), Product(src, elem), Product(dst, elem)};
}

}  // namespace

VSide MakeVSide(Op op, uint32_t rank, uint32_t ranks, uint32_t elem, const VArrays& a) {
  VSide side;
  side.outgoing.resize(ranks);
  side.incoming.resize(ranks);
  for (uint32_t peer = 0; peer < ranks; ++peer) {
    switch (op) {
      case Op::kAllGatherV:
        side.outgoing[peer] = Block(a.recv_counts[rank], 0, a.recv_displs[rank], elem);
        side.incoming[peer] = Block(a.recv_counts[peer], 0, a.recv_displs[peer], elem);
        break;
      case Op::kReduceScatterV:
        side.outgoing[peer] = Block(a.send_counts[peer], a.send_displs[peer], 0, elem);
        side.incoming[peer] = Block(a.send_counts[rank], a.send_displs[rank], 0, elem);
        break;
      default:
        side.outgoing[peer] = Block(a.send_counts[peer], a.send_displs[peer],
                                    peer == rank ? a.recv_displs[rank] : 0, elem);
        side.incoming[peer] = Block(a.recv_counts[peer], peer == rank ? a.send_displs[rank] : 0,
                                    a.recv_displs[peer], elem);
        break;
    }
  }
  return side;
}

ExtentBytes VExtents(const VSide& side) {
  ExtentBytes extents{0, 0};
  for (const VBlock& block : side.outgoing)
    extents.in_bytes = std::max(extents.in_bytes, SaturatingSum(block.src, block.bytes));
  for (const VBlock& block : side.incoming)
    extents.out_bytes = std::max(extents.out_bytes, SaturatingSum(block.dst, block.bytes));
  return extents;
}

uint64_t LargestBlock(const VSide& side) {
  uint64_t largest = 0;
  for (const auto* blocks : {&side.outgoing, &side.incoming}) {
    for (const VBlock& block : *blocks) largest = std::max(largest, block.bytes);
  }
  return largest;
}

}  // namespace hcclrun
