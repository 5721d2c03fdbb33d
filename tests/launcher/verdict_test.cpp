#include "launcher/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "base/call.h"
#include "base/rank_list.h"

namespace hcclrun {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Cause = VerdictFacts::Cause;

RankNote InAllReduce(int pid) {
  RankNote note;
  note.started = true;
  note.pid = note.library_pid = pid;
  note.call = static_cast<uint32_t>(CallId::HcclAllReduce);
  note.inside = true;
  note.sequence = 41;
  note.waiting = 1;
  note.waiting_for = 3;
  return note;
}

VerdictFacts EightInAllReduce() {
  VerdictFacts facts;
  for (int r = 0; r < 8; r++) facts.ranks.push_back(InAllReduce(100 + r));
  facts.ranks[3].waiting = 0;
  facts.rank = 3;
  facts.status = SIGKILL;
  facts.exit_code = 137;
  return facts;
}

TEST(Verdict, NamesTheKilledRankItsCallAndTheOthers) {
  VerdictFacts facts = EightInAllReduce();
  facts.failed_afterwards = 5;
  facts.ended_by_us = 2;
  EXPECT_EQ(Verdict(facts),
            "hcclrun: rank 3 (pid 103) was killed by signal 9 (SIGKILL); its last API call was "
            "HcclAllReduce #41, which "
            "had not returned. SIGKILL comes from outside the program: somebody's kill -9, a "
            "resource manager, or a "
            "memory limit. At that moment ranks 0-2,4-7 were in HcclAllReduce #41 waiting for rank "
            "3. 5 other ranks "
            "failed afterwards. hcclrun ended 2 ranks that still ran. Exit code 137.");
}

// Killed at its beginning, say.
TEST(Verdict, ACallWithoutANumberDoesNotGetThatOfTheOneBefore) {
  VerdictFacts facts = EightInAllReduce();
  facts.ranks[3].sequence = 40;
  facts.ranks[3].numbered = false;
  EXPECT_THAT(Verdict(facts), HasSubstr("its last API call was HcclAllReduce after operation #40, "
                                        "which had not returned."));
}

TEST(Verdict, AVictimSaysWhoseItIs) {
  VerdictFacts facts = EightInAllReduce();
  facts.rank = 0;
  facts.status = 1 << 8;
  facts.exit_code = 1;
  facts.ranks[0].blame = "HcclAllReduce: rank 3 did not come";
  facts.ranks[0].blames_another = true;
  EXPECT_THAT(Verdict(facts), HasSubstr("rank 0 (pid 100) exited with code 1; "));
  EXPECT_THAT(Verdict(facts), HasSubstr(" Before, a call of it had failed because of another rank: "
                                        "HcclAllReduce: rank 3 did not come. At that moment "));
}

TEST(Verdict, CallsThatDifferedAreNobodysFault) {
  VerdictFacts facts = EightInAllReduce();
  facts.rank = 0;
  facts.status = 1 << 8;
  facts.exit_code = 1;
  facts.ranks[0].blame = "aclrtSynchronizeStream: operation #3 differs between ranks in count";
  EXPECT_THAT(Verdict(facts),
              HasSubstr(" Before, a call of it had failed: aclrtSynchronizeStream: operation #3 "
                        "differs between ranks in count. At that moment "));
}

TEST(Verdict, BlamesMemoryOnlyWhenTheKernelSaysSo) {
  VerdictFacts facts = EightInAllReduce();
  EXPECT_THAT(Verdict(facts), Not(HasSubstr("lack of memory")));
  facts.out_of_memory = true;
  EXPECT_THAT(Verdict(facts), HasSubstr("killed a process for lack of memory"));
}

TEST(Verdict, ExitCodeWithoutTheLibrary) {
  VerdictFacts facts;
  facts.ranks.resize(1);
  facts.ranks[0].started = facts.ranks[0].ended = true;
  facts.ranks[0].pid = 7;
  facts.rank = 0;
  facts.status = 3 << 8;
  facts.exit_code = 3;
  EXPECT_EQ(Verdict(facts),
            "hcclrun: rank 0 (pid 7) exited with code 3; it had not called the library yet. Exit "
            "code 3.");
  facts.status = 127 << 8;
  EXPECT_THAT(Verdict(facts), HasSubstr("127 when it does not find a command"));
  facts.status = 139 << 8;
  EXPECT_THAT(Verdict(facts), HasSubstr("killed by SIGSEGV"));
}

TEST(Verdict, TellsAReturnedCallFromOneThatHadNot) {
  VerdictFacts facts = EightInAllReduce();
  facts.ranks[3].inside = false;
  facts.ranks[0].inside = false;
  std::string text = Verdict(facts);
  EXPECT_THAT(text, HasSubstr("HcclAllReduce #41, which had returned"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "rank 0 was outside the library after HcclAllReduce #41 and ranks 1-2,4-7 were in"));
}

TEST(Verdict, GroupsRanksByWhatTheyDid) {
  VerdictFacts facts = EightInAllReduce();
  facts.ranks[0] = RankNote();
  facts.ranks[1] = RankNote();
  facts.ranks[1].started = true;
  facts.ranks[2].ended = true;
  facts.ranks[4].library_gone = true;
  facts.ranks[5].waiting = 3;
  std::string text = Verdict(facts);
  EXPECT_THAT(
      text,
      HasSubstr(
          "rank 0 had not been started, rank 1 had not called the library yet, rank 2 had ended, "
          "rank 4 had ended its use of the library after HcclAllReduce #41, rank 5 was in "
          "HcclAllReduce #41 waiting for 3 ranks, one of them rank 3 and ranks 6-7 were in "));
}

TEST(Verdict, ManyGroupsAreSummedUp) {
  VerdictFacts facts = EightInAllReduce();
  for (int r = 0; r < 8; r++) facts.ranks[r].sequence = 50 + r;
  EXPECT_THAT(Verdict(facts), HasSubstr("and 1 rank was elsewhere"));
}

TEST(Verdict, GarbageInTheJobPageIsHarmless) {
  VerdictFacts facts = EightInAllReduce();
  facts.ranks[3].call = 0xffffffff;
  facts.ranks[2].call = 100000;
  facts.ranks[1].waiting = 0xffffffff;
  facts.ranks[0].waiting_for = 5000;
  std::string text = Verdict(facts);
  EXPECT_THAT(text, HasSubstr("rank 3 (pid 103) was killed by signal 9 (SIGKILL); it had loaded "
                              "the library and made no call."));
  EXPECT_THAT(text, HasSubstr("rank 2 was outside the library"));
  EXPECT_THAT(text, HasSubstr("rank 0 was in HcclAllReduce #41 waiting for one rank"));
}

TEST(Verdict, TimeoutSaysWhoIsWhere) {
  VerdictFacts facts = EightInAllReduce();
  facts.rank = -1;
  facts.cause = Cause::kTimeout;
  facts.timeout_text = "2.5";
  facts.exit_code = 124;
  for (RankNote& note : facts.ranks) note.waiting = 0;
  EXPECT_EQ(Verdict(facts),
            "hcclrun: the job did not end within 2.5 s (--timeout). At that moment ranks 0-7 were "
            "in HcclAllReduce #41. "
            "Raise --timeout if the job only needs longer. Exit code 124.");
}

TEST(Verdict, NamesTheWrappedProcessAndOneThatVanishedBefore) {
  VerdictFacts facts = EightInAllReduce();
  facts.ranks[3].library_pid = 999;
  EXPECT_THAT(Verdict(facts), HasSubstr("rank 3 (pid 103, its program in pid 999)"));
  facts.vanished_rank = 5;
  facts.ranks[5].library_pid = 777;
  EXPECT_THAT(Verdict(facts),
              HasSubstr("process 777 of rank 5 had ended without exit() after HcclAllReduce #41"));
}

TEST(Verdict, NamesTheLogs) {
  VerdictFacts facts = EightInAllReduce();
  facts.log_directory = "logs";
  EXPECT_THAT(Verdict(facts), HasSubstr("logs/rank.3.err and .out"));
}

TEST(Verdict, SignalToTheLauncher) {
  VerdictFacts facts = EightInAllReduce();
  facts.rank = -1;
  facts.cause = Cause::kSignalled;
  facts.signal = SIGINT;
  facts.exit_code = 130;
  EXPECT_THAT(Verdict(facts), HasSubstr("hcclrun: received SIGINT and passed it on to the ranks."));
}

TEST(Verdict, RankLists) {
  using List = std::vector<int>;
  EXPECT_EQ(RankList(List{}), "");
  EXPECT_EQ(RankList(List{5}), "5");
  EXPECT_EQ(RankList(List{0, 1, 2, 4, 6, 7}), "0-2,4,6-7");
  EXPECT_EQ(Ranks(List{3}), "rank 3");
  EXPECT_EQ(Ranks(List{3, 4}), "ranks 3-4");
}

TEST(Verdict, ExitCodes) {
  EXPECT_EQ(ExitCodeOf(0), 0);
  EXPECT_EQ(ExitCodeOf(7 << 8), 7);
  EXPECT_EQ(ExitCodeOf(SIGSEGV), 139);
}

}  // namespace
}  // namespace hcclrun
