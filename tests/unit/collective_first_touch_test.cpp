// Memory that is touched before it is worked on.

#include "collective/first_touch.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <vector>

namespace hcclrun {
namespace {

// Nothing around the range is there: a load outside of it would end the test.
TEST(TouchBeforeUse, StaysInside) {
  constexpr size_t kPage = 64 << 10, kInside = 3 * kPage;  // pages of any machine
  void* all = mmap(nullptr, kInside + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(all, MAP_FAILED);
  char* const inside = static_cast<char*>(all) + kPage;
  ASSERT_EQ(mprotect(inside, kInside, PROT_READ | PROT_WRITE), 0);
  std::memset(inside, 7, kInside);
  for (const size_t begin : {size_t{0}, size_t{1}, size_t{5000}, kPage - 1, kPage}) {
    for (const size_t end : {begin, begin + 9000, kInside - 1, kInside})
      TouchBeforeUse(inside + begin, end - begin);
  }
  EXPECT_EQ(std::vector<char>(inside, inside + kInside), std::vector<char>(kInside, 7));
  munmap(all, kInside + 2 * kPage);
}

}  // namespace
}  // namespace hcclrun
