// The job page: handed over, written by ranks, read for the verdict.

#include "shm/lifeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "base/clock.h"
#include "base/job.h"
#include "run_launcher.h"
#include "shm/socket.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;

TEST(JobPage, EveryRankGetsIt) {
  Outcome o = RunLauncher({"-n", "8", "--no-label", "--memory", "3G", LAUNCHER_RANK, "page"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(CountOf(o.out, "8 ranks, 3072 MiB\n"), 8) << o.out;
  EXPECT_EQ(o.err, "");
}

TEST(JobPage, WorksBehindAWrapper) {
  Outcome o = RunLauncher(
      {"-n", "2", "--no-label", "sh", "-c", LAUNCHER_RANK " page; " LAUNCHER_RANK " page; true"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(CountOf(o.out, "2 ranks"), 4) << o.out;
}

TEST(JobPage, TheNextProgramOfARankStartsWithACleanNote) {
  Outcome o =
      RunLauncher({"-n", "2", "sh", "-c", LAUNCHER_RANK " blame 7; exec " LAUNCHER_RANK " fresh"});
  EXPECT_EQ(o.code, 0) << o.err;
}

TEST(JobPage, TheAccountOfAnEndedRankIsZeroed) {
  Outcome o = RunLauncher({"-n", "2", "--no-label", LAUNCHER_RANK, "account"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out, "zeroed\n");
}

TEST(JobPage, AWrongSecretIsRefused) {
  Outcome o = RunLauncher({"-n", "2", "-x", "HCCLRUN_SECRET=0123", LAUNCHER_RANK, "page"});
  EXPECT_EQ(o.code, 10);
  EXPECT_THAT(o.err, HasSubstr("refused"));
}

TEST(JobPage, GarbageOnTheSocketIsSurvived) {
  LauncherRun run(
      {"-n", "1", "sh", "-c", "echo name:$HCCLRUN_LIFELINE:; while :; do sleep 0.05; done"});
  ASSERT_TRUE(run.WaitForOut(":\n"));
  std::string name = run.out().substr(5, run.out().find(":\n") - 5);
  LifelineHello hello = {};
  hello.magic = kJobPageMagic;
  hello.version = kLifelineVersion;
  auto answer = [&](const void* packet, size_t size) {  // the welcome's status; -1 = hung up on
    Result<UniqueFd> socket = ConnectAbstract(name, Deadline::After(10'000));
    EXPECT_TRUE(socket.ok());
    EXPECT_FALSE(SendPacket(socket->get(), packet, size, {0, 1}, Deadline::After(10'000)));
    LifelineWelcome welcome = {};
    std::vector<UniqueFd> fds;
    Result<size_t> got =
        ReceivePacket(socket->get(), &welcome, sizeof welcome, &fds, Deadline::After(10'000));
    EXPECT_TRUE(got.ok());
    EXPECT_TRUE(fds.empty());
    return *got == sizeof welcome ? static_cast<int>(welcome.status) : -1;
  };
  EXPECT_EQ(answer(&hello, sizeof hello), 1) << "no secret";
  EXPECT_EQ(answer(&hello, 7), -1);
  std::string large(1000, 'x');
  EXPECT_EQ(answer(large.data(), large.size()), -1);
  hello.magic++;
  EXPECT_EQ(answer(&hello, sizeof hello), -1);
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait().code, 143);
}

TEST(VerdictOfAJob, NamesVictimAndWaiters) {
  Outcome o = RunLauncher({"-n", "8", LAUNCHER_RANK, "kill", "3"});
  EXPECT_EQ(o.code, 137);
  EXPECT_THAT(o.err, HasSubstr("hcclrun: rank 3 (pid "));
  EXPECT_THAT(o.err, HasSubstr("was killed by signal 9 (SIGKILL); its last API call was "
                               "HcclAllReduce #41, which had not "
                               "returned."));
  EXPECT_THAT(
      o.err,
      HasSubstr("At that moment ranks 0-2,4-7 were in HcclAllReduce #41 waiting for rank 3."));
  EXPECT_THAT(o.err, HasSubstr("7 other ranks failed afterwards. Exit code 137."));
  EXPECT_EQ(CountOf(o.err, "\n"), 1) << o.err;
}

TEST(VerdictOfAJob, TheFirstFailureIsBlamedAlsoWhenItExits) {
  for (int round = 0; round < 5; round++) {
    Outcome o = RunLauncher({"-n", "6", LAUNCHER_RANK, "exit", "4"});
    EXPECT_EQ(o.code, 3) << o.err;
    EXPECT_THAT(o.err, HasSubstr("hcclrun: rank 4 "));
  }
}

TEST(VerdictOfAJob, SurvivorsThatIgnoreSigtermAreKilled) {
  Outcome o = RunLauncher({"-n", "3", LAUNCHER_RANK, "stubborn", "1"});
  EXPECT_EQ(o.code, 137);
  EXPECT_THAT(o.err, HasSubstr("hcclrun: rank 1 "));
  EXPECT_THAT(o.err, HasSubstr("hcclrun ended 2 ranks that still ran."));
}

TEST(LauncherKilled, EveryProcessOfTheJobEnds) {
  // Direct children, children of a wrapper with the library, and without it, and out of
  // the process group.
  LauncherRun run(
      {"-n", "3", "--no-label", "sh", "-c",
       "sleep 1000 & echo pid $!; setsid sleep 1000 & echo pid $!; echo pid $$; " LAUNCHER_RANK
       " hang; true"});
  ASSERT_TRUE(run.WaitForOut("pid ", 12));
  run.Signal(SIGKILL);
  Outcome o = run.Wait();
  EXPECT_EQ(o.code, 137);
  std::vector<pid_t> pids = PidsAfter(o.out, "pid ");
  EXPECT_EQ(pids.size(), 12u);
  for (pid_t pid : pids) EXPECT_TRUE(WaitUntilGone(pid)) << pid;
}

}  // namespace
}  // namespace hcclrun::testing
