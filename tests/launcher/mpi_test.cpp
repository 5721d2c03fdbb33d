// MPI programs under hcclrun, with each MPI that was there at build time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "run_launcher.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Installed {
  const char* name;
  const char* program;  // nullptr = not there
  const char* package;
  const char* library;
};

#ifndef HCCLRUN_MPI_RANK_openmpi
#define HCCLRUN_MPI_RANK_openmpi nullptr
#endif
#ifndef HCCLRUN_MPI_RANK_mpich
#define HCCLRUN_MPI_RANK_mpich nullptr
#endif

class Mpi : public ::testing::TestWithParam<Installed> {
 protected:
  void SetUp() override {
    if (!GetParam().program) GTEST_SKIP() << GetParam().name << " is not installed";
  }
};

TEST_P(Mpi, RanksFormOneJobUnderOurLabels) {
  Outcome o = RunLauncher({"-n", "4", GetParam().program});
  EXPECT_EQ(o.code, 0) << o.err;
  std::vector<std::string> expected;
  for (int r = 0; r < 4; r++) {
    std::string n = std::to_string(r);
    expected.push_back("[" + n + "] rank " + n + " of 4, told " + n + " of 4");
  }
  EXPECT_EQ(SortedLines(o.out), expected);
  EXPECT_EQ(o.err, "");
}

// Its own local rank MPI does not take from there.
TEST_P(Mpi, RanksPlayServers) {
  Outcome o = RunLauncher({"--servers", "2,1", "--no-label", "--mpi", GetParam().name, "sh", "-c",
                           "echo $RANK $LOCAL_RANK $DEVICE_ID $LOCAL_WORLD_SIZE; "
                           "test -r $RANK_TABLE_FILE"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(SortedLines(o.out), (std::vector<std::string>{"0 0 0 2", "1 1 1 2", "2 0 0 1"}));
}

TEST_P(Mpi, MoreRanksThanProcessors) {
  Outcome o = RunLauncher({"-n", "12", GetParam().program});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(CountOf(o.out, "of 12, told"), 12);
}

TEST_P(Mpi, VerdictAndExitCodeAreOurs) {
  Outcome o = RunLauncher({"-n", "4", GetParam().program, "exit"});
  EXPECT_EQ(o.code, 3);
  EXPECT_THAT(o.err, HasSubstr("hcclrun: rank 1 (pid "));
  EXPECT_THAT(o.err, HasSubstr("exited with code 3"));
  o = RunLauncher({"-n", "4", GetParam().program, "kill"});
  EXPECT_EQ(o.code, 137);
  EXPECT_THAT(o.err, StartsWith("hcclrun: rank 1 (pid "));
}

TEST_P(Mpi, AbortGivesItsCode) {
  Outcome o = RunLauncher({"-n", "4", GetParam().program, "abort"});
  EXPECT_EQ(o.code, 5) << o.err;
}

TEST_P(Mpi, TimeoutEndsIt) {
  std::string which = GetParam().name;
  Outcome o = RunLauncher({"-n", "3", "--mpi", which, "--timeout", "2", "sleep", "1000"});
  EXPECT_EQ(o.code, 124) << o.err;
}

TEST_P(Mpi, InputGoesToRankZero) {
  LauncherRun::Setup setup;
  setup.input = "hello";
  std::string which = GetParam().name;
  Outcome o = RunLauncher({"-n", "2", "--mpi", which, "sh", "-c", "echo got:$(cat)"}, setup);
  EXPECT_EQ(SortedLines(o.out), (std::vector<std::string>{"[0] got:hello", "[1] got:"})) << o.err;
}

TEST_P(Mpi, AProgramThatOneRankDoesNotFindIsCalledMissing) {
  LauncherRun::Setup setup;
  const std::string directory = ::testing::TempDir() + "hcclrun_mpi_test_" + GetParam().name;
  const std::string own = directory + "/only_for_0";
  mkdir(directory.c_str(), 0700);
  (void)!symlink("/bin/true", own.c_str());
  setup.environment = {{"PATH", directory + ":" + getenv("PATH")}};
  const std::string which = GetParam().name;
  Outcome o = RunLauncher({"-n", "2", "--mpi", which, "only_for_{rank}"}, setup);
  unlink(own.c_str());
  rmdir(directory.c_str());
  EXPECT_EQ(o.code, 127) << o.err;
  EXPECT_THAT(o.err, HasSubstr("no program 'only_for_1' in PATH"));
}

TEST_P(Mpi, IsRefusedWithoutItsMpiRun) {
  LauncherRun::Setup setup;
  setup.environment = {{"PATH", "/nonexistent"}};
  Outcome o = RunLauncher({"-n", "2", GetParam().program}, setup);
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.out, "");
  EXPECT_THAT(o.err, HasSubstr(std::string("Install the package ") + GetParam().package));
}

TEST_P(Mpi, OffStartsSingleRanksOnRequest) {
  Outcome o = RunLauncher({"-n", "2", "--mpi", "off", GetParam().program});
  EXPECT_EQ(CountOf(o.out, "rank 0 of 1"), 2) << o.err;
}

TEST_P(Mpi, HiddenInAScriptIsNoticed) {
  Outcome o = RunLauncher({"-n", "2", LAUNCHER_RANK, "load", GetParam().library});
  EXPECT_EQ(o.code, 1) << o.err;
  EXPECT_THAT(o.err, HasSubstr(std::string("use --mpi ") + GetParam().name));
}

TEST_P(Mpi, NothingSurvivesTheLauncher) {
  std::string which = GetParam().name;
  LauncherRun run({"-n", "2", "--mpi", which, "--no-label", "sh", "-c",
                   "echo pid $$ pid $PPID; setsid sleep 1000 & echo pid $!; wait"});
  ASSERT_TRUE(run.WaitForOut("pid ", 6));
  run.Signal(SIGKILL);
  Outcome o = run.Wait();
  for (pid_t pid : PidsAfter(o.out, "pid ")) EXPECT_TRUE(WaitUntilGone(pid)) << pid;
}

INSTANTIATE_TEST_SUITE_P(
    Each, Mpi,
    ::testing::Values(Installed{"openmpi", HCCLRUN_MPI_RANK_openmpi, "openmpi-bin", "libmpi.so.40"},
                      Installed{"mpich", HCCLRUN_MPI_RANK_mpich, "mpich", "libmpich.so.12"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace hcclrun::testing
