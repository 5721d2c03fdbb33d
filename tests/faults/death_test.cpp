// One rank of a job ends too early, in several ways and at every step of a program. The others'
// calls must return an error that names it, within ten seconds; hcclrun must report that rank as
// the first cause with its exit code, and nothing may be left: no process, no name in /dev/shm.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <set>
#include <sstream>

#include "faults/leftovers.h"
#include "launcher/run_launcher.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kRanks = 3;
constexpr int64_t kPatienceNs = 10'000'000'000;

struct Death {
  int rank;
  const char* how;
  const char* step;
};

void PrintTo(const Death& death, std::ostream* out) {
  *out << death.how << " of rank " << death.rank << " " << death.step;
}

int ExitCode(const Death& death) {
  const std::string how = death.how;
  return how == "kill" ? 128 + SIGKILL : how == "abort" ? 128 + SIGABRT : how == "exit3" ? 3 : 7;
}

// The numbers behind `word`, as in PidsAfter.
std::vector<int64_t> NumbersAfter(const std::string& text, const std::string& word) {
  std::vector<int64_t> numbers;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    numbers.push_back(std::strtoll(text.c_str() + at + word.size(), nullptr, 10));
  }
  return numbers;
}

// Waits until the process has stopped; false after 20 s.
bool WaitUntilStopped(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  for (int i = 0; i < 2000; ++i) {
    std::ifstream file(path);
    std::string text;
    std::getline(file, text);
    const size_t name_end = text.rfind(')');  // "12 (name) T ..."
    if (name_end != text.npos && text.compare(name_end, 3, ") T") == 0) return true;
    const timespec pause = {0, 10'000'000};
    nanosleep(&pause, nullptr);
  }
  return false;
}

class DeathTest : public ::testing::TestWithParam<Death> {};

TEST_P(DeathTest, IsNamedAndEndsTheJob) {
  const Death& death = GetParam();
  const std::string step = death.step, how = death.how,
                    doomed = "rank " + std::to_string(death.rank);
  const std::set<std::string> names_before = NamesInShm();
  const Outcome outcome = RunLauncher(
      {"-n", std::to_string(kRanks), DOOMED_RANK, std::to_string(death.rank), how, step});
  SCOPED_TRACE("stdout:\n" + outcome.out + "\nstderr:\n" + outcome.err);

  const bool late =
      step == "after_destroy" || step == "at_the_end";  // nobody needs the rank any more
  const bool clean = how == "exit0";
  EXPECT_EQ(outcome.code, late && clean ? 0 : ExitCode(death));
  const std::vector<int64_t> death_at = NumbersAfter(outcome.out, "doomed at ");
  ASSERT_EQ(death_at.size(), 1u);

  // The survivors.
  const std::vector<int64_t> failed_at = NumbersAfter(outcome.out, "survivor failed at ");
  if (late) {
    EXPECT_EQ(failed_at.size(), 0u);
  } else {
    EXPECT_EQ(failed_at.size(), size_t{kRanks - 1});
    EXPECT_EQ(CountOf(outcome.out, "survivor finished"), 0);
    for (int64_t at : failed_at) EXPECT_LT(at - death_at[0], kPatienceNs);
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) {
      if (line.find("survivor failed") != line.npos) {
        EXPECT_THAT(line, HasSubstr(doomed));
      }
    }
  }

  // The verdict. An exit with code 0 is no failure of that rank; the first one is a survivor's.
  if (!clean) {
    EXPECT_THAT(outcome.err, HasSubstr("hcclrun: " + doomed + " (pid "));
    EXPECT_THAT(outcome.err, HasSubstr("Exit code " + std::to_string(ExitCode(death))));
    EXPECT_THAT(outcome.err, HasSubstr(how == "kill"    ? "SIGKILL"
                                       : how == "abort" ? "SIGABRT"
                                                        : "exited with code 3"));
  }

  // Nothing is left.
  const std::vector<pid_t> pids = PidsAfter(outcome.out, "] pid ");
  EXPECT_EQ(pids.size(), size_t{kRanks});
  for (pid_t pid : pids)
    EXPECT_TRUE(kill(pid, 0) != 0 && errno == ESRCH) << "process " << pid << " is left";
  for (const std::string& name : NamesInShm())
    EXPECT_TRUE(names_before.count(name)) << "/dev/shm/" << name << " is left";
}

std::vector<Death> Deaths() {
  std::vector<Death> deaths;
  // Every step once by the hardest death, of the rank that serves the root info and of another one.
  for (const char* step : {"before_init", "before_root_info", "after_root_info", "after_init",
                           "in_register", "between_operations", "after_enqueue", "in_host_function",
                           "in_large_operations", "after_leaving", "after_destroy", "at_the_end"}) {
    for (int rank : {0, 2}) deaths.push_back({rank, "kill", step});
  }
  // The ways to end that differ from it where they are noticed.
  for (const char* step :
       {"before_root_info", "after_root_info", "in_register", "between_operations", "after_enqueue",
        "after_leaving", "after_destroy"}) {
    for (const char* how : {"exit0", "exit3", "abort"}) deaths.push_back({1, how, step});
  }
  // HcclCommDestroy waits for nothing: what was called before is still owed.
  for (const char* how : {"kill", "exit0", "exit3"})
    deaths.push_back({1, how, "after_destroy_under_way"});
  for (int rank : {0, 2}) deaths.push_back({rank, "kill", "after_destroy_with_transfer"});
  deaths.push_back({2, "exit0", "after_destroy_with_transfer"});
  deaths.push_back({0, "exit0", "before_root_info"});
  deaths.push_back({0, "exit0", "after_root_info"});
  deaths.push_back({0, "exit3", "before_init"});
  deaths.push_back({1, "exit3", "in_host_function"});
  return deaths;
}

INSTANTIATE_TEST_SUITE_P(Deaths, DeathTest, ::testing::ValuesIn(Deaths()),
                         [](const ::testing::TestParamInfo<Death>& info) {
                           return std::string(info.param.how) + "_" + info.param.step + "_rank" +
                                  std::to_string(info.param.rank);
                         });

// A cgroup of its own below that of this process, with little memory; empty where there is none to
// be had.
class SmallCgroup {
 public:
  SmallCgroup() {
    std::ifstream file("/proc/self/cgroup");
    for (std::string line; std::getline(file, line) && path_.empty();) {
      const size_t v1 = line.find(":memory:");
      const bool v2 = line.rfind("0::", 0) == 0;
      if (v1 == line.npos && !v2) continue;
      const std::string path = (v2 ? "/sys/fs/cgroup" + line.substr(3)
                                   : "/sys/fs/cgroup/memory" + line.substr(v1 + 8)) +
                               "/hcclrun_test." + std::to_string(getpid());
      if (mkdir(path.c_str(), 0755) != 0) continue;
      std::ofstream(path + (v2 ? "/memory.swap.max" : "/memory.swappiness")) << 0 << std::flush;
      std::ofstream limit(path + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
      limit << (100 << 20) << std::flush;
      if (limit.is_open() && limit.good()) {
        path_ = path;
      } else {
        rmdir(path.c_str());
      }
    }
  }
  ~SmallCgroup() {
    if (!path_.empty()) rmdir(path_.c_str());
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(OutOfMemory, TheKernelsVictimIsNamedAsSuch) {
  const SmallCgroup cgroup;
  if (cgroup.path().empty()) GTEST_SKIP() << "no memory cgroup can be made here";
  // tail keeps the last line, which never ends.
  const Outcome outcome = RunLauncher(
      {"-n", "3", "sh", "-c",
       "[ {rank} = 1 ] || exec sleep 60; echo $$ >" + cgroup.path() +
           "/cgroup.procs && exec tail /dev/zero"});
  SCOPED_TRACE(outcome.out + outcome.err);
  EXPECT_EQ(outcome.code, 137);
  EXPECT_THAT(outcome.err, HasSubstr("hcclrun: rank 1 (pid "));
  EXPECT_THAT(outcome.err, HasSubstr("The kernel killed a process for lack of memory"));
}

// The job ends when its launcher is killed, whatever the ranks do.
TEST(LauncherDeath, EndsTheRanks) {
  LauncherRun run({"-n", "3", DOOMED_RANK, "1", "stop", "between_operations"});
  ASSERT_TRUE(run.WaitForOut("doomed at"));
  const std::vector<pid_t> pids = PidsAfter(run.out(), "] pid ");
  ASSERT_EQ(pids.size(), 3u);
  run.Signal(SIGKILL);
  for (pid_t pid : pids) EXPECT_TRUE(WaitUntilGone(pid)) << pid;
  EXPECT_EQ(run.Wait().code, 128 + SIGKILL);
}

// A rank that is stopped is not dead: the others wait, and go on when it goes on.
TEST(StoppedRank, IsWaitedFor) {
  LauncherRun run({"-n", "3", DOOMED_RANK, "1", "stop", "between_operations"});
  ASSERT_TRUE(run.WaitForOut("doomed at"));
  const std::vector<pid_t> pids = PidsAfter(run.out(), "[1] pid ");
  ASSERT_EQ(pids.size(), 1u);
  ASSERT_TRUE(WaitUntilStopped(pids[0]));
  kill(pids[0], SIGCONT);
  const Outcome outcome = run.Wait();
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(CountOf(outcome.out, "survivor finished"), 3);
}

}  // namespace
}  // namespace hcclrun::testing
