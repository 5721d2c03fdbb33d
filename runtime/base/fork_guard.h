#pragma once
// A child made by fork() shares our descriptors, so it would keep heaps alive and hold sockets
// open. The guard closes them in the child before fork() returns there; from then on the public
// calls in the child refuse (InForkedChild), and our exit handlers do nothing. A child that calls
// exec needs none of this: all descriptors are CLOEXEC.

#include <atomic>

namespace hcclrun {

namespace fork_guard {
extern std::atomic<bool> in_child;
}

// True in a child made by fork() after the library came into use.
inline bool InForkedChild() { return fork_guard::in_child.load(std::memory_order_relaxed); }

// A descriptor that a forked child must not keep. Async-signal-safe, any thread. -1 is ignored.
void TrackFd(int fd);
void UntrackFd(int fd);

// Owner of one tracked descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) { TrackFd(fd); }
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd() { Reset(); }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release();  // gives the descriptor up, untracked
  void Reset();

 private:
  int fd_ = -1;
};

}  // namespace hcclrun
