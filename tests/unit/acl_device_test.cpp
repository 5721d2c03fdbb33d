// Devices and contexts (semantics G.3, G.4).

#include <unistd.h>

#include "unit/acl_fixture.h"

namespace {

TEST(DeviceCalls, QueriesThatNeedNoDevice) {
  uint32_t count = 0;
  EXPECT_EQ(aclrtGetDeviceCount(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclrtGetDeviceCount(&count));
  EXPECT_EQ(count, 8u);
  aclrtRunMode mode;
  EXPECT_EQ(aclrtGetRunMode(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclrtGetRunMode(&mode));
  EXPECT_EQ(mode, ACL_HOST);
  int32_t pid = 0;
  EXPECT_EQ(aclrtDeviceGetBareTgid(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclrtDeviceGetBareTgid(&pid));
  EXPECT_EQ(pid, getpid());
  EXPECT_STREQ(aclrtGetSocName(), "Ascend910_9391");
}

TEST(DeviceCalls, G3_DeviceIsPerThread) {
  int32_t id = -1;
  EXPECT_EQ(aclrtGetDevice(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetDevice(&id), ACL_ERROR_RT_CONTEXT_NULL);
  ASSERT_ACL_OK(aclrtSetDevice(3));
  OnFreshThread([] {
    int32_t other = -1;
    EXPECT_EQ(aclrtGetDevice(&other), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_ACL_OK(aclrtSetDevice(5));
    EXPECT_ACL_OK(aclrtGetDevice(&other));
    EXPECT_EQ(other, 5);
    EXPECT_ACL_OK(aclrtResetDevice(5));
    EXPECT_EQ(aclrtGetDevice(&other), ACL_ERROR_RT_CONTEXT_NULL) << "released";
  });
  EXPECT_ACL_OK(aclrtGetDevice(&id));
  EXPECT_EQ(id, 3);
  EXPECT_ACL_OK(aclrtResetDevice(3));
}

TEST(DeviceCalls, G3_ThreadsThatSetTheSameDeviceShareItsDefaultContext) {
  ASSERT_ACL_OK(aclrtSetDevice(0));
  aclrtContext mine = nullptr, theirs = nullptr;
  EXPECT_EQ(aclrtGetCurrentContext(nullptr), ACL_ERROR_INVALID_PARAM);
  ASSERT_ACL_OK(aclrtGetCurrentContext(&mine));
  OnFreshThread([&] {
    EXPECT_EQ(aclrtGetCurrentContext(&theirs), ACL_ERROR_RT_CONTEXT_NULL);
    ASSERT_ACL_OK(aclrtSetDevice(0));
    ASSERT_ACL_OK(aclrtGetCurrentContext(&theirs));
  });
  EXPECT_EQ(mine, theirs);
  EXPECT_ACL_OK(aclrtResetDevice(0));
  EXPECT_ACL_OK(aclrtGetCurrentContext(&mine)) << "one reference is left";
  EXPECT_ACL_OK(aclrtResetDevice(0));
}

TEST(DeviceCalls, G3_UnknownDevices) {
  for (int32_t id : {-1, 8, 100000, INT32_MIN}) {
    EXPECT_EQ(aclrtSetDevice(id), ACL_ERROR_RT_INVALID_DEVICEID) << id;
    EXPECT_EQ(aclrtResetDevice(id), ACL_ERROR_RT_INVALID_DEVICEID) << id;
    EXPECT_EQ(aclrtResetDeviceForce(id), ACL_ERROR_RT_INVALID_DEVICEID) << id;
  }
}

TEST(DeviceCalls, G4_SetAndResetCountAndTheLastReleases) {
  ASSERT_ACL_OK(aclrtSetDevice(1));
  ASSERT_ACL_OK(aclrtSetDevice(1));
  void* p = nullptr;
  ASSERT_ACL_OK(aclrtMalloc(&p, 100, ACL_MEM_MALLOC_HUGE_FIRST));
  aclrtStream stream;
  ASSERT_ACL_OK(aclrtCreateStream(&stream));
  EXPECT_ACL_OK(aclrtResetDevice(1));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream)) << "one reference is left";
  EXPECT_ACL_OK(aclrtResetDevice(1));
  EXPECT_NE(aclrtResetDevice(1), ACL_SUCCESS) << "one too many";
  EXPECT_NE(aclrtFree(p), ACL_SUCCESS) << "the memory went with the device";
  ASSERT_ACL_OK(aclrtSetDevice(1));
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE) << "so did the stream";
  EXPECT_ACL_OK(aclrtResetDevice(1));
}

TEST(DeviceCalls, G4_ForceReleasesAtOnceAndIsAnErrorTheSecondTime) {
  for (int i = 0; i < 3; i++) ASSERT_ACL_OK(aclrtSetDevice(2));
  EXPECT_ACL_OK(aclrtResetDeviceForce(2));
  EXPECT_NE(aclrtResetDeviceForce(2), ACL_SUCCESS);
  EXPECT_NE(aclrtResetDevice(2), ACL_SUCCESS);
  int32_t id;
  EXPECT_EQ(aclrtGetDevice(&id), ACL_ERROR_RT_CONTEXT_NULL);
}

TEST(DeviceCalls, G4_ForceDoesNotWaitForTasks) {
  ASSERT_ACL_OK(aclrtSetDevice(2));
  aclrtStream stream;
  ASSERT_ACL_OK(aclrtCreateStream(&stream));
  aclrtEvent event;
  ASSERT_ACL_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
  ASSERT_ACL_OK(aclrtStreamWaitEvent(stream, event));  // nobody ever records it
  EXPECT_ACL_OK(aclrtResetDeviceForce(2));
  EXPECT_ACL_OK(aclrtDestroyEvent(event));
}

TEST(DeviceCalls, G4_MemoryCannotBeFreedTwiceByResetAndUser) {
  ASSERT_ACL_OK(aclrtSetDevice(4));
  std::vector<void*> all(50);
  for (void*& p : all) ASSERT_ACL_OK(aclrtMalloc(&p, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
  size_t free0, free1, total;
  ASSERT_ACL_OK(aclrtResetDevice(4));
  ASSERT_ACL_OK(aclrtSetDevice(4));
  ASSERT_ACL_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free0, &total));
  for (void* p : all) EXPECT_NE(aclrtFree(p), ACL_SUCCESS);
  ASSERT_ACL_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free1, &total));
  EXPECT_ACL_OK(aclrtResetDevice(4));
}

TEST(DeviceCalls, SaturationModeIsRecordedPerDevice) {
  EXPECT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN), ACL_ERROR_RT_CONTEXT_NULL);
  ASSERT_ACL_OK(aclrtSetDevice(0));
  aclrtFloatOverflowMode mode;
  EXPECT_ACL_OK(aclrtGetDeviceSatMode(&mode));
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_INFNAN);
  EXPECT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_UNDEF), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetDeviceSatMode(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION));
  EXPECT_ACL_OK(aclrtGetDeviceSatMode(&mode));
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_SATURATION);
  EXPECT_ACL_OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN));
  EXPECT_ACL_OK(aclrtResetDevice(0));
}

TEST(DeviceCalls, G1_SynchronizeDeviceWaitsForAllStreams) {
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_ERROR_RT_CONTEXT_NULL);
  ASSERT_ACL_OK(aclrtSetDevice(0));
  aclrtStream streams[3];
  std::atomic<int> ran{0};
  for (auto& stream : streams) {
    ASSERT_ACL_OK(aclrtCreateStream(&stream));
    for (int i = 0; i < 5; i++) {
      ASSERT_ACL_OK(aclrtLaunchHostFunc(
          stream, [](void* p) { static_cast<std::atomic<int>*>(p)->fetch_add(1); }, &ran));
    }
  }
  EXPECT_ACL_OK(aclrtSynchronizeDevice());
  EXPECT_EQ(ran.load(), 15);
  EXPECT_EQ(aclrtSynchronizeDeviceWithTimeout(-2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_ACL_OK(aclrtSynchronizeDeviceWithTimeout(-1));
  aclrtEvent event;
  ASSERT_ACL_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
  ASSERT_ACL_OK(aclrtStreamWaitEvent(streams[1], event));
  EXPECT_EQ(aclrtSynchronizeDeviceWithTimeout(10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  ASSERT_ACL_OK(aclrtRecordEvent(event, streams[0]));
  EXPECT_ACL_OK(aclrtSynchronizeDeviceWithTimeout(60000));
  for (auto stream : streams) EXPECT_ACL_OK(aclrtDestroyStream(stream));
  EXPECT_ACL_OK(aclrtDestroyEvent(event));
  EXPECT_ACL_OK(aclrtResetDevice(0));
}

TEST(ContextCalls, CreatedContextIsCurrentAndHasItsOwnDefaultStream) {
  aclrtContext context = nullptr;
  EXPECT_EQ(aclrtCreateContext(nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtCreateContext(&context, 77), ACL_ERROR_RT_INVALID_DEVICEID);
  ASSERT_ACL_OK(aclrtSetDevice(0));
  aclrtContext implicit = nullptr, current = nullptr;
  ASSERT_ACL_OK(aclrtGetCurrentContext(&implicit));
  ASSERT_ACL_OK(aclrtCreateContext(&context, 1));
  ASSERT_ACL_OK(aclrtGetCurrentContext(&current));
  EXPECT_EQ(current, context);
  int32_t device;
  ASSERT_ACL_OK(aclrtGetDevice(&device));
  EXPECT_EQ(device, 1);
  EXPECT_ACL_OK(aclrtSynchronizeStream(nullptr)) << "its default stream";
  ASSERT_ACL_OK(aclrtSetCurrentContext(implicit));
  ASSERT_ACL_OK(aclrtGetDevice(&device));
  EXPECT_EQ(device, 0);
  EXPECT_ACL_OK(aclrtDestroyContext(context));
  EXPECT_ACL_OK(aclrtResetDevice(0));
}

TEST(ContextCalls, DestroyedContextIsCurrentNowhere) {
  aclrtContext context;
  ASSERT_ACL_OK(aclrtCreateContext(&context, 0));
  aclrtStream stream;
  ASSERT_ACL_OK(aclrtCreateStream(&stream));
  EXPECT_ACL_OK(aclrtDestroyContext(context)) << "with a stream left over";
  aclrtContext current;
  EXPECT_EQ(aclrtGetCurrentContext(&current), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(aclrtSetCurrentContext(context), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtDestroyContext(context), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtSetCurrentContext(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtDestroyContext(nullptr), ACL_ERROR_INVALID_PARAM);
}

TEST(ContextCalls, DefaultContextGoesWithItsDeviceOnly) {
  ASSERT_ACL_OK(aclrtSetDevice(0));
  aclrtContext context;
  ASSERT_ACL_OK(aclrtGetCurrentContext(&context));
  EXPECT_EQ(aclrtDestroyContext(context), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_ACL_OK(aclrtResetDevice(0));
  EXPECT_EQ(aclrtSetCurrentContext(context), ACL_ERROR_RT_INVALID_HANDLE);
}

}  // namespace
