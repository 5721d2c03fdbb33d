#include "launcher/signals.h"

#include <sys/signalfd.h>

#include <cstdio>

namespace hcclrun {

const char* SignalName(int signal_number) {
  switch (signal_number) {
#define HCCLRUN_SIGNAL(name) \
  case name:                 \
    return #name;
    HCCLRUN_SIGNAL(SIGHUP)
    HCCLRUN_SIGNAL(SIGINT) HCCLRUN_SIGNAL(SIGQUIT) HCCLRUN_SIGNAL(SIGILL) HCCLRUN_SIGNAL(SIGTRAP)
        HCCLRUN_SIGNAL(SIGABRT) HCCLRUN_SIGNAL(SIGBUS) HCCLRUN_SIGNAL(SIGFPE)
            HCCLRUN_SIGNAL(SIGKILL) HCCLRUN_SIGNAL(SIGUSR1) HCCLRUN_SIGNAL(SIGSEGV)
                HCCLRUN_SIGNAL(SIGUSR2) HCCLRUN_SIGNAL(SIGPIPE) HCCLRUN_SIGNAL(SIGALRM)
                    HCCLRUN_SIGNAL(SIGTERM) HCCLRUN_SIGNAL(SIGCHLD) HCCLRUN_SIGNAL(SIGCONT)
                        HCCLRUN_SIGNAL(SIGSTOP) HCCLRUN_SIGNAL(SIGTSTP) HCCLRUN_SIGNAL(SIGTTIN)
                            HCCLRUN_SIGNAL(SIGTTOU) HCCLRUN_SIGNAL(SIGURG) HCCLRUN_SIGNAL(SIGXCPU)
                                HCCLRUN_SIGNAL(SIGXFSZ) HCCLRUN_SIGNAL(SIGVTALRM)
                                    HCCLRUN_SIGNAL(SIGPROF) HCCLRUN_SIGNAL(SIGWINCH)
                                        HCCLRUN_SIGNAL(SIGIO) HCCLRUN_SIGNAL(SIGPWR)
                                            HCCLRUN_SIGNAL(SIGSYS)
#undef HCCLRUN_SIGNAL
                                                default : {
      static char text[32];
      snprintf(text, sizeof text, "signal %d", signal_number);
      return text;
    }
  }
}

Signals::Signals() {
  getrlimit(RLIMIT_NOFILE, &files_at_start_);
  rlimit raised = {files_at_start_.rlim_max, files_at_start_.rlim_max};
  setrlimit(RLIMIT_NOFILE, &raised);

  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &pipe_at_start_);
  signal(SIGCHLD, SIG_DFL);  // ignored, it would reap the ranks behind our back

  sigset_t handled;
  sigemptyset(&handled);
  for (int s : {SIGCHLD, SIGCONT}) sigaddset(&handled, s);
  for (int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGUSR1, SIGUSR2}) {
    struct sigaction now;
    if (sigaction(s, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
    sigaddset(&handled, s);
  }
  sigprocmask(SIG_BLOCK, &handled, &mask_at_start_);
  fd_ = Fd(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
}

void Signals::RestoreForChild() const {
  sigaction(SIGPIPE, &pipe_at_start_, nullptr);
  setrlimit(RLIMIT_NOFILE, &files_at_start_);
  sigprocmask(SIG_SETMASK, &mask_at_start_, nullptr);
}

}  // namespace hcclrun
