// A send or receive whose other end never comes: the execution time-out names the peer and what it
// has called. Run with HCCLRUN_EXEC_TIMEOUT below a second.

#include "support/rank_session.h"
#include "support/rank_test.h"

namespace hcclrun::testing {
namespace {

using ::testing::HasSubstr;

RANK_TEST(TransfersMissing, ReceiveNobodySends) {
  Session s(ranks);
  DeviceMemory memory(4096);
  if (s.rank() == 0) {
    ASSERT_EQ(HcclRecv(memory.data(), 8, HCCL_DATA_TYPE_INT8, 1, s.comm(), s.stream()),
              HCCL_SUCCESS);
    EXPECT_NE(s.Synchronize(), 0);
    const std::string text = TakeMessages();
    EXPECT_THAT(text, HasSubstr("transfer #1 from rank 1 to rank 0"));
    EXPECT_THAT(text, HasSubstr("for rank 1 (no call on this communicator yet), which has called 0 "
                                "sends to rank 0"));
  }
  ranks.Meet();
}

RANK_TEST(TransfersMissing, CrossedSends) {
  Session s(ranks);
  DeviceMemory memory(4096);
  if (s.rank() < 2) {
    const uint32_t peer = 1 - s.rank();
    ASSERT_EQ(HcclSend(memory.data(), 8, HCCL_DATA_TYPE_INT8, peer, s.comm(), s.stream()),
              HCCL_SUCCESS);
    ASSERT_EQ(HcclRecv(memory.data(), 8, HCCL_DATA_TYPE_INT8, peer, s.comm(), s.stream()),
              HCCL_SUCCESS);
    ranks.Meet();
    EXPECT_NE(s.Synchronize(), 0);
    const std::string text = TakeMessages();
    EXPECT_THAT(text, HasSubstr("which has called 1 receive from rank " + std::to_string(s.rank())));
    EXPECT_THAT(text, HasSubstr("crossed sends"));
  } else {
    ranks.Meet();
  }
  ranks.Meet();
}

}  // namespace
}  // namespace hcclrun::testing
