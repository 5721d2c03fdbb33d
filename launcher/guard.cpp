#include "launcher/guard.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/job.h"

namespace hcclrun {
namespace {

constexpr char kDismissed = 'q';

bool CarriesJob(pid_t pid, absl::string_view wanted) {
  Fd fd(open(absl::StrCat("/proc/", pid, "/environ").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return false;
  std::string text(1, '\0');  // so that the first entry, too, follows a NUL
  char buffer[16384];
  for (ssize_t n; (n = read(fd.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  return absl::string_view(text).find(absl::string_view(wanted)) != absl::string_view::npos;
}

// One pass over /proc; the number of processes that were killed.
int KillPass(absl::string_view wanted) {
  DIR* proc = opendir("/proc");
  if (!proc) return 0;
  int killed = 0;
  while (dirent* entry = readdir(proc)) {
    pid_t pid;
    if (!absl::SimpleAtoi(entry->d_name, &pid) || pid == getpid() || !CarriesJob(pid, wanted))
      continue;
    if (kill(pid, SIGKILL) == 0) killed++;
  }
  closedir(proc);
  return killed;
}

// Old kernels and some containers' filters do not have the system call.
bool CloseRange(unsigned first, unsigned last) {
#ifdef SYS_close_range
  return syscall(SYS_close_range, first, last, 0) == 0;
#else
  return first > last;
#endif
}

void KeepOnly(int fd) {
  if ((fd == 0 || CloseRange(0, static_cast<unsigned>(fd) - 1)) &&
      CloseRange(static_cast<unsigned>(fd) + 1, ~0U))
    return;
  rlimit most = {1024, 1024};
  getrlimit(RLIMIT_NOFILE, &most);
  for (int other = 0; other < static_cast<int>(std::min<rlim_t>(most.rlim_cur, 1 << 16)); other++) {
    if (other != fd) close(other);
  }
}

[[noreturn]] void RunGuard(int pipe, const std::string& job_id, const std::string& file) {
  setsid();
  prctl(PR_SET_NAME, "hcclrun-guard");
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  (void)!chdir("/");
  char message = 0;
  ssize_t n;
  do {
    n = read(pipe, &message, 1);
  } while (n < 0 && errno == EINTR);
  if (n != 1 || message != kDismissed) {
    if (!file.empty()) unlink(file.c_str());
    EndProcessesOfJob(job_id);
  }
  _exit(0);
}

}  // namespace

void EndProcessesOfJob(const std::string& job_id) {
  const std::string wanted =
      absl::StrCat(std::string(1, '\0'), kEnvJob, "=", job_id, std::string(1, '\0'));
  Deadline deadline = Deadline::After(5'000);
  // Two empty passes in a row: a process may fork while a pass runs.
  for (int empty = 0; empty < 2 && !deadline.passed();) {
    empty = KillPass(wanted) == 0 ? empty + 1 : 0;
    timespec nap = {0, 10'000'000};
    nanosleep(&nap, nullptr);
  }
}

Guard::Guard(const std::string& job_id, const std::string& file) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  Fd watched(ends[0]);
  alive_ = Fd(ends[1]);
  pid_ = fork();
  if (pid_ == 0) {
    KeepOnly(watched.get());
    RunGuard(watched.get(), job_id, file);
  }
}

Guard::~Guard() {
  if (pid_ <= 0) return;
  (void)!write(alive_.get(), &kDismissed, 1);
  alive_.Reset();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace hcclrun
