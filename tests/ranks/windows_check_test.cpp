// Registrations with unequal sizes on the ranks (semantics A.3): warned about,
// refused with HCCLRUN_CHECK=error.

#include <cstdlib>
#include <cstring>

#include "support/rank_session.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;

bool CheckIsError() {
  const char* check = std::getenv("HCCLRUN_CHECK");
  return check && std::strcmp(check, "error") == 0;
}

RANK_TEST(UnequalSizes, WarnOnAllRanksOrFailOnAll) {
  if (ranks.size() == 1) return;
  Session session(ranks);
  MappedMemory memory(session.device(), kGranularity);
  const uint64_t size = ranks.rank() == ranks.size() - 1 ? 3000 : 5000;
  HcclCommSymWindow window = nullptr;
  ::testing::internal::CaptureStderr();
  const HcclResult result = HcclCommSymWinRegister(session.comm(), memory.data(), size, &window, 1);
  std::string told = ::testing::internal::GetCapturedStderr();
  if (result != HCCL_SUCCESS) {  // which one rank alone tells in full, and every rank knows
    EXPECT_THAT(told, HasSubstr("registration #1"));
    told = TakeMessages();
  }
  EXPECT_THAT(told, HasSubstr("3000"));
  EXPECT_THAT(told, HasSubstr("5000"));
  EXPECT_THAT(told, HasSubstr(std::to_string(ranks.size() - 1)));
  if (CheckIsError()) {
    EXPECT_EQ(result, HCCL_E_PARA);
    EXPECT_EQ(window, nullptr);
    return;
  }
  EXPECT_EQ(result, HCCL_SUCCESS);
  EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
}

RANK_TEST(UnequalSizes, EqualOnesAreSilent) {
  Session session(ranks);
  MappedMemory memory(session.device(), kGranularity);
  HcclCommSymWindow window = nullptr;
  ::testing::internal::CaptureStderr();
  const HcclResult result = HcclCommSymWinRegister(session.comm(), memory.data(), 5000, &window, 1);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ASSERT_EQ(result, HCCL_SUCCESS);
  EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
}

// A.2: unequal window spaces are accepted with a warning.
RANK_TEST(UnequalSizes, OfTheWindowSpaceWarn) {
  if (ranks.size() == 1) return;
  const uint32_t me = ranks.rank();
  Session session(ranks, [me](HcclCommConfig& config) {
    config.hcclSymWinMaxMemSizePerRank = me == 0 ? 2 : 1;
  });
  MappedMemory memory(session.device(), kGranularity);
  HcclCommSymWindow window = nullptr;
  ::testing::internal::CaptureStderr();
  const HcclResult result = HcclCommSymWinRegister(session.comm(), memory.data(), 5000, &window, 1);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("hcclSymWinMaxMemSizePerRank"));
  ASSERT_EQ(result, HCCL_SUCCESS);
  EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_SUCCESS);
}

}  // namespace
}  // namespace hcclrun::testing
