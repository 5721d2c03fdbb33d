#include "base/fork_guard.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace hcclrun {
namespace {

// One bit per tracked descriptor. Relaxed is enough: the child handler runs in the thread that
// forked, and a descriptor opened by another thread at that very moment is closed by exec or by the
// child's end.
constexpr int kMaxFd = 1 << 16;
std::array<std::atomic<uint64_t>, kMaxFd / 64> g_tracked;

void AfterForkInChild() {
  fork_guard::in_child.store(true, std::memory_order_relaxed);
  for (int word = 0; word < kMaxFd / 64; word++) {
    uint64_t bits = g_tracked[word].exchange(0, std::memory_order_relaxed);
    for (; bits; bits &= bits - 1) close(word * 64 + __builtin_ctzll(bits));
  }
}

}  // namespace

std::atomic<bool> fork_guard::in_child{false};

void TrackFd(int fd) {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, AfterForkInChild); });
  if (fd < 0 || fd >= kMaxFd) return;
  g_tracked[fd / 64].fetch_or(uint64_t{1} << (fd % 64), std::memory_order_relaxed);
}

void UntrackFd(int fd) {
  if (fd < 0 || fd >= kMaxFd) return;
  g_tracked[fd / 64].fetch_and(~(uint64_t{1} << (fd % 64)), std::memory_order_relaxed);
}

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    Reset();
    fd_ = other.fd_;
    other.fd_ = -1;
  }
  return *this;
}

int UniqueFd::Release() {
  int fd = fd_;
  UntrackFd(fd);
  fd_ = -1;
  return fd;
}

void UniqueFd::Reset() {
  if (fd_ < 0) return;
  UntrackFd(fd_);
  if (!InForkedChild()) close(fd_);
  fd_ = -1;
}

}  // namespace hcclrun
