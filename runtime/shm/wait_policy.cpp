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
  int64_t until = s.sleep_until_ns.load(std::memory_order_relaxed);
  const int64_t now = NowNs();
  std::lock_guard<std::mutex> lock(mutex_);
  if (until > now) {
    mode_.Sleeping(until, now);
    return true;
  }
  const bool own = mode_.until_ns() == until;
  if (const int64_t longer = mode_.Over(now, Done(s))) {
    Raise(s.sleep_until_ns, longer);
    return true;
  }
  if (own) s.sleep_until_ns.compare_exchange_strong(until, 0, std::memory_order_relaxed);
  return false;
}

void WaitPolicy::WasLate(const Surroundings& s) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const int64_t until = mode_.Late(NowNs(), Done(s))) Raise(s.sleep_until_ns, until);
}

}  // namespace hcclrun
