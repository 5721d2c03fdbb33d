// hcclrun --kill and --delay, which need no special build: a rank that is killed in a call of its
// own, and one that is late.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "launcher/run_launcher.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;

// Three ranks of which none ends by itself, with further options.
Outcome RunWith(std::vector<std::string> options) {
  std::vector<std::string> line = {"-n", "3"};
  line.insert(line.end(), options.begin(), options.end());
  line.insert(line.end(), {DOOMED_RANK, "2", "kill", "never"});
  return RunLauncher(line);
}

TEST(Mishap, ARankIsKilledInTheCallThatIsNamed) {
  for (const auto& [what, call] : {std::pair{"2:Register#1", "HcclCommSymWinRegister"},
                                   {"2:AllReduce#3", "HcclAllReduce"},
                                   {"2:HcclCommDestroy", "HcclCommDestroy"}}) {
    const Outcome outcome = RunWith({"--kill", what});
    SCOPED_TRACE("stdout:\n" + outcome.out + "\nstderr:\n" + outcome.err);
    EXPECT_EQ(outcome.code, 137);
    EXPECT_THAT(outcome.err, HasSubstr(std::string("rank 2 is killed in its ") + call));
    EXPECT_THAT(outcome.err, HasSubstr("hcclrun: rank 2 (pid "));
    EXPECT_THAT(outcome.err, HasSubstr(std::string("its last API call was ") + call));
    EXPECT_THAT(outcome.err, HasSubstr("That is what --kill asked for."));
  }
}

TEST(Mishap, ALateRankIsWaitedFor) {
  const int64_t begin_ns = NowNs();
  const Outcome outcome =
      RunWith({"--delay", "2:AllReduce#2:150ms", "--delay", "0:Register:150ms"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_GE(NowNs() - begin_ns, 300'000'000);
}

TEST(Mishap, OtherNumbersAndRanksAreLeftAlone) {
  const Outcome outcome = RunWith({"--kill", "2:AllReduce#9999", "--delay", "1:HcclBroadcast:9s"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

}  // namespace
}  // namespace hcclrun::testing
