#pragma once
// How many ticks a span of time is, to within a percent or so: for code that looks at the time so
// often, or with so few pages at hand, that a look at the clock would count.

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/ticks.h"

namespace hcclrun {

// Any thread.
class TickScale {
 public:
  // 0 in the first milliseconds of the scale, and always where ticks are not steady.
  int64_t TicksIn(int64_t ns) const {
    int64_t in_ms = ticks_in_ms_.load(std::memory_order_relaxed);
    if (in_ms == kUnknown) in_ms = Learn();
    return in_ms * ns / 1'000'000;
  }

 private:
  static constexpr int64_t kUnknown = -1, kLongEnoughNs = 5'000'000;

  // Threads that learn at once come to much the same.
  int64_t Learn() const {
    const int64_t ns = NowNs() - begin_ns_;
    if (ns < kLongEnoughNs) return 0;
    const auto ticks = static_cast<double>(Ticks() - begin_ticks_);
    const int64_t in_ms = TicksAreSteady() ? static_cast<int64_t>(ticks * 1e6 / ns) : 0;
    ticks_in_ms_.store(in_ms, std::memory_order_relaxed);
    return in_ms;
  }

  const uint64_t begin_ticks_ = Ticks();
  const int64_t begin_ns_ = NowNs();
  mutable std::atomic<int64_t> ticks_in_ms_{kUnknown};
};

}  // namespace hcclrun
