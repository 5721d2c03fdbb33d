/*
 * The AscendCL runtime: initialisation, error texts, and through its parts devices, streams,
 * events, memory and virtual memory. Conventions common to all calls are in acl_base_rt.h.
 */
#pragma once

#include "acl_base.h"
#include "acl_rt_allocator.h"
#include "acl_rt_device.h"
#include "acl_rt_event.h"
#include "acl_rt_memory.h"
#include "acl_rt_stream.h"
#include "acl_rt_vmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the interface that these headers describe. */
#define ACL_MAJOR_VERSION 1
#define ACL_MINOR_VERSION 17
#define ACL_PATCH_VERSION 0

/* ---- Initialisation (semantics G.4) ---- */

/*
 * Starts the runtime in this process. configPath is NULL or the path of a JSON file, read during
 * the call; the caller keeps the string.
 * ACL_ERROR_REPEAT_INITIALIZE if the process is initialised already: harmless, and counted as one
 * more reference for aclFinalizeReference.
 */
ACL_FUNC_VISIBILITY aclError aclInit(const char *configPath);

/*
 * Ends the runtime whatever the number of references, and releases what the process still holds:
 * streams, device memory, contexts. Call it once, before the process exits, when no other thread is
 * inside the library. Copes with devices that were never reset and communicators that were
 * destroyed before. ACL_ERROR_REPEAT_FINALIZE if it was called already.
 */
ACL_FUNC_VISIBILITY aclError aclFinalize(void);

/*
 * Gives back one reference of aclInit and finalises with the last one. *refCount (may be NULL)
 * receives the references that remain. ACL_ERROR_REPEAT_FINALIZE if none was left.
 */
ACL_FUNC_VISIBILITY aclError aclFinalizeReference(uint64_t *refCount);

/* ---- Errors (semantics F.3) ---- */

/*
 * Text of the failures since the last call on this thread, newest first, and forgets them. NULL if
 * there is none. The library owns the string; it is valid until the thread's next call. HCCL's
 * texts come through here too.
 */
ACL_FUNC_VISIBILITY const char *aclGetRecentErrMsg(void);

typedef enum aclrtLastErrLevel {
  ACL_RT_THREAD_LEVEL = 0, /* the calling thread's last error */
} aclrtLastErrLevel;

typedef enum {
  ACL_RT_NO_ERROR = 0,
  ACL_RT_ERROR_MEMORY = 1,
  ACL_RT_ERROR_L2 = 2,
  ACL_RT_ERROR_AICORE = 3,
  ACL_RT_ERROR_LINK = 4,
  ACL_RT_ERROR_L3_PORT = 5,
  ACL_RT_ERROR_OTHERS = 0xffff,
} aclrtErrorType;

typedef enum aclrtAicoreErrorType {
  ACL_RT_AICORE_ERROR_UNKNOWN = 0,
  ACL_RT_AICORE_ERROR_SW = 1,
  ACL_RT_AICORE_ERROR_HW_LOCAL = 2,
} aclrtAicoreErrorType;

#define ACL_RT_MAX_RECORD_PA_NUM_PER_DEV 20U
#define MAX_MEM_UCE_INFO_ARRAY_SIZE 128
#define UCE_INFO_RESERVED_SIZE 14
#define ACL_RT_MEM_UCE_INFO_MAX_NUM 20

/* A range of device memory with an uncorrectable error. */
typedef struct aclrtMemUceInfo {
  void *addr;
  size_t len;
  size_t reserved[UCE_INFO_RESERVED_SIZE];
} aclrtMemUceInfo;

typedef struct {
  size_t arraySize; /* entries in use */
  aclrtMemUceInfo memUceInfoArray[ACL_RT_MEM_UCE_INFO_MAX_NUM];
} aclrtMemUceInfoArray;

typedef union aclrtErrorInfoDetail {
  aclrtMemUceInfoArray uceInfo;       /* ACL_RT_ERROR_MEMORY */
  aclrtAicoreErrorType aicoreErrType; /* ACL_RT_ERROR_AICORE */
} aclrtErrorInfoDetail;

/* What is known about a device's last error. */
typedef struct aclrtErrorInfo {
  uint8_t tryRepair; /* 1: worth a repair attempt */
  uint8_t hasDetail; /* 1: detail is valid */
  uint8_t reserved[2];
  aclrtErrorType errorType;
  aclrtErrorInfoDetail detail;
} aclrtErrorInfo;

/*
 * The code of the last acl call on this thread that did not answer ACL_SUCCESS; ACL_SUCCESS if
 * there was none. Get forgets it, Peek does not (semantics F.3). Another level is
 * ACL_ERROR_INVALID_PARAM.
 */
ACL_FUNC_VISIBILITY aclError aclrtPeekAtLastError(aclrtLastErrLevel level);
ACL_FUNC_VISIBILITY aclError aclrtGetLastError(aclrtLastErrLevel level);

/*
 * *errorInfo: what is known about a fault of the device itself. An emulated device has none, so
 * that it is always ACL_RT_NO_ERROR without detail. ACL_ERROR_INVALID_PARAM for NULL,
 * ACL_ERROR_RT_INVALID_DEVICEID for an unknown device.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetErrorVerbose(int32_t deviceId, aclrtErrorInfo *errorInfo);

/*
 * Memory errors of the device, of which an emulated one has none: *retSize is 0. Repairing does
 * nothing. ACL_ERROR_INVALID_PARAM for null pointers, ACL_ERROR_RT_INVALID_DEVICEID for an unknown
 * device.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetMemUceInfo(int32_t deviceId, aclrtMemUceInfo *memUceInfoArray,
                                                size_t arraySize, size_t *retSize);
ACL_FUNC_VISIBILITY aclError aclrtMemUceRepair(int32_t deviceId, aclrtMemUceInfo *memUceInfoArray,
                                               size_t arraySize);
ACL_FUNC_VISIBILITY aclError aclrtRepairError(int32_t deviceId, const aclrtErrorInfo *errorInfo);

/* A failed task, as an exception callback sees it; valid during the callback only. */
typedef struct rtExceptionInfo aclrtExceptionInfo;
typedef void (*aclrtExceptionInfoCallback)(aclrtExceptionInfo *exceptionInfo);
typedef void *aclrtFuncHandle;

/*
 * From now on callback runs for every task that fails, on a thread of the library, inside a
 * synchronising call or in the call that queues a task, before the task counts as complete; the
 * last callback set counts, NULL is none. It must not call what waits for streams.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback);

/*
 * The number of the failed task within its stream, its stream, the thread that queued it (gettid),
 * its device, and the code that synchronising calls will answer. 0xFFFFFFFF for NULL.
 */
ACL_FUNC_VISIBILITY uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo *info);
ACL_FUNC_VISIBILITY uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo *info);
ACL_FUNC_VISIBILITY uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo *info);
ACL_FUNC_VISIBILITY uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo *info);
ACL_FUNC_VISIBILITY uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo *info);

/*
 * Arguments in device memory and handle of the kernel that failed. Tasks here have neither: the
 * outputs become NULL and 0. ACL_ERROR_INVALID_PARAM for a null pointer.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetArgsFromExceptionInfo(const aclrtExceptionInfo *info,
                                                           void **devArgsPtr,
                                                           uint32_t *devArgsLen);
ACL_FUNC_VISIBILITY aclError aclrtGetFuncHandleFromExceptionInfo(const aclrtExceptionInfo *info,
                                                                 aclrtFuncHandle *func);

/* ---- Versions of installed packages ---- */
#define ACL_PKG_VERSION_MAX_SIZE 128
#define ACL_PKG_VERSION_PARTS_MAX_SIZE 64

typedef enum aclCANNPackageName {
  ACL_PKG_NAME_CANN = 0,
  ACL_PKG_NAME_RUNTIME = 1,
  ACL_PKG_NAME_COMPILER = 2,
  ACL_PKG_NAME_HCCL = 3,
  ACL_PKG_NAME_TOOLKIT = 4,
  ACL_PKG_NAME_OPP = 5,
  ACL_PKG_NAME_OPP_KERNEL = 6,
  ACL_PKG_NAME_DRIVER = 7,
} aclCANNPackageName;

/* Terminated strings. */
typedef struct aclCANNPackageVersion {
  char version[ACL_PKG_VERSION_MAX_SIZE]; /* the whole version */
  char majorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char minorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char releaseVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char patchVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char reserved[ACL_PKG_VERSION_MAX_SIZE];
} aclCANNPackageVersion;

/*
 * The CANN release whose interface this library has; all packages have the same. pkgName: runtime,
 * hccl, hcomm, toolkit, cann, driver, firmware and the like. versionStr takes
 * ACL_PKG_VERSION_MAX_SIZE characters and is terminated; *versionNum grows with releases: major *
 * 10000000 + minor * 100000 + patch * 1000. ACL_ERROR_INVALID_PARAM for a null pointer,
 * ACL_ERROR_INVALID_FILE for a package that does not exist.
 */
ACL_FUNC_VISIBILITY aclError aclsysGetVersionStr(char *pkgName, char *versionStr);
ACL_FUNC_VISIBILITY aclError aclsysGetVersionNum(char *pkgName, int32_t *versionNum);
/* As above, with the parts apart; an unknown name is ACL_ERROR_INVALID_PARAM. */
ACL_FUNC_VISIBILITY aclError aclsysGetCANNVersion(aclCANNPackageName name,
                                                  aclCANNPackageVersion *version);

#ifdef __cplusplus
}
#endif
