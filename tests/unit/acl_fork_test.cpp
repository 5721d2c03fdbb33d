// A child made by fork() after the library came into use: every call is refused, nothing hangs,
// nothing is kept.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "unit/acl_fixture.h"

namespace {

TEST(Fork, EveryCallInTheChildIsRefusedWithoutALock) {
  ASSERT_ACL_OK(aclrtSetDevice(0));
  void* p = nullptr;
  ASSERT_ACL_OK(aclrtMalloc(&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  aclrtStream stream;
  ASSERT_ACL_OK(aclrtCreateStream(&stream));
  // Other threads hold the library's locks most of the time while this one forks.
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    aclrtSetDevice(0);
    while (!stop) {
      void* q = nullptr;
      aclrtMalloc(&q, 4096, ACL_MEM_MALLOC_HUGE_FIRST);
      aclrtMemsetAsync(q, 4096, 1, 4096, stream);
      aclrtSynchronizeStream(stream);
      aclrtFree(q);
    }
  });
  for (int i = 0; i < 20; i++) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);  // a hang is a failure
      void* q = nullptr;
      uint32_t count;
      bool refused = aclrtMalloc(&q, 16, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS &&
                     aclrtFree(p) != ACL_SUCCESS && aclrtSynchronizeStream(stream) != ACL_SUCCESS &&
                     aclrtGetDeviceCount(&count) != ACL_SUCCESS &&
                     aclrtSetDevice(0) != ACL_SUCCESS && aclInit(nullptr) != ACL_SUCCESS &&
                     aclFinalize() != ACL_SUCCESS && aclrtDestroyStream(stream) != ACL_SUCCESS &&
                     aclGetRecentErrMsg() == nullptr;
      _exit(refused ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  stop = true;
  busy.join();
  EXPECT_ACL_OK(aclrtFree(p));
  EXPECT_ACL_OK(aclrtDestroyStream(stream));
  EXPECT_ACL_OK(aclrtResetDevice(0));
}

TEST(Exit, ProcessEndsWithWorkInFlightAndWorkersRunning) {
  EXPECT_EXIT(
      {
        // The threadsafe style runs this in a fresh process.
        aclrtSetDevice(0);
        aclrtStream streams[4];
        void* p = nullptr;
        aclrtMalloc(&p, 16 << 20, ACL_MEM_MALLOC_HUGE_FIRST);
        aclrtEvent never;
        aclrtCreateEventWithFlag(&never, ACL_EVENT_SYNC);
        for (auto& stream : streams) {
          aclrtCreateStream(&stream);
          for (int i = 0; i < 50; i++) aclrtMemsetAsync(p, 16 << 20, i, 16 << 20, stream);
          aclrtStreamWaitEvent(stream, never);
        }
        exit(7);
      },
      ::testing::ExitedWithCode(7), "");
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  return RUN_ALL_TESTS();
}
