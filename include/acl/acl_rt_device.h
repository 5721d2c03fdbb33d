/*
 * Devices and contexts. A device is chosen per thread: setting it makes the device's default
 * context, with its default stream, current on that thread (semantics G.3). Included by acl_rt.h.
 */
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Device ---- */

/*
 * Makes a device current on the calling thread and takes a reference on it. The first call in the
 * process creates the device's memory and default context, which all threads that set the device
 * share. ACL_ERROR_RT_INVALID_DEVICEID if deviceId is not below the device count.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetDevice(int32_t deviceId);

/*
 * Gives back one reference of aclrtSetDevice. The last one waits for the device's tasks, then
 * releases its default context, streams and memory; their handles and addresses become invalid.
 * Destroy communicators first: they do not keep a device alive (semantics G.4).
 * ACL_ERROR_RT_INVALID_DEVICEID for an unknown device; an error if the device is not set.
 */
ACL_FUNC_VISIBILITY aclError aclrtResetDevice(int32_t deviceId);

/*
 * As aclrtResetDevice, but at once, whatever the number of references. Resetting again is an error.
 */
ACL_FUNC_VISIBILITY aclError aclrtResetDeviceForce(int32_t deviceId);

/*
 * *deviceId: the calling thread's device. ACL_ERROR_RT_CONTEXT_NULL on a thread that has set none.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetDevice(int32_t *deviceId);

/* *count: the devices this process may set. Needs neither aclInit nor a device. */
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceCount(uint32_t *count);

typedef enum aclrtRunMode {
  ACL_DEVICE = 0, /* the program runs on the device's own processor */
  ACL_HOST = 1,   /* the program runs on the host */
} aclrtRunMode;

/* *runMode: always ACL_HOST. ACL_ERROR_INVALID_PARAM for NULL. */
ACL_FUNC_VISIBILITY aclError aclrtGetRunMode(aclrtRunMode *runMode);

/*
 * Waits until every stream of the thread's device has run what was queued before the call, and
 * returns the first error among them. With timeout (milliseconds): -1 waits for ever, less is
 * ACL_ERROR_RT_PARAM_INVALID, expiry is ACL_ERROR_RT_STREAM_SYNC_TIMEOUT with the tasks still
 * running (semantics G.1).
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeDevice(void);
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout);

typedef enum aclrtFloatOverflowMode {
  ACL_RT_OVERFLOW_MODE_SATURATION = 0, /* Inf becomes the largest number, NaN becomes 0 */
  ACL_RT_OVERFLOW_MODE_INFNAN = 1,     /* Inf and NaN as IEEE 754 has them */
  ACL_RT_OVERFLOW_MODE_UNDEF = 2,
} aclrtFloatOverflowMode;

/*
 * Set records the mode for the thread's device and has no other effect: arithmetic here keeps Inf
 * and NaN. Get returns what was recorded, ACL_RT_OVERFLOW_MODE_INFNAN at first (semantics C.4).
 */
ACL_FUNC_VISIBILITY aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode);
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode *mode);

/*
 * *pid: the number by which other processes name this one in the import lists of shared memory
 * (acl_rt_vmm.h). The process id outside of any container.
 */
ACL_FUNC_VISIBILITY aclError aclrtDeviceGetBareTgid(int32_t *pid);

/* ---- Context ---- */

/*
 * Creates a context with a default stream of its own on a device and makes it current on the
 * calling thread. *context is the caller's to destroy. ACL_ERROR_RT_INVALID_DEVICEID for an unknown
 * device.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId);

/*
 * Destroys a context that aclrtCreateContext made, after its streams were destroyed. Default
 * contexts go with their device. A thread on which it was current has no context afterwards.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyContext(aclrtContext context);

/* Makes a context, and with it its device, current on the calling thread. Takes no reference. */
ACL_FUNC_VISIBILITY aclError aclrtSetCurrentContext(aclrtContext context);

/* *context: the calling thread's. ACL_ERROR_RT_CONTEXT_NULL if it has none. No ownership passes. */
ACL_FUNC_VISIBILITY aclError aclrtGetCurrentContext(aclrtContext *context);

/*
 * *stream: the default stream of the thread's context, which NULL stands for in other calls. It
 * cannot be destroyed. ACL_ERROR_RT_CONTEXT_NULL on a thread without a context.
 */
ACL_FUNC_VISIBILITY aclError aclrtCtxGetCurrentDefaultStream(aclrtStream *stream);

/*
 * *active: 1 while the default context of a device exists, else 0. flags: reserved, NULL; receives
 * 0 otherwise.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t *flags,
                                                     int32_t *active);

/* ---- Types of device queries ---- */
typedef enum aclrtDeviceStatus {
  ACL_RT_DEVICE_STATUS_NORMAL = 0,
  ACL_RT_DEVICE_STATUS_ABNORMAL = 1,
  ACL_RT_DEVICE_STATUS_END = 0xffff,
} aclrtDeviceStatus;

typedef enum {
  ACL_DEV_ATTR_AICPU_CORE_NUM = 1,
  ACL_DEV_ATTR_AICORE_CORE_NUM = 101,
  ACL_DEV_ATTR_CUBE_CORE_NUM = 102,
  ACL_DEV_ATTR_VECTOR_CORE_NUM = 201,
  ACL_DEV_ATTR_WARP_SIZE = 202,
  ACL_DEV_ATTR_MAX_THREAD_PER_VECTOR_CORE = 203,
  ACL_DEV_ATTR_LOCAL_MEM_PER_VECTOR_CORE = 204,
  ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE = 204,
  ACL_DEV_ATTR_MAX_GRID_DIM_X = 205,
  ACL_DEV_ATTR_MAX_GRID_DIM_Y = 206,
  ACL_DEV_ATTR_MAX_GRID_DIM_Z = 207,
  ACL_DEV_ATTR_MAX_BLOCK_PER_GRID = 208,
  ACL_DEV_ATTR_MAX_THREADS_PER_BLOCK = 209,
  ACL_DEV_ATTR_MAX_BLOCK_DIM_X = 210,
  ACL_DEV_ATTR_MAX_BLOCK_DIM_Y = 211,
  ACL_DEV_ATTR_MAX_BLOCK_DIM_Z = 212,
  ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE = 301, /* bytes */
  ACL_DEV_ATTR_L2_CACHE_SIZE = 302,         /* bytes */
  ACL_DEV_ATTR_SMP_ID = 401,
  ACL_DEV_ATTR_PHY_CHIP_ID = 402,
  ACL_DEV_ATTR_SUPER_POD_DEVIDE_ID = 403, /* the older spelling */
  ACL_DEV_ATTR_SUPER_POD_DEVICE_ID = 403,
  ACL_DEV_ATTR_SUPER_POD_SERVER_ID = 404,
  ACL_DEV_ATTR_SUPER_POD_ID = 405,
  ACL_DEV_ATTR_CUST_OP_PRIVILEGE = 406,
  ACL_DEV_ATTR_MAINBOARD_ID = 407,
  ACL_DEV_ATTR_HD_CONNECT_TYPE = 408,    /* an ACL_HOST_DEVICE_CONNECT_TYPE_* */
  ACL_DEV_ATTR_DEVICE_FORM_FACTOR = 409, /* an ACL_DEVICE_FORM_FACTOR_* */
  ACL_DEV_ATTR_IS_VIRTUAL = 501,
  ACL_DEV_ATTR_NPU_ARCH = 601,
} aclrtDevAttr;

#define ACL_HOST_DEVICE_CONNECT_TYPE_PCIE 0
#define ACL_HOST_DEVICE_CONNECT_TYPE_HCCS 1
#define ACL_HOST_DEVICE_CONNECT_TYPE_UB 2
#define ACL_DEVICE_FORM_FACTOR_POD 0
#define ACL_DEVICE_FORM_FACTOR_A_K 1
#define ACL_DEVICE_FORM_FACTOR_A_X 2
#define ACL_DEVICE_FORM_FACTOR_PCIE_CARD 3

typedef enum {
  ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV = 1,
  ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV = 21,
} aclrtDevFeatureType;

#define ACL_DEV_FEATURE_SUPPORT 1
#define ACL_DEV_FEATURE_NOT_SUPPORT 0

typedef enum {
  ACL_RT_DEV_RES_CUBE_CORE = 0,
  ACL_RT_DEV_RES_VECTOR_CORE = 1,
} aclrtDevResLimitType;

/* Load in percent; a negative number means not available. */
typedef struct aclrtUtilizationExtendInfo aclrtUtilizationExtendInfo;
typedef struct aclrtUtilizationInfo {
  int32_t cubeUtilization;
  int32_t vectorUtilization;
  int32_t aicpuUtilization;
  int32_t memoryUtilization;
  aclrtUtilizationExtendInfo *utilizationExtend; /* reserved: NULL */
} aclrtUtilizationInfo;

typedef struct aclrtUuid {
  char bytes[16];
} aclrtUuid;

/* ---- Device queries. They need neither aclInit nor a current device; a null output is
 * ACL_ERROR_INVALID_PARAM, an unknown device ACL_ERROR_RT_INVALID_DEVICEID. ---- */

/*
 * *value: an attribute of the emulated chip. Attributes that only chips with SIMT cores have are
 * ACL_ERROR_RT_FEATURE_NOT_SUPPORT, unknown ones ACL_ERROR_RT_PARAM_INVALID.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr,
                                                int64_t *value);

/*
 * *value: ACL_DEV_FEATURE_NOT_SUPPORT for every feature there is; an unknown one is
 * ACL_ERROR_RT_PARAM_INVALID.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceCapability(int32_t deviceId,
                                                      aclrtDevFeatureType devFeatureType,
                                                      int32_t *value);

/*
 * *uuid: the same for a physical device in all processes of a machine until its next boot, and
 * different for every other device.
 */
ACL_FUNC_VISIBILITY aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid *uuid);

/* *deviceStatus: always ACL_RT_DEVICE_STATUS_NORMAL. */
ACL_FUNC_VISIBILITY aclError aclrtQueryDeviceStatus(int32_t deviceId,
                                                    aclrtDeviceStatus *deviceStatus);

/*
 * memoryUtilization: the percentage of the device's memory that this process holds; the others are
 * -1, not available. utilizationExtend must be NULL (ACL_ERROR_INVALID_PARAM).
 */
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceUtilizationRate(int32_t deviceId,
                                                           aclrtUtilizationInfo *utilizationInfo);

/*
 * *logicDevId: the number that device userDevid has when ASCEND_RT_VISIBLE_DEVICES does not number
 * devices anew.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevid,
                                                           int32_t *const logicDevId);

/* Logical and physical numbers are the same here; both must be those of devices of the process. */
ACL_FUNC_VISIBILITY aclError aclrtGetPhyDevIdByLogicDevId(const int32_t logicDevId,
                                                          int32_t *const phyDevId);
ACL_FUNC_VISIBILITY aclError aclrtGetLogicDevIdByPhyDevId(const int32_t phyDevId,
                                                          int32_t *const logicDevId);

/*
 * Gives up what is queued or waits on the streams of the device, as aclrtStreamAbort does with one;
 * threads that synchronise with it get ACL_ERROR_RT_DEVICE_TASK_ABORT. Does not wait for host
 * functions and kernels that run, so that the timeout (milliseconds) does not matter.
 */
ACL_FUNC_VISIBILITY aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout);

/*
 * *canCompatible: 1 if code for socVersion runs on the emulated chip, that is for names of its
 * family, else 0.
 */
ACL_FUNC_VISIBILITY aclError aclrtCheckArchCompatibility(const char *socVersion,
                                                         int32_t *canCompatible);

/* ---- Peer access ---- */

/*
 * *canAccessPeer: 1, as every device reaches every other. deviceId and peerDeviceId must differ
 * (ACL_ERROR_INVALID_PARAM).
 */
ACL_FUNC_VISIBILITY aclError aclrtDeviceCanAccessPeer(int32_t *canAccessPeer, int32_t deviceId,
                                                      int32_t peerDeviceId);

/*
 * Access between the thread's device and a peer. It is always open: the calls check their arguments
 * and do nothing, and may be repeated. ACL_ERROR_INVALID_PARAM if the peer is the thread's device,
 * ACL_ERROR_FEATURE_UNSUPPORTED if flags is not 0.
 */
ACL_FUNC_VISIBILITY aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags);
ACL_FUNC_VISIBILITY aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId);

/* ---- Limits and parameters. There are no cores to limit and no kernels: the values are kept, and
 * whoever asks gets them. ---- */

/*
 * Cores that kernels of this process may use on a device: what was set, or the chip's number.
 * ACL_ERROR_INVALID_PARAM for a null pointer; a value above the chip's number or 0, or an unknown
 * type, is ACL_ERROR_RT_PARAM_INVALID.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type,
                                                    uint32_t *value);
ACL_FUNC_VISIBILITY aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type,
                                                    uint32_t value);
ACL_FUNC_VISIBILITY aclError aclrtResetDeviceResLimit(int32_t deviceId);

/* The same for kernels of a stream (NULL: default), which goes before the device's limit. */
ACL_FUNC_VISIBILITY aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type,
                                                    uint32_t *value);
ACL_FUNC_VISIBILITY aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type,
                                                    uint32_t value);
ACL_FUNC_VISIBILITY aclError aclrtResetStreamResLimit(aclrtStream stream);

/*
 * Use makes the limits of a stream those of the calling thread, until Unuse with the same stream;
 * Unuse of another stream changes nothing. Get answers the thread's limit: the stream's, else the
 * device's.
 */
ACL_FUNC_VISIBILITY aclError aclrtUseStreamResInCurrentThread(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t *value);

/*
 * Parameters of kernels, of the process or (Ctx) of the thread's context; 0 at first, and a context
 * that was given none has the process'. value: 0 to 3 for ACL_OPT_DETERMINISTIC, else 0 or 1; other
 * values and options, and ACL_OPT_ENABLE_KERNEL_EARLY_START for a context, are
 * ACL_ERROR_RT_PARAM_INVALID. Reductions here are deterministic anyway.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value);
ACL_FUNC_VISIBILITY aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t *value);
ACL_FUNC_VISIBILITY aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value);
ACL_FUNC_VISIBILITY aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value);

/*
 * Seconds that waits queued from now on by aclrtStreamWaitEvent may last; 0, the default, is for
 * ever. A wait that lasts longer fails: the stream goes on, and the next synchronising call answers
 * ACL_ERROR_RT_TASK_TIMEOUT.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetOpWaitTimeout(uint32_t timeout);

/*
 * Time that a kernel may take, in seconds, and in microseconds with *actualTimeout as the time in
 * force (UINT64_MAX for 0: no limit). Without effect, as there are no kernels; collectives have
 * HCCL_EXEC_TIMEOUT.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetOpExecuteTimeOut(uint32_t timeout);
ACL_FUNC_VISIBILITY aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t *actualTimeout);

#ifdef __cplusplus
}
#endif
