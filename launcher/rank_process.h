#pragma once
// Starting one process of the job. It dies with the process that started it (PR_SET_PDEATHSIG),
// leads a process group of its own unless told otherwise, and inherits nothing of the launcher but
// the three streams.

#include <sys/types.h>

#include <string>
#include <vector>

#include "launcher/signals.h"

namespace hcclrun {

struct ProcessSpec {
  std::string program;                   // a path; a script without #! is given to /bin/sh
  std::vector<std::string> arguments;    // argv, the name included
  std::vector<std::string> environment;  // NAME=value
  int in = 0, out = 1, err = 2;          // what becomes its stdin, stdout, stderr; not closed here
  bool own_group = true;
  int processor = -1;  // the only one that it may use; -1 = all that hcclrun may
};

struct StartedProcess {
  pid_t pid = -1;            // -1 = not started
  int error = 0;             // errno then
  bool exec_failed = false;  // true: execve refused the program; false: fork or the set-up failed
};

// Returns once the program runs (or could not).
StartedProcess StartProcess(const ProcessSpec& spec, const Signals& signals);

}  // namespace hcclrun
