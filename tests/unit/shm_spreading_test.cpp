// Where ranks that crowd on a processor go.

#include "shm/spreading.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

#include "shm/processors.h"

namespace hcclrun {
namespace {

constexpr int kUnknown = -1, kStays = -1;

std::vector<int> Places(const std::vector<int>& on, uint32_t most,
                        const std::vector<int>& allowed) {
  std::vector<int> to;
  for (uint32_t r = 0; r < on.size(); r++) to.push_back(PlaceFor(r, on, most, allowed));
  return to;
}

TEST(Spreading, NobodyMovesWhereThereAreEnoughPlaces) {
  EXPECT_EQ(Places({0, 1}, 1, {0, 1}), std::vector<int>(2, kStays));
  EXPECT_EQ(Places({1, 0, 1, 0}, 2, {0, 1}), std::vector<int>(4, kStays));
  EXPECT_EQ(Places({0, 0, 1}, 2, {0, 1}), std::vector<int>(3, kStays));
  EXPECT_EQ(Places({kUnknown, kUnknown}, 1, {0, 1}), std::vector<int>(2, kStays));
}

TEST(Spreading, TheLaterRanksOfAFullProcessorMove) {
  EXPECT_EQ(Places({0, 0}, 1, {0, 1}), (std::vector<int>{kStays, 1}));
  EXPECT_EQ(Places({1, 1, 1, 1, 0, 1, 1, 0}, 4, {0, 1}),
            (std::vector<int>{kStays, kStays, kStays, kStays, kStays, 0, 0, kStays}));
}

TEST(Spreading, RanksThatMoveAtTheSameTimeChooseDifferentPlacesInTheGivenOrder) {
  EXPECT_EQ(Places({5, 5, 5, 5}, 1, {0, 2, 4, 5}), (std::vector<int>{kStays, 0, 2, 4}));
  EXPECT_EQ(Places({5, 5, 2, 5}, 1, {0, 2, 4, 5}), (std::vector<int>{kStays, 0, kStays, 4}));
}

TEST(Spreading, WhoFindsNoPlaceStays) {
  EXPECT_EQ(Places({0, 0, 0}, 1, {0, 1}), (std::vector<int>{kStays, 1, kStays}));
  EXPECT_EQ(Places({7, 7}, 1, {7}), (std::vector<int>{kStays, kStays}));
}

TEST(Spreading, AfterOneRoundNoProcessorHasTooMany) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 1000; trial++) {
    const uint32_t ranks = 1 + random() % 20, processors = 1 + random() % 8;
    const uint32_t most = (ranks + processors - 1) / processors;
    std::vector<int> allowed, on;
    for (uint32_t p = 0; p < processors; p++) allowed.push_back(static_cast<int>(p));
    for (uint32_t r = 0; r < ranks; r++) on.push_back(static_cast<int>(random() % processors));
    const std::vector<int> to = Places(on, most, allowed);
    std::vector<uint32_t> count(processors);
    for (uint32_t r = 0; r < ranks; r++) count[to[r] == kStays ? on[r] : to[r]]++;
    for (uint32_t c : count) EXPECT_LE(c, most);
  }
}

TEST(Spreading, AMovedThreadMayStillRunEverywhere) {
  std::thread([] {
    const std::vector<int> allowed = ProcessorsOf(0);
    ASSERT_FALSE(allowed.empty());
    for (const int p : {allowed.back(), allowed.front()}) {
      EXPECT_TRUE(MoveThread(p, allowed));
      EXPECT_EQ(ProcessorsOf(0), allowed);
    }
  }).join();
}

// The others are seen wherever this thread is, so it is one too many there each time it looks.
TEST(Spreading, CrowdedThreadMovesAndKeepsItsMask) {
  const std::vector<int> allowed = ProcessorsOf(0);
  SeenOn seen[3] = {};
  std::thread([&] {
    Spreading spreading;
    const auto processors = static_cast<uint32_t>(allowed.size());
    bool moved = false;
    for (int wait = 0; wait < 10000 && !moved; wait++) {
      const auto here = static_cast<uint16_t>(sched_getcpu() + 1);
      seen[0] = seen[1] = here;
      spreading.BeforeYields(seen, 3, 2, processors, 5);
      moved = seen[2] != here;
    }
    EXPECT_EQ(moved, processors >= 2);
    EXPECT_EQ(ProcessorsOf(0), allowed);
    EXPECT_TRUE(std::count(allowed.begin(), allowed.end(), int{seen[2]} - 1));
  }).join();
}

TEST(Spreading, NumbersThatMakeNoSenseDoNoHarm) {
  const std::vector<int> allowed = ProcessorsOf(0);
  std::thread([&] {
    Spreading spreading, other;
    SeenOn seen[3] = {};
    for (int wait = 0; wait < 1000; wait++) {  // as a corrupted peer might leave it
      seen[0] = static_cast<uint16_t>(sched_getcpu() + 1);
      seen[1] = 65535;
      spreading.BeforeYields(seen, 3, 2, 3, UINT32_MAX);
      other.BeforeYields(seen, 3, 2, 0, 0);
    }
    EXPECT_EQ(ProcessorsOf(0), allowed);
  }).join();
}

}  // namespace
}  // namespace hcclrun
