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

#ifdef __cplusplus
}
#endif
