#pragma once
// Signals of the launcher. It reads them from a descriptor; its children start with the mask, the
// dispositions and the limits that the launcher itself was started with.

#include <signal.h>
#include <sys/resource.h>

#include "launcher/fd.h"

namespace hcclrun {

// "SIGKILL"; "signal 77" for numbers without a name.
const char* SignalName(int signal_number);

class Signals {
 public:
  // Blocks what the launcher handles (signals that were ignored at its start stay ignored, but for
  // SIGQUIT), ignores SIGPIPE, and raises the soft limit of open descriptors to the hard one.
  Signals();
  // Becomes readable with signalfd_siginfo records.
  int fd() const { return fd_.get(); }
  // In a forked child, before exec. Async-signal-safe.
  void RestoreForChild() const;

 private:
  Fd fd_;
  sigset_t mask_at_start_;
  struct sigaction pipe_at_start_, quit_at_start_;
  rlimit files_at_start_;
};

}  // namespace hcclrun
