// Starting and ending jobs of ordinary programs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "run_launcher.h"
#include "shm/processors.h"

namespace hcclrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Job, SucceedsSilently) {
  for (const char* n : {"1", "2", "7", "64"}) {
    Outcome o = RunLauncher({"-n", n, "/bin/true"});
    EXPECT_EQ(o.code, 0);
    EXPECT_EQ(o.out + o.err, "");
  }
}

TEST(Job, RanksKnowWhoTheyAre) {
  Outcome o = RunLauncher({"-n", "2", "--no-label", "-x", "MINE=r{rank}", "sh", "-c",
                           "echo $RANK $LOCAL_RANK $RANK_ID $DEVICE_ID $WORLD_SIZE $RANK_SIZE "
                           "$MINE {rank}/{size} $0 $@",
                           "arg{rank}", "last"});
  EXPECT_THAT(SortedLines(o.out),
              ElementsAre("0 0 0 0 2 2 r0 0/2 arg0 last", "1 1 1 1 2 2 r1 1/2 arg1 last"));
}

TEST(Job, BindsRanksToProcessorsOfTheirOwn) {
  const Args shows = {"sh", "-c", "sed -n 's/Cpus_allowed_list:.//p' /proc/self/status"};
  const auto run = [&shows](uint32_t ranks) {
    Args args = {"-n", std::to_string(ranks), "--bind", "--no-label"};
    args.insert(args.end(), shows.begin(), shows.end());
    return RunLauncher(args);
  };
  const uint32_t usable = ProcessorCount();
  const Outcome bound = run(std::min(usable, 16u));
  EXPECT_EQ(bound.code, 0);
  EXPECT_EQ(bound.err, "");
  std::vector<std::string> one_each;
  const std::vector<int> order = CoresFirst(ProcessorsOf(0));
  for (uint32_t i = 0; i < std::min(usable, 16u); i++) one_each.push_back(std::to_string(order[i]));
  std::sort(one_each.begin(), one_each.end());
  EXPECT_EQ(SortedLines(bound.out), one_each);
  if (usable >= 64) return;
  const Outcome crowded = run(usable + 1);
  EXPECT_EQ(crowded.code, 0);
  EXPECT_THAT(crowded.err, HasSubstr("--bind has no effect"));
}

// --servers: places, and a rank table that is there as long as the job.
TEST(Job, PlaysServers) {
  Outcome o = RunLauncher({"--servers", "2,1", "--no-label", "-x", "T={rank_table}", "sh", "-c",
                           "test $T = $RANK_TABLE_FILE -a $T = {rank_table} || exit 3; "
                           "grep -c rank_id $T; stat -c %a $T; echo $T >&2; "
                           "echo $RANK $LOCAL_RANK $LOCAL_WORLD_SIZE $DEVICE_ID $WORLD_SIZE"});
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(CountOf(o.out, "600\n"), 3);
  EXPECT_THAT(SortedLines(o.out), ElementsAre("0 0 2 0 3", "1 1 2 1 3", "2 0 1 0 3", "3", "3", "3",
                                              "600", "600", "600"));
  const std::string table = o.err.substr(0, o.err.find('\n'));
  EXPECT_THAT(table, ::testing::EndsWith(".json"));
  EXPECT_NE(access(table.c_str(), F_OK), 0) << table << " is left behind";
}

TEST(Job, ItsRankTableGoesWithAKilledLauncher) {
  LauncherRun run({"--servers", "1,1", "--no-label", "sh", "-c",
                   "echo table $RANK_TABLE_FILE pid $$; exec sleep 1000"});
  ASSERT_TRUE(run.WaitForOut("pid", 2));
  const std::string out = run.out();
  const size_t begin = out.find('/'), end = out.find(' ', begin);
  const std::string table = out.substr(begin, end - begin);
  EXPECT_EQ(access(table.c_str(), F_OK), 0) << table;
  run.Signal(SIGKILL);
  run.Wait();
  for (pid_t pid : PidsAfter(out, "pid ")) EXPECT_TRUE(WaitUntilGone(pid));
  for (int i = 0; i < 20'000 && access(table.c_str(), F_OK) == 0; i++) usleep(1000);
  EXPECT_NE(access(table.c_str(), F_OK), 0) << table << " is left behind";
}

TEST(Job, AFolderThatTakesNoRankTableIsNamed) {
  LauncherRun::Setup setup;
  setup.environment["TMPDIR"] = "/nowhere";
  Outcome o = RunLauncher({"--servers", "1,1", "true"}, setup);
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("/nowhere/hcclrun-"));
  EXPECT_THAT(o.err, HasSubstr("TMPDIR"));
  setup.environment["TMPDIR"] = "here";
  EXPECT_EQ(RunLauncher({"--servers", "1,1", "true"}, setup).code, 0) << "no absolute path: /tmp";
}

// A job in a job is one server again.
TEST(Job, ServersAreNotInherited) {
  Outcome o = RunLauncher({"--servers", "1,1", "--no-label", HCCLRUN_BINARY, "-n", "1", "sh", "-c",
                           "echo ${HCCLRUN_SERVERS-none} ${RANK_TABLE_FILE-none}"});
  EXPECT_THAT(SortedLines(o.out), ElementsAre("none none", "none none"));
}

TEST(Job, TheProgramsNameIsSubstituted) {
  Outcome o = RunLauncher({"-n", "1", "/bin/tru{rank}"});
  EXPECT_EQ(o.code, 127);
  EXPECT_THAT(o.err, HasSubstr("/bin/tru0"));
}

TEST(Job, InputGoesToRankZero) {
  LauncherRun::Setup setup;
  setup.input = "hello";
  Outcome o = RunLauncher({"-n", "3", "sh", "-c", "echo got:$(cat)"}, setup);
  EXPECT_THAT(SortedLines(o.out), ElementsAre("[0] got:hello", "[1] got:", "[2] got:"));
}

TEST(Job, ExitCodeIsThatOfTheFailingRank) {
  Outcome o = RunLauncher({"-n", "4", "sh", "-c", "test {rank} != 2 || exit 7; exec sleep 1000"});
  EXPECT_EQ(o.code, 7);
  EXPECT_THAT(o.err, HasSubstr("hcclrun: rank 2 (pid "));
  EXPECT_THAT(o.err, HasSubstr("exited with code 7; it had not called the library yet."));
  EXPECT_THAT(o.err, HasSubstr("Exit code 7.\n"));
}

TEST(Job, ARankKilledBySignalGives128PlusSignal) {
  Outcome o =
      RunLauncher({"-n", "2", "sh", "-c", "test {rank} = 0 || kill -SEGV $$; exec sleep 1000"});
  EXPECT_EQ(o.code, 139);
  EXPECT_THAT(o.err, HasSubstr("rank 1 (pid "));
  EXPECT_THAT(o.err, HasSubstr("signal 11 (SIGSEGV)"));
}

TEST(Job, ARankMayFinishBeforeTheOthers) {
  Outcome o =
      RunLauncher({"-n", "3", "sh", "-c", "test {rank} = 0 && exit 0; echo working; sleep 0.2"});
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(CountOf(o.out, "working"), 2);
}

TEST(Job, TimeoutEndsItWith124) {
  Outcome o = RunLauncher({"-n", "3", "--timeout", "0.3", "sleep", "1000"});
  EXPECT_EQ(o.code, 124);
  EXPECT_THAT(o.err, HasSubstr("did not end within 0.3 s (--timeout)"));
}

TEST(Job, TimeoutDoesNotTouchAJobThatEnds) {
  EXPECT_EQ(RunLauncher({"-n", "2", "--timeout", "50", "true"}).code, 0);
}

TEST(Job, SignalsArePassedOn) {
  for (auto [number, code] :
       {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}, std::pair{SIGHUP, 129}}) {
    LauncherRun run(
        {"-n", "2", "sh", "-c",
         "trap 'echo caught; exit 0' INT TERM HUP; echo ready; while :; do sleep 0.05; done"});
    ASSERT_TRUE(run.WaitForOut("ready", 2));
    run.Signal(number);
    Outcome o = run.Wait();
    EXPECT_EQ(o.code, code);
    EXPECT_EQ(CountOf(o.out, "caught"), 2) << o.out;
  }
}

TEST(Job, ASecondSignalKills) {
  LauncherRun run(
      {"-n", "2", "sh", "-c", "trap '' INT TERM; echo ready; while :; do sleep 1000; done"});
  ASSERT_TRUE(run.WaitForOut("ready", 2));
  run.Signal(SIGINT);
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait().code, 130);
}

TEST(Job, UserSignalsReachTheRanksAndNothingElse) {
  LauncherRun run({"-n", "2", "sh", "-c",
                   "trap 'echo usr; exit 0' USR1; echo ready; while :; do sleep 0.05; done"});
  ASSERT_TRUE(run.WaitForOut("ready", 2));
  run.Signal(SIGUSR1);
  Outcome o = run.Wait();
  EXPECT_EQ(CountOf(o.out, "usr"), 2) << o.out;
}

TEST(Job, AMissingProgramIs127) {
  Outcome o = RunLauncher({"-n", "2", "no-such-program-here"});
  EXPECT_EQ(o.code, 127);
  EXPECT_THAT(o.err, HasSubstr("hcclrun: no program 'no-such-program-here' in PATH"));
}

TEST(Job, AProgramThatIsNotExecutableIs126) {
  Outcome o = RunLauncher({"-n", "2", "/etc/passwd"});
  EXPECT_EQ(o.code, 126);
  EXPECT_THAT(o.err, HasSubstr("not executable"));
  EXPECT_EQ(RunLauncher({"-n", "2", "/tmp"}).code, 126);
}

TEST(Job, AMissingInterpreterIsSaid) {
  char path[] = "/tmp/hcclrun-script-XXXXXX";
  int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  const char text[] = "#!/no/such/interpreter\n";
  ASSERT_EQ(write(fd, text, sizeof text - 1), static_cast<ssize_t>(sizeof text - 1));
  fchmod(fd, 0700);
  close(fd);
  Outcome o = RunLauncher({"-n", "2", path});
  unlink(path);
  EXPECT_EQ(o.code, 127);
  EXPECT_THAT(o.err, HasSubstr("interpreter"));
}

TEST(Job, BadUsageIs2WithASentence) {
  Outcome o = RunLauncher({"-n", "2", "--frobnicate", "true"});
  EXPECT_EQ(o.code, 2);
  EXPECT_THAT(o.err, HasSubstr("hcclrun: unknown or ambiguous option --frobnicate"));
  EXPECT_EQ(o.out, "");
}

// What the program has said of its command line is all there is to say.
TEST(Job, NoVerdictAboutAProgramThatRefusesItsArguments) {
  const Outcome o = RunLauncher({"-n", "2", "--no-label", LAUNCHER_RANK, "usage"});
  EXPECT_EQ(o.code, 2);
  EXPECT_THAT(o.err, HasSubstr("wrong option\n"));
  EXPECT_THAT(o.err, Not(HasSubstr("hcclrun")));
  EXPECT_THAT(RunLauncher({"-n", "2", "-v", LAUNCHER_RANK, "usage"}).err,
              HasSubstr("exited with code 2"));
  // Who does not use the library may mean anything by 2.
  EXPECT_THAT(RunLauncher({"-n", "2", "sh", "-c", "echo no >&2; exit 2"}).err,
              HasSubstr("exited with code 2"));
}

TEST(Job, FilesThatCannotBeWrittenAreRefusedAtTheStart) {
  for (const char* option : {"--report", "--trace"}) {
    for (const char* path : {"/nonexistent/file", "/tmp"}) {
      const Outcome o = RunLauncher({"-n", "1", option, path, "echo", "started"});
      EXPECT_EQ(o.code, 1);
      EXPECT_THAT(o.err, HasSubstr(std::string("hcclrun: ") + option + " " + path +
                                   " cannot be written: "));
      EXPECT_EQ(o.out, "");
    }
  }
}

TEST(Job, ReportsOnQuitAlsoWhereAShellHadItIgnored) {
  LauncherRun::Setup setup;
  setup.quit_ignored = true;
  LauncherRun run({"-n", "2", "sh", "-c", "echo ready; sleep 1000"}, setup);
  ASSERT_TRUE(run.WaitForOut("ready", 2));
  EXPECT_TRUE(run.SignalUntilErr(SIGQUIT, "hcclrun: report after ")) << run.err();
  run.Signal(SIGTERM);
  run.Wait();
}

pid_t GuardOf(pid_t launcher) {
  const std::string own = std::to_string(launcher);
  std::ifstream children("/proc/" + own + "/task/" + own + "/children");
  for (pid_t pid; children >> pid;) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
    std::string comm;
    if (std::getline(file, comm) && comm == "hcclrun-guard") return pid;
  }
  return 0;
}

TEST(Job, AGuardThatIsKilledIsReplaced) {
  LauncherRun run({"-n", "2", "sh", "-c", "echo ready; sleep 1000"});
  ASSERT_TRUE(run.WaitForOut("ready", 2));
  const pid_t guard = GuardOf(run.pid());
  if (guard == 0) GTEST_SKIP() << "this kernel does not list children";
  kill(guard, SIGKILL);
  EXPECT_TRUE(run.SignalUntilErr(SIGCONT, "was killed by SIGKILL; there is another one now"))
      << run.err();
  run.Signal(SIGTERM);
  run.Wait();
}

TEST(Job, HelpAndVersion) {
  EXPECT_EQ(RunLauncher({"--help"}).code, 0);
  EXPECT_THAT(RunLauncher({"--help"}).out, HasSubstr("Usage: hcclrun -n N"));
  EXPECT_THAT(RunLauncher({"--version"}).out, HasSubstr("hcclrun 0."));
}

TEST(Job, NoDescriptorLeaksIntoRanks) {
  // Other programs' descriptors may come from the test's own surroundings; they are the same for
  // every command.
  Outcome one = RunLauncher({"-n", "1", "sh", "-c", "ls /proc/self/fd | wc -l"});
  Outcome three = RunLauncher({"-n", "3", "--no-label", "sh", "-c", "ls /proc/self/fd | wc -l"});
  FILE* f = popen("ls /proc/self/fd | wc -l", "re");
  char direct[32] = "";
  ASSERT_NE(fgets(direct, sizeof direct, f), nullptr);
  pclose(f);
  EXPECT_EQ(one.out, direct);
  EXPECT_EQ(three.out, std::string(direct) + direct + direct);
}

TEST(Job, LeftoversOfASuccessfulJobAreEnded) {
  Outcome o = RunLauncher(
      {"-n", "2", "--no-label", "sh", "-c",
       "sleep 1000 & echo pid $!; setsid sleep 1000 > /dev/null 2>&1 & echo pid $!; exit 0"});
  EXPECT_EQ(o.code, 0);
  std::vector<pid_t> pids = PidsAfter(o.out, "pid ");
  EXPECT_EQ(pids.size(), 4u);
  for (pid_t pid : pids) EXPECT_TRUE(WaitUntilGone(pid)) << pid;
}

TEST(Job, AJobInsideAJobIsItsOwn) {
  Outcome o = RunLauncher({"-n", "1", HCCLRUN_BINARY, "-n", "2", LAUNCHER_RANK, "page"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(CountOf(o.out, "2 ranks"), 2) << o.out;
}

TEST(Job, SharedRootInfoIsAnnounced) {
  Outcome o =
      RunLauncher({"-n", "1", "--shared-root-info", "sh", "-c", "echo $HCCLRUN_SHARED_ROOT_INFO"});
  EXPECT_EQ(o.out, "1\n");
}

}  // namespace
}  // namespace hcclrun::testing
