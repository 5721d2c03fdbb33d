// Limits, parameters and time-outs of kernels through the C API.

#include "unit/acl_fixture.h"

namespace {

class Limits : public AclTest {
 protected:
  static uint32_t OfDevice(int32_t device, aclrtDevResLimitType type) {
    uint32_t value = 0;
    EXPECT_ACL_OK(aclrtGetDeviceResLimit(device, type, &value));
    return value;
  }
  static uint32_t OfStream(aclrtStream stream, aclrtDevResLimitType type) {
    uint32_t value = 0;
    EXPECT_ACL_OK(aclrtGetStreamResLimit(stream, type, &value));
    return value;
  }
  static uint32_t OfThread(aclrtDevResLimitType type) {
    uint32_t value = 0;
    EXPECT_ACL_OK(aclrtGetResInCurrentThread(type, &value));
    return value;
  }
};

TEST_F(Limits, StreamGoesBeforeDeviceGoesBeforeChip) {
  aclrtStream stream;
  ASSERT_ACL_OK(aclrtCreateStream(&stream));
  EXPECT_EQ(OfDevice(0, ACL_RT_DEV_RES_CUBE_CORE), 24u);
  EXPECT_EQ(OfStream(stream, ACL_RT_DEV_RES_VECTOR_CORE), 48u);
  EXPECT_ACL_OK(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 10));
  EXPECT_EQ(OfDevice(0, ACL_RT_DEV_RES_CUBE_CORE), 10u);
  EXPECT_EQ(OfDevice(1, ACL_RT_DEV_RES_CUBE_CORE), 24u);
  EXPECT_EQ(OfStream(stream, ACL_RT_DEV_RES_CUBE_CORE), 10u);
  EXPECT_ACL_OK(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 20));
  EXPECT_EQ(OfStream(stream, ACL_RT_DEV_RES_CUBE_CORE), 20u);
  EXPECT_EQ(OfStream(nullptr, ACL_RT_DEV_RES_CUBE_CORE), 10u) << "the default stream";
  EXPECT_EQ(OfThread(ACL_RT_DEV_RES_CUBE_CORE), 10u);
  EXPECT_ACL_OK(aclrtUseStreamResInCurrentThread(stream));
  EXPECT_EQ(OfThread(ACL_RT_DEV_RES_CUBE_CORE), 20u);
  EXPECT_ACL_OK(aclrtUnuseStreamResInCurrentThread(nullptr));
  EXPECT_EQ(OfThread(ACL_RT_DEV_RES_CUBE_CORE), 20u) << "another stream's";
  EXPECT_ACL_OK(aclrtResetStreamResLimit(stream));
  EXPECT_EQ(OfThread(ACL_RT_DEV_RES_CUBE_CORE), 10u);
  EXPECT_ACL_OK(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 20));
  EXPECT_ACL_OK(aclrtUnuseStreamResInCurrentThread(stream));
  EXPECT_EQ(OfThread(ACL_RT_DEV_RES_CUBE_CORE), 10u);
  EXPECT_ACL_OK(aclrtUseStreamResInCurrentThread(stream));
  EXPECT_ACL_OK(aclrtDestroyStream(stream));
  EXPECT_EQ(OfThread(ACL_RT_DEV_RES_CUBE_CORE), 10u) << "the stream is gone";
  EXPECT_ACL_OK(aclrtResetDeviceResLimit(0));
  EXPECT_EQ(OfDevice(0, ACL_RT_DEV_RES_CUBE_CORE), 24u);
}

TEST_F(Limits, Checks) {
  uint32_t value = 0;
  const aclrtDevResLimitType wild = static_cast<aclrtDevResLimitType>(2);
  EXPECT_EQ(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetDeviceResLimit(0, wild, &value), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtGetDeviceResLimit(8, ACL_RT_DEV_RES_CUBE_CORE, &value),
            ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtSetDeviceResLimit(0, wild, 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 25), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSetDeviceResLimit(8, ACL_RT_DEV_RES_CUBE_CORE, 1), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtResetDeviceResLimit(8), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtGetStreamResLimit(nullptr, ACL_RT_DEV_RES_CUBE_CORE, nullptr),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetStreamResLimit(nullptr, wild, &value), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSetStreamResLimit(nullptr, wild, 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSetStreamResLimit(nullptr, ACL_RT_DEV_RES_VECTOR_CORE, 49),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetResInCurrentThread(wild, &value), ACL_ERROR_RT_PARAM_INVALID);
  for (void* stale : {static_cast<void*>(&value)}) {
    EXPECT_EQ(aclrtGetStreamResLimit(stale, ACL_RT_DEV_RES_CUBE_CORE, &value),
              ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtSetStreamResLimit(stale, ACL_RT_DEV_RES_CUBE_CORE, 1),
              ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtResetStreamResLimit(stale), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtUseStreamResInCurrentThread(stale), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtUnuseStreamResInCurrentThread(stale), ACL_ERROR_RT_INVALID_HANDLE);
  }
  OnFreshThread([&] {
    EXPECT_EQ(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value),
              ACL_ERROR_RT_CONTEXT_NULL);
  });
}

TEST_F(Limits, ParametersOfProcessAndContext) {
  int64_t value = -1;
  EXPECT_ACL_OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  EXPECT_EQ(value, 0);
  EXPECT_ACL_OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
  EXPECT_ACL_OK(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  EXPECT_EQ(value, 1) << "the process' value";
  EXPECT_ACL_OK(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 0));
  EXPECT_ACL_OK(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  EXPECT_EQ(value, 0);
  EXPECT_ACL_OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  EXPECT_EQ(value, 1);
  EXPECT_ACL_OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 0));
  EXPECT_ACL_OK(aclrtSetSysParamOpt(ACL_OPT_ENABLE_KERNEL_EARLY_START, 1));

  EXPECT_EQ(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, nullptr), ACL_ERROR_INVALID_PARAM);
  const aclSysParamOpt wild = static_cast<aclSysParamOpt>(4);
  EXPECT_EQ(aclrtSetSysParamOpt(wild, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtGetSysParamOpt(wild, &value), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 4), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSetSysParamOpt(ACL_OPT_ENABLE_DEBUG_KERNEL, 2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSetSysParamOpt(ACL_OPT_ENABLE_DEBUG_KERNEL, -1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_ENABLE_KERNEL_EARLY_START, 1),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_ENABLE_KERNEL_EARLY_START, &value),
            ACL_ERROR_RT_PARAM_INVALID);
  OnFreshThread([&] {
    EXPECT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1), ACL_ERROR_RT_CONTEXT_NULL);
  });
}

TEST_F(Limits, AnEventWaitThatLastsTooLongFailsAndTheStreamGoesOn) {
  aclrtStream stream;
  aclrtEvent event;
  ASSERT_ACL_OK(aclrtCreateStream(&stream));
  ASSERT_ACL_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
  ASSERT_ACL_OK(aclrtSetOpWaitTimeout(1));
  ASSERT_ACL_OK(aclrtStreamWaitEvent(stream, event));
  ASSERT_ACL_OK(aclrtSetOpWaitTimeout(0));
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_TASK_TIMEOUT);
  char* p = nullptr;
  ASSERT_ACL_OK(aclrtMalloc(reinterpret_cast<void**>(&p), 64, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_ACL_OK(aclrtMemsetAsync(p, 64, 5, 64, stream));
  EXPECT_ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(p[0], 5);
  EXPECT_ACL_OK(aclrtDestroyStream(stream));
  EXPECT_ACL_OK(aclrtDestroyEvent(event));
}

TEST(Timeouts, OfKernelsAreKeptWithoutEffect) {
  uint64_t actual = 0;
  EXPECT_ACL_OK(aclrtSetOpExecuteTimeOut(10));
  EXPECT_EQ(aclrtSetOpExecuteTimeOutV2(5, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_ACL_OK(aclrtSetOpExecuteTimeOutV2(5000, &actual));
  EXPECT_EQ(actual, 5000u);
  EXPECT_ACL_OK(aclrtSetOpExecuteTimeOutV2(0, &actual));
  EXPECT_EQ(actual, UINT64_MAX) << "no limit";
}

}  // namespace
