#include "comm/issue_lock.h"

#include <deque>
#include <mutex>

namespace hcclrun {

IssueLock* IssueLock::Make() {
  static auto* mutex = new std::mutex();
  static auto* all = new std::deque<IssueLock>();  // stays where it is
  std::lock_guard<std::mutex> lock(*mutex);
  return &all->emplace_back();
}

}  // namespace hcclrun
