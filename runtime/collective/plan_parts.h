#pragma once
// Shared by the families of plans: cutting bytes into shares, making pieces. Internal to the layer.

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

// Into how many pieces each of `transfers` transfers of a rank is cut so that there are
// at least `split`.
constexpr uint64_t CutsPer(uint64_t split, uint64_t transfers) {
  return (split + transfers - 1) / transfers;
}

constexpr uint64_t RoundDown(uint64_t value, uint64_t unit) { return value - value % unit; }

// In whole cache lines where the buffer is large enough, else in whole elements of any type.
constexpr uint64_t RoundDownToUnit(uint64_t bytes) {
  return RoundDown(bytes, bytes >= kLine ? kLine : 16);
}

// One piece's place in its step of the buffered path.
struct Task {
  uint32_t owner;
  uint64_t transfer;
  uint64_t cut;  // of the transfer
  uint64_t cuts;
  uint64_t half;   // offset of the round's half in a stage buffer
  uint64_t base;   // offset of the round in every block
  uint64_t bytes;  // of the round in every block; V operations: in the largest block
};

// The rank `distance` <= ranks behind `rank`, in a circle: owners that run side by side and count
// distances from 0 work on different ranks.
constexpr uint32_t PeerBehind(uint32_t rank, uint64_t distance, uint32_t ranks) {
  const uint64_t peer = rank + distance;
  return static_cast<uint32_t>(peer < ranks ? peer : peer - ranks);
}

inline Piece Copy(uint32_t src_rank, Space src_space, uint64_t src_offset, uint32_t dst_rank,
                  Space dst_space, uint64_t dst_offset, uint64_t bytes) {
  Piece piece;
  piece.src_rank = src_rank;
  piece.src_space = src_space;
  piece.src_offset = src_offset;
  piece.dst_rank = dst_rank;
  piece.dst_space = dst_space;
  piece.dst_offset = dst_offset;
  piece.bytes = bytes;
  return piece;
}

// From all ranks' first stage buffers to the owner's memory.
inline Piece Reduce(uint64_t src_offset, uint32_t owner, Space dst_space, uint64_t dst_offset,
                    uint64_t bytes) {
  Piece piece = Copy(kAllRanks, Space::kStageA, src_offset, owner, dst_space, dst_offset, bytes);
  piece.kind = Piece::kReduce;
  return piece;
}

}  // namespace hcclrun::plan
