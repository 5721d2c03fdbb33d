#pragma once
// A small second process that outlives a launcher which is killed: it then ends every process of
// the job, including those that neither are direct children nor have loaded the library, and
// removes the job's rank table. It sleeps in read() until then, holds no descriptor but its end of
// a pipe, and is a session of its own, so that Ctrl-C does not reach it.

#include <sys/types.h>

#include <string>

#include "launcher/fd.h"

namespace hcclrun {

class Guard {
 public:
  // Starts the process. Without it (no processes left, say) the job still runs. `file` is removed
  // when the launcher is killed, and need not exist; empty: none.
  Guard(const std::string& job_id, const std::string& file);
  ~Guard();  // the launcher ends in order: dismisses and reaps the process
  pid_t pid() const { return pid_; }
  void Reaped() { pid_ = -1; }  // by the caller: the number may be another process's now

 private:
  pid_t pid_ = -1;
  Fd alive_;  // closed by the kernel when the launcher is gone
};

// Kills (SIGKILL) every process of this user that carries HCCLRUN_JOB=`job_id` in the environment
// it was started with, except this process, until none is left or 5 seconds have passed.
void EndProcessesOfJob(const std::string& job_id);

}  // namespace hcclrun
