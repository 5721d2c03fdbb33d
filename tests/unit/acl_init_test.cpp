// aclInit, aclFinalize and what programs do around them (semantics G.4, F.3). The state belongs to
// the process, so the tests of this program run in their order.

#include <acl/acl_prof.h>

#include <cstdio>
#include <string>

#include "unit/acl_fixture.h"

namespace {

TEST(Init, A_CallsThatComeBeforeAclInit) {
  uint32_t count;
  EXPECT_ACL_OK(aclrtGetDeviceCount(&count));
  EXPECT_ACL_OK(aclprofInit("/tmp", 4));
  uint32_t devices[] = {0};
  aclprofConfig* config =
      aclprofCreateConfig(devices, 1, ACL_AICORE_PIPE_UTILIZATION, nullptr, ACL_PROF_ACL_API);
  ASSERT_NE(config, nullptr);
  EXPECT_ACL_OK(aclprofStart(config));
  EXPECT_ACL_OK(aclprofStop(config));
  EXPECT_ACL_OK(aclprofDestroyConfig(config));
  EXPECT_EQ(aclprofDestroyConfig(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclprofFinalize());
}

TEST(Init, B_FinalizeWithoutInitSucceeds) {
  EXPECT_ACL_OK(aclFinalize());
  EXPECT_EQ(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
}

TEST(Init, C_ConfigFiles) {
  EXPECT_EQ(aclInit("/nonexistent/acl.json"), ACL_ERROR_INVALID_FILE);
  char path[] = "/tmp/hcclrun_acl_XXXXXX";
  int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  FILE* file = fdopen(fd, "w");
  fputs("{ \"dump\": ", file);
  fflush(file);
  EXPECT_EQ(aclInit(path), ACL_ERROR_PARSE_FILE);
  fputs("{} }", file);
  fclose(file);
  EXPECT_ACL_OK(aclInit(path));
  remove(path);
  EXPECT_ACL_OK(aclFinalize());
}

// Calls in destructors of static objects come after the thread's own objects are gone.
struct FinalizesAtTheEnd {
  ~FinalizesAtTheEnd() {
    const bool repeated = aclFinalize() == ACL_ERROR_REPEAT_FINALIZE;
    const char* text = aclGetRecentErrMsg();
    if (!repeated || !text || std::string(text).find("aclFinalize") == std::string::npos) _Exit(3);
  }
};

TEST(Init, C_FinalizeInADestructorOfAStaticObject) {
  EXPECT_EXIT(
      {
        static FinalizesAtTheEnd object;
        aclFinalize();
        aclFinalize();
        exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(Init, D_G4_RepeatedInitIsHarmlessAndFinalizeClearsAllReferences) {
  EXPECT_ACL_OK(aclInit(nullptr));
  EXPECT_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  EXPECT_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  EXPECT_ACL_OK(aclFinalize());
  EXPECT_EQ(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
}

TEST(Init, E_G4_FinalizeReferenceCounts) {
  EXPECT_ACL_OK(aclInit(nullptr));
  EXPECT_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  uint64_t left = 99;
  EXPECT_ACL_OK(aclFinalizeReference(&left));
  EXPECT_EQ(left, 1u);
  EXPECT_ACL_OK(aclFinalizeReference(nullptr));
  EXPECT_EQ(aclFinalizeReference(&left), ACL_ERROR_REPEAT_FINALIZE);
  EXPECT_EQ(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
}

TEST(Init, F_ThreeRoundsInOneProcess) {
  for (int round = 0; round < 3; round++) {
    ASSERT_ACL_OK(aclInit(""));
    ASSERT_ACL_OK(aclrtSetDevice(0));
    void* p = nullptr;
    ASSERT_ACL_OK(aclrtMalloc(&p, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    aclrtStream stream;
    ASSERT_ACL_OK(aclrtCreateStream(&stream));
    ASSERT_ACL_OK(aclrtMemsetAsync(p, 1 << 20, round, 1 << 20, stream));
    ASSERT_ACL_OK(aclrtSynchronizeStream(stream));
    ASSERT_ACL_OK(aclFinalize()) << "nothing was given back";
  }
}

TEST(Init, G_ResetDeviceAfterFinalizeSucceeds) {
  ASSERT_ACL_OK(aclInit(nullptr));
  ASSERT_ACL_OK(aclrtSetDevice(1));
  ASSERT_ACL_OK(aclFinalize());
  EXPECT_ACL_OK(aclrtResetDevice(1));
  ASSERT_ACL_OK(aclrtSetDevice(1));
  EXPECT_ACL_OK(aclrtResetDevice(1));
  EXPECT_NE(aclrtResetDevice(1), ACL_SUCCESS) << "set anew, so it counts again";
}

TEST(Init, H_FinalizeWithTasksThatNeverEndReturns) {
  ASSERT_ACL_OK(aclInit(nullptr));
  ASSERT_ACL_OK(aclrtSetDevice(0));
  aclrtEvent event;
  ASSERT_ACL_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
  ASSERT_ACL_OK(aclrtStreamWaitEvent(nullptr, event));
  EXPECT_ACL_OK(aclFinalize());
  EXPECT_ACL_OK(aclrtDestroyEvent(event));
}

TEST(Messages, F3_NewestFirstPerThreadAndClearedByReading) {
  while (aclGetRecentErrMsg() != nullptr) {
  }
  EXPECT_NE(aclrtGetRunMode(nullptr), ACL_SUCCESS);
  EXPECT_NE(aclrtSetDevice(-7), ACL_SUCCESS);
  OnFreshThread([] { EXPECT_EQ(aclGetRecentErrMsg(), nullptr); });
  const char* text = aclGetRecentErrMsg();
  ASSERT_NE(text, nullptr);
  std::string all = text;
  EXPECT_LT(all.find("aclrtSetDevice"), all.find("aclrtGetRunMode"));
  EXPECT_NE(all.find("-7"), std::string::npos) << "what was given";
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
}

}  // namespace
