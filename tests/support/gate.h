#pragma once
// A stream that is held up, by a host function.

#include <atomic>
#include <thread>

#include "support/rank_session.h"

namespace hcclrun::testing {

// Holds a stream up until it goes out of scope: what is queued behind it is in flight.
class Gate {
 public:
  explicit Gate(aclrtStream stream) : stream_(stream) {
    REQUIRE_OK(aclrtLaunchHostFunc(
        stream,
        [](void* open) {
          while (!static_cast<std::atomic<bool>*>(open)->load(std::memory_order_acquire))
            std::this_thread::yield();
        },
        &open_));
  }
  ~Gate() { Open(); }
  void Open() {
    open_.store(true, std::memory_order_release);
    (void)aclrtSynchronizeStream(stream_);
  }
  // Without waiting for what is behind it.
  void Unlock() { open_.store(true, std::memory_order_release); }

 private:
  aclrtStream stream_;
  std::atomic<bool> open_{false};
};

}  // namespace hcclrun::testing
