#pragma once
// Which blocks of a heap have pages: one bit per 64 KiB. The bits say what was charged to
// the budget, so a block is committed once however often it is handed out. Pure
// bookkeeping; not thread-safe.

#include <cstdint>
#include <functional>
#include <vector>

namespace hcclrun {

inline constexpr uint64_t kCommitBlock = uint64_t{64} << 10;

class CommitMap {
 public:
  explicit CommitMap(uint64_t bytes) : words_((bytes / kCommitBlock + 63) / 64) {}

  // Calls visit(offset, bytes) for every maximal run of blocks that touch [offset, +bytes) and are
  // (`committed`) or are not committed; runs are whole blocks. Stops when visit returns false.
  // visit may call Mark on its run.
  void ForEachRun(uint64_t offset, uint64_t bytes, bool committed,
                  const std::function<bool(uint64_t, uint64_t)>& visit) const;
  // Bytes of the blocks that touch [offset, +bytes) and are not committed.
  uint64_t MissingBytes(uint64_t offset, uint64_t bytes) const;
  void Mark(uint64_t offset, uint64_t bytes, bool committed);  // whole blocks
  uint64_t committed_bytes() const { return committed_ * kCommitBlock; }

 private:
  bool Get(uint64_t block) const { return words_[block / 64] >> (block % 64) & 1; }
  // The first block in [block, end) that is committed or not, else `end`.
  uint64_t Next(uint64_t block, uint64_t end, bool committed) const;
  std::vector<uint64_t> words_;
  uint64_t committed_ = 0;  // blocks
};

}  // namespace hcclrun
