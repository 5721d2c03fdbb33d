/* User compute on a device. An extension of hcclrun, where there is no device compiler: a function
 * of the program stands for a kernel. Link with -lascendcl or -lacl_rt. */
#ifndef HCCLRUN_LAUNCH_H_
#define HCCLRUN_LAUNCH_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 0 if it did its work; any other number is a failure of the task. */
typedef int (*hcclrunKernel)(void *arg);

/* Queues a call of kernel(arg) on the stream (NULL: the default stream of the thread's context) and
 * returns. It runs when everything queued before has run, and what is queued behind it waits for
 * its return.
 *
 * The kernel runs on a thread of the library that belongs to the stream, in which the stream's
 * context is current. Pointers to device memory, also of other devices, and peer pointers of
 * symmetric windows are usable there directly, as is memory of the host; arg and what it points to
 * must stay valid until then. The kernel must not call what waits for the stream it runs in
 * (aclrtSynchronizeStream, aclrtSynchronizeDevice, aclrtDestroyStream: they answer an error or
 * would never return), and no C++ exception may leave it.
 *
 * If the kernel returns another number than 0, the task has failed: the callback of
 * aclrtSetExceptionInfoCallback is told, and the next synchronising call on the stream answers
 * ACL_ERROR_RT_AICORE_EXCEPTION; whether later tasks run is up to aclrtSetStreamFailureMode.
 * ACL_ERROR_INVALID_PARAM: kernel is NULL. ACL_ERROR_RT_CONTEXT_NULL: the thread has no device.
 * ACL_ERROR_RT_INVALID_HANDLE: an unknown stream. Any thread. */
ACL_FUNC_VISIBILITY aclError hcclrunLaunch(aclrtStream stream, hcclrunKernel kernel, void *arg);

#ifdef __cplusplus
}
#endif

#endif
