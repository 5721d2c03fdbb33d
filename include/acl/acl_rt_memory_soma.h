/*
 * Memory pools: device memory that is allocated and freed in the order of streams, without waiting
 * for them. Not included by acl.h.
 */
#pragma once

#include "acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void *aclrtMemPool;

typedef enum aclrtMemPoolAttr {
  /* uint32_t, 0 or 1; kept only: memory is reused as described at aclrtMemPoolMallocAsync. */
  ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
  ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC = 2,
  ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
  /* uint64_t, bytes. The next aclrtSynchronizeStream or aclrtSynchronizeDevice releases unused
   * memory above it; 0 at first. */
  ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD = 4,
  /* uint64_t, bytes that the pool holds, and that the program has of it, now and at most. Of the
   * latter only 0 can be set, which starts them anew. */
  ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT = 5,
  ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH = 6,
  ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT = 7,
  ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH = 8,
} aclrtMemPoolAttr;

typedef struct {
  aclrtMemAllocationType allocType; /* ACL_MEM_ALLOCATION_TYPE_PINNED */
  aclrtMemHandleType handleType;    /* ACL_MEM_HANDLE_TYPE_NONE */
  aclrtMemLocation location;        /* a device */
  size_t maxSize;                   /* bytes; 0: all that the device has */
  unsigned char reserved[32];       /* 0 */
} aclrtMemPoolProps;

/*
 * *memPool: an empty pool, which the caller destroys. Memory that the program still has of a
 * destroyed pool stays valid until aclrtMemPoolFreeAsync. Resetting the device destroys its pools
 * with their memory. Null pointers are ACL_ERROR_INVALID_PARAM, other values than those named above
 * ACL_ERROR_RT_PARAM_INVALID.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemPoolCreate(aclrtMemPool *memPool,
                                                const aclrtMemPoolProps *poolProps);
ACL_FUNC_VISIBILITY aclError aclrtMemPoolDestroy(const aclrtMemPool memPool);

/* *value has the type that stands at the attribute. */
ACL_FUNC_VISIBILITY aclError aclrtMemPoolSetAttr(aclrtMemPool memPool, aclrtMemPoolAttr attr,
                                                 void *value);
ACL_FUNC_VISIBILITY aclError aclrtMemPoolGetAttr(aclrtMemPool memPool, aclrtMemPoolAttr attr,
                                                 void *value);

/*
 * *ptr: size bytes for tasks that are queued on the stream (NULL: default) from now on, and for
 * others that wait for them. The smallest unused piece of the pool that is large enough, else new
 * memory: what was freed on the same stream is unused at once, what was freed on another one when
 * that stream has come to the free. ACL_ERROR_RT_MEMORY_ALLOCATION when the pool's size or the
 * device is exhausted.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemPoolMallocAsync(void **ptr, size_t size, aclrtMemPool memPool,
                                                     aclrtStream stream);

/* Gives memory back to its pool when the stream (NULL: default) comes to this point. */
ACL_FUNC_VISIBILITY aclError aclrtMemPoolFreeAsync(void *ptr, aclrtStream stream);

/* Releases unused memory at once, until the pool holds minBytesToKeep or no more is unused. */
ACL_FUNC_VISIBILITY aclError aclrtMemPoolTrimTo(aclrtMemPool memPool, size_t minBytesToKeep);

#ifdef __cplusplus
}
#endif
