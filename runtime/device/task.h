#pragma once
// One unit of work of a stream. Tasks of a stream run in order; a task is advanced by the stream's
// driver, which is one thread at a time: the stream's worker, a host thread inside a synchronise
// call, or the enqueuing thread. A task may be destroyed without having been advanced, or while it
// waits (destroyed streams, stop-on-failure).

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fault.h"
#include "shm/recorder.h"

namespace hcclrun {

struct MemoryInfo;

class Task {
 public:
  enum class Progress {
    kDone,     // finished, well or not; *fault tells
    kWaiting,  // cannot go on now; call WaitForProgress() and then Advance() again
  };
  virtual ~Task() = default;

  // Starts or continues the work. Never sleeps longer than a copy takes. On failure sets *fault and
  // returns kDone.
  virtual Progress Advance(Fault* fault) = 0;

  // Sleeps until Advance() may get further, at most `limit_ns`. Spurious returns are fine.
  virtual void WaitForProgress(int64_t limit_ns) = 0;

  // Names what keeps the work of tasks in order by itself, beyond the stream: a communicator, whose
  // operations touch no buffer before the operation in front of them is complete on every rank.
  // Null: only the stream does.
  virtual const void* Order() const { return nullptr; }

  // Called in stream order on the tasks behind a waiting one, with the front's Order(), so that a
  // collective can announce itself early. Only a task of the same order may: to others the
  // announcement would open its buffers to peers while the front still uses them. Returns true when
  // the tasks behind this one may be prepared too. Must not block. A task that returned false is
  // asked again while it is behind a waiting one. Never concurrent with another call on a task of
  // the same stream, except WaitForProgress() of the front.
  virtual bool Prepare(const void* order) { return (void)order, false; }

  // True when the enqueuing thread may call Advance() itself if the stream is idle: the first step
  // is short.
  virtual bool CheapToStart() const { return false; }

  // True when a host thread inside a synchronise call must not run it: user code, which may take
  // any time.
  virtual bool NeedsWorker() const { return false; }

  // True when the task runs although an earlier one failed under stop-on-failure: others may wait
  // for it. OnStreamFailed() is called before its first Advance() then, under the stream's lock.
  virtual bool RunsAfterFailure() const { return false; }
  virtual void OnStreamFailed() {}

  // When the work was complete, for events recorded behind it (NowNs() time); 0 = when
  // the driver noticed.
  virtual int64_t CompletedAtNs() const { return 0; }

  // The task is given up by Stream::Abort() or Stream::Stop(), and destroyed next. By the driver,
  // under the stream's lock: it must neither block nor call the stream.
  virtual void OnAbort() {}

  // Whether it will read or write some of this memory: device memory, host memory
  // (MemoryKind::kNone), or a mapping as part of a symmetric window (kPeerView). Looks at what the
  // task was made with and nothing else; under the stream's lock, while Prepare() or
  // WaitForProgress() may run.
  virtual bool Uses(const MemoryInfo& memory) const { return (void)memory, false; }
  // For messages: what it is, beyond its name ("#3 of communicator world"). As Uses().
  virtual std::string Which() const { return ""; }
  // In whose name its faults are told (base/speaker.h).
  virtual uint32_t speaker() const { return 0; }
  // `memory`, of which `kept` is the owner, is given back while this task uses it: it lives until
  // the task is gone. Under the stream's lock, never while the task is advanced.
  void KeepMemory(std::shared_ptr<void> kept, const std::string& memory) {
    if (!lost_) lost_ = std::make_unique<Lost>(Lost{memory, {}});
    lost_->kept.push_back(std::move(kept));
  }
  // The first such memory, as text; null: none.
  const std::string* lost() const { return lost_ ? &lost_->memory : nullptr; }

  // For reports.
  virtual const char* Name() const = 0;
  virtual PathTaken Took() const { return PathTaken::kUnknown; }

  // The thread that queued it, as gettid() names it; set by Stream::Enqueue().
  int32_t queued_by = 0;
  // Its stream's place in the flight recorder, for what the task waits for; set by
  // Stream::Enqueue().
  Waiter* waiter = nullptr;
  // Its own place there, if it is an operation.
  OperationNote note;

 private:
  struct Lost {
    std::string memory;
    std::vector<std::shared_ptr<void>> kept;
  };
  std::unique_ptr<Lost> lost_;
};

}  // namespace hcclrun
