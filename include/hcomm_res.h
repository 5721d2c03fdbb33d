/* Allocation of device memory that can be registered as a symmetric window (semantics B.3). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "acl/acl_linkage.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t HcommResult; /* the numbers of HcclResult */

/*
 * Allocates device memory of the thread's device, rounded up to the granularity, reserved and
 * mapped as aclrtReserveMemAddress, aclrtMallocPhysical and aclrtMapMem would. *ptr is released by
 * HcommMemFree. NULL is HCCL_E_PTR, size 0 HCCL_E_PARA, an acl failure (no device set, out of
 * memory) HCCL_E_RUNTIME.
 */
ACL_FUNC_VISIBILITY HcommResult HcommMemAlloc(void **ptr, size_t size);

/*
 * Releases what HcommMemAlloc returned; deregister windows on it first. NULL is HCCL_SUCCESS;
 * another address HCCL_E_RUNTIME.
 */
ACL_FUNC_VISIBILITY HcommResult HcommMemFree(void *ptr);

#ifdef __cplusplus
}
#endif
