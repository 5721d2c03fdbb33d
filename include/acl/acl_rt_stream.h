/*
 * Streams: queues of tasks that run in order. Two streams run independently of each other and never
 * block one another (semantics G.1). Included by acl_rt.h.
 */
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of a stream; bits that may be combined. */
#define ACL_STREAM_FAST_LAUNCH 0x1U
#define ACL_STREAM_FAST_SYNC 0x2U
#define ACL_STREAM_PERSISTENT 0x4U
#define ACL_STREAM_HUGE 0x8U
#define ACL_STREAM_CPU_SCHEDULE 0x10U
#define ACL_STREAM_DEVICE_USE_ONLY 0x20U

/* Modes for aclrtSetStreamFailureMode. */
#define ACL_CONTINUE_ON_FAILURE 0x0U /* the default: later tasks run all the same */
#define ACL_STOP_ON_FAILURE 0x1U     /* tasks after a failed one are not run */

typedef enum aclrtStreamStatus {
  ACL_STREAM_STATUS_COMPLETE = 0,
  ACL_STREAM_STATUS_NOT_READY = 1,
  ACL_STREAM_STATUS_RESERVED = 0xffff,
} aclrtStreamStatus;

/*
 * Create a stream in the thread's context; *stream is the caller's to destroy.
 * priority and flag (ACL_STREAM_* bits) are hints without effect.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateStream(aclrtStream *stream);
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority,
                                                         uint32_t flag);

/*
 * Destroys a stream after its tasks ran; blocks until then. ACL_ERROR_RT_STREAM_CONTEXT if the
 * stream belongs to another context than the thread's.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStream(aclrtStream stream);

/* As aclrtDestroyStream, but does not wait: tasks that have not started are dropped. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStreamForce(aclrtStream stream);

/*
 * Wait until everything queued so far on the stream (NULL: default) ran, and return the first error
 * of one of its tasks. timeout in milliseconds: -1 waits for ever, less is
 * ACL_ERROR_RT_PARAM_INVALID, expiry is ACL_ERROR_RT_STREAM_SYNC_TIMEOUT; the tasks keep running
 * and a later call may succeed.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStream(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);

/* *status: COMPLETE if nothing is queued or running. Does not block. */
ACL_FUNC_VISIBILITY aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status);

/*
 * What happens after a task failed: ACL_CONTINUE_ON_FAILURE or ACL_STOP_ON_FAILURE, for later
 * tasks.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode);

/* ---- Host functions in a stream ---- */
typedef void (*aclrtCallback)(void *userData);
typedef void (*aclrtHostFunc)(void *args);

typedef enum aclrtCallbackBlockType {
  ACL_CALLBACK_NO_BLOCK = 0, /* later tasks of the stream do not wait for the function */
  ACL_CALLBACK_BLOCK = 1,    /* they do */
} aclrtCallbackBlockType;

/*
 * Queues a call of fn(args) on a thread of the library; tasks queued later wait for its return. No
 * thread has to be subscribed. args must stay valid until then. fn must not wait for the stream it
 * runs in.
 */
ACL_FUNC_VISIBILITY aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void *args);

/* ---- Types of further stream calls ---- */

/* How a stream waits for a 64-bit word in device memory. */
#define ACL_STREAM_WAIT_VALUE_GEQ 0x0U
#define ACL_STREAM_WAIT_VALUE_EQ 0x1U
#define ACL_STREAM_WAIT_VALUE_AND 0x2U
#define ACL_STREAM_WAIT_VALUE_NOR 0x3U

typedef enum {
  ACL_RT_STREAM_WORK_ADDR_PTR = 0,
  ACL_RT_STREAM_WORK_SIZE = 1,
  ACL_RT_STREAM_FLAG = 2,
  ACL_RT_STREAM_PRIORITY = 3,
} aclrtStreamConfigAttr;

typedef struct aclrtStreamConfigHandle {
  void *workptr;
  size_t workSize;
  size_t flag;
  uint32_t priority;
} aclrtStreamConfigHandle;

typedef enum {
  ACL_STREAM_ATTR_FAILURE_MODE = 1,
  ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK = 2,
  ACL_STREAM_ATTR_USER_CUSTOM_TAG = 3,
  ACL_STREAM_ATTR_CACHE_OP_INFO = 4,
  ACL_STREAM_ATTR_PRIORITY = 5,
} aclrtStreamAttr;

typedef union {
  uint64_t failureMode;
  uint32_t overflowSwitch;
  uint32_t userCustomTag;
  uint32_t cacheOpInfoSwitch;
  uint32_t streamPriority;
  uint32_t reserve[4];
} aclrtStreamAttrValue;

typedef enum {
  ACL_RT_STREAM_STATE_CREATE_POST = 1,
  ACL_RT_STREAM_STATE_DESTROY_PRE = 2,
} aclrtStreamState;

typedef void (*aclrtStreamStateCallback)(aclrtStream stream, aclrtStreamState state, void *args);

/* Notifies: flags of creation, export and import. */
#define ACL_NOTIFY_DEFAULT 0x0U
#define ACL_NOTIFY_DEVICE_USE_ONLY 0x1U
#define ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION 0x2UL
#define ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS 0x2UL

#ifdef __cplusplus
}
#endif
