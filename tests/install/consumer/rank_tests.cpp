// Tests of a project that uses hcclrun::gtest_main. FAIL in the environment names a way to fail.
#include <gtest/gtest.h>
#include <hccl/hccl.h>
#include <hcclrun/bootstrap.h>

#include <cstdlib>
#include <string>

namespace {

bool Fails(const char* way) {
  const char* chosen = std::getenv("FAIL");
  return hcclrunRank() == 1 && chosen && std::string(chosen) == way;
}

class Ranks : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(hcclrunRank()), ACL_SUCCESS);
    HcclRootInfo root_info;
    if (hcclrunRank() == 0) ASSERT_EQ(HcclGetRootInfo(&root_info), HCCL_SUCCESS);
    ASSERT_EQ(hcclrunShareRootInfo(&root_info), HCCL_SUCCESS);
    ASSERT_EQ(HcclCommInitRootInfo(hcclrunSize(), &root_info, hcclrunRank(), &comm_), HCCL_SUCCESS);
    ASSERT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS);
    ASSERT_EQ(aclrtMalloc(&memory_, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  }
  static void TearDownTestSuite() {
    EXPECT_EQ(HcclCommDestroy(comm_), HCCL_SUCCESS);
    EXPECT_EQ(aclrtFree(memory_), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyStream(stream_), ACL_SUCCESS);
    EXPECT_EQ(aclrtResetDevice(hcclrunRank()), ACL_SUCCESS);
    EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  }
  // The sum of everybody's value, or -1.
  static int Sum(int value) {
    int sum = -1;
    EXPECT_EQ(aclrtMemcpy(memory_, 4, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    EXPECT_EQ(
        HcclAllReduce(memory_, memory_, 1, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm_, stream_),
        HCCL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(&sum, 4, memory_, 4, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    return sum;
  }
  static HcclComm comm_;
  static aclrtStream stream_;
  static void* memory_;
};
HcclComm Ranks::comm_;
aclrtStream Ranks::stream_;
void* Ranks::memory_;

TEST_F(Ranks, CountThemselves) { EXPECT_EQ(Sum(1), hcclrunSize()); }

TEST_F(Ranks, Disagree) { EXPECT_FALSE(Fails("expect")) << "only here"; }

TEST_F(Ranks, GiveUp) {
  ASSERT_FALSE(Fails("assert")) << "before the collective";
  if (Fails("exit")) std::exit(3);
  EXPECT_EQ(Sum(2), 2 * hcclrunSize());
}

TEST_F(Ranks, ComeLast) { EXPECT_EQ(Sum(3), 3 * hcclrunSize()); }

TEST(Other, One) {}
TEST(Other, Two) {}

}  // namespace
