#include "comm/short_operation.h"

#include <cstring>

#include "collective/kernels.h"
#include "collective/plan.h"

namespace hcclrun {
namespace {

constexpr uint32_t kMostRanks = 64;

struct Addresses {
  char *in[kMostRanks], *out[kMostRanks];
};

// What the window path bears, the same order of loads and stores bears here.
bool InPlaceSafeAlone(OpShape& shape, uint32_t rank, const Descriptor& d,
                      const ExtentBytes& extents) {
  if (extents.in_bytes == 0 || extents.out_bytes == 0 || shape.ranks == 1) return true;
  shape.path = Path::kWindow;
  return InPlaceSafe(shape, ClassifyAliasing(shape, rank, d.in_offset, d.out_offset));
}

void Copy(char* to, const char* from, uint64_t bytes) {
  if (to != from) std::memmove(to, from, bytes);
}

void Execute(const OpShape& shape, const Descriptor& own, const Addresses& places,
             Accumulator accumulator) {
  const uint32_t ranks = shape.ranks, root = shape.root;
  const uint64_t block = shape.count * shape.elem;
  // Not a structured binding, which C++20's lambdas may capture, but not clang 14's.
  char *const *in = places.in, *const *out = places.out;
  const auto reduce = [&](char* const* to, uint32_t n, uint64_t offset) {
    const void* from[kMostRanks];
    for (uint32_t r = 0; r < ranks; r++) from[r] = in[r] + offset;
    Reduce(static_cast<DataType>(own.dtype), static_cast<ReduceOp>(own.reduce_op),
           reinterpret_cast<void* const*>(to), static_cast<int>(n), from, static_cast<int>(ranks),
           shape.count, false, accumulator);
  };
  if (ranks == 1) {
    if (block) Copy(out[0], in[0], block);
    return;
  }
  switch (shape.op) {
    case Op::kAllReduce:
      return reduce(out, ranks, 0);
    case Op::kReduce:
      return reduce(&out[root], 1, 0);
    case Op::kReduceScatter:
      for (uint32_t r = 0; r < ranks; r++) reduce(&out[r], 1, r * block);
      return;
    case Op::kAllGather:
      for (uint32_t r = 0; r < ranks; r++) {
        for (uint32_t to = 0; to < ranks; to++) Copy(out[to] + r * block, in[r], block);
      }
      return;
    case Op::kAllToAll:
      for (uint32_t r = 0; r < ranks; r++) {
        for (uint32_t to = 0; to < ranks; to++)
          Copy(out[to] + r * block, in[r] + to * block, block);
      }
      return;
    case Op::kBroadcast:
      for (uint32_t to = 0; to < ranks; to++) Copy(out[to], in[root], block);
      return;
    case Op::kScatter:
      for (uint32_t to = 0; to < ranks; to++) Copy(out[to], in[root] + to * block, block);
      return;
    default:
      return;
  }
}

}  // namespace

bool ExecuteShort(const Communicator& comm, const Descriptor& own, Path* path) {
  const uint32_t ranks = comm.size();
  if (ranks > kMostRanks) return false;
  OpShape shape;
  shape.op = static_cast<Op>(own.op);
  shape.ranks = ranks;
  shape.root = own.root;
  shape.count = own.count;
  shape.elem = ElementSize(static_cast<DataType>(own.dtype));
  Addresses places;
  bool window = true;
  for (uint32_t r = 0; r < ranks; r++) {
    // Nothing read from shared memory is used as an address without a check of the copy.
    Descriptor d;
    std::memcpy(static_cast<void*>(&d), &comm.view().descriptor(own.sequence, r), kDescriptorLine);
    const ExtentBytes extents =
        Extents(shape.op, shape.count, shape.elem, ranks, r, shape.root);
    const bool direct = (d.flags & kFlagWindow) && !(d.flags & kFlagUnsafe);
    window = window && direct;
    if (d.flags & (kFlagPrivateIn | kFlagPrivateOut)) return false;
    const uint64_t heap = comm.heap_bytes(r);
    if (extents.in_bytes > heap || d.in_offset > heap - extents.in_bytes ||
        extents.out_bytes > heap || d.out_offset > heap - extents.out_bytes)
      return false;
    if (!direct && !InPlaceSafeAlone(shape, r, d, extents)) return false;
    char* const base = comm.heap_base(r);
    places.in[r] = base + d.in_offset;
    places.out[r] = base + d.out_offset;
  }
  *path = window ? Path::kWindow : Path::kBuffered;
  Execute(shape, own, places,
          comm.view().header->accumulate_fp32 ? Accumulator::kFp32 : Accumulator::kElementType);
  return true;
}

}  // namespace hcclrun
