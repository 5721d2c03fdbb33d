#pragma once
// What the kernel files share: the argument block and the set of instruction sets they are compiled
// for. Internal to the layer. To be included before any Highway header.

#include <cstddef>
#include <cstdint>

#include "collective/types.h"

// Compiled for AVX-512, AVX2, SSE4 and NEON, besides the plain C++ fallback. SVE vectors have no
// size at compile time and so cannot be members of the kernels' accumulators; NEON runs on every
// machine that has SVE.
#define HWY_DISABLED_TARGETS \
  (HWY_AVX3_DL | HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

namespace hcclrun::kernels {

struct CopyArgs {
  char* const* dst;
  size_t ndst;
  const char* src;
  uint64_t bytes;
  bool stream;  // `head` bytes (less than 64) lead every destination to a line boundary
  uint64_t head;
};

void CopyMany(const CopyArgs& args);

struct ReduceArgs {
  void* const* dst;
  size_t ndst;
  const void* const* src;
  size_t nsrc;     // at least 2
  uint64_t bytes;  // per source, whole elements
  bool stream;     // `head` bytes, whole elements, lead every destination to a line boundary
  uint64_t head;
};

// Each handles a group of types; the combination must be supported.
void ReduceIntegers(DataType type, ReduceOp op, const ReduceArgs& args);
// And products.
void ReduceFloatSums(DataType type, ReduceOp op, Accumulator accumulator, const ReduceArgs& args);
void ReduceFloatExtrema(DataType type, ReduceOp op, const ReduceArgs& args);

}  // namespace hcclrun::kernels
