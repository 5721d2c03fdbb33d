/*
 * Events: marks in streams. Recording notes the work queued so far on a stream; other streams and
 * the host can wait for it (semantics G.2). Included by acl_rt.h.
 *
 * An event works between all streams, devices and threads of the process. Recording again moves it:
 * waits that were queued before keep the earlier point.
 */
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What an event is for; bits that may be combined. */
#define ACL_EVENT_SYNC 0x1U                    /* streams wait for it */
#define ACL_EVENT_CAPTURE_STREAM_PROGRESS 0x2U /* the host queries it */
#define ACL_EVENT_TIME_LINE 0x8U               /* it keeps its completion time */
#define ACL_EVENT_DEVICE_USE_ONLY 0x10U
#define ACL_EVENT_EXTERNAL 0x20U
#define ACL_EVENT_IPC 0x40U /* other processes open it */

typedef enum aclrtEventStatus {
  ACL_EVENT_STATUS_COMPLETE = 0,
  ACL_EVENT_STATUS_NOT_READY = 1,
  ACL_EVENT_STATUS_RESERVED = 2,
} aclrtEventStatus;

typedef enum aclrtEventRecordedStatus {
  ACL_EVENT_RECORDED_STATUS_NOT_READY = 0,
  ACL_EVENT_RECORDED_STATUS_COMPLETE = 1,
} aclrtEventRecordedStatus;

typedef enum aclrtEventWaitStatus {
  ACL_EVENT_WAIT_STATUS_COMPLETE = 0,
  ACL_EVENT_WAIT_STATUS_NOT_READY = 1,
  ACL_EVENT_WAIT_STATUS_RESERVED = 0xffff,
} aclrtEventWaitStatus;

#define ACL_IPC_EVENT_HANDLE_SIZE 64U

/* An event as raw bytes that travel to another process. */
typedef struct aclrtIpcEventHandle {
  char reserved[ACL_IPC_EVENT_HANDLE_SIZE];
} aclrtIpcEventHandle;

/*
 * Create an event in the thread's context; *event is the caller's to destroy. flag holds
 * ACL_EVENT_* bits. An event of aclrtCreateEvent serves waiting, querying and timing. The three
 * kinds behave differently as long as they were never recorded:
 *
 *   made by                      aclrtStreamWaitEvent                 aclrtQueryEventStatus
 *   aclrtCreateEvent             ACL_ERROR_RT_PARAM_INVALID           NOT_READY
 *   aclrtCreateEventWithFlag     waits for a record (ACL_EVENT_SYNC)  NOT_READY
 *   aclrtCreateEventExWithFlag   ACL_SUCCESS, nothing to wait for     COMPLETE
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateEvent(aclrtEvent *event);
ACL_FUNC_VISIBILITY aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag);
ACL_FUNC_VISIBILITY aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag);

/*
 * Destroys an event. One that is still pending may be destroyed: queued records and waits stay
 * valid.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyEvent(aclrtEvent event);

/*
 * Queues a record: the event completes when all work queued before on the stream (NULL: default)
 * ran.
 */
ACL_FUNC_VISIBILITY aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);

/*
 * Queues the return to the unrecorded state on the stream, after the waits before it. For events of
 * aclrtCreateEventWithFlag with ACL_EVENT_SYNC. One of aclrtCreateEvent needs no reset and stays as
 * it is; others are ACL_ERROR_RT_PARAM_INVALID.
 */
ACL_FUNC_VISIBILITY aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);

/*
 * Queues a wait: tasks queued later on the stream (NULL: default) run after the event's last
 * record.
 */
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);

/* *status: whether the last record completed. Does not block. */
ACL_FUNC_VISIBILITY aclError aclrtQueryEventStatus(aclrtEvent event,
                                                   aclrtEventRecordedStatus *status);

/* The older name of aclrtQueryEventStatus, with a status of its own. */
ACL_FUNC_VISIBILITY aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus *status);

/* *status: COMPLETE when every wait that was queued for the event has passed. Does not block. */
ACL_FUNC_VISIBILITY aclError aclrtQueryEventWaitStatus(aclrtEvent event,
                                                       aclrtEventWaitStatus *status);

/*
 * Block the calling thread until the last record completed; ACL_SUCCESS at once if there was none.
 * timeout in milliseconds: -1 waits for ever, less is ACL_ERROR_RT_PARAM_INVALID, expiry is
 * ACL_ERROR_RT_EVENT_SYNC_TIMEOUT.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEvent(aclrtEvent event);
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout);

/*
 * *ms: milliseconds between the completions of two events that keep their time (aclrtCreateEvent,
 * or ACL_EVENT_TIME_LINE). ACL_ERROR_RT_INTERNAL_ERROR if one was never recorded,
 * ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID if one has not completed.
 */
ACL_FUNC_VISIBILITY aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent,
                                                   aclrtEvent endEvent);

/*
 * *timestamp: when the event completed, in microseconds of the device's monotonic clock, comparable
 * among events of one machine. Codes as aclrtEventElapsedTime.
 */
ACL_FUNC_VISIBILITY aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t *timestamp);

/* ---- Events between processes of a user on one machine ---- */

/*
 * *handle: bytes by which other processes open an event that was created with ACL_EVENT_IPC, else
 * ACL_ERROR_RT_PARAM_INVALID. They are good as long as the event exists, and always the same.
 */
ACL_FUNC_VISIBILITY aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle *handle);

/*
 * *event: the event of another process; the caller destroys it. Records and waits of all processes
 * are about the one event, whatever their devices; it lives until the last process destroys it. A
 * wait fails with ACL_ERROR_RT_SUSPECT_REMOTE_ERROR if the process of the last record ended before
 * its stream came to it. ACL_ERROR_RT_PARAM_INVALID for a handle that leads nowhere and in the
 * process that made the event.
 */
ACL_FUNC_VISIBILITY aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle,
                                                     aclrtEvent *event);

#ifdef __cplusplus
}
#endif
