#pragma once
// The API calls that reports name. The identifier travels through shared memory, so the order is
// part of the job page's version.

#include <cstdint>

namespace hcclrun {

#define HCCLRUN_CALLS(X)                                                                                                     \
  X(HcclGetRootInfo)                                                                                                         \
  X(HcclCommInitRootInfo) X(HcclCommInitRootInfoConfig) X(HcclCommDestroy) X(HcclGetRankSize) X(                             \
      HcclGetRankId) X(HcclGetCommName) X(HcclGetCommAsyncError) X(HcclAllGather) X(HcclReduceScatter)                       \
      X(HcclAllReduce) X(HcclAlltoAll) X(HcclBroadcast) X(HcclReduce) X(HcclScatter) X(                                      \
          HcclBarrier) X(HcclCommSymWinRegister) X(HcclCommSymWinDeregister) X(HcclCommSymWinGet)                            \
          X(HcclSymWinGetPeerPointer) X(HcommMemAlloc) X(HcommMemFree) X(HcclCommInitClusterInfo) X(                         \
              HcclCommInitClusterInfoConfig) X(HcclCommInitAll) X(HcclCreateSubCommConfig) X(HcclAllGatherV)                 \
              X(HcclReduceScatterV) X(HcclAlltoAllV) X(HcclAlltoAllVC) X(HcclSend) X(HcclRecv) X(                            \
                  HcclBatchSendRecv) X(HcclCommConfigInit) X(HcclSetConfig) X(HcclGetConfig)                                 \
                  X(HcclCommSetMemoryRange) X(HcclCommUnsetMemoryRange) X(HcclCommActivateCommMemory) X(                     \
                      HcclCommDeactivateCommMemory) X(hcclrunShareRootInfo) X(aclInit) X(aclFinalize)                        \
                      X(aclrtSetDevice) X(aclrtResetDevice) X(aclrtResetDeviceForce) X(aclrtGetDevice) X(                    \
                          aclrtGetDeviceCount) X(aclrtSynchronizeDevice) X(aclrtCreateStream) X(aclrtDestroyStream)          \
                          X(aclrtSynchronizeStream) X(aclrtCreateEvent) X(aclrtDestroyEvent) X(                              \
                              aclrtRecordEvent) X(aclrtStreamWaitEvent) X(aclrtSynchronizeEvent)                             \
                              X(aclrtEventElapsedTime) X(aclrtMalloc) X(aclrtFree) X(aclrtMallocHost) X(                     \
                                  aclrtFreeHost) X(aclrtMemcpy) X(aclrtMemcpyAsync) X(aclrtMemset)                           \
                                  X(aclrtMemsetAsync) X(aclrtGetMemInfo) X(aclrtReserveMemAddress) X(                        \
                                      aclrtReleaseMemAddress) X(aclrtMallocPhysical) X(aclrtFreePhysical) X(aclrtMapMem)     \
                                      X(aclrtUnmapMem) X(aclrtMemGetAllocationGranularity) X(                                \
                                          aclrtMemGetAddressRange) X(aclrtMemRetainAllocationHandle)                         \
                                          X(aclrtMemExportToShareableHandle) X(aclrtMemImportFromShareableHandle) X(         \
                                              aclrtMemSetPidToShareableHandle) X(aclrtLaunchHostFunc)                        \
                                              X(aclrtOther) X(aclprof) X(aclFinalizeReference) X(                            \
                                                  aclrtGetRunMode) X(aclrtSynchronizeDeviceWithTimeout)                      \
                                                  X(aclrtSetDeviceSatMode) X(aclrtGetDeviceSatMode) X(                       \
                                                      aclrtDeviceGetBareTgid) X(aclrtCreateContext)                          \
                                                      X(aclrtDestroyContext) X(aclrtSetCurrentContext) X(                    \
                                                          aclrtGetCurrentContext) X(aclrtCreateStreamWithConfig)             \
                                                          X(aclrtDestroyStreamForce) X(                                      \
                                                              aclrtSynchronizeStreamWithTimeout) X(aclrtStreamQuery)         \
                                                              X(aclrtSetStreamFailureMode) X(                                \
                                                                  aclrtCreateEventWithFlag)                                  \
                                                                  X(aclrtCreateEventExWithFlag) X(                           \
                                                                      aclrtResetEvent) X(aclrtQueryEventStatus)              \
                                                                      X(aclrtQueryEventWaitStatus) X(                        \
                                                                          aclrtSynchronizeEventWithTimeout)                  \
                                                                          X(aclrtEventGetTimestamp) X(                       \
                                                                              aclrtReserveMemAddressNoUCMemory)              \
                                                                              X(aclrtMemSetAccess) X(                        \
                                                                                  aclrtMemGetAllocationPropertiesFromHandle) \
                                                                                  X(aclrtMemExportToShareableHandleV2)       \
                                                                                      X(aclrtMemImportFromShareableHandleV2) \
                                                                                          X(aclrtMemSetPidToShareableHandleV2)

enum class CallId : uint32_t {
  kNone = 0,
#define HCCLRUN_CALL_ENUM(name) name,
  HCCLRUN_CALLS(HCCLRUN_CALL_ENUM)
#undef HCCLRUN_CALL_ENUM
      kCount
};

// "HcclAllReduce"; "no call" for kNone and values out of range (they come from shared memory).
const char* CallName(CallId call);

}  // namespace hcclrun
