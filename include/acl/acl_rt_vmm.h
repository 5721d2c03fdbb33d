/*
 * Virtual memory: address ranges and physical memory apart (semantics B). Included by acl_rt.h.
 *
 * Order of use: reserve, allocate physical memory, map, use, unmap, free the physical memory,
 * release. Sizes and addresses are multiples of the granularity, 2 MiB, or 1 GiB for the *_HUGE1G
 * kinds. Physical memory is reference counted: it lives while its owner's handle, a retained or
 * imported handle, a mapping or a symmetric window refers to it.
 */
#pragma once

#include "acl_base.h"
#include "acl_rt_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void *aclrtDrvMemHandle; /* a reference to physical memory */

typedef enum aclrtMemHandleType {
  ACL_MEM_HANDLE_TYPE_NONE = 0,
  ACL_MEM_HANDLE_TYPE_POSIX = 2,
} aclrtMemHandleType;

typedef enum aclrtMemAllocationType {
  ACL_MEM_ALLOCATION_TYPE_PINNED = 0,
} aclrtMemAllocationType;

/* What physical memory is asked for. */
typedef struct aclrtPhysicalMemProp {
  aclrtMemHandleType handleType;         /* ACL_MEM_HANDLE_TYPE_NONE */
  aclrtMemAllocationType allocationType; /* ACL_MEM_ALLOCATION_TYPE_PINNED */
  aclrtMemAttr memAttr;                  /* usually ACL_HBM_MEM_HUGE */
  aclrtMemLocation location;
  uint64_t reserve; /* 0 */
} aclrtPhysicalMemProp;

typedef enum aclrtMemGranularityOptions {
  ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
  ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1,
  ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF = 0xffff,
} aclrtMemGranularityOptions;

typedef enum aclrtMemSharedHandleType {
  ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT = 1, /* a uint64_t */
  ACL_MEM_SHARE_HANDLE_TYPE_FABRIC = 2,  /* an aclrtMemFabricHandle */
} aclrtMemSharedHandleType;

typedef struct aclrtMemFabricHandle {
  uint8_t data[128];
} aclrtMemFabricHandle;

typedef enum {
  ACL_RT_MEM_ACCESS_FLAGS_NONE = 0,
  ACL_RT_MEM_ACCESS_FLAGS_READ = 1,
  ACL_RT_MEM_ACCESS_FLAGS_READWRITE = 3,
} aclrtMemAccessFlags;

typedef struct {
  aclrtMemAccessFlags flags;
  aclrtMemLocation location; /* whose access it is */
  uint8_t rsv[12];
} aclrtMemAccessDesc;

/* Flags of the export calls. */
#define ACL_RT_VMM_EXPORT_FLAG_DEFAULT 0x0UL                /* importers must be listed */
#define ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION 0x1UL /* they need not */

/* ---- Address ranges (semantics B.2) ---- */

/*
 * Reserves size bytes of addresses; *virPtr is released by aclrtReleaseMemAddress. alignment must
 * be 0. expectPtr: NULL or the address wished for, a hint. flags: 0, or 1 with the same meaning.
 * ACL_ERROR_INVALID_PARAM or ACL_ERROR_RT_PARAM_INVALID for anything else.
 */
ACL_FUNC_VISIBILITY aclError aclrtReserveMemAddress(void **virPtr, size_t size, size_t alignment,
                                                    void *expectPtr, uint64_t flags);

/* As aclrtReserveMemAddress, for large ranges: size is a multiple of 1 GiB. */
ACL_FUNC_VISIBILITY aclError aclrtReserveMemAddressNoUCMemory(void **virPtr, size_t size,
                                                              size_t alignment, void *expectPtr,
                                                              uint64_t flags);

/*
 * Gives a reservation back: virPtr is its start, and everything inside is unmapped; else an error.
 */
ACL_FUNC_VISIBILITY aclError aclrtReleaseMemAddress(void *virPtr);

/* ---- Physical memory ---- */

/*
 * Allocates size bytes of physical memory as prop says; *handle is released by aclrtFreePhysical.
 * flags must be 0. Checked in this order: null pointers, size 0, flags, handleType, allocationType,
 * location type, memAttr (ACL_ERROR_INVALID_PARAM); device (ACL_ERROR_RT_INVALID_DEVICEID); size
 * not a multiple of the granularity (ACL_ERROR_RT_PARAM_INVALID). ACL_ERROR_RT_MEMORY_ALLOCATION if
 * memory runs short.
 */
ACL_FUNC_VISIBILITY aclError aclrtMallocPhysical(aclrtDrvMemHandle *handle, size_t size,
                                                 const aclrtPhysicalMemProp *prop, uint64_t flags);

/*
 * Gives back a handle that was allocated, imported or retained. The memory itself goes with the
 * last reference. NULL is ACL_ERROR_INVALID_PARAM, an unknown handle ACL_ERROR_RT_INVALID_HANDLE.
 */
ACL_FUNC_VISIBILITY aclError aclrtFreePhysical(aclrtDrvMemHandle handle);

/* *granularity: bytes of which sizes and addresses must be multiples. The options do not differ. */
ACL_FUNC_VISIBILITY aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp *prop,
                                                              aclrtMemGranularityOptions option,
                                                              size_t *granularity);

/* *prop: how the memory of a handle was allocated. */
ACL_FUNC_VISIBILITY aclError aclrtMemGetAllocationPropertiesFromHandle(aclrtDrvMemHandle handle,
                                                                       aclrtPhysicalMemProp *prop);

/* ---- Mapping ---- */

/*
 * Maps the whole of a physical memory at virPtr inside a reservation. offset and flags must be 0,
 * size the size of the physical memory; else ACL_ERROR_INVALID_PARAM (null, zero, flags) or a
 * 107xxx code (outside a reservation, occupied range, part of the memory). The mapping holds a
 * reference.
 */
ACL_FUNC_VISIBILITY aclError aclrtMapMem(void *virPtr, size_t size, size_t offset,
                                         aclrtDrvMemHandle handle, uint64_t flags);

/*
 * Removes the mapping that starts at virPtr. Does not wait for streams. Memory registered as a
 * symmetric window stays alive through the window: deregister it first.
 */
ACL_FUNC_VISIBILITY aclError aclrtUnmapMem(void *virPtr);

/*
 * Says who may access a mapped range: count descriptions, read during the call. A locally mapped
 * range is readable and writable anyway, so that arguments are checked and nothing else happens.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemSetAccess(void *virPtr, size_t size, aclrtMemAccessDesc *desc,
                                               size_t count);

/*
 * The allocation or mapping that contains ptr: its start and its bytes (both outputs required).
 * Unknown addresses and unmapped parts of a reservation are an error.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemGetAddressRange(void *ptr, void **pbase, size_t *psize);

/*
 * *handle: one more reference to the physical memory mapped at virPtr, any address inside the
 * mapping; the caller gives it back by aclrtFreePhysical. An error if no physical memory is mapped
 * there, which includes memory of aclrtMalloc.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemRetainAllocationHandle(void *virPtr,
                                                            aclrtDrvMemHandle *handle);

/* ---- Sharing with other processes of the user ---- */

/*
 * Make a physical memory known under a number or name that can be sent to another process as bytes.
 * It is good as long as the handle lives. flags: an ACL_RT_VMM_EXPORT_FLAG_*. handleType: NONE. V2
 * writes the type that shareType names to *shareableHandle. Exporting a handle twice is an error.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle,
                                                             aclrtMemHandleType handleType,
                                                             uint64_t flags,
                                                             uint64_t *shareableHandle);
ACL_FUNC_VISIBILITY aclError aclrtMemExportToShareableHandleV2(aclrtDrvMemHandle handle,
                                                               uint64_t flags,
                                                               aclrtMemSharedHandleType shareType,
                                                               void *shareableHandle);

/*
 * List the processes that may import, by their aclrtDeviceGetBareTgid: pidNum of them, 1 to 65535.
 * To be called by the exporter before they import. V2 takes a pointer to the shareable handle.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t *pid,
                                                             size_t pidNum);
ACL_FUNC_VISIBILITY aclError aclrtMemSetPidToShareableHandleV2(void *shareableHandle,
                                                               aclrtMemSharedHandleType shareType,
                                                               int32_t *pid, size_t pidNum);

/*
 * Take a reference to the memory of another process; *handle is the caller's to free, and keeps the
 * memory alive even if its owner ends. deviceId: the device that will use it. flags must be 0. An
 * error in the exporting process itself, and in a process that is not listed.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemImportFromShareableHandle(uint64_t shareableHandle,
                                                               int32_t deviceId,
                                                               aclrtDrvMemHandle *handle);
ACL_FUNC_VISIBILITY aclError aclrtMemImportFromShareableHandleV2(void *shareableHandle,
                                                                 aclrtMemSharedHandleType shareType,
                                                                 uint64_t flags,
                                                                 aclrtDrvMemHandle *handle);

#ifdef __cplusplus
}
#endif
