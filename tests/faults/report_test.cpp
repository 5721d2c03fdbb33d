// What hcclrun says about jobs that hang: who holds up whom, and the cycle if there is one. Reports
// are asked for with SIGQUIT until one shows what is awaited, so that no test depends on how fast
// the ranks get there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "launcher/run_launcher.h"

namespace hcclrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class TemporaryFile {
 public:
  TemporaryFile() { close(mkstemp(path_)); }
  ~TemporaryFile() { unlink(path_); }
  const char* path() const { return path_; }
  Json Read() const {
    std::ifstream file(path_);
    return Json::parse(file, nullptr, /*allow_exceptions=*/false);
  }

 private:
  char path_[32] = "/tmp/hcclrun-report-XXXXXX";
};

class Hang {
 public:
  explicit Hang(const std::string& how, const std::string& ranks = "3")
      : run_({"-n", ranks, "-x", "HCCLRUN_STALL_NOTE=0", HANGING_RANK, how}) {
    EXPECT_TRUE(run_.WaitForOut("ready"));  // before, the signal would end hcclrun
  }
  ~Hang() {
    run_.Signal(SIGINT);
    run_.Signal(SIGINT);
    end_ = run_.Wait().err;
  }
  // Asks for reports until one has all of the texts: ranks may still be on their way to where they
  // hang. The last report, then without some of them, if none ever has.
  std::string ReportWith(const std::vector<std::string>& texts) {
    const std::string head = "hcclrun: report after ";
    std::string report;
    for (int asked = 0; asked < 100; asked++) {
      // It is complete when the next one begins.
      if (!run_.SignalUntilErr(SIGQUIT, head, CountOf(run_.err(), head) + 2)) break;
      const size_t next = run_.err().rfind(head);
      const size_t begin = run_.err().rfind(head, next - 1);
      report = run_.err().substr(begin, next - begin);
      if (std::all_of(texts.begin(), texts.end(), [&](const std::string& text) {
            return report.find(text) != std::string::npos;
          }))
        return report;
    }
    for (const std::string& text : texts) EXPECT_THAT(report, HasSubstr(text));
    return report;
  }

 private:
  LauncherRun run_;
  std::string end_;
};

TEST(Report, BlamesTheRankThatHasNotCalledAndNotThoseAhead) {
  Hang hang("late");
  const std::string report =
      hang.ReportWith({"ranks 0-1 wait for rank 2, which is outside",
                       "after HcclAllReduce #1 of communicator first",
                       "is at HcclAllReduce #2 of communicator first (16 fp32, sum) and "
                       "waits for rank 2 since "});
  EXPECT_THAT(report, Not(HasSubstr("deadlock")));
  EXPECT_THAT(report, Not(HasSubstr("for rank 0")));
}

// By the rank that comes to it first; the others point to that, and the verdict, which is the last
// line, says it once more.
TEST(Report, CallsThatDifferAreToldInFullOnce) {
  const Outcome outcome = RunLauncher({"-n", "4", HANGING_RANK, "differ"});
  EXPECT_EQ(outcome.code, 7);
  std::istringstream lines(outcome.err);
  int in_full = 0, verdicts = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool differs = line.find(
                             "operation #2 of communicator first differs between ranks in "
                             "count") != std::string::npos;
    const bool verdict = line.find("hcclrun: rank ") == 0;
    in_full += differs && !verdict;
    verdicts += differs && verdict;
  }
  EXPECT_EQ(in_full, 1) << outcome.err;
  EXPECT_EQ(verdicts, 1) << outcome.err;
}

TEST(Report, SpellsOutCrossedSends) {
  Hang hang("crossed");
  hang.ReportWith({"This is crossed sends",
                   "of rank 0 is at HcclSend: send #1 to rank 1 of communicator first, "
                   "whose receive rank 1 has queued in its stream ",
                   "of rank 1 is at HcclSend: send #1 to rank 0 of communicator first, "
                   "whose receive rank 0 has queued in its stream "});
}

TEST(Report, SpellsOutCommunicatorsInOppositeOrder) {
  Hang hang("communicators", "2");
  hang.ReportWith({"This is two communicators used in opposite order",
                   "of rank 0 is at HcclAllReduce #2 of communicator first, which rank "
                   "1 has queued in its stream ",
                   "of rank 1 is at HcclAllReduce #1 of communicator second, which "
                   "rank 0 has queued in its stream "});
}

TEST(Report, SpellsOutAnEventThatNobodyRecords) {
  Hang hang("event");
  hang.ReportWith({"This is an event that nobody records",
                   "waits for an event that nobody has recorded, rank 0 has to",
                   "rank 0 waits in aclrtSynchronizeStream for stream "});
}

TEST(Report, SpellsOutOneCommunicatorOnTwoUnorderedStreams) {
  Hang hang("streams");
  hang.ReportWith({"This is one communicator on two streams",
                   "of rank 0 is at HcclAllReduce #3 of communicator first, behind "
                   "operation #2",
                   "waits for an event, which is recorded in stream "});
}

TEST(Report, SpellsOutARegistrationThatCrossesAnOperation) {
  Hang hang("register");
  hang.ReportWith({"This is a thread that waits for its stream",
                   "rank 0 is in HcclCommSymWinRegister #1 of communicator first, and "
                   "rank 1 has not called it",
                   "is at HcclAllReduce #2 of communicator first, rank 0 has not called "
                   "it"});
}

TEST(Report, NamesARankThatIsStopped) {
  LauncherRun run({"-n", "3", "-x", "HCCLRUN_STALL_NOTE=0.2", HANGING_RANK, "stopped"});
  ASSERT_TRUE(run.WaitForOut("ready"));
  ASSERT_TRUE(
      run.SignalUntilErr(SIGQUIT, "ranks 0-1 wait for rank 2, which is stopped by a signal"))
      << run.err();
  EXPECT_TRUE(run.SignalUntilErr(SIGQUIT,
                                 "missing: rank 2 (last call HcclBroadcast #2), "
                                 "stopped by a signal (SIGCONT lets it go on)"))
      << run.err();
  run.Signal(SIGINT);
  run.Signal(SIGINT);
  EXPECT_THAT(run.Wait().err, HasSubstr("rank 2 was stopped by a signal"));
}

TEST(Report, NamesAHostFunctionThatRuns) {
  Hang hang("host");
  hang.ReportWith({"ranks 0-1 wait for rank 2, whose stream 0 runs a host function since "});
}

TEST(Report, NamesMembersThatAreMissing) {
  Hang hang("members");
  hang.ReportWith({"ranks 0-1 wait for rank 2, which is outside",
                   "is in HcclCommInitRootInfoConfig and waits for rank 2 of "
                   "communicator first"});
}

TEST(Report, NamesMembersOfASubCommunicatorByTheirNumbersInTheJob) {
  Hang hang("part");
  hang.ReportWith({"This is a communicator that some wait to have made",
                   "rank 0 is in HcclAllReduce of communicator part, and rank 2 has not made it",
                   "of ranks 0-1 is in HcclAllReduce and waits for rank 2 to make communicator "
                   "part since "});
}

// Also one that has left its parent in order.
TEST(Members, OneThatHasEndedIsNotWaitedFor) {
  for (const char* how : {"left", "gone"}) {
    const Outcome outcome = RunLauncher({"-n", "3", HANGING_RANK, how});
    SCOPED_TRACE(std::string(how) + outcome.err);
    EXPECT_EQ(outcome.code, 7);
    EXPECT_THAT(outcome.err, HasSubstr("the communicator was not made: rank 2 of "));
  }
}

// Once for the job, and the job goes on.
TEST(Report, SaysAfterAWhileWhoHoldsUpWhom) {
  LauncherRun run({"-n", "3", "-x", "HCCLRUN_STALL_NOTE=2", HANGING_RANK, "crossed"});
  const std::string quit = "hcclrun: kill -QUIT " + std::to_string(run.pid());
  ASSERT_TRUE(run.SignalUntilErr(SIGCONT, quit)) << run.err();
  EXPECT_THAT(run.err(), HasSubstr(" s, deadlock: "));
  EXPECT_THAT(run.err(), HasSubstr("This is crossed sends"));
  run.Signal(SIGINT);
  run.Signal(SIGINT);
  EXPECT_EQ(CountOf(run.Wait().err, quit), 1);
}

TEST(Report, IsMadeBeforeARankGivesUp) {
  TemporaryFile file;
  LauncherRun::Setup setup;
  setup.environment["HCCLRUN_EXEC_TIMEOUT"] = "4";
  const Outcome outcome =
      RunLauncher({"-n", "3", "--report", file.path(), HANGING_RANK, "late"}, setup);
  EXPECT_EQ(outcome.code, 7) << outcome.err;
  EXPECT_EQ(CountOf(outcome.err, "hcclrun: report after "), 1) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("gives up waiting (HCCL_EXEC_TIMEOUT)"));
  EXPECT_THAT(outcome.err, HasSubstr("ranks 0-1 wait for rank 2, which is outside"));
  const Json json = file.Read();
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["hcclrun_report"], 1);
  ASSERT_EQ(json["stragglers"].size(), 1u);
  EXPECT_EQ(json["stragglers"][0]["rank"], 2);
  EXPECT_EQ(json["stragglers"][0]["ranks_waiting"], (Json::array({0, 1})));
  ASSERT_EQ(json["ranks"].size(), 3u);
  // The first that gave up; the other one may have been ended with the job.
  const int first = json["ranks"][0]["end"] == "exit code 7" ? 0 : 1;
  EXPECT_EQ(json["ranks"][first]["end"], "exit code 7");
  const Json& calls = json["ranks"][first]["calls"];
  ASSERT_GE(calls.size(), 2u);
  EXPECT_EQ(calls.back()["call"], "HcclAllReduce");
  EXPECT_EQ(calls.back()["sequence"], 2);
  EXPECT_EQ(calls.back()["fault"], "timeout");
  EXPECT_TRUE(calls.back()["finished"].is_null());
  EXPECT_THAT(json["verdict"].get<std::string>(), HasSubstr("exited with code 7"));
}

TEST(Report, TellsAtTheJobsTimeout) {
  const Outcome outcome = RunLauncher({"-n", "2", "--timeout", "3", HANGING_RANK, "late"});
  EXPECT_EQ(outcome.code, 124);
  EXPECT_THAT(outcome.err, HasSubstr("because the job did not end within 3 s (--timeout):"));
}

// The last calls survive whoever made them.
TEST(Report, HoldsTheLastCallsOfARankThatWasKilled) {
  TemporaryFile file;
  const Outcome outcome = RunLauncher(
      {"-n", "3", "--report", file.path(), DOOMED_RANK, "1", "kill", "between_operations"});
  EXPECT_EQ(outcome.code, 128 + SIGKILL);
  const Json json = file.Read();
  ASSERT_TRUE(json.is_object());
  const Json& dead = json["ranks"][1];
  EXPECT_EQ(dead["end"], "SIGKILL");
  ASSERT_GE(dead["calls"].size(), 4u);
  EXPECT_THAT(dead["doing"].get<std::string>(),
              HasSubstr("has ended (SIGKILL), after HcclAllReduce #3 of communicator "));
  for (const Json& rank : json["ranks"]) {
    for (const Json& call : rank["calls"]) {
      if (!call.contains("finished") || call["finished"].is_null()) continue;
      EXPECT_LE(call["called"], call["posted"]) << call;
      EXPECT_LE(call["posted"], call["started"]) << call;
      EXPECT_LE(call["started"], call["finished"]) << call;
    }
  }
  const Json& last = dead["calls"].back();
  EXPECT_EQ(last["call"], "HcclAllReduce");
  EXPECT_EQ(last["sequence"], 3);
  EXPECT_FALSE(last["finished"].is_null());
  EXPECT_EQ(last["path"], "window");
}

}  // namespace
}  // namespace hcclrun::testing
