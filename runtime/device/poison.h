#pragma once
// HCCLRUN_STRICT: memory whose contents nobody may rely on is filled with words that can be
// recognised. Without it all of this does nothing. Every pattern is a NaN as fp32, bf16 and fp64,
// and every other element as fp16.

#include <cstdint>

namespace hcclrun {

enum class Poison : uint32_t {
  kFresh = 0xffffa110,     // allocated and not written yet
  kFreed = 0xffffdead,     // given back
  kExpected = 0xffffbad0,  // what an operation is about to write
  kConsumed = 0xffffc10b,  // the input of a reduction that hardware uses as scratch memory
};

// `at` is an address of the library's view; any alignment, the pattern is anchored at addresses
// that are multiples of 4.
void FillPoison(char* at, uint64_t bytes, Poison poison);

}  // namespace hcclrun
