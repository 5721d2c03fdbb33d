// The heap's bookkeeping: ranges and committed blocks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "device/commit_map.h"
#include "device/range_allocator.h"

namespace hcclrun {
namespace {

TEST(RangeAllocator, HandsOutLowestAddressAmongEqualRanges) {
  RangeAllocator ranges(1 << 20);
  EXPECT_EQ(ranges.Allocate(4096, 4096), 0u);
  EXPECT_EQ(ranges.Allocate(4096, 4096), 4096u);
  EXPECT_EQ(ranges.Allocate(4096, 4096), 8192u);
  ranges.Free(0);
  ranges.Free(8192);  // joins the tail
  EXPECT_EQ(ranges.Allocate(4096, 4096), 0u) << "best fit takes the hole, not the tail";
}

TEST(RangeAllocator, AlignsAndReturnsThePaddingToTheFreeRanges) {
  RangeAllocator ranges(1 << 20);
  ranges.Allocate(4096, 4096);
  EXPECT_EQ(ranges.Allocate(4096, 65536), 65536u);
  EXPECT_EQ(ranges.Allocate(61440, 4096), 4096u)
      << "the padding in front of the aligned range is usable";
  EXPECT_EQ(ranges.used(), 4096u + 4096 + 61440);
}

TEST(RangeAllocator, MergesNeighboursOnFree) {
  RangeAllocator ranges(4 * 4096);
  for (int i = 0; i < 4; i++) ranges.Allocate(4096, 4096);
  EXPECT_EQ(ranges.largest_free(), 0u);
  ranges.Free(0);
  ranges.Free(2 * 4096);
  EXPECT_EQ(ranges.largest_free(), 4096u);
  ranges.Free(4096);
  EXPECT_EQ(ranges.largest_free(), 3u * 4096);
  ranges.Free(3 * 4096);
  EXPECT_EQ(ranges.largest_free(), 4u * 4096);
}

TEST(RangeAllocator, RefusesWhatDoesNotFitAndForgetsNothing) {
  RangeAllocator ranges(1 << 20);
  EXPECT_FALSE(ranges.Allocate((1 << 20) + 1, 1));
  EXPECT_FALSE(ranges.Allocate(UINT64_MAX, 4096));
  EXPECT_FALSE(ranges.Allocate(0, 4096));
  EXPECT_EQ(ranges.Allocate(1 << 20, 4096), 0u);
  EXPECT_FALSE(ranges.Allocate(1, 1));
  EXPECT_EQ(ranges.Free(4096), std::nullopt) << "not the start of a range";
  EXPECT_EQ(ranges.Free(0), 1u << 20);
  EXPECT_EQ(ranges.Free(0), std::nullopt) << "freed before";
}

TEST(RangeAllocator, FindsTheRangeAroundAnAddress) {
  RangeAllocator ranges(1 << 20);
  ranges.Allocate(8192, 4096);
  EXPECT_EQ(ranges.Containing(8191), std::make_pair(uint64_t{0}, uint64_t{8192}));
  EXPECT_FALSE(ranges.Containing(8192));
}

// Against a shadow that knows only "these ranges are taken".
TEST(RangeAllocator, AgreesWithAShadowModelUnderRandomUse) {
  constexpr uint64_t kSize = 8 << 20;
  RangeAllocator ranges(kSize);
  std::map<uint64_t, uint64_t> shadow;
  std::mt19937 random(7);
  uint64_t used = 0;
  for (int step = 0; step < 20000; step++) {
    if (shadow.empty() || random() % 5 < 3) {
      uint64_t size = 4096 * (1 + random() % 64), alignment = uint64_t{4096} << random() % 6;
      std::optional<uint64_t> at = ranges.Allocate(size, alignment);
      if (!at) {
        ASSERT_LT(ranges.largest_free(), size + alignment)
            << "refused although a range fits with any padding";
        continue;
      }
      ASSERT_EQ(*at % alignment, 0u);
      ASSERT_LE(*at + size, kSize);
      auto next = shadow.lower_bound(*at);
      ASSERT_TRUE(next == shadow.end() || next->first >= *at + size)
          << "overlap with the range behind";
      if (next != shadow.begin()) {
        --next;
        ASSERT_LE(next->first + next->second, *at) << "overlap with the range in front";
      }
      shadow[*at] = size;
      used += size;
    } else {
      auto victim = std::next(shadow.begin(), random() % shadow.size());
      ASSERT_EQ(ranges.Free(victim->first), victim->second);
      used -= victim->second;
      shadow.erase(victim);
    }
    ASSERT_EQ(ranges.used(), used);
  }
  for (auto [at, size] : shadow) ranges.Free(at);
  EXPECT_EQ(ranges.largest_free(), kSize) << "everything merges again";
}

TEST(CommitMap, CountsBlocksOnce) {
  CommitMap map(64 * kCommitBlock);
  EXPECT_EQ(map.MissingBytes(0, 1), kCommitBlock);
  EXPECT_EQ(map.MissingBytes(kCommitBlock - 1, 2), 2 * kCommitBlock);
  map.Mark(0, 2 * kCommitBlock, true);
  map.Mark(kCommitBlock, 2 * kCommitBlock, true);
  EXPECT_EQ(map.committed_bytes(), 3 * kCommitBlock);
  EXPECT_EQ(map.MissingBytes(0, 4 * kCommitBlock), kCommitBlock);
  map.Mark(0, kCommitBlock, false);
  EXPECT_EQ(map.committed_bytes(), 2 * kCommitBlock);
}

TEST(CommitMap, VisitsMaximalRunsAcrossWordBorders) {
  CommitMap map(256 * kCommitBlock);
  map.Mark(60 * kCommitBlock, 10 * kCommitBlock, true);
  map.Mark(200 * kCommitBlock, 1 * kCommitBlock, true);
  std::vector<std::pair<uint64_t, uint64_t>> runs;
  map.ForEachRun(0, 256 * kCommitBlock, true, [&](uint64_t at, uint64_t bytes) {
    runs.emplace_back(at / kCommitBlock, bytes / kCommitBlock);
    return true;
  });
  EXPECT_THAT(runs, ::testing::ElementsAre(std::make_pair(60, 10), std::make_pair(200, 1)));
  runs.clear();
  map.ForEachRun(61 * kCommitBlock, 200 * kCommitBlock - 61 * kCommitBlock, false,
                 [&](uint64_t at, uint64_t bytes) {
                   runs.emplace_back(at / kCommitBlock, bytes / kCommitBlock);
                   return true;
                 });
  EXPECT_THAT(runs, ::testing::ElementsAre(std::make_pair(70, 130)));
}

}  // namespace
}  // namespace hcclrun
