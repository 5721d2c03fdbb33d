#include "launcher/event_loop.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/clock.h"

namespace hcclrun {

EventLoop::EventLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

bool EventLoop::Watch(int fd, uint32_t events, Handler handler) {
  Entry entry = {++generation_, 0, std::make_shared<Handler>(std::move(handler))};
  epoll_event e = {};
  e.events = events;
  e.data.u64 = uint64_t{entry.generation} << 32 | uint32_t(fd);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &e) != 0) return false;
  entry.events = events;
  entries_[fd] = std::move(entry);
  return true;
}

void EventLoop::Change(int fd, uint32_t events) {
  auto it = entries_.find(fd);
  if (it == entries_.end() || it->second.events == events) return;
  epoll_event e = {};
  e.events = events;
  e.data.u64 = uint64_t{it->second.generation} << 32 | uint32_t(fd);
  int operation = events == 0              ? EPOLL_CTL_DEL
                  : it->second.events == 0 ? EPOLL_CTL_ADD
                                           : EPOLL_CTL_MOD;
  epoll_ctl(epoll_.get(), operation, fd, &e);
  it->second.events = events;
}

void EventLoop::Forget(int fd) {
  Change(fd, 0);
  entries_.erase(fd);
}

EventLoop::TimerId EventLoop::After(int64_t milliseconds, std::function<void()> handler) {
  timers_[next_timer_] = {NowNs() + milliseconds * 1'000'000, std::move(handler)};
  return next_timer_++;
}

void EventLoop::Cancel(TimerId id) { timers_.erase(id); }

void EventLoop::DelayTimers(int64_t nanoseconds) {
  for (auto& [id, timer] : timers_) timer.at_ns += nanoseconds;
}

int EventLoop::NextTimerMs(int max_wait_ms) const {
  if (timers_.empty()) return max_wait_ms;
  int64_t first = INT64_MAX;
  for (const auto& [id, timer] : timers_) first = std::min(first, timer.at_ns);
  int64_t left_ms = std::max<int64_t>(0, (first - NowNs() + 999'999) / 1'000'000);
  if (max_wait_ms >= 0) left_ms = std::min<int64_t>(left_ms, max_wait_ms);
  return static_cast<int>(std::min<int64_t>(left_ms, 1'000'000'000));
}

void EventLoop::RunTimers() {
  int64_t now = NowNs();
  std::vector<TimerId> due;
  for (const auto& [id, timer] : timers_) {
    if (timer.at_ns <= now) due.push_back(id);
  }
  for (TimerId id : due) {
    auto it = timers_.find(id);
    if (it == timers_.end()) continue;  // an earlier handler cancelled it
    std::function<void()> handler = std::move(it->second.handler);
    timers_.erase(it);
    handler();
  }
}

void EventLoop::RunOnce(int max_wait_ms) {
  std::array<epoll_event, 128> events;
  int n = epoll_wait(epoll_.get(), events.data(), events.size(), NextTimerMs(max_wait_ms));
  for (int i = 0; i < n; i++) {
    int fd = static_cast<int>(events[i].data.u64 & 0xffffffff);
    auto it = entries_.find(fd);
    // The descriptor may have been closed, or closed and reused, by an earlier handler
    // of this round.
    if (it == entries_.end() || it->second.generation != events[i].data.u64 >> 32) continue;
    if (it->second.events == 0) continue;
    std::shared_ptr<Handler> handler = it->second.handler;
    (*handler)(events[i].events);
  }
  RunTimers();
}

}  // namespace hcclrun
