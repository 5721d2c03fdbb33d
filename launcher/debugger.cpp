#include "launcher/debugger.h"

#include <signal.h>
#include <unistd.h>

namespace hcclrun {

FoundProgram FindGdb() {
  FoundProgram found = FindProgram("gdb");
  if (found.path.empty()) found.sentence = "--gdb: gdb is not in PATH; install it";
  return found;
}

std::vector<std::string> UnderGdb(const std::vector<std::string>& command) {
  std::vector<std::string> result = {"gdb", "-q", "--args"};
  result.insert(result.end(), command.begin(), command.end());
  return result;
}

void SetNoDeadlines(Environment* environment) {
  // Three years. The library's settings have no "never" for connecting.
  for (const char* name : {"HCCLRUN_CONNECT_TIMEOUT", "HCCLRUN_EXEC_TIMEOUT", "HCCLRUN_TEST_GRACE"})
    (*environment)[name] = "100000000";
  (*environment)["HCCLRUN_STALL_NOTE"] = "0";
}

void GiveTerminal(int fd, int group) {
  // From a background group the call would stop the caller.
  sigset_t block, before;
  sigemptyset(&block);
  sigaddset(&block, SIGTTOU);
  sigprocmask(SIG_BLOCK, &block, &before);
  (void)!tcsetpgrp(fd, group);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace hcclrun
