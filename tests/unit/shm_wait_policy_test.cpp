// The word that makes all ranks sleep: who obeys it, and who takes it back.

#include "shm/wait_policy.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace hcclrun {
namespace {

constexpr int64_t kMs = 1'000'000;

// A rank that is alone, with a processor of its own.
struct Rank {
  // Outlasts a wait that does not end; how often it looked.
  int LooksInVain() {
    int looks = 0;
    EXPECT_FALSE(policy.Outlast({0, 1, 1, false, words, &seen_on, done, done, 0}, [&] {
      looks++;
      return false;
    }));
    return looks;
  }

  WaitPolicy policy;
  WaitWords words = {};
  SeenOn seen_on{0};
  std::atomic<uint64_t> done{0};
};

TEST(WaitPolicy, LooksOftenAndThenSleeps) { EXPECT_GT(Rank().LooksInVain(), 1000); }

TEST(WaitPolicy, EndsWhenItIsReady) {
  Rank r;
  int looks = 0;
  EXPECT_TRUE(r.policy.Outlast({0, 1, 1, false, r.words, &r.seen_on, r.done, r.done, 0},
                               [&] { return ++looks == 2010; }));
}

TEST(WaitPolicy, SleepsAtOnceWhileTheWordSaysSo) {
  Rank r;
  r.words.sleep_until_ns = NowNs() + 700 * kMs;
  const int64_t said = r.words.sleep_until_ns;
  EXPECT_EQ(r.LooksInVain(), 1);
  EXPECT_EQ(r.words.sleep_until_ns, said);
}

TEST(WaitPolicy, TimeThatHasPassedIsLeftToItsRankForAWhile) {
  Rank r;
  const int64_t said = NowNs() - 1;
  r.words.sleep_until_ns = said;
  EXPECT_GT(r.LooksInVain(), 1000);
  const int64_t now = r.words.sleep_until_ns;
  // On a machine that stood still for more than a second it is gone by then.
  EXPECT_TRUE(now == said || now == 0) << now;
}

TEST(WaitPolicy, WhatNobodyTakesBackOrCanHaveSaidIsTakenBack) {
  for (const int64_t odd : {NowNs() - 10'000 * kMs, NowNs() + 100'000 * kMs, INT64_MAX, INT64_MIN,
                            int64_t{-1}, int64_t{1}}) {
    Rank r;
    r.words.sleep_until_ns = odd;
    EXPECT_GT(r.LooksInVain(), 1000) << odd;
    EXPECT_EQ(r.words.sleep_until_ns, 0) << odd;
  }
}

TEST(WaitPolicy, EndOfAnAdoptedSleepIsTakenBack) {
  Rank r;
  const int64_t said = NowNs() + 100 * kMs;
  r.words.sleep_until_ns = said;
  while (NowNs() < said + 60'000 * kMs && r.words.sleep_until_ns != 0) r.LooksInVain();
  EXPECT_EQ(r.words.sleep_until_ns, 0);
}

}  // namespace
}  // namespace hcclrun
