#pragma once
// How much the operations under way write before anybody can read it.

#include <algorithm>
#include <cstdint>

namespace hcclrun {

// Of operations that are queued behind each other without waiting, each may fit into the caches,
// and all of their outputs not: what the first wrote is gone before the program, which waits for
// the last, reads it. Unless they write to the same memory again and again. So this counts outputs
// that lie outside of what those before them cover, from the last time that none was under way. One
// thread at a time.
class OutputCount {
 public:
  // With that of an operation which is being called; `alone`: no other is under way.
  uint32_t Add(const char* output, uint64_t bytes, bool alone) {
    const char* const end = output + bytes;
    if (alone || count_ == 0) {
      begin_ = output;
      end_ = end;
      count_ = 1;
    } else if (end <= begin_ || end_ <= output) {
      begin_ = std::min(begin_, output);
      end_ = std::max(end_, end);
      count_++;
    }
    return count_;
  }

 private:
  const char *begin_ = nullptr, *end_ = nullptr;
  uint32_t count_ = 0;
};

}  // namespace hcclrun
