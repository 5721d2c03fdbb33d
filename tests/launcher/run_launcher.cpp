#include "run_launcher.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "base/clock.h"
#include "launcher/environment.h"
#include "shm/process_watch.h"

namespace hcclrun::testing {
namespace {

constexpr int64_t kPatienceMs = 60'000;

void Pipe(Fd* read_end, Fd* write_end) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  *read_end = Fd(ends[0]);
  *write_end = Fd(ends[1]);
}

bool ReadSome(Fd* fd, std::string* text) {
  char buffer[65536];
  ssize_t n = read(fd->get(), buffer, sizeof buffer);
  if (n <= 0) fd->Reset();
  if (n > 0) text->append(buffer, static_cast<size_t>(n));
  return n > 0;
}

}  // namespace

LauncherRun::LauncherRun(const Args& args, const Setup& setup) {
  Fd in_read, in_write, out_write, err_write;
  Pipe(&in_read, &in_write);
  Pipe(&out_, &out_write);
  Pipe(&err_, &err_write);
  if (setup.close_out) out_.Reset();

  Environment environment = CurrentEnvironment();
  for (const auto& [name, value] : setup.environment) {
    environment.erase(name);
    if (!value.empty()) environment.emplace(name, value);
  }
  std::vector<std::string> variables = ToStrings(environment);
  std::vector<std::string> arguments = {HCCLRUN_BINARY};
  arguments.insert(arguments.end(), args.begin(), args.end());
  std::vector<char*> argv, envp;
  for (std::string& a : arguments) argv.push_back(a.data());
  for (std::string& v : variables) envp.push_back(v.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in_read.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, out_write.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, err_write.get(), 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;  // a test runner in the background may ignore SIGINT
  sigemptyset(&defaults);
  for (int s : {SIGINT, SIGHUP, SIGTERM, SIGPIPE}) sigaddset(&defaults, s);
  if (!setup.quit_ignored) sigaddset(&defaults, SIGQUIT);
  const auto quit_before = signal(SIGQUIT, setup.quit_ignored ? SIG_IGN : SIG_DFL);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  EXPECT_EQ(posix_spawn(&pid_, HCCLRUN_BINARY, &actions, &attributes, argv.data(), envp.data()), 0);
  signal(SIGQUIT, quit_before);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(write(in_write.get(), setup.input.data(), setup.input.size()),
            static_cast<ssize_t>(setup.input.size()));
}

LauncherRun::~LauncherRun() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool LauncherRun::Pump(int milliseconds) {
  pollfd polled[2] = {{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}};
  if (!out_.valid() && !err_.valid()) return false;
  if (poll(polled, 2, milliseconds) <= 0) return true;
  if (polled[0].revents) ReadSome(&out_, &outcome_.out);
  if (polled[1].revents) ReadSome(&err_, &outcome_.err);
  return true;
}

bool LauncherRun::WaitForOut(const std::string& text, int times) {
  Deadline deadline = Deadline::After(kPatienceMs);
  while (CountOf(outcome_.out, text) < times) {
    if (deadline.passed() || !Pump(100)) return false;
  }
  return true;
}

bool LauncherRun::SignalUntilErr(int number, const std::string& text, int times) {
  Deadline deadline = Deadline::After(kPatienceMs);
  for (int64_t signalled_ns = 0; CountOf(outcome_.err, text) < times;) {
    if (deadline.passed()) return false;
    if (NowNs() - signalled_ns > 200'000'000) {
      Signal(number);
      signalled_ns = NowNs();
    }
    if (!Pump(50)) return false;
  }
  return true;
}

void LauncherRun::Signal(int number) { kill(pid_, number); }

Outcome LauncherRun::Wait() {
  Deadline deadline = Deadline::After(kPatienceMs);
  int status = 0;
  bool reaped = false;
  // Its end, not the end of its pipes, is what is waited for: a process it left behind must not
  // look like a hang.
  while (!reaped && !deadline.passed()) {
    if (!Pump(20)) {
      timespec nap = {0, 1'000'000};
      nanosleep(&nap, nullptr);
    }
    reaped = waitpid(pid_, &status, WNOHANG) == pid_;
  }
  if (!reaped) {
    ADD_FAILURE() << "hcclrun did not end; its output so far:\n" << outcome_.out << outcome_.err;
    kill(pid_, SIGKILL);
    waitpid(pid_, &status, 0);
  }
  pid_ = -1;
  for (Fd* fd : {&out_, &err_}) {
    if (!fd->valid()) continue;
    fcntl(fd->get(), F_SETFL, O_NONBLOCK);
    while (fd->valid() && ReadSome(fd, fd == &out_ ? &outcome_.out : &outcome_.err)) {
    }
  }
  outcome_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome_;
}

Outcome RunLauncher(const Args& args) { return LauncherRun(args).Wait(); }
Outcome RunLauncher(const Args& args, const LauncherRun::Setup& setup) {
  return LauncherRun(args, setup).Wait();
}

bool WaitUntilGone(pid_t pid) {
  Deadline deadline = Deadline::After(20'000);
  while (!ProcessEnded(pid)) {
    if (deadline.passed()) return false;
    timespec nap = {0, 5'000'000};
    nanosleep(&nap, nullptr);
  }
  return true;
}

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) count++;
  return count;
}

std::vector<std::string> SortedLines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<pid_t> PidsAfter(const std::string& text, const std::string& word) {
  std::vector<pid_t> pids;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos;) {
    at += word.size();
    pids.push_back(atoi(text.c_str() + at));
  }
  return pids;
}

}  // namespace hcclrun::testing
