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

int64_t WaitMode::Late(int64_t now_ns, uint64_t done, uint64_t late) {
  if (state_ != State::kYields) {
    // The end of that has been missed, since others have taken the word back.
    if (now_ns < until_ns_) return 0;
    state_ = State::kYields;
    begun_ = false;
  }
  if (!begun_ || now_ns - begin_ns_ > kForgetNs) {
    if (begun_) {
      late_to_try_ = kFewLate;
      sleep_ns_ = kFirstSleepNs;
    }
    Begin(now_ns, done, late - 1);  // this one counts
    return 0;
  }
  if (begin_late_ == kUnknown) begin_late_ = late - 1;
  if (late - begin_late_ < late_to_try_) return 0;
  const int64_t per_operation = PerOperation(now_ns, done);
  Begin(now_ns, done, late - 1);
  if (per_operation < kWorthNs) return 0;
  yielding_ns_ = per_operation;
  state_ = State::kTries;
  return until_ns_ = now_ns + kTryNs;
}

void WaitMode::Sleeping(int64_t until_ns, int64_t now_ns) {
  if (state_ != State::kYields) return;
  begun_ = false;
  const int64_t left = std::min(until_ns - now_ns, kLongestSleepNs);
  if (left <= kTryNs) return;  // another one tries, or it is over soon
  state_ = State::kSleeps;
  until_ns_ = until_ns;
  sleep_ns_ = std::clamp(left * 2, sleep_ns_, kLongestSleepNs);
}

int64_t WaitMode::Over(int64_t now_ns, uint64_t done) {
  if (state_ == State::kYields) return 0;
  if (state_ == State::kTries) {
    if (done == begin_done_ || PerOperation(now_ns, done) * 3 / 2 > yielding_ns_) {
      state_ = State::kYields;
      begun_ = false;
      late_to_try_ = std::min(late_to_try_ * 2, kManyLate);
      return 0;
    }
    state_ = State::kSleeps;
    until_ns_ = now_ns + sleep_ns_;
    sleep_ns_ = std::min(sleep_ns_ * 2, kLongestSleepNs);
    return until_ns_;
  }
  state_ = State::kYields;
  Begin(now_ns, done, kUnknown);
  late_to_try_ = 1;  // if it is still there
  return 0;
}

}  // namespace hcclrun
