#include <gtest/gtest.h>

#include "support/rank_session.h"

namespace hcclrun::testing {

void ExpectSum(HcclComm comm, aclrtStream stream, uint32_t ranks) {
  DeviceMemory value(4);
  UploadValues<int32_t>(value.data(), {3});
  ASSERT_EQ(HcclAllReduce(value.data(), value.data(), 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                          comm, stream),
            HCCL_SUCCESS)
      << TakeMessages();
  ASSERT_EQ(aclrtSynchronizeStream(stream), 0) << TakeMessages();
  EXPECT_EQ(DownloadValues<int32_t>(value.data(), 1)[0], static_cast<int32_t>(3 * ranks));
}

}  // namespace hcclrun::testing
