#pragma once
// Tells when another process ends. One thread per process watches pidfds (a zombie counts as ended)
// and sockets; it blocks all signals and is started with the first watch. Where the kernel has no
// pidfd or the pid is not visible (another pid namespace), the watch falls back to looking at /proc
// every 200 ms.

#include <cstdint>
#include <functional>

#include "base/fault.h"

namespace hcclrun {

class ProcessWatch {
 public:
  using Id = uint64_t;
  static ProcessWatch& Get();

  // `ended` runs once on the watching thread; it must not block. The peer must be known to be alive
  // at the time of the call (its connection is open), or its pid could already belong to another
  // process. kSystem without a thread to watch.
  Result<Id> WatchProcess(int32_t pid, std::function<void()> ended);
  // `closed` runs when the other end of `socket` closes or sends anything. The descriptor is
  // duplicated. kSystem when that fails, too.
  Result<Id> WatchSocket(int socket, std::function<void()> closed);
  // After return the callback does not run any more. Not to be called from a callback.
  void Cancel(Id id);

 private:
  ProcessWatch();
  struct Impl;
  Impl* impl_;
};

// True when `pid` is gone or a zombie.
bool ProcessEnded(int32_t pid);
// True when `pid` has been stopped by a signal (SIGSTOP, Ctrl-Z): it goes on with SIGCONT.
bool ProcessStopped(int32_t pid);

}  // namespace hcclrun
