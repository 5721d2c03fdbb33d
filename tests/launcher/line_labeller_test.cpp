#include "launcher/line_labeller.h"

#include <gtest/gtest.h>

namespace hcclrun {
namespace {

TEST(LineLabeller, LabelsEveryLineAndHoldsBackTheLast) {
  LineLabeller l("[3] ");
  EXPECT_EQ(l.Feed("one\ntw"), "[3] one\n");
  EXPECT_EQ(l.Feed("o\n\nthree"), "[3] two\n[3] \n");
  EXPECT_FALSE(l.inside_line());
  EXPECT_EQ(l.Finish(), "[3] three\n");
  EXPECT_EQ(l.Finish(), "");
}

TEST(LineLabeller, ALongLinePassesInPiecesUnderOneLabel) {
  LineLabeller l("[0] ");
  std::string half(LineLabeller::kLongLine - 1, 'a');
  EXPECT_EQ(l.Feed(half), "");
  EXPECT_EQ(l.Feed("bc"), "[0] " + half + "bc");
  EXPECT_TRUE(l.inside_line());
  EXPECT_EQ(l.Feed("d"), "d");
  EXPECT_EQ(l.Feed("e\nf\n"), "e\n[0] f\n");
  EXPECT_FALSE(l.inside_line());
}

TEST(LineLabeller, ABrokenLongLineGoesOnUnderANewLabel) {
  LineLabeller l("[0] ");
  l.Feed(std::string(LineLabeller::kLongLine, 'a'));
  EXPECT_EQ(l.Break(), "\n");
  EXPECT_EQ(l.Break(), "");
  EXPECT_EQ(l.Feed("rest\n"), "[0] rest\n");
}

TEST(LineLabeller, TheEndOfTheStreamEndsALongLine) {
  LineLabeller l("");
  l.Feed(std::string(LineLabeller::kLongLine, 'a'));
  EXPECT_EQ(l.Finish(), "\n");
}

TEST(LineLabeller, KeepsBytesThatAreNotText) {
  LineLabeller l("[1] ");
  EXPECT_EQ(l.Feed(absl::string_view("a\0b\xff\n", 5)), std::string("[1] a\0b\xff\n", 9));
}

}  // namespace
}  // namespace hcclrun
