// The list of sizes ends, whatever the options.

#include "options.h"

#include <gtest/gtest.h>

namespace hcclrun::bench {
namespace {

Options Of(uint64_t low, uint64_t high, uint64_t step, uint64_t factor) {
  Options options;
  options.min_bytes = low;
  options.max_bytes = high;
  options.step_bytes = step;
  options.step_factor = factor;
  return options;
}

using Sizes = std::vector<uint64_t>;

TEST(Sizes, FollowFactorAndStep) {
  EXPECT_EQ(Of(4, 20, 0, 2).Sizes(), (Sizes{4, 8, 16}));
  EXPECT_EQ(Of(0, 4, 0, 2).Sizes(), (Sizes{0, 1, 2, 4}));
  EXPECT_EQ(Of(4, 20, 8, 0).Sizes(), (Sizes{4, 12, 20}));
  EXPECT_EQ(Of(7, 7, 0, 0).Sizes(), (Sizes{7}));
}

TEST(Sizes, EndWhereTheNextOneWouldWrap) {
  const uint64_t high = UINT64_MAX;
  EXPECT_EQ(Of(uint64_t{1} << 62, high, 0, 4).Sizes().size(), 1u);
  EXPECT_EQ(Of(uint64_t{1} << 32, high, 0, uint64_t{1} << 32).Sizes().size(), 1u);
  EXPECT_EQ(Of(high - 1, high, 5, 0).Sizes().size(), 1u);
}

}  // namespace
}  // namespace hcclrun::bench
