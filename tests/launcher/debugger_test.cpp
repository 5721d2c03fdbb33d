// hcclrun --gdb R.

#include "launcher/debugger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_launcher.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Debugger : public ::testing::Test {
 protected:
  void SetUp() override {
    if (FindGdb().path.empty()) GTEST_SKIP() << "gdb is not installed";
  }
  static Outcome Run(const Args& args, const std::string& commands) {
    LauncherRun::Setup setup;
    setup.input = "set confirm off\n" + commands;
    return RunLauncher(args, setup);
  }
};

TEST_F(Debugger, HasTheRankAndTheInput) {
  Outcome o = Run({"-n", "3", "--gdb", "1", "/bin/sh", "-c", "echo $RANK-is-here; cat"},
                  "run\nprint 6*7\nquit\n");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("[0] 0-is-here"));
  EXPECT_THAT(o.out, HasSubstr("1-is-here"));
  EXPECT_THAT(o.out, Not(HasSubstr("[1] "))) << "its output is its own";
  EXPECT_THAT(o.out, HasSubstr("[2] 2-is-here"));
}

TEST_F(Debugger, ExecutesCommands) {
  Outcome o =
      Run({"-n", "2", "--gdb", "0", "/bin/sh", "-c", "exit {rank}0"}, "run\nprint 6*7\nquit 0\n");
  EXPECT_THAT(o.out, HasSubstr("exited normally"));
  EXPECT_THAT(o.out, HasSubstr("$1 = 42"));
  EXPECT_EQ(o.code, 10) << "of rank 1: " << o.err;
}

TEST_F(Debugger, NobodyTimesOut) {
  LauncherRun::Setup setup;
  setup.input = "quit\n";
  setup.environment["HCCLRUN_EXEC_TIMEOUT"] = "1";
  Outcome o = RunLauncher({"-n", "2", "--gdb", "1", "/usr/bin/printenv", "HCCLRUN_CONNECT_TIMEOUT",
                           "HCCLRUN_EXEC_TIMEOUT"},
                          setup);
  EXPECT_THAT(o.out, HasSubstr("[0] 100000000\n[0] 100000000\n"));
  o = RunLauncher({"-n", "2", "--gdb", "1", "-x", "HCCLRUN_EXEC_TIMEOUT=2", "/usr/bin/printenv",
                   "HCCLRUN_EXEC_TIMEOUT"},
                  setup);
  EXPECT_THAT(o.out, HasSubstr("[0] 2\n")) << "-x wins";
}

// Longer than the two seconds after which a failed job has been killed.
TEST_F(Debugger, OutlivesAFailureElsewhere) {
  Outcome o = Run(
      {"-n", "2", "--gdb", "1", "/bin/sh", "-c", "test {rank} = 1 || exit 3; echo still running"},
      "shell sleep 3\nrun\nquit\n");
  EXPECT_EQ(o.code, 3);
  EXPECT_THAT(o.out, HasSubstr("still running"));
  EXPECT_THAT(o.err, HasSubstr("hcclrun: rank 0 failed; rank 1 stays in gdb"));
  EXPECT_THAT(o.err, HasSubstr("exited with code 3"));
}

}  // namespace
}  // namespace hcclrun::testing
