/*
 * Callbacks of an allocator that the user registers for a stream. The library calls them for memory
 * that operators on that stream need. Included by acl_rt.h.
 */
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A block of size bytes or more, or NULL. The allocator owns it. */
typedef void *(*aclrtAllocatorAllocFunc)(aclrtAllocator allocator, size_t size);

/* Gives a block back. */
typedef void (*aclrtAllocatorFreeFunc)(aclrtAllocator allocator, aclrtAllocatorBlock block);

/* As the first, at addr if the allocator can arrange that. */
typedef void *(*aclrtAllocatorAllocAdviseFunc)(aclrtAllocator allocator, size_t size,
                                               aclrtAllocatorAddr addr);

/* The address of the memory that a block stands for. */
typedef void *(*aclrtAllocatorGetAddrFromBlockFunc)(aclrtAllocatorBlock block);

#ifdef __cplusplus
}
#endif
