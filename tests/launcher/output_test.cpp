// What happens to the output of ranks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "run_launcher.h"

namespace hcclrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Contents(const std::string& path) {
  std::ifstream f(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}

TEST(Output, IsLabelledAndKeptApart) {
  Outcome o = RunLauncher({"-n", "2", "sh", "-c", "echo out; echo err >&2"});
  EXPECT_THAT(SortedLines(o.out), ElementsAre("[0] out", "[1] out"));
  EXPECT_THAT(SortedLines(o.err), ElementsAre("[0] err", "[1] err"));
}

TEST(Output, HasNoLabelsForOneRankOrOnRequest) {
  EXPECT_EQ(RunLauncher({"-n", "1", "echo", "x"}).out, "x\n");
  EXPECT_EQ(RunLauncher({"-n", "2", "--no-label", "echo", "x"}).out, "x\nx\n");
}

TEST(Output, AnUnfinishedLastLineIsShown) {
  Outcome o = RunLauncher({"-n", "2", "printf", "a\\nb"});
  EXPECT_THAT(SortedLines(o.out), ElementsAre("[0] a", "[0] b", "[1] a", "[1] b"));
}

TEST(Output, MegabyteLinesStayWhole) {
  Outcome o = RunLauncher(
      {"-n", "4", "sh", "-c",
       "for i in 1 2 3; do head -c 1000000 /dev/zero | tr '\\0' {rank}; echo; echo short; done"});
  EXPECT_EQ(o.code, 0);
  std::vector<std::string> lines = SortedLines(o.out);
  ASSERT_EQ(lines.size(), 24u);
  for (int r = 0; r < 4; r++) {
    std::string label = "[" + std::to_string(r) + "] ";
    std::string expected = label + std::string(1000000, static_cast<char>('0' + r));
    EXPECT_EQ(std::count(lines.begin(), lines.end(), expected), 3) << r;
    EXPECT_EQ(std::count(lines.begin(), lines.end(), label + "short"), 3) << r;
  }
}

TEST(Output, NothingIsLostWhenMuchComesAtOnce) {
  Outcome o = RunLauncher({"-n", "8", "--no-label", "seq", "1", "20000"});
  EXPECT_EQ(CountOf(o.out, "\n"), 8 * 20000);
  EXPECT_EQ(CountOf(o.out, "\n19999\n"), 8);
}

TEST(Output, AGrandchildThatKeepsThePipeDoesNotHoldTheJob) {
  Outcome o =
      RunLauncher({"-n", "2", "sh", "-c", "echo first; (echo second; exec sleep 1000) & exit 0"});
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(CountOf(o.out, "first"), 2);
  EXPECT_EQ(CountOf(o.out, "second"), 2);
}

TEST(Output, TheLastWordsOfAKilledRankAreKept) {
  Outcome o =
      RunLauncher({"-n", "2", "sh", "-c",
                   "test {rank} = 0 && exec sleep 1000; seq 1 5000; echo last; kill -9 $$"});
  EXPECT_EQ(o.code, 137);
  EXPECT_THAT(o.out, HasSubstr("[1] last\n"));
  EXPECT_THAT(o.out, HasSubstr("[1] 4999\n"));
}

TEST(Output, AReaderThatGoesAwayEndsTheJob) {
  LauncherRun::Setup setup;
  setup.close_out = true;
  Outcome o = RunLauncher({"-n", "2", "yes"}, setup);
  EXPECT_EQ(o.code, 141);
  EXPECT_THAT(o.err, HasSubstr("SIGPIPE"));
}

TEST(Output, GoesToFilesWithLogDir) {
  char directory[] = "/tmp/hcclrun-logs-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  std::string deep = std::string(directory) + "/a/b";
  Outcome o = RunLauncher({"-n", "2", "--log-dir", deep, "sh", "-c",
                           "echo out{rank}; echo err{rank} >&2; exit {rank}"});
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.out, "");
  EXPECT_THAT(o.err, HasSubstr(deep + "/rank.1.err and .out"));
  EXPECT_EQ(Contents(deep + "/rank.0.out"), "out0\n");
  EXPECT_EQ(Contents(deep + "/rank.0.err"), "err0\n");
  EXPECT_EQ(Contents(deep + "/rank.1.out"), "out1\n");
  EXPECT_EQ(Contents(deep + "/rank.1.err"), "err1\n");
  for (const char* name : {"/a/b/rank.0.out", "/a/b/rank.0.err", "/a/b/rank.1.out",
                           "/a/b/rank.1.err", "/a/b", "/a", ""}) {
    remove((directory + std::string(name)).c_str());
  }
}

}  // namespace
}  // namespace hcclrun::testing
