#pragma once
// Copying one range to many places and reducing many ranges into many places: the inner loops of
// every collective.
//
// A kernel reads every source byte once and writes every destination byte once, from registers.
// It takes buffers of any alignment. It is a plain function of its arguments: no state, no
// locks, any thread.
//
// Aliasing: a destination may be exactly the source (CopyBytes) or exactly one of the sources
// (Reduce); all loads of a vector precede its stores. Any other overlap of a destination with a
// source or another destination gives undefined bytes.
//
// Streaming asks for stores that bypass the caches, for outputs too large to be read from a cache
// by whoever comes next. It is honoured only if all destinations lie alike in their 64-byte lines
// (and a line's end is an element's end), because every line must be written whole; otherwise
// ordinary stores are used. Such stores are weakly ordered against other stores, also those of an
// atomic release: a kernel that used them ends with a store fence, so that a caller may publish
// completion with an ordinary release as after any other store.

#include <cstdint>

#include "collective/types.h"

namespace hcclrun {

// Copies `n` bytes to `ndst` places. A destination equal to the source costs its stores unless it
// is the only one.
void CopyBytes(char* const* dst, int ndst, const char* src, uint64_t n, bool streaming);

// Element-wise dst[*][i] = src[0][i] op src[1][i] op ..., from left to right, for `count` elements.
// The combination must be one for which ReductionSupported holds; nsrc and ndst are at least 1.
//
// The result is one bit pattern, on every processor, in every split of the elements over calls:
// * fp16, bf16, fp32: each step is rounded to the element type, to nearest even; with
//   Accumulator::kFp32, steps of fp16 and bf16 are rounded to fp32 and the last one's result once
//   more to the element type. Subnormals and infinities are kept, overflow gives infinity. The
//   calling thread's rounding mode, flush-to-zero and traps are set aside meanwhile.
// * A result that is NaN is the positive quiet NaN without payload (which NaN an addition returns
//   differs between processors). max and min return it if any source is NaN, and order -0 before
//   +0.
// * Integers wrap around.
// * One source is copied as it is.
void Reduce(DataType type, ReduceOp op, void* const* dst, int ndst, const void* const* src,
            int nsrc, uint64_t count, bool streaming,
            Accumulator accumulator = Accumulator::kElementType);

}  // namespace hcclrun
