#pragma once
// From the ranks' pipes to the launcher's stdout and stderr.
//
// A RankStream reads one pipe and hands whole labelled lines to a Sink; a Sink writes to one
// descriptor of the launcher as fast as its reader takes them. Nothing is lost and nothing grows
// without bound: when a sink has more than kHighWater bytes waiting, the streams that feed it stop
// reading, so that ranks block in write() as they would on a plain pipe. The launcher writes only
// what poll() says will be taken, so a terminal held with Ctrl-S delays neither the lifeline nor
// --timeout. A line longer than LineLabeller::kLongLine passes through in pieces; until it ends its
// stream owns the sink and the other streams of that sink wait, unless the owner falls silent for
// kOwnerPatienceMs: then its line is broken, because the owner may well be waiting for a rank that
// waits for us. When the reader of the launcher's output goes away, the pipes of that sink are
// closed: ranks get SIGPIPE, as they would without a launcher.

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "launcher/event_loop.h"
#include "launcher/fd.h"
#include "launcher/line_labeller.h"

namespace hcclrun {

class RankStream;

class Sink {
 public:
  static constexpr size_t kHighWater = 256 << 10;
  static constexpr size_t kLowWater = 64 << 10;

  // The descriptor is not owned. Its flags are left alone: they belong to everybody who shares it.
  Sink(EventLoop* loop, int fd);
  ~Sink();
  void Write(const std::string& text);
  // A line of the launcher itself; breaks a long line of a rank if need be.
  void WriteOwnLine(const std::string& line);
  size_t waiting() const { return queue_.size() - written_; }
  bool broken() const { return broken_errno_ != 0; }
  int broken_errno() const { return broken_errno_; }

 private:
  friend class RankStream;
  void Flush();
  ssize_t WriteSome(const char* data, size_t size);
  void Break(int error);
  void WakeStreams();

  EventLoop* loop_;
  int fd_;
  enum class Kind { kPollable, kSocket, kNeverBlocks } kind_;
  std::string queue_;
  size_t written_ = 0;  // of queue_
  bool watching_ = false;
  int broken_errno_ = 0;
  RankStream* owner_ = nullptr;       // inside a long line
  std::vector<RankStream*> streams_;  // all that feed this sink
  bool streams_paused_ = false;
};

class RankStream {
 public:
  RankStream(EventLoop* loop, Sink* sink, Fd pipe, const std::string& label);
  ~RankStream();
  bool open() const { return pipe_.valid(); }
  // Bytes came in since the last call.
  bool TakeActivity();
  // Any bytes have come.
  bool used() const { return used_; }
  // What comes from now on is read and thrown away.
  void Discard() { discard_ = true; }
  // Takes what is in the pipe now, however long the sink's queue becomes, and closes it.
  void DrainAndClose();

 private:
  friend class Sink;
  void OnReadable();
  bool ReadOnce();  // false when the pipe is empty for now or has ended
  void Emit(const std::string& text);
  void End();
  void OnOwnerSilent();

  EventLoop* loop_;
  Sink* sink_;
  Fd pipe_;
  LineLabeller labeller_;
  EventLoop::TimerId silence_ = 0;
  bool active_ = false;
  bool used_ = false;
  bool discard_ = false;
};

// The sinks of a job: two, or one twice where stdout and stderr are the same file or terminal,
// because only one queue keeps their lines whole and in order.
struct JobSinks {
  explicit JobSinks(EventLoop* loop);
  std::unique_ptr<Sink> out_owner, err_owner;
  Sink* out;
  Sink* err;
};

}  // namespace hcclrun
