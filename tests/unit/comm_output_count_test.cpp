// How many outputs of operations under way lie apart.

#include "comm/output_count.h"

#include <gtest/gtest.h>

namespace hcclrun {
namespace {

TEST(OutputCount, CountsWhatLiesApart) {
  static char memory[1000];
  OutputCount outputs;
  EXPECT_EQ(outputs.Add(memory + 200, 100, true), 1u);
  EXPECT_EQ(outputs.Add(memory + 200, 100, false), 1u) << "the same again";
  EXPECT_EQ(outputs.Add(memory + 300, 100, false), 2u);
  EXPECT_EQ(outputs.Add(memory + 250, 100, false), 2u) << "overlaps";
  EXPECT_EQ(outputs.Add(memory + 100, 100, false), 3u) << "in front of them";
  EXPECT_EQ(outputs.Add(memory + 100, 300, false), 3u) << "covers them";
  EXPECT_EQ(outputs.Add(memory + 900, 100, true), 1u) << "nothing is under way any more";
  EXPECT_EQ(outputs.Add(memory, 100, false), 2u);
}

}  // namespace
}  // namespace hcclrun
