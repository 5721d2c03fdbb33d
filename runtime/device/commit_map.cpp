#include "device/commit_map.h"

#include <algorithm>

namespace hcclrun {

void CommitMap::ForEachRun(uint64_t offset, uint64_t bytes, bool committed,
                           const std::function<bool(uint64_t, uint64_t)>& visit) const {
  if (bytes == 0) return;
  uint64_t block = offset / kCommitBlock, end = (offset + bytes - 1) / kCommitBlock + 1;
  while ((block = Next(block, end, committed)) < end) {
    uint64_t first = block;
    block = Next(block, end, !committed);
    if (!visit(first * kCommitBlock, (block - first) * kCommitBlock)) return;
  }
}

uint64_t CommitMap::Next(uint64_t block, uint64_t end, bool committed) const {
  while (block < end) {
    uint64_t word = committed ? words_[block / 64] : ~words_[block / 64];
    word >>= block % 64;
    if (word) return std::min(end, block + __builtin_ctzll(word));
    block = (block / 64 + 1) * 64;
  }
  return end;
}

uint64_t CommitMap::MissingBytes(uint64_t offset, uint64_t bytes) const {
  uint64_t missing = 0;
  ForEachRun(offset, bytes, false, [&](uint64_t, uint64_t run) {
    missing += run;
    return true;
  });
  return missing;
}

void CommitMap::Mark(uint64_t offset, uint64_t bytes, bool committed) {
  for (uint64_t block = offset / kCommitBlock; block < (offset + bytes) / kCommitBlock; block++) {
    if (Get(block) == committed) continue;
    words_[block / 64] ^= uint64_t{1} << (block % 64);
    committed ? committed_++ : committed_--;
  }
}

}  // namespace hcclrun
