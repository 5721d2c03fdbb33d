#pragma once
// The API calls that reports name. The identifier travels through shared memory, so the order is
// part of the job page's version.

#include <cstdint>

namespace hcclrun {

// Columns, which a formatter would make unreadable.
// clang-format off
#define HCCLRUN_CALLS(X)                                                                          \
  X(HcclAllReduce) X(HcclBroadcast) X(HcclReduceScatter) X(HcclReduceScatterV) X(HcclScatter)     \
  X(HcclAllGather) X(HcclAllGatherV) X(HcclSend) X(HcclRecv) X(HcclAlltoAllVC)                    \
  X(HcclAlltoAllV) X(HcclAlltoAll) X(HcclReduce) X(HcclBatchSendRecv)                             \
  X(HcclCommInitClusterInfoConfig) X(HcclGetRootInfo) X(HcclCommInitRootInfo)                     \
  X(HcclCommInitRootInfoConfig) X(HcclCommDestroy) X(HcclGetErrorString)                          \
  X(HcclCommConfigInit) X(HcclCommSetMemoryRange) X(HcclCommUnsetMemoryRange)                     \
  X(HcclCommActivateCommMemory) X(HcclCommDeactivateCommMemory) X(HcclCommSymWinRegister)         \
  X(HcclCommSymWinDeregister) X(HcclCommSymWinGet) X(HcclCreateSubCommConfig)                     \
  X(HcclSetConfig) X(HcclGetCommName) X(HcclCommInitAll) X(HcclGetCommAsyncError)                 \
  X(HcclGetCommConfigCapability) X(HcclCommResume) X(HcclCommWorkingDevNicSet)                    \
  X(HcclGroupStart) X(HcclGroupEnd)                                                               \
  X(HcclSymWinGetPeerPointer)                                                                     \
  X(HcclGetRankSize) X(HcclGetRankId) X(HcclBarrier) X(HcommMemAlloc) X(HcommMemFree)             \
  X(HcclCommInitClusterInfo) X(HcclGetConfig) X(hcclrunShareRootInfo) X(HcclCommSuspend)          \
  X(HcclCommGetHandleWithName)                                                                    \
  X(hcclrunLaunch)                                                                                \
  X(aclInit) X(aclFinalize) X(aclGetRecentErrMsg) X(aclsysGetCANNVersion)                         \
  X(aclsysGetVersionStr) X(aclsysGetVersionNum)                                                   \
  X(aclrtSetDevice) X(aclrtResetDevice) X(aclrtGetDevice) X(aclrtGetDeviceCount)                  \
  X(aclrtSetDeviceSatMode) X(aclrtCtxSetSysParamOpt) X(aclrtGetSysParamOpt)                       \
  X(aclrtSetSysParamOpt) X(aclrtResetDeviceForce) X(aclrtGetRunMode)                              \
  X(aclrtSynchronizeDevice) X(aclrtSynchronizeDeviceWithTimeout)                                  \
  X(aclrtGetDeviceUtilizationRate) X(aclrtDeviceCanAccessPeer) X(aclrtDeviceEnablePeerAccess)     \
  X(aclrtDeviceDisablePeerAccess) X(aclrtSetOpWaitTimeout) X(aclrtSetOpExecuteTimeOut)            \
  X(aclrtSetOpExecuteTimeOutV2) X(aclrtQueryDeviceStatus) X(aclrtDeviceGetBareTgid)               \
  X(aclrtGetDeviceInfo) X(aclrtGetDeviceCapability) X(aclrtDeviceGetUuid)                         \
  X(aclrtGetPrimaryCtxState) X(aclrtGetDeviceResLimit) X(aclrtSetDeviceResLimit)                  \
  X(aclrtResetDeviceResLimit) X(aclrtGetStreamResLimit) X(aclrtSetStreamResLimit)                 \
  X(aclrtResetStreamResLimit) X(aclrtUseStreamResInCurrentThread)                                 \
  X(aclrtUnuseStreamResInCurrentThread) X(aclrtGetResInCurrentThread)                             \
  X(aclrtGetLogicDevIdByUserDevId) X(aclrtCheckArchCompatibility)                                 \
  X(aclrtCreateContext) X(aclrtDestroyContext) X(aclrtSetCurrentContext)                          \
  X(aclrtGetCurrentContext) X(aclrtCtxGetCurrentDefaultStream)                                    \
  X(aclrtCreateEvent) X(aclrtDestroyEvent) X(aclrtRecordEvent) X(aclrtEventElapsedTime)           \
  X(aclrtCreateEventWithFlag) X(aclrtCreateEventExWithFlag) X(aclrtResetEvent)                    \
  X(aclrtQueryEventStatus) X(aclrtQueryEventWaitStatus) X(aclrtSynchronizeEvent)                  \
  X(aclrtSynchronizeEventWithTimeout) X(aclrtEventGetTimestamp) X(aclrtStreamWaitEvent)           \
  X(aclrtIpcGetEventHandle) X(aclrtIpcOpenEventHandle)                                            \
  X(aclrtCreateNotify) X(aclrtDestroyNotify) X(aclrtRecordNotify) X(aclrtWaitAndResetNotify)      \
  X(aclrtNotifyGetExportKey) X(aclrtNotifyImportByKey) X(aclrtNotifySetImportPid)                 \
  X(aclrtPeekAtLastError) X(aclrtGetLastError) X(aclrtSetExceptionInfoCallback)                   \
  X(aclrtGetTaskIdFromExceptionInfo) X(aclrtGetStreamIdFromExceptionInfo)                         \
  X(aclrtGetThreadIdFromExceptionInfo) X(aclrtGetDeviceIdFromExceptionInfo)                       \
  X(aclrtGetErrorCodeFromExceptionInfo) X(aclrtGetArgsFromExceptionInfo)                          \
  X(aclrtGetFuncHandleFromExceptionInfo) X(aclrtSubscribeReport) X(aclrtLaunchCallback)           \
  X(aclrtProcessReport) X(aclrtUnSubscribeReport) X(aclrtGetThreadLastTaskId)                     \
  X(aclrtSubscribeHostFunc) X(aclrtProcessHostFunc) X(aclrtUnSubscribeHostFunc)                   \
  X(aclrtLaunchHostFunc) X(aclrtRegStreamStateCallback) X(aclrtGetErrorVerbose)                   \
  X(aclrtReserveMemAddress) X(aclrtReleaseMemAddress) X(aclrtMallocPhysical)                      \
  X(aclrtFreePhysical) X(aclrtMapMem) X(aclrtUnmapMem) X(aclrtMemGetAllocationGranularity)        \
  X(aclrtMemExportToShareableHandle) X(aclrtMemExportToShareableHandleV2)                         \
  X(aclrtMemImportFromShareableHandle) X(aclrtMemImportFromShareableHandleV2)                     \
  X(aclrtMemSetPidToShareableHandle) X(aclrtMemSetAccess)                                         \
  X(aclrtIpcMemGetExportKey) X(aclrtIpcMemClose) X(aclrtIpcMemImportByKey)                        \
  X(aclrtIpcMemSetImportPid)                                                                      \
  X(aclrtPointerGetAttributes) X(aclrtHostRegister) X(aclrtHostRegisterV2)                        \
  X(aclrtHostGetDevicePointer) X(aclrtHostUnregister)                                             \
  X(aclrtMemAllocManaged)                                                                         \
  X(aclrtMemcpy) X(aclrtMemset) X(aclrtMemcpyAsync) X(aclrtMemcpyAsyncWithCondition)              \
  X(aclrtMemsetAsync) X(aclrtCmoAsync) X(aclrtMemcpyBatch) X(aclrtMemcpyBatchAsync)               \
  X(aclrtMalloc) X(aclrtFree) X(aclrtMallocHost) X(aclrtFreeHost) X(aclrtGetMemInfo)              \
  X(aclrtMallocAlign32) X(aclrtMallocHostWithCfg) X(aclrtGetMemUsageInfo)                         \
  X(aclrtSetStreamFailureMode) X(aclrtCreateStream) X(aclrtDestroyStream)                         \
  X(aclrtSynchronizeStream) X(aclrtStreamGetId) X(aclrtCreateStreamConfigHandle)                  \
  X(aclrtDestroyStreamConfigHandle) X(aclrtSetStreamConfigOpt) X(aclrtCreateStreamV2)             \
  X(aclrtCreateStreamWithConfig) X(aclrtDestroyStreamForce)                                       \
  X(aclrtSynchronizeStreamWithTimeout) X(aclrtStreamQuery) X(aclrtStreamGetPriority)              \
  X(aclrtStreamGetFlags) X(aclrtSetStreamOverflowSwitch) X(aclrtGetStreamOverflowSwitch)          \
  X(aclrtStreamAbort) X(aclrtValueWrite) X(aclrtValueWait) X(aclrtSetStreamAttribute)             \
  X(aclrtDeviceGetStreamPriorityRange) X(aclrtStreamStop)                                         \
  X(aclrtGetSocName) X(aclFloat16ToFloat) X(aclFloatToFloat16) X(aclCreateDataBuffer)             \
  X(aclDestroyDataBuffer) X(aclGetDataBufferAddr) X(aclDataTypeSize) X(aclAppLog)                 \
  X(aclGetCannAttributeList) X(aclGetCannAttribute) X(aclGetDeviceCapability)                     \
  X(aclrtAllocatorCreateDesc) X(aclrtAllocatorDestroyDesc) X(aclrtAllocatorSetObjToDesc)          \
  X(aclrtAllocatorSetAllocFuncToDesc) X(aclrtAllocatorSetFreeFuncToDesc)                          \
  X(aclrtAllocatorSetAllocAdviseFuncToDesc) X(aclrtAllocatorSetGetAddrFromBlockFuncToDesc)        \
  X(aclrtAllocatorRegister) X(aclrtAllocatorGetByStream) X(aclrtAllocatorUnregister)              \
  X(aclprofInit) X(aclprofFinalize) X(aclprofStart) X(aclprofCreateConfig) X(aclprofStop)         \
  X(aclprofDestroyConfig) X(aclprofSetConfig) X(aclprofGetStepTimestamp)                          \
  X(aclprofCreateStepInfo) X(aclprofDestroyStepInfo) X(aclprofMarkEx)                             \
  X(aclrtMemGetAddressRange) X(aclrtMemRetainAllocationHandle)                                    \
  X(aclFinalizeReference) X(aclrtGetDeviceSatMode) X(aclrtReserveMemAddressNoUCMemory)            \
  X(aclrtMemGetAllocationPropertiesFromHandle) X(aclrtMemSetPidToShareableHandleV2)               \
  X(HcclMemAlloc) X(HcclMemFree) X(hcclrunLastPath)                                               \
  X(aclprofPush) X(aclprofPop) X(aclprofRangeStart)                                               \
  X(aclprofRangeStop) X(aclprofSetStampTraceMessage) X(aclprofMark)                               \
  X(aclrtMemcpy2d) X(aclrtMemcpy2dAsync) X(aclUpdateDataBuffer) X(aclrtGetStreamAttribute) X(aclrtCtxGetSysParamOpt) \
  X(HcclCommGetStatus) X(HcclCommRegCommStateCallback) X(HcclConfigGetInfo)                       \
  X(aclrtMemPoolCreate) X(aclrtMemPoolDestroy) X(aclrtMemPoolSetAttr) X(aclrtMemPoolGetAttr)      \
  X(aclrtMemPoolMallocAsync) X(aclrtMemPoolFreeAsync) X(aclrtMemPoolTrimTo) X(aclrtReduceAsync)   \
  X(aclrtQueryEvent) X(aclrtGetPhyDevIdByLogicDevId) X(aclrtGetLogicDevIdByPhyDevId)              \
  X(aclrtGetMemUceInfo) X(aclrtMemUceRepair) X(aclrtRepairError) X(aclrtDeviceTaskAbort)
// clang-format on

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
