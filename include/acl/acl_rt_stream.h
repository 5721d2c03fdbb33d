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
 * priority and flag (ACL_STREAM_* bits) are hints without effect; aclrtStreamGetPriority and
 * aclrtStreamGetFlags return them.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateStream(aclrtStream *stream);
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority,
                                                         uint32_t flag);

/*
 * Destroys a stream after its tasks ran; blocks until then. ACL_ERROR_RT_STREAM_CONTEXT if the
 * stream belongs to another context than the thread's.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStream(aclrtStream stream);

/*
 * As aclrtDestroyStream, but tasks that wait, and those behind them, are dropped. Host functions
 * and kernels get 20 milliseconds; one that still runs then goes on.
 */
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
 * tasks. Another mode and a default stream are ACL_ERROR_RT_PARAM_INVALID.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode);

/*
 * Gives up what was queued so far: what runs and waits ends, what has not started is dropped,
 * events that were to be recorded count as recorded. Threads that synchronise with these tasks get
 * ACL_ERROR_RT_STREAM_ABORT. A host function that runs goes on to its end, and the call does not
 * wait for it. The stream takes new tasks afterwards. ACL_ERROR_RT_FEATURE_NOT_SUPPORT inside a
 * host function of the stream.
 */
ACL_FUNC_VISIBILITY aclError aclrtStreamAbort(aclrtStream stream);

/*
 * Ends the task that runs or waits now, as aclrtStreamAbort, and leaves those behind it. The
 * default stream cannot be stopped: ACL_ERROR_RT_PARAM_INVALID.
 */
ACL_FUNC_VISIBILITY aclError aclrtStreamStop(aclrtStream stream);

/* ---- What a stream is. A null output is ACL_ERROR_INVALID_PARAM. ---- */

/* *streamId: a number that no other stream of the process has had. */
ACL_FUNC_VISIBILITY aclError aclrtStreamGetId(aclrtStream stream, int32_t *streamId);

/* What the stream was created with; 0 for a default stream. Smaller priorities are more urgent. */
ACL_FUNC_VISIBILITY aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t *priority);
ACL_FUNC_VISIBILITY aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t *flags);

/* 7 and 0. Either pointer may be NULL. Needs no device. */
ACL_FUNC_VISIBILITY aclError aclrtDeviceGetStreamPriorityRange(int32_t *leastPriority,
                                                               int32_t *greatestPriority);

/*
 * Detection of overflows in kernels: kept and returned, without effect. flag is 0 (off, at first)
 * or 1, else ACL_ERROR_RT_PARAM_INVALID.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag);
ACL_FUNC_VISIBILITY aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t *flag);

/* ---- Host functions in a stream ---- */
typedef void (*aclrtCallback)(void *userData);
typedef void (*aclrtHostFunc)(void *args);

typedef enum aclrtCallbackBlockType {
  ACL_CALLBACK_NO_BLOCK = 0, /* later tasks of the stream do not wait for the function */
  ACL_CALLBACK_BLOCK = 1,    /* they do */
} aclrtCallbackBlockType;

/*
 * Queues a call of fn(args) on a thread of the library, or on the one subscribed by
 * aclrtSubscribeHostFunc; tasks queued later wait for its return. No thread has to be subscribed.
 * args must stay valid until then. fn must not wait for the stream it runs in.
 */
ACL_FUNC_VISIBILITY aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void *args);

/*
 * Callbacks on a thread of the program. threadId is its pthread_self() as a number; the thread
 * calls aclrtProcessReport again and again. It may serve several streams, a stream has one thread.
 * Subscribe: ACL_ERROR_RT_STREAM_SUBSCRIBE if the stream has another. UnSubscribe:
 * ACL_ERROR_RT_THREAD_SUBSCRIBE if this thread is not the stream's; callbacks that have not started
 * then fail. NULL is the default stream.
 */
ACL_FUNC_VISIBILITY aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream);

/*
 * Queues a call of fn(userData) by the stream's thread; blockType says whether later tasks wait for
 * its return. It is also made after an earlier task failed. ACL_ERROR_INVALID_PARAM for a null fn
 * or another blockType, ACL_ERROR_RT_STREAM_NO_CB_REG if no thread is subscribed.
 */
ACL_FUNC_VISIBILITY aclError aclrtLaunchCallback(aclrtCallback fn, void *userData,
                                                 aclrtCallbackBlockType blockType,
                                                 aclrtStream stream);

/*
 * Runs the callbacks that wait for the calling thread, or waits for one for timeout milliseconds;
 * -1 is for ever, 0 and less than -1 are ACL_ERROR_INVALID_PARAM. ACL_ERROR_RT_REPORT_TIMEOUT if
 * none came, ACL_ERROR_RT_THREAD_SUBSCRIBE if none came and the thread is not subscribed.
 */
ACL_FUNC_VISIBILITY aclError aclrtProcessReport(int32_t timeout);

/*
 * The same for the functions of aclrtLaunchHostFunc: while a thread is subscribed to a stream, they
 * run there. The stream must not be NULL (ACL_ERROR_INVALID_PARAM).
 */
ACL_FUNC_VISIBILITY aclError aclrtSubscribeHostFunc(uint64_t hostFuncThreadId,
                                                    aclrtStream exeStream);
ACL_FUNC_VISIBILITY aclError aclrtProcessHostFunc(int32_t timeout);
ACL_FUNC_VISIBILITY aclError aclrtUnSubscribeHostFunc(uint64_t hostFuncThreadId,
                                                      aclrtStream exeStream);

/*
 * *taskId: the number, within its stream, of the task that the calling thread queued last; 0 if it
 * has queued none. ACL_ERROR_INVALID_PARAM for NULL.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetThreadLastTaskId(uint32_t *taskId);

/* ---- Words of device memory ---- */

/* How a stream waits for a 64-bit word in device memory. */
#define ACL_STREAM_WAIT_VALUE_GEQ 0x0U /* (int64_t)(word - value) >= 0 */
#define ACL_STREAM_WAIT_VALUE_EQ 0x1U  /* word == value */
#define ACL_STREAM_WAIT_VALUE_AND 0x2U /* (word & value) != 0 */
#define ACL_STREAM_WAIT_VALUE_NOR 0x3U /* ~(word | value) != 0 */

/*
 * Queue a write of value to the 8-byte word at devAddr, and a wait until that word satisfies the
 * condition that flag names, whoever changes it: this or another stream, a copy, another process.
 * What was queued before a write is visible behind a wait that it ends. flag of a write is 0.
 * devAddr is device memory at a multiple of 8 that stays valid. NULL is ACL_ERROR_INVALID_PARAM,
 * everything else that is wrong ACL_ERROR_RT_PARAM_INVALID.
 */
ACL_FUNC_VISIBILITY aclError aclrtValueWrite(void *devAddr, uint64_t value, uint32_t flag,
                                             aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtValueWait(void *devAddr, uint64_t value, uint32_t flag,
                                            aclrtStream stream);

/* ---- Configuration ---- */
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

/*
 * What a stream is to be created with: a handle with everything 0, which the caller destroys (NULL
 * only if memory runs short); an attribute of it, read from valueSize bytes at attrValue; a stream
 * made from it. The work area is not used. ACL_ERROR_INVALID_PARAM for NULL, an unknown attribute
 * or a valueSize that is not the attribute's (a flag may have 4 or 8 bytes).
 */
ACL_FUNC_VISIBILITY aclrtStreamConfigHandle *aclrtCreateStreamConfigHandle(void);
ACL_FUNC_VISIBILITY aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle *handle);
ACL_FUNC_VISIBILITY aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle *handle,
                                                     aclrtStreamConfigAttr attr,
                                                     const void *attrValue, size_t valueSize);
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamV2(aclrtStream *stream,
                                                 const aclrtStreamConfigHandle *handle);

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

/*
 * Properties of a stream (NULL: default). The failure mode is that of aclrtSetStreamFailureMode and
 * cannot be set for a default stream; the others are kept and returned: switches are 0 or 1, a
 * priority 0 to 7. NULL is ACL_ERROR_INVALID_PARAM, another value or property
 * ACL_ERROR_RT_PARAM_INVALID.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamAttribute(aclrtStream stream,
                                                     aclrtStreamAttr stmAttrType,
                                                     aclrtStreamAttrValue *value);
ACL_FUNC_VISIBILITY aclError aclrtGetStreamAttribute(aclrtStream stream,
                                                     aclrtStreamAttr stmAttrType,
                                                     aclrtStreamAttrValue *value);

typedef enum {
  ACL_RT_STREAM_STATE_CREATE_POST = 1,
  ACL_RT_STREAM_STATE_DESTROY_PRE = 2,
} aclrtStreamState;

typedef void (*aclrtStreamStateCallback)(aclrtStream stream, aclrtStreamState state, void *args);

/*
 * From now on callback(stream, state, args) runs after a stream was created and before one is
 * destroyed, default streams included, in the thread that does it. regName names the registration;
 * with a null callback it ends. ACL_ERROR_INVALID_PARAM for a null or empty name,
 * ACL_ERROR_RT_PARAM_INVALID if the name is taken, or is unknown when the registration is to end.
 */
ACL_FUNC_VISIBILITY aclError aclrtRegStreamStateCallback(const char *regName,
                                                         aclrtStreamStateCallback callback,
                                                         void *args);

/* ---- Notifies: flags that a stream sets and another waits for and clears, also between processes
 * of a user on one machine. A null pointer or handle is ACL_ERROR_INVALID_PARAM, an unknown notify
 * ACL_ERROR_RT_INVALID_HANDLE, another flag ACL_ERROR_RT_PARAM_INVALID. ---- */
#define ACL_NOTIFY_DEFAULT 0x0U
#define ACL_NOTIFY_DEVICE_USE_ONLY 0x1U
#define ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION 0x2UL
#define ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS 0x2UL

/*
 * Creates a notify of the thread's device; *notify is the caller's to destroy. flag is an
 * ACL_NOTIFY_*. Destroy: what was queued stays valid; a notify that others imported lives until
 * they destroy it, too.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateNotify(aclrtNotify *notify, uint64_t flag);
ACL_FUNC_VISIBILITY aclError aclrtDestroyNotify(aclrtNotify notify);

/* Queues the setting of the notify. Setting it twice without a wait between is setting it once. */
ACL_FUNC_VISIBILITY aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream);

/*
 * Queues a wait until the notify is set, and its clearing. timeout is in seconds, 0 for ever; a
 * wait that lasts longer fails, and the next synchronising call answers ACL_ERROR_RT_TASK_TIMEOUT.
 */
ACL_FUNC_VISIBILITY aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream,
                                                     uint32_t timeout);

/*
 * key: a text by which other processes import the notify, always the same. len, the bytes at key,
 * is 65 or more (else ACL_ERROR_RT_PARAM_INVALID). flags: an ACL_RT_NOTIFY_EXPORT_FLAG_*; by
 * default importers must be listed by SetImportPid first, with their aclrtDeviceGetBareTgid.
 * Import: flags is an ACL_RT_NOTIFY_IMPORT_FLAG_*, without effect; ACL_ERROR_RT_PARAM_INVALID for a
 * key that leads nowhere, in the exporting process and in one that is not listed.
 */
ACL_FUNC_VISIBILITY aclError aclrtNotifyGetExportKey(aclrtNotify notify, char *key, size_t len,
                                                     uint64_t flags);
ACL_FUNC_VISIBILITY aclError aclrtNotifyImportByKey(aclrtNotify *notify, const char *key,
                                                    uint64_t flags);
ACL_FUNC_VISIBILITY aclError aclrtNotifySetImportPid(aclrtNotify notify, int32_t *pid, size_t num);

#ifdef __cplusplus
}
#endif
