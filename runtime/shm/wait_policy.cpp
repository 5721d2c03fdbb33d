#include "shm/wait_policy.h"

namespace hcclrun {
namespace {

void Raise(std::atomic<int64_t>& word, int64_t to) {
  int64_t seen = word.load(std::memory_order_relaxed);
  while (seen < to && !word.compare_exchange_weak(seen, to, std::memory_order_relaxed)) {
  }
}

}  // namespace

// The word is set: whether its time has still to pass.
bool WaitPolicy::Sleeps(const Surroundings& s) {
  int64_t until = s.words.sleep_until_ns.load(std::memory_order_relaxed);
  const int64_t now = NowNs();
  std::lock_guard<std::mutex> lock(mutex_);
  WaitMode& mode = modes_[s.takes_long];
  if (until > now) {
    mode.Sleeping(until, now);
    return true;
  }
  const bool own = mode.until_ns() == until;
  if (const int64_t longer = mode.Over(now, Done(s))) {
    Raise(s.words.sleep_until_ns, longer);
    return true;
  }
  if (own) s.words.sleep_until_ns.compare_exchange_strong(until, 0, std::memory_order_relaxed);
  return false;
}

void WaitPolicy::WasLate(const Surroundings& s) {
  const uint64_t done = Done(s);
  if (s.words.last_late.exchange(done, std::memory_order_relaxed) != done)
    s.words.late.fetch_add(1, std::memory_order_relaxed);
  const uint64_t late = s.words.late.load(std::memory_order_relaxed);
  std::lock_guard<std::mutex> lock(mutex_);
  if (const int64_t until = modes_[s.takes_long].Late(NowNs(), done, late))
    Raise(s.words.sleep_until_ns, until);
}

}  // namespace hcclrun
