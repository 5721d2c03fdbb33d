// The loop of every reduction, compiled once per instruction set (so without #pragma once:
// Highway's toggle decides).
//
// Blocks of four accumulators of the widest vectors, then single ones, then 16-byte ones, then a
// padded one. A block takes whole cache lines from each source and gives whole lines to each
// destination before it goes on to the next place (quick accumulators give them during the steps of
// the next block): ranks' buffers often lie at equal distances, where more than a few lines at a
// time would evict each other, and streaming stores must fill a line without pause.
//
// A *quick* accumulator (A::kQuick) is right only for ordinary values, which A::Valid tells from
// the first source and the results of a block; other blocks are done again with A::Exact.

#if defined(HCCLRUN_COLLECTIVE_KERNELS_LOOP_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HCCLRUN_COLLECTIVE_KERNELS_LOOP_H_
#undef HCCLRUN_COLLECTIVE_KERNELS_LOOP_H_
#else
#define HCCLRUN_COLLECTIVE_KERNELS_LOOP_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstring>

#include "collective/kernels_args.h"

#undef HCCLRUN_VECTORS
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
#define HCCLRUN_VECTORS 0
#else
#define HCCLRUN_VECTORS 1
#endif

HWY_BEFORE_NAMESPACE();
namespace hcclrun::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE const char* Source(const ReduceArgs& args, size_t i, uint64_t at) {
  return static_cast<const char*>(args.src[i]) + at;
}

HWY_INLINE char* Destination(const ReduceArgs& args, size_t i, uint64_t at) {
  return static_cast<char*>(args.dst[i]) + at;
}

template <class A>
HWY_INLINE void ReduceOne(const ReduceArgs& args, uint64_t at) {
  auto value = A::Load(Source(args, 0, at));
  for (size_t s = 1; s < args.nsrc; ++s) value = A::Step(value, Source(args, s, at));
  const auto result = A::Finish(value);
  for (size_t d = 0; d < args.ndst; ++d) A::Store(result, Destination(args, d, at));
}

template <class A, class Result>
HWY_INLINE void StoreFour(const ReduceArgs& args, uint64_t at, Result r0, Result r1, Result r2,
                          Result r3) {
  constexpr size_t kBytes = A::kBytes;
  if (args.stream) {
    for (size_t d = 0; d < args.ndst; ++d) {
      char* q = Destination(args, d, at);
      A::Stream(r0, q);
      A::Stream(r1, q + kBytes);
      A::Stream(r2, q + 2 * kBytes);
      A::Stream(r3, q + 3 * kBytes);
    }
  } else {
    for (size_t d = 0; d < args.ndst; ++d) {
      char* q = Destination(args, d, at);
      A::Store(r0, q);
      A::Store(r1, q + kBytes);
      A::Store(r2, q + 2 * kBytes);
      A::Store(r3, q + 3 * kBytes);
    }
  }
}

// A block whose values a quick accumulator cannot handle. Nothing of the block has been stored yet.
template <class A>
HWY_NOINLINE void ReduceFourAgain(const ReduceArgs& args, uint64_t at) {
  for (int i = 0; i < 4; ++i) ReduceOne<A>(args, at + i * A::kBytes);
}

template <class A>
HWY_INLINE void ReduceFour(const ReduceArgs& args, uint64_t at) {
  constexpr size_t kBytes = A::kBytes;
  const char* p = Source(args, 0, at);
  auto v0 = A::Load(p);
  auto v1 = A::Load(p + kBytes);
  auto v2 = A::Load(p + 2 * kBytes);
  auto v3 = A::Load(p + 3 * kBytes);
  for (size_t s = 1; s < args.nsrc; ++s) {
    p = Source(args, s, at);
    v0 = A::Step(v0, p);
    v1 = A::Step(v1, p + kBytes);
    v2 = A::Step(v2, p + 2 * kBytes);
    v3 = A::Step(v3, p + 3 * kBytes);
  }
  StoreFour<A>(args, at, A::Finish(v0), A::Finish(v1), A::Finish(v2), A::Finish(v3));
}

// The block at `at` of one destination from the four results in `block`.
template <class A>
HWY_INLINE void StoreBlock(const ReduceArgs& args, size_t d, uint64_t at, const char* block) {
  constexpr size_t kBytes = A::kBytes;
  char* q = Destination(args, d, at);
  const auto r0 = A::LoadResult(block);
  const auto r1 = A::LoadResult(block + kBytes);
  const auto r2 = A::LoadResult(block + 2 * kBytes);
  const auto r3 = A::LoadResult(block + 3 * kBytes);
  if (args.stream) {
    A::Stream(r0, q);
    A::Stream(r1, q + kBytes);
    A::Stream(r2, q + 2 * kBytes);
    A::Stream(r3, q + 3 * kBytes);
  } else {
    A::Store(r0, q);
    A::Store(r1, q + kBytes);
    A::Store(r2, q + 2 * kBytes);
    A::Store(r3, q + 3 * kBytes);
  }
}

// Blocks with quick accumulators; returns where they end. A step takes so long here that the
// processor, left alone, would alternate between calculating and waiting for memory: it does not
// see far enough ahead to fetch the next blocks in time, and a block's stores to many destinations
// fill its store queue. So lines are asked for well before they are needed, and the stores of one
// block are spread over the steps of the next (whose addresses are others, whatever destination is
// also a source).
template <class A>
HWY_INLINE uint64_t ReduceBlocksQuickly(const ReduceArgs& args, uint64_t at) {
  constexpr size_t kBytes = A::kBytes, kBlock = 4 * kBytes;
  constexpr uint64_t kAhead = 1024;
  alignas(64) char block[kBlock];  // the results of the block before `at`
  size_t stored = args.ndst;       // how many destinations have them
  for (; args.bytes - at >= kBlock; at += kBlock) {
    const bool prefetch = args.bytes - at > kAhead + kBlock;
    const auto fetch = [prefetch](const char* p) HWY_ATTR {
      if (!prefetch) return;
      for (size_t line = 0; line < kBlock; line += 64) hwy::Prefetch(p + kAhead + line);
    };
    const char* p = Source(args, 0, at);
    fetch(p);
    auto v0 = A::Load(p);
    auto v1 = A::Load(p + kBytes);
    auto v2 = A::Load(p + 2 * kBytes);
    auto v3 = A::Load(p + 3 * kBytes);
    for (size_t s = 1; s < args.nsrc; ++s) {
      p = Source(args, s, at);
      fetch(p);
      v0 = A::Step(v0, p);
      v1 = A::Step(v1, p + kBytes);
      v2 = A::Step(v2, p + 2 * kBytes);
      v3 = A::Step(v3, p + 3 * kBytes);
      if (stored < args.ndst) StoreBlock<A>(args, stored++, at - kBlock, block);
    }
    while (stored < args.ndst) StoreBlock<A>(args, stored++, at - kBlock, block);
    const auto r0 = A::Finish(v0);
    const auto r1 = A::Finish(v1);
    const auto r2 = A::Finish(v2);
    const auto r3 = A::Finish(v3);
    if (HWY_UNLIKELY(!A::Valid(Source(args, 0, at), r0, r1, r2, r3))) {
      ReduceFourAgain<typename A::Exact>(args, at);
    } else if (args.nsrc == 2) {  // hardly a step to spread them over
      StoreFour<A>(args, at, r0, r1, r2, r3);
    } else {
      A::Store(r0, block);
      A::Store(r1, block + kBytes);
      A::Store(r2, block + 2 * kBytes);
      A::Store(r3, block + 3 * kBytes);
      stored = 0;
    }
  }
  while (stored < args.ndst) StoreBlock<A>(args, stored++, at - kBlock, block);
  return at;
}

template <class A>
HWY_INLINE uint64_t ReduceEach(const ReduceArgs& args, uint64_t at, uint64_t end) {
  for (; end - at >= A::kBytes; at += A::kBytes) ReduceOne<A>(args, at);
  return at;
}

// The `n` < 16 bytes from `from` to `to`.
HWY_INLINE void CopyPart(char* to, const char* from, uint64_t n) {
  if (n & 8) {
    std::memcpy(to, from, 8);
    to += 8;
    from += 8;
  }
  if (n & 4) {
    std::memcpy(to, from, 4);
    to += 4;
    from += 4;
  }
  if (n & 2) {
    std::memcpy(to, from, 2);
    to += 2;
    from += 2;
  }
  if (n & 1) *to = *from;
}

// [at, end), which is less than a narrow vector: as one that is filled up with zeros.
template <class A>
HWY_INLINE void ReducePart(const ReduceArgs& args, uint64_t at, uint64_t end) {
  alignas(16) char buffer[16] = {};
  CopyPart(buffer, Source(args, 0, at), end - at);
  auto value = A::Load(buffer);
  for (size_t s = 1; s < args.nsrc; ++s) {
    CopyPart(buffer, Source(args, s, at), end - at);
    value = A::Step(value, buffer);
  }
  A::Store(A::Finish(value), buffer);
  for (size_t d = 0; d < args.ndst; ++d) CopyPart(Destination(args, d, at), buffer, end - at);
}

// Block: accumulators for blocks of four, Wide: of the widest vectors, Narrow: of 16 bytes, Scalar:
// of one element.
template <class Block, class Wide, class Narrow, class Scalar>
HWY_NOINLINE void ReduceVectors(const ReduceArgs& args) {
  static_assert(Narrow::kBytes == 16);
  // Filling up costs a stall of the store buffer per source; a few elements are quicker one by one.
  const auto reduce_part = [&](uint64_t from, uint64_t end) HWY_ATTR {
    if (end - from <= Scalar::kFew * Scalar::kBytes) {
      ReduceEach<Scalar>(args, from, end);
    } else {
      ReducePart<Narrow>(args, from, end);
    }
  };
  uint64_t at = 0;
  if (args.stream) {
    at = ReduceEach<Narrow>(args, at, args.head);
    reduce_part(at, args.head);
    at = args.head;
  }
  if constexpr (Block::kQuick) {
    at = ReduceBlocksQuickly<Block>(args, at);
  } else {
    for (; args.bytes - at >= 4 * Block::kBytes; at += 4 * Block::kBytes)
      ReduceFour<Block>(args, at);
  }
  at = ReduceEach<Wide>(args, at, args.bytes);
  if constexpr (Narrow::kBytes < Wide::kBytes) at = ReduceEach<Narrow>(args, at, args.bytes);
  reduce_part(at, args.bytes);
}

// Where there are no vectors.
template <class A>
HWY_NOINLINE void ReduceElements(const ReduceArgs& args) {
  ReduceEach<A>(args, 0, args.bytes);
}

}  // namespace HWY_NAMESPACE
}  // namespace hcclrun::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
