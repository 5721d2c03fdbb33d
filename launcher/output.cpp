#include "launcher/output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace hcclrun {
namespace {

constexpr int64_t kOwnerPatienceMs = 200;
constexpr size_t kReadBytes = 64 << 10;
// A pipe that polls writable takes this much without blocking.
constexpr size_t kSafeWrite = 4096;

bool SameFile(int a, int b) {
  struct stat x, y;
  return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

}  // namespace

Sink::Sink(EventLoop* loop, int fd) : loop_(loop), fd_(fd), kind_(Kind::kPollable) {
  struct stat st;
  if (fstat(fd, &st) != 0) return;
  if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)) kind_ = Kind::kNeverBlocks;
  if (S_ISSOCK(st.st_mode)) kind_ = Kind::kSocket;
}

Sink::~Sink() {
  if (watching_) loop_->Forget(fd_);
}

ssize_t Sink::WriteSome(const char* data, size_t size) {
  if (kind_ == Kind::kNeverBlocks) return write(fd_, data, size);
  if (kind_ == Kind::kSocket) return send(fd_, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  pollfd p = {fd_, POLLOUT, 0};
  int rc = poll(&p, 1, 0);
  if (rc == 0 || (rc < 0 && errno == EINTR)) {
    errno = EAGAIN;
    return -1;
  }
  return write(fd_, data, std::min(size, kSafeWrite));
}

void Sink::Flush() {
  while (!broken() && written_ < queue_.size()) {
    ssize_t n = WriteSome(queue_.data() + written_, queue_.size() - written_);
    if (n > 0) {
      written_ += static_cast<size_t>(n);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      Break(errno);
    }
  }
  if (broken() || written_ == queue_.size()) {
    queue_.clear();
    written_ = 0;
  } else if (written_ > kHighWater) {
    queue_.erase(0, written_);
    written_ = 0;
  }
  bool want = waiting() > 0;
  if (want != watching_) {
    if (want) {
      // A descriptor that cannot be polled for writing never refuses a write, so it
      // never gets here.
      want = loop_->Watch(fd_, EPOLLOUT, [this](uint32_t) { Flush(); });
    } else {
      loop_->Forget(fd_);
    }
    watching_ = want;
  }
  if (waiting() <= kLowWater) WakeStreams();
}

void Sink::Write(const std::string& text) {
  if (broken() || text.empty()) return;
  queue_ += text;
  Flush();
}

void Sink::WriteOwnLine(const std::string& line) {
  if (owner_) owner_->Emit(owner_->labeller_.Break());
  Write(line + "\n");
}

void Sink::Break(int error) {
  broken_errno_ = error;
  // Only a reader that went away concerns the ranks; a full disk is reported at the end.
  if (error != EPIPE) return;
  for (RankStream* stream : std::vector<RankStream*>(streams_)) stream->End();
}

void Sink::WakeStreams() {
  if (!streams_paused_) return;
  if (owner_) {
    if (owner_->open()) loop_->Change(owner_->pipe_.get(), EPOLLIN);
    return;
  }
  streams_paused_ = false;
  for (RankStream* stream : streams_) {
    if (stream->open()) loop_->Change(stream->pipe_.get(), EPOLLIN);
  }
}

RankStream::RankStream(EventLoop* loop, Sink* sink, Fd pipe, const std::string& label)
    : loop_(loop), sink_(sink), pipe_(std::move(pipe)), labeller_(label) {
  fcntl(pipe_.get(), F_SETFL, O_NONBLOCK);  // of our end only
  sink_->streams_.push_back(this);
  loop_->Watch(pipe_.get(), EPOLLIN, [this](uint32_t) { OnReadable(); });
}

RankStream::~RankStream() {
  if (open()) End();
  sink_->streams_.erase(std::find(sink_->streams_.begin(), sink_->streams_.end(), this));
}

bool RankStream::TakeActivity() { return std::exchange(active_, false); }

void RankStream::OnReadable() {
  if (sink_->waiting() >= Sink::kHighWater || (sink_->owner_ && sink_->owner_ != this)) {
    sink_->streams_paused_ = true;
    loop_->Change(pipe_.get(), 0);
    return;
  }
  ReadOnce();
}

bool RankStream::ReadOnce() {
  static char buffer[kReadBytes];
  ssize_t n = read(pipe_.get(), buffer, sizeof buffer);
  if (n < 0) {
    if (errno == EAGAIN || errno == EINTR) return false;
    n = 0;
  }
  if (n == 0) {
    End();
    return false;
  }
  active_ = used_ = true;
  if (discard_) return true;
  Emit(labeller_.Feed(absl::string_view(buffer, static_cast<size_t>(n))));
  return open();
}

void RankStream::Emit(const std::string& text) {
  if (silence_) loop_->Cancel(silence_);
  silence_ = 0;
  if (labeller_.inside_line()) {
    sink_->owner_ = this;
    silence_ = loop_->After(kOwnerPatienceMs, [this] { OnOwnerSilent(); });
  } else if (sink_->owner_ == this) {
    sink_->owner_ = nullptr;
  }
  sink_->Write(text);
  if (sink_->waiting() <= Sink::kLowWater) sink_->WakeStreams();
}

void RankStream::OnOwnerSilent() {
  if (sink_->waiting() > 0) {  // silent only because we do not read: the sink's reader is slow
    loop_->Cancel(silence_);
    silence_ = loop_->After(kOwnerPatienceMs, [this] { OnOwnerSilent(); });
    return;
  }
  Emit(labeller_.Break());
}

void RankStream::DrainAndClose() {
  // A pipe holds at most 1 MiB; whoever still writes after that is none of the job's processes.
  for (int i = 0; i < 32 && open() && ReadOnce(); i++) {
  }
  End();
}

void RankStream::End() {
  if (!open()) return;
  loop_->Forget(pipe_.get());
  pipe_.Reset();
  Emit(labeller_.Finish());
}

JobSinks::JobSinks(EventLoop* loop) : out_owner(new Sink(loop, STDOUT_FILENO)) {
  out = out_owner.get();
  if (!SameFile(STDOUT_FILENO, STDERR_FILENO)) err_owner.reset(new Sink(loop, STDERR_FILENO));
  err = err_owner ? err_owner.get() : out;
}

}  // namespace hcclrun
