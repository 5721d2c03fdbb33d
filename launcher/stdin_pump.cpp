#include "launcher/stdin_pump.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>

namespace hcclrun {
namespace {
constexpr int64_t kBackgroundRetryMs = 250;
}

StdinPump::StdinPump(EventLoop* loop, int terminal, Fd to_rank)
    : loop_(loop), terminal_(terminal), to_rank_(std::move(to_rank)) {
  fcntl(to_rank_.get(), F_SETFL, O_NONBLOCK);
  loop_->Watch(terminal_, EPOLLIN, [this](uint32_t) { OnInput(); });
}

void StdinPump::Stop() {
  if (!to_rank_.valid()) return;
  loop_->Forget(terminal_);
  if (watching_pipe_) loop_->Forget(to_rank_.get());
  if (retry_) loop_->Cancel(retry_);
  to_rank_.Reset();
}

void StdinPump::OnInput() {
  if (tcgetpgrp(terminal_) != getpgrp()) {
    // The whole job is in the background: reading would stop the launcher. Look again later.
    loop_->Change(terminal_, 0);
    retry_ = loop_->After(kBackgroundRetryMs, [this] {
      retry_ = 0;
      loop_->Change(terminal_, EPOLLIN);
    });
    return;
  }
  char buffer[4096];
  ssize_t n = read(terminal_, buffer, sizeof buffer);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) return Stop();
  pending_.append(buffer, static_cast<size_t>(n));
  Flush();
}

void StdinPump::Flush() {
  while (!pending_.empty()) {
    ssize_t n = write(to_rank_.get(), pending_.data(), pending_.size());
    if (n > 0) {
      pending_.erase(0, static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      return Stop();  // rank 0 does not read any more
    }
  }
  // While rank 0 is slow, nothing is read from the terminal.
  loop_->Change(terminal_, pending_.empty() ? uint32_t{EPOLLIN} : 0u);
  if (pending_.empty() == !watching_pipe_) return;
  if (pending_.empty()) {
    loop_->Forget(to_rank_.get());
  } else {
    loop_->Watch(to_rank_.get(), EPOLLOUT, [this](uint32_t) { Flush(); });
  }
  watching_pipe_ = !pending_.empty();
}

}  // namespace hcclrun
