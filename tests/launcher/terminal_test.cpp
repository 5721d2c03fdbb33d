// hcclrun on a terminal: a pseudo terminal of which it leads the foreground group.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "launcher/debugger.h"
#include "run_launcher.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;

class Terminal {
 public:
  explicit Terminal(const Args& args) {
    std::vector<std::string> arguments = {HCCLRUN_BINARY};
    arguments.insert(arguments.end(), args.begin(), args.end());
    std::vector<char*> argv;
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    int master;
    pid_ = forkpty(&master, nullptr, nullptr, nullptr);
    if (pid_ == 0) {
      for (int s : {SIGINT, SIGQUIT}) signal(s, SIG_DFL);
      execv(HCCLRUN_BINARY, argv.data());
      _exit(99);
    }
    master_ = Fd(master);
  }
  ~Terminal() {
    if (pid_ > 0) kill(pid_, SIGKILL), waitpid(pid_, nullptr, 0);
  }
  void Type(const std::string& text) {
    EXPECT_EQ(write(master_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  bool WaitFor(const std::string& text) {
    Deadline deadline = Deadline::After(60'000);
    while (screen_.find(text) == std::string::npos) {
      if (deadline.passed() || !Pump()) return screen_.find(text) != std::string::npos;
    }
    return true;
  }
  int Wait() {
    Deadline deadline = Deadline::After(60'000);
    int status;
    pid_t reaped;
    while ((reaped = waitpid(pid_, &status, WNOHANG)) == 0 && !deadline.passed()) Pump();
    if (reaped != pid_) return -1;
    ended_ = true;
    while (Pump()) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  const std::string& screen() const { return screen_; }

 private:
  bool Pump() {  // false when nothing more can come
    pollfd p = {master_.get(), POLLIN, 0};
    if (poll(&p, 1, 20) <= 0) return !ended_;
    char buffer[4096];
    ssize_t n = read(master_.get(), buffer, sizeof buffer);
    if (n > 0) screen_.append(buffer, static_cast<size_t>(n));
    return n > 0;
  }
  pid_t pid_ = -1;
  bool ended_ = false;
  Fd master_;
  std::string screen_;
};

TEST(OnATerminal, OneRankHasTheTerminal) {
  Terminal t({"-n", "1", "sh", "-c",
              "test -t 0 && test -t 1 && test -t 2 && echo has-it; read x; echo got:$x"});
  EXPECT_TRUE(t.WaitFor("has-it"));
  t.Type("line\n");
  EXPECT_EQ(t.Wait(), 0);
  EXPECT_THAT(t.screen(), HasSubstr("got:line"));
}

TEST(OnATerminal, RankZeroOfSeveralGetsWhatIsTyped) {
  Terminal t({"-n", "3", "sh", "-c", "read x; echo got:$x; read y || echo end"});
  t.Type("line\n");
  EXPECT_TRUE(t.WaitFor("[0] got:line")) << t.screen();
  t.Type("\x04");
  EXPECT_EQ(t.Wait(), 0);
  EXPECT_THAT(t.screen(), HasSubstr("[0] end"));
}

TEST(OnATerminal, CtrlCEndsTheJob) {
  for (const char* n : {"1", "3"}) {
    Terminal t({"-n", n, "sh", "-c", "echo ready; exec sleep 1000"});
    ASSERT_TRUE(t.WaitFor("ready"));
    t.Type("\x03");
    EXPECT_EQ(t.Wait(), 130) << n << t.screen();
  }
}

TEST(OnATerminal, GdbHasItAndCtrlC) {
  if (FindGdb().path.empty()) GTEST_SKIP() << "gdb is not installed";
  Terminal t({"-n", "2", "--gdb", "1", "/bin/sh", "-c",
              "test {rank} = 1 || exec cat; read x; echo got:$x"});
  ASSERT_TRUE(t.WaitFor("(gdb)"));
  t.Type("run\n");
  t.Type("line\n");
  EXPECT_TRUE(t.WaitFor("got:line")) << t.screen();
  EXPECT_TRUE(t.WaitFor("exited normally")) << t.screen();
  t.Type("\x03");  // at the prompt: for gdb alone
  t.Type("print 6*7\n");
  EXPECT_TRUE(t.WaitFor("= 42")) << t.screen();
  t.Type("quit\n");
  EXPECT_EQ(t.Wait(), 0) << t.screen();
}

}  // namespace
}  // namespace hcclrun::testing
