// When ranks stop yielding, and when they begin again.

#include "shm/wait_mode.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace hcclrun {
namespace {

constexpr int64_t kUs = 1000, kMs = 1000 * kUs;

// A rank that does operations, of which some have a late yield.
class Rank {
 public:
  // Operations of `each_ns`, then one with a late yield of 3 ms. What Late() says.
  int64_t RunsUntilLate(uint64_t operations, int64_t each_ns) {
    Runs(operations, each_ns);
    now += 3 * kMs;
    done++;
    return mode.Late(now, done, ++late);
  }
  void Runs(uint64_t operations, int64_t each_ns) {
    now += static_cast<int64_t>(operations) * each_ns;
    done += operations;
  }
  // Operations of `each_ns` until that time.
  int64_t SleepsUntil(int64_t until, int64_t each_ns) {
    Runs(static_cast<uint64_t>((until - now) / each_ns + 1), each_ns);
    return mode.Over(now, done);
  }

  WaitMode mode;
  int64_t now = 1000 * kMs;
  uint64_t done = 0, late = 0;
};

TEST(WaitMode, OneLateYieldIsForgotten) {
  Rank r;
  EXPECT_EQ(r.RunsUntilLate(1000, 8 * kUs), 0);
  for (int i = 0; i < 100; i++) {
    r.now += 600 * kMs;
    EXPECT_EQ(r.RunsUntilLate(1000, 8 * kUs), 0) << "far apart";
  }
}

TEST(WaitMode, SomeLateYieldsAmongManyQuickOperationsDoNotMatter) {
  Rank r;
  for (int i = 0; i < 100; i++) EXPECT_EQ(r.RunsUntilLate(1000, 8 * kUs), 0);
}

TEST(WaitMode, ForeignProgramMakesAllSleepLongerAndLonger) {
  Rank r;
  EXPECT_EQ(r.RunsUntilLate(5, 8 * kUs), 0);
  EXPECT_EQ(r.RunsUntilLate(5, 8 * kUs), 0);
  int64_t until = r.RunsUntilLate(5, 8 * kUs);
  EXPECT_EQ(until, r.now + 5 * kMs) << "a try";
  until = r.SleepsUntil(until, 60 * kUs);
  EXPECT_EQ(until, r.now + 50 * kMs) << "quicker, so it goes on";
  for (int64_t next : {100, 200, 400, 800, 800}) {
    EXPECT_EQ(r.SleepsUntil(until, 60 * kUs), 0) << "yields again";
    until = r.RunsUntilLate(5, 8 * kUs);
    EXPECT_EQ(until, r.now + 5 * kMs) << "one late yield is enough now";
    until = r.SleepsUntil(until, 60 * kUs);
    EXPECT_EQ(until, r.now + next * kMs);
  }
  EXPECT_EQ(r.SleepsUntil(until, 60 * kUs), 0);
  r.Runs(100000, 8 * kUs);  // the program has gone
  EXPECT_EQ(r.RunsUntilLate(5, 8 * kUs), 0) << "all is forgotten";
  EXPECT_EQ(r.RunsUntilLate(5, 8 * kUs), 0);
}

TEST(WaitMode, RanksThatComputeBetweenOperationsYieldOn) {
  Rank r;
  int tries = 0;
  for (int step = 0; step < 10000; step++) {
    int64_t until = r.RunsUntilLate(5, 8 * kUs);  // 3 ms of another rank's work
    if (!until) continue;
    tries++;
    while (r.now < until) {
      r.Runs(5, 60 * kUs);
      r.Runs(1, 3 * kMs);
    }
    EXPECT_EQ(r.mode.Over(r.now, r.done), 0) << "sleeping does not help";
  }
  EXPECT_GT(tries, 3);
  EXPECT_LT(tries, 10000 / 50) << "tries become rarer";
}

TEST(WaitMode, LateOperationsOfOtherRanksCount) {
  Rank r;
  EXPECT_EQ(r.RunsUntilLate(5, 8 * kUs), 0);
  r.late++;
  EXPECT_NE(r.RunsUntilLate(5, 8 * kUs), 0) << "the second of this rank, the third of all";
}

TEST(WaitMode, SeveralLateYieldsInOneOperationAreOne) {
  Rank r;
  EXPECT_EQ(r.RunsUntilLate(5, 8 * kUs), 0);
  for (int i = 0; i < 100; i++) EXPECT_EQ(r.mode.Late(r.now + i * kMs, r.done, r.late), 0);
}

TEST(WaitMode, NoOperationWhileSleepingIsNoGain) {
  Rank r;
  int64_t until = 0;
  while (!until) until = r.RunsUntilLate(5, 8 * kUs);
  r.now = until;
  EXPECT_EQ(r.mode.Over(r.now, r.done), 0);
}

TEST(WaitMode, SlowOperationsAreTriedLonger) {
  Rank r;
  int64_t until = 0;
  while (!until) until = r.RunsUntilLate(0, 0);
  EXPECT_EQ(until, r.now + 12 * kMs) << "four operations of 3 ms";
  until = 0;
  Rank slow;
  while (!until) until = slow.RunsUntilLate(1, 50 * kMs);
  EXPECT_EQ(until, slow.now + 40 * kMs);
}

TEST(WaitMode, GainByChanceIsFoundOut) {
  Rank r;
  int64_t until = 0;
  while (!until) until = r.RunsUntilLate(5, 8 * kUs);
  until = r.SleepsUntil(until, 60 * kUs);
  ASSERT_EQ(until, r.now + 50 * kMs);
  while (r.now < until) {
    r.Runs(5, 60 * kUs);
    r.Runs(1, 3 * kMs);
  }
  EXPECT_EQ(r.mode.Over(r.now, r.done), 0);
  for (int late = 1; late < 6; late++) EXPECT_EQ(r.RunsUntilLate(5, 8 * kUs), 0) << late;
  EXPECT_NE(r.RunsUntilLate(5, 8 * kUs), 0) << "twice as many as before";
}

TEST(WaitMode, EndThatIsNotYetThereChangesNothing) {
  Rank r;
  int64_t until = 0;
  while (!until) until = r.RunsUntilLate(5, 8 * kUs);
  r.Runs(10, 60 * kUs);
  EXPECT_EQ(r.mode.Over(r.now, r.done), 0);
  until = r.SleepsUntil(until, 60 * kUs);
  EXPECT_EQ(until, r.now + 50 * kMs) << "the try is still under way";
}

TEST(WaitMode, TryThatNobodyEndedIsForgotten) {
  Rank r;
  int64_t until = 0;
  while (!until) until = r.RunsUntilLate(5, 8 * kUs);
  r.now = until + 3'600'000 * kMs;
  EXPECT_EQ(r.mode.Over(r.now, r.done), 0);
  EXPECT_EQ(r.RunsUntilLate(5, 8 * kUs), 0);
  EXPECT_EQ(r.RunsUntilLate(5, 8 * kUs), 0);
  EXPECT_NE(r.RunsUntilLate(5, 8 * kUs), 0) << "no more than at the beginning";
}

TEST(WaitMode, AnothersSleepCountsInATry) {
  Rank r;
  int64_t until = 0;
  while (!until) until = r.RunsUntilLate(5, 8 * kUs);
  r.mode.Sleeping(r.now + 200 * kMs, r.now);
  r.now = until;
  EXPECT_EQ(r.mode.Over(r.now, r.done), 0) << "not yet";
  r.now += 201 * kMs;
  EXPECT_EQ(r.mode.Over(r.now, r.done), 0);
  EXPECT_NE(r.RunsUntilLate(5, 8 * kUs), 0);
}

TEST(WaitMode, WhatAnotherRankHasFoundCounts) {
  Rank r;
  r.mode.Sleeping(r.now + 200 * kMs, r.now);
  r.now += 201 * kMs;
  EXPECT_EQ(r.mode.Over(r.now, r.done), 0);
  int64_t until = r.RunsUntilLate(5, 8 * kUs);
  EXPECT_EQ(until, r.now + 5 * kMs);
  until = r.SleepsUntil(until, 60 * kUs);
  EXPECT_EQ(until, r.now + 400 * kMs);
}

TEST(WaitMode, AnothersTryOnlyBeginsTheCountAnew) {
  Rank r;
  EXPECT_EQ(r.RunsUntilLate(5, 8 * kUs), 0);
  EXPECT_EQ(r.RunsUntilLate(5, 8 * kUs), 0);
  r.mode.Sleeping(r.now + 5 * kMs, r.now);
  EXPECT_EQ(r.mode.Over(r.now + 6 * kMs, r.done), 0);
  EXPECT_EQ(r.RunsUntilLate(5, 8 * kUs), 0);
  EXPECT_EQ(r.RunsUntilLate(5, 8 * kUs), 0);
  EXPECT_NE(r.RunsUntilLate(5, 8 * kUs), 0);
}

TEST(WaitMode, MissedEndOfSleepIsMadeUpFor) {
  Rank r;
  int64_t until = 0;
  while (!until) until = r.RunsUntilLate(5, 8 * kUs);
  r.now = until + kMs;  // others have taken the word back before this rank looked
  EXPECT_EQ(r.RunsUntilLate(5, 8 * kUs), 0);
  EXPECT_EQ(r.RunsUntilLate(5, 8 * kUs), 0);
  EXPECT_NE(r.RunsUntilLate(5, 8 * kUs), 0);
}

TEST(WaitMode, AfterAMissedEndOfSleepFewAreEnough) {
  Rank r;
  r.mode.Sleeping(r.now + 200 * kMs, r.now);
  r.now += 201 * kMs;
  EXPECT_EQ(r.RunsUntilLate(5, 8 * kUs), 0);
  EXPECT_NE(r.RunsUntilLate(5, 8 * kUs), 0);
}

TEST(WaitMode, TimeThatMakesNoSenseDoesNoHarm) {
  Rank r;
  r.mode.Sleeping(INT64_MAX, r.now);
  EXPECT_EQ(r.mode.until_ns(), INT64_MAX);
  EXPECT_EQ(r.mode.Over(r.now, r.done), 0);
}

}  // namespace
}  // namespace hcclrun
