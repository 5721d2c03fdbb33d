#include "launcher/rank_process.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "launcher/fd.h"

namespace hcclrun {
namespace {

struct Refusal {
  int error;
  bool exec_failed;
};

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Runs in the child; returns only when something failed. Everything that allocates was prepared by
// the parent.
Refusal Become(const ProcessSpec& spec, const Signals& signals, pid_t parent, char** argv,
               char** envp, char** shell_argv, const cpu_set_t* mask, size_t mask_bytes) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(128 + SIGKILL);  // the parent died before the line above took effect
  if (spec.own_group && setpgid(0, 0) != 0) return {errno, false};
  if (spec.processor >= 0 && sched_setaffinity(0, mask_bytes, mask) != 0) return {errno, false};
  const int streams[3] = {spec.in, spec.out, spec.err};
  for (int target = 0; target < 3; target++) {
    if (streams[target] != target && dup2(streams[target], target) < 0) return {errno, false};
  }
  signals.RestoreForChild();
  execve(spec.program.c_str(), argv, envp);
  if (errno == ENOEXEC) execve("/bin/sh", shell_argv, envp);
  return {errno, true};
}

}  // namespace

StartedProcess StartProcess(const ProcessSpec& spec, const Signals& signals) {
  std::vector<char*> argv = Pointers(spec.arguments), envp = Pointers(spec.environment);
  std::vector<std::string> shell = {"/bin/sh", spec.program};
  if (spec.arguments.size() > 1)
    shell.insert(shell.end(), spec.arguments.begin() + 1, spec.arguments.end());
  std::vector<char*> shell_argv = Pointers(shell);

  // A mask of any size.
  const size_t mask_bytes = CPU_ALLOC_SIZE(spec.processor + 1);
  std::vector<unsigned long> bits(mask_bytes / sizeof(unsigned long));
  auto* const mask = reinterpret_cast<cpu_set_t*>(bits.data());
  if (spec.processor >= 0) CPU_SET_S(static_cast<size_t>(spec.processor), mask_bytes, mask);

  int ends[2];  // closed by a successful exec; otherwise carries the reason
  if (pipe2(ends, O_CLOEXEC) != 0) return {-1, errno, false};
  Fd report(ends[0]), reporter(ends[1]);
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid < 0) return {-1, errno, false};
  if (pid == 0) {
    Refusal refusal = Become(spec, signals, parent, argv.data(), envp.data(), shell_argv.data(), mask, mask_bytes);
    (void)!write(reporter.get(), &refusal, sizeof refusal);
    _exit(127);
  }
  if (spec.own_group)
    setpgid(pid, pid);  // also here: signals may be sent to the group before the child runs
  reporter.Reset();
  Refusal refusal;
  ssize_t n;
  do {
    n = read(report.get(), &refusal, sizeof refusal);
  } while (n < 0 && errno == EINTR);
  if (n != sizeof refusal) return {pid, 0, false};
  waitpid(pid, nullptr, 0);
  return {-1, refusal.error, refusal.exec_failed};
}

}  // namespace hcclrun
