#include "shm/wait_policy.h"

namespace hcclrun {
namespace {

void Raise(std::atomic<int64_t>& word, int64_t to) {
  int64_t seen = word.load(std::memory_order_relaxed);
  while (seen < to && !word.compare_exchange_weak(seen, to, std::memory_order_relaxed)) {
  }
}

void TakeBack(std::atomic<int64_t>& word, int64_t said) {
  word.compare_exchange_strong(said, 0, std::memory_order_relaxed);
}

}  // namespace

// The word is set: whether its time has still to pass.
bool WaitPolicy::Sleeps(const Surroundings& s) {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  const int64_t until = s.words.sleep_until_ns.load(std::memory_order_relaxed);
  const int64_t now = NowNs();
  if (!lock) return until > now;
  // What nobody can have said, and what whoever has said it does not take back.
  constexpr int64_t kOdd = 2 * WaitMode::kLongestSleepNs;
  if (until > now + kOdd || until < now - kOdd) {
    TakeBack(s.words.sleep_until_ns, until);
    return false;
  }
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
  if (own) TakeBack(s.words.sleep_until_ns, until);
  return false;
}

void WaitPolicy::WasLate(const Surroundings& s) {
  std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t done = Done(s);
  if (s.words.last_late.exchange(done + 1, std::memory_order_relaxed) != done + 1)
    s.words.late.fetch_add(1, std::memory_order_relaxed);
  const uint64_t late = s.words.late.load(std::memory_order_relaxed);
  if (const int64_t until = modes_[s.takes_long].Late(NowNs(), done, late))
    Raise(s.words.sleep_until_ns, until);
}

}  // namespace hcclrun
