#pragma once
// Monotonic time in nanoseconds: comparable between processes of one machine (CLOCK_MONOTONIC).

#include <cstdint>
#include <ctime>

namespace hcclrun {

inline int64_t NowNs() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// A point in time after which a wait gives up. Never() does not give up.
class Deadline {
 public:
  static Deadline Never() { return Deadline(INT64_MAX); }
  static Deadline After(int64_t milliseconds) {
    return milliseconds < 0 ? Never() : Deadline(NowNs() + milliseconds * 1'000'000);
  }
  bool never() const { return at_ns_ == INT64_MAX; }
  bool passed() const { return !never() && NowNs() >= at_ns_; }
  // Nanoseconds until the deadline, at most `limit_ns`, at least 0.
  int64_t Remaining(int64_t limit_ns) const {
    if (never()) return limit_ns;
    int64_t left = at_ns_ - NowNs();
    return left < 0 ? 0 : left < limit_ns ? left : limit_ns;
  }
  // Moves the deadline; used when waiting ranks stand still under a debugger.
  void Extend(int64_t ns) {
    if (!never()) at_ns_ += ns;
  }

 private:
  explicit Deadline(int64_t at) : at_ns_(at) {}
  int64_t at_ns_;
};

// A time-out that begins with the first look at it: that of a task runs from when its stream comes
// to it, not from the call that queued it. One thread at a time.
class Timeout {
 public:
  explicit Timeout(int64_t milliseconds) : milliseconds_(milliseconds) {}  // < 0: never passes
  void Begin() {
    if (!begun_) deadline_ = Deadline::After(milliseconds_);
    begun_ = true;
  }
  bool passed() {
    Begin();
    return deadline_.passed();
  }
  int64_t Remaining(int64_t limit_ns) {
    Begin();
    return deadline_.Remaining(limit_ns);
  }
  int64_t milliseconds() const { return milliseconds_; }

 private:
  const int64_t milliseconds_;
  bool begun_ = false;
  Deadline deadline_ = Deadline::Never();
};

}  // namespace hcclrun
