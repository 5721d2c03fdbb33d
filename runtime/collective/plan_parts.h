#pragma once
// Arithmetic shared by the two families of plans: cutting bytes into shares. Internal to the layer.

#include <algorithm>
#include <cstdint>

#include "collective/plan.h"

namespace hcclrun::plan {

// Shares end on multiples of this, so that no two pieces write to one cache line of an aligned
// buffer and vector stores need no head.
inline constexpr uint64_t kLine = 64;

struct Range {
  uint64_t begin;
  uint64_t bytes;
};

// Start of share `index` of `shares` equal shares of `bytes`; index == shares is the end. Too few
// bytes leave the last shares empty.
constexpr uint64_t ShareBegin(uint64_t bytes, uint64_t shares, uint64_t index) {
  const uint64_t lines = bytes / kLine + (bytes % kLine != 0);
  const uint64_t begin = index * (lines / shares) + std::min(index, lines % shares);
  return std::min(bytes, begin * kLine);
}

// Shares [index, index + n) as one range.
constexpr Range Share(uint64_t bytes, uint64_t shares, uint64_t index, uint64_t n = 1) {
  if (shares == 1) return {0, bytes};  // most often, and without a division
  const uint64_t begin = ShareBegin(bytes, shares, index);
  return {begin, ShareBegin(bytes, shares, index + n) - begin};
}

// Into how many pieces each of `transfers` transfers of a rank is cut so that there are at least
// `split`.
constexpr uint64_t CutsPer(uint64_t split, uint64_t transfers) {
  return (split + transfers - 1) / transfers;
}

}  // namespace hcclrun::plan
