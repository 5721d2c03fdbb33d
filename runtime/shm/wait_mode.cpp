#include "shm/wait_mode.h"

#include <algorithm>

namespace hcclrun {

void WaitMode::Begin(int64_t now_ns, uint64_t done, uint64_t late) {
  begun_ = true;
  begin_ns_ = now_ns;
  begin_done_ = done;
  begin_late_ = late;
}

int64_t WaitMode::PerOperation(int64_t now_ns, uint64_t done) const {
  return (now_ns - begin_ns_) / static_cast<int64_t>(std::max<uint64_t>(1, done - begin_done_));
}

bool WaitMode::Gains(int64_t now_ns, uint64_t done) const {
  return done != begin_done_ && PerOperation(now_ns, done) * 3 / 2 <= yielding_ns_;
}

void WaitMode::FailedToGain() {
  late_to_try_ = std::min(late_to_try_ * 2, kManyLate);
  sleep_ns_ = kFirstSleepNs;
}

int64_t WaitMode::Late(int64_t now_ns, uint64_t done, uint64_t late) {
  if (state_ != State::kYields) {
    // The end of that has been missed, since others have taken the word back.
    if (now_ns < until_ns_) return 0;
    if (state_ == State::kSleeps) late_to_try_ = 1;
    state_ = State::kYields;
    begun_ = false;
    last_late_ns_ = now_ns;
  }
  const bool forgets = now_ns - last_late_ns_ > kForgetNs;
  last_late_ns_ = now_ns;
  if (!begun_ || forgets) {
    if (forgets) {
      late_to_try_ = kFewLate;
      sleep_ns_ = kFirstSleepNs;
    }
    Begin(now_ns, done, late - 1);
    return 0;
  }
  if (begin_late_ == kUnknown) begin_late_ = late - 1;
  if (late - begin_late_ < late_to_try_) return 0;
  const int64_t per_operation = PerOperation(now_ns, done);
  Begin(now_ns, done, late - 1);
  if (per_operation < kWorthNs) return 0;
  yielding_ns_ = per_operation;
  state_ = State::kTries;
  return until_ns_ = now_ns + std::clamp(per_operation * 4, kTryNs, kLongestTryNs);
}

void WaitMode::Sleeping(int64_t until_ns, int64_t now_ns) {
  if (state_ == State::kSleeps) return;
  const int64_t left = std::min(until_ns - now_ns, kLongestSleepNs);
  if (left <= kLongestTryNs) {  // somebody tries, or it is over soon
    if (state_ == State::kYields) begun_ = false;
    return;
  }
  state_ = State::kSleeps;
  yielding_ns_ = 0;
  until_ns_ = until_ns;
  sleep_ns_ = std::clamp(left * 2, sleep_ns_, kLongestSleepNs);
}

int64_t WaitMode::Over(int64_t now_ns, uint64_t done) {
  if (state_ == State::kYields || now_ns < until_ns_) return 0;
  const State before = state_;
  state_ = State::kYields;
  begun_ = false;
  last_late_ns_ = now_ns;
  if (now_ns - until_ns_ > kForgetNs) return 0;  // nobody has waited for that long
  if (before == State::kTries) {
    if (!Gains(now_ns, done)) {
      FailedToGain();
      return 0;
    }
    state_ = State::kSleeps;
    Begin(now_ns, done, kUnknown);
    until_ns_ = now_ns + sleep_ns_;
    sleep_ns_ = std::min(sleep_ns_ * 2, kLongestSleepNs);
    return until_ns_;
  }
  if (yielding_ns_ != 0 && !Gains(now_ns, done)) {  // it was by chance
    FailedToGain();
    return 0;
  }
  Begin(now_ns, done, kUnknown);
  late_to_try_ = 1;  // if it is still there
  return 0;
}

}  // namespace hcclrun
