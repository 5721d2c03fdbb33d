#include "launcher/signals.h"

#include <sys/signalfd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>

namespace hcclrun {

const char* SignalName(int signal_number) {
  static const std::array<std::string, NSIG> names = [] {
    std::array<std::string, NSIG> all;
    for (int s = 0; s < NSIG; s++) {
      const char* name = sigabbrev_np(s);  // "KILL"
      all[s] = name ? std::string("SIG") + name : "signal " + std::to_string(s);
    }
    return all;
  }();
  if (signal_number >= 0 && signal_number < NSIG) return names[signal_number].c_str();
  static char text[32];
  snprintf(text, sizeof text, "signal %d", signal_number);
  return text;
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
  // A shell that starts a command with & may ignore SIGINT and SIGQUIT on its behalf, so that
  // Ctrl-C does not reach it. Ctrl-\ asks for a report here, which does no harm, and a kill -QUIT
  // of a job in the background is the way to one.
  struct sigaction answer = {};
  answer.sa_handler = SIG_DFL;
  sigaction(SIGQUIT, &answer, &quit_at_start_);
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
  sigaction(SIGQUIT, &quit_at_start_, nullptr);
  setrlimit(RLIMIT_NOFILE, &files_at_start_);
  sigprocmask(SIG_SETMASK, &mask_at_start_, nullptr);
}

}  // namespace hcclrun
