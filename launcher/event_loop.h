#pragma once
// The launcher's only wait: descriptors (epoll, level-triggered) and timers, in one thread.
// Handlers may watch, change and forget any descriptor, their own included. The order of handlers
// in one round is the order in which the descriptors became ready, as far as the kernel tells.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "launcher/fd.h"

namespace hcclrun {

class EventLoop {
 public:
  using Handler = std::function<void(uint32_t events)>;
  using TimerId = uint64_t;

  EventLoop();
  // `events` as for epoll. False when the descriptor cannot be polled (regular files, /dev/null):
  // it never blocks.
  bool Watch(int fd, uint32_t events, Handler handler);
  // 0 = silent, not even a hang-up is reported.
  void Change(int fd, uint32_t events);
  // To be called before the descriptor is closed. Unknown descriptors are ignored.
  void Forget(int fd);

  // `handler` runs once, `milliseconds` from now.
  TimerId After(int64_t milliseconds, std::function<void()> handler);
  void Cancel(TimerId id);
  // Moves every timer; used after the launcher itself stood still.
  void DelayTimers(int64_t nanoseconds);

  // Waits until something happens, at most `max_wait_ms` (-1 = no bound), and runs what is due.
  void RunOnce(int max_wait_ms);

 private:
  struct Entry {
    uint32_t generation;
    uint32_t events;
    std::shared_ptr<Handler> handler;
  };
  struct Timer {
    int64_t at_ns;
    std::function<void()> handler;
  };
  int NextTimerMs(int max_wait_ms) const;
  void RunTimers();

  Fd epoll_;
  uint32_t generation_ = 0;
  TimerId next_timer_ = 1;
  std::map<int, Entry> entries_;
  std::map<TimerId, Timer> timers_;
};

}  // namespace hcclrun
