/*
 * Device and pinned host memory, copies and fills. Included by acl_rt.h; memory by reservation and
 * mapping is in acl_rt_vmm.h.
 *
 * Device memory belongs to the current device of the allocating thread, is visible to all threads
 * of the process, and is released by its Free call or with the device.
 */
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Page size and kind of an allocation. Pages are the host's here: the value selects nothing. */
typedef enum aclrtMemMallocPolicy {
  ACL_MEM_MALLOC_HUGE_FIRST = 0,
  ACL_MEM_MALLOC_HUGE_ONLY = 1,
  ACL_MEM_MALLOC_NORMAL_ONLY = 2,
  ACL_MEM_MALLOC_HUGE_FIRST_P2P = 3,
  ACL_MEM_MALLOC_HUGE_ONLY_P2P = 4,
  ACL_MEM_MALLOC_NORMAL_ONLY_P2P = 5,
  ACL_MEM_MALLOC_HUGE1G_ONLY = 6,
  ACL_MEM_MALLOC_HUGE1G_ONLY_P2P = 7,
  ACL_MEM_TYPE_LOW_BAND_WIDTH = 256,
  ACL_MEM_TYPE_HIGH_BAND_WIDTH = 0x1000,
  ACL_MEM_ACCESS_USER_SPACE_READONLY = 0x100000,
} aclrtMemMallocPolicy;

/* Kinds of memory, for physical memory (acl_rt_vmm.h) and for aclrtGetMemInfo. */
typedef enum aclrtMemAttr {
  ACL_DDR_MEM = 0,
  ACL_HBM_MEM = 1,
  ACL_DDR_MEM_HUGE = 2,
  ACL_DDR_MEM_NORMAL = 3,
  ACL_HBM_MEM_HUGE = 4, /* what programs for Atlas A3 use */
  ACL_HBM_MEM_NORMAL = 5,
  ACL_DDR_MEM_P2P_HUGE = 6,
  ACL_DDR_MEM_P2P_NORMAL = 7,
  ACL_HBM_MEM_P2P_HUGE = 8,
  ACL_HBM_MEM_P2P_NORMAL = 9,
  ACL_HBM_MEM_HUGE1G = 10,
  ACL_HBM_MEM_P2P_HUGE1G = 11,
  ACL_MEM_NORMAL = 12,
  ACL_MEM_HUGE = 13,
  ACL_MEM_HUGE1G = 14,
  ACL_MEM_P2P_NORMAL = 15,
  ACL_MEM_P2P_HUGE = 16,
  ACL_MEM_P2P_HUGE1G = 17,
} aclrtMemAttr;

typedef enum aclrtMemcpyKind {
  ACL_MEMCPY_HOST_TO_HOST = 0,
  ACL_MEMCPY_HOST_TO_DEVICE = 1,
  ACL_MEMCPY_DEVICE_TO_HOST = 2,
  ACL_MEMCPY_DEVICE_TO_DEVICE = 3,
  ACL_MEMCPY_DEFAULT = 4,                /* the direction follows from the addresses */
  ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE = 5,  /* the source is free again when the call returns */
  ACL_MEMCPY_INNER_DEVICE_TO_DEVICE = 6, /* within one device */
  ACL_MEMCPY_INTER_DEVICE_TO_DEVICE = 7, /* between two */
} aclrtMemcpyKind;

/* ---- Allocation ---- */

/*
 * Allocates size bytes on the thread's device, aligned for every data type, contents undefined.
 * *devPtr is released by aclrtFree. The memory is committed by the call: it runs short here, with
 * ACL_ERROR_RT_MEMORY_ALLOCATION, and never by a signal later.
 */
ACL_FUNC_VISIBILITY aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy);

/*
 * Releases what aclrtMalloc returned. Does not wait for streams: synchronise those that still use
 * the memory. NULL is ACL_ERROR_INVALID_PARAM; an address that was not returned by it, or was freed
 * already, is an error.
 */
ACL_FUNC_VISIBILITY aclError aclrtFree(void *devPtr);

/* The same as aclrtMalloc. */
ACL_FUNC_VISIBILITY aclError aclrtMallocAlign32(void **devPtr, size_t size,
                                                aclrtMemMallocPolicy policy);

/* Memory that moves between host and device does not exist: ACL_ERROR_RT_FEATURE_NOT_SUPPORT. */
ACL_FUNC_VISIBILITY aclError aclrtMemAllocManaged(void **ptr, uint64_t size, uint32_t flag);

/* Pinned host memory, page aligned; *hostPtr is released by aclrtFreeHost. */
ACL_FUNC_VISIBILITY aclError aclrtMallocHost(void **hostPtr, size_t size);
ACL_FUNC_VISIBILITY aclError aclrtFreeHost(void *hostPtr);

/*
 * *free and *total: bytes of the thread's device for the given kind of memory. DDR kinds report the
 * same memory. Free counts what all processes on this machine leave over, so that it can shrink
 * between calls.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total);

/* ---- Copy and fill ---- */

/*
 * Copies count bytes to dst, which has room for destMax bytes; returns when done. Does not wait for
 * streams. Either address may be device memory of any device of the process, memory of a peer
 * obtained through a symmetric window, or host memory. count above destMax or a null address is
 * ACL_ERROR_INVALID_PARAM. Source and destination must not overlap.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count,
                                         aclrtMemcpyKind kind);

/*
 * As aclrtMemcpy, but queued on the stream (NULL: default). Both ranges must stay valid and the
 * source unchanged until the stream ran the copy.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src,
                                              size_t count, aclrtMemcpyKind kind,
                                              aclrtStream stream);

/*
 * Set count bytes to the low byte of value, in memory with room for maxCount bytes, device or host.
 * At once, or queued on the stream (NULL: default). Codes as aclrtMemcpy.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value,
                                         size_t count);
ACL_FUNC_VISIBILITY aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value,
                                              size_t count, aclrtStream stream);

/*
 * Copies height rows of width bytes; rows start dpitch and spitch bytes apart. Codes as aclrtMemcpy
 * and aclrtMemcpyAsync; a width above a pitch, or a zero, is ACL_ERROR_INVALID_PARAM.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch,
                                           size_t width, size_t height, aclrtMemcpyKind kind);
ACL_FUNC_VISIBILITY aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch, const void *src,
                                                size_t spitch, size_t width, size_t height,
                                                aclrtMemcpyKind kind, aclrtStream stream);

typedef enum {
  ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM = 10,
  ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX = 11,
  ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN = 12,
  ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL = 13, /* ACL_ERROR_RT_FEATURE_NOT_SUPPORT */
} aclrtReduceKind;

/*
 * Queues dst = dst op src on the stream (NULL: default). count is in bytes; both ranges are device
 * memory. Types: ACL_INT8, ACL_INT16, ACL_INT32, ACL_FLOAT16, ACL_FLOAT and ACL_BF16; others are
 * ACL_ERROR_RT_FEATURE_NOT_SUPPORT. reserve is NULL.
 */
ACL_FUNC_VISIBILITY aclError aclrtReduceAsync(void *dst, const void *src, uint64_t count,
                                              aclrtReduceKind kind, aclDataType type,
                                              aclrtStream stream, void *reserve);

/*
 * As aclrtMemcpyAsync; if one side is host memory that is not pinned, it returns when the stream
 * has run the copy. From host to host is ACL_ERROR_RT_FEATURE_NOT_SUPPORT.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsyncWithCondition(void *dst, size_t destMax,
                                                           const void *src, size_t count,
                                                           aclrtMemcpyKind kind,
                                                           aclrtStream stream);

/* ---- Pinned memory with attributes, and registration ---- */
typedef enum {
  ACL_RT_MEM_ATTR_RSV = 0,
  ACL_RT_MEM_ATTR_MODULE_ID = 1,
  ACL_RT_MEM_ATTR_DEVICE_ID = 2,
  ACL_RT_MEM_ATTR_VA_FLAG = 3,
} aclrtMallocAttrType;

typedef union {
  uint16_t moduleId;
  uint32_t deviceId;
  uint32_t vaFlag;
  uint8_t rsv[8];
} aclrtMallocAttrValue;

typedef struct {
  aclrtMallocAttrType attr;
  aclrtMallocAttrValue value;
} aclrtMallocAttribute;

typedef struct {
  aclrtMallocAttribute *attrs; /* the caller's, read during the call */
  size_t numAttrs;
} aclrtMallocConfig;

/*
 * As aclrtMallocHost. cfg (may be NULL) is checked and without effect; an unknown attribute is
 * ACL_ERROR_RT_PARAM_INVALID.
 */
ACL_FUNC_VISIBILITY aclError aclrtMallocHostWithCfg(void **ptr, uint64_t size,
                                                    aclrtMallocConfig *cfg);

#define ACL_RT_MEM_ATTACH_GLOBAL 0x1U

typedef enum aclrtMemLocationType {
  ACL_MEM_LOCATION_TYPE_HOST = 0,
  ACL_MEM_LOCATION_TYPE_DEVICE = 1,
  ACL_MEM_LOCATION_TYPE_UNREGISTERED = 2,
  ACL_MEM_LOCATION_TYPE_MANAGED = 3,
  ACL_MEM_LOCATION_TYPE_HOST_NUMA = 4,
} aclrtMemLocationType;

/* Where memory lies. */
typedef struct aclrtMemLocation {
  uint32_t id; /* device or NUMA node */
  aclrtMemLocationType type;
} aclrtMemLocation;

typedef struct aclrtPtrAttributes {
  aclrtMemLocation location;
  uint32_t pageSize; /* bytes */
  uint32_t rsv[4];
} aclrtPtrAttributes;

/*
 * *attributes: DEVICE for device memory with the device's number, HOST for pinned and registered
 * host memory, UNREGISTERED (page size 0) for everything else. A null pointer is
 * ACL_ERROR_INVALID_PARAM.
 */
ACL_FUNC_VISIBILITY aclError aclrtPointerGetAttributes(const void *ptr,
                                                       aclrtPtrAttributes *attributes);

/* Memory one component of the library holds on a device. */
typedef struct aclrtMemUsageInfo {
  char name[32];        /* terminated */
  uint64_t curMemSize;  /* bytes */
  uint64_t memPeakSize; /* bytes */
  size_t reserved[8];
} aclrtMemUsageInfo;

/*
 * Fills memUsageInfo, which has room for inputNum entries, with what the components of this process
 * hold on a device, and *outputNum with their number: one, named APP, for all that is handed out.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetMemUsageInfo(int32_t deviceId, aclrtMemUsageInfo *memUsageInfo,
                                                  size_t inputNum, size_t *outputNum);

typedef struct {
  aclrtMemLocation dstLoc;
  aclrtMemLocation srcLoc;
  uint8_t rsv[16];
} aclrtMemcpyBatchAttr;

/*
 * numBatches copies, one after the other, at once or queued on the stream (then the call returns
 * after they ran if host memory that is not pinned takes part). attrs[k] says from where to where
 * the copies from attrsIndexes[k] (0 for k = 0, growing) to attrsIndexes[k + 1] - 1 go. When one
 * cannot be made, *failIndex is its number, the earlier ones are made and the later ones not; when
 * the arguments as a whole are wrong, it is SIZE_MAX. Codes as aclrtMemcpy; a null array or a zero
 * number is ACL_ERROR_INVALID_PARAM.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyBatch(void **dsts, size_t *destMaxs, void **srcs,
                                              size_t *sizes, size_t numBatches,
                                              aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes,
                                              size_t numAttrs, size_t *failIndex);
ACL_FUNC_VISIBILITY aclError aclrtMemcpyBatchAsync(void **dsts, size_t *destMaxs, void **srcs,
                                                   size_t *sizes, size_t numBatches,
                                                   aclrtMemcpyBatchAttr *attrs,
                                                   size_t *attrsIndexes, size_t numAttrs,
                                                   size_t *failIndex, aclrtStream stream);

typedef enum aclrtCmoType {
  ACL_RT_CMO_TYPE_PREFETCH = 0,
  ACL_RT_CMO_TYPE_WRITEBACK = 1,
  ACL_RT_CMO_TYPE_INVALID = 2,
  ACL_RT_CMO_TYPE_FLUSH = 3,
} aclrtCmoType;

/*
 * A hint about the device's cache, for size bytes of device memory at src. Checked and without
 * effect. Other types than PREFETCH are ACL_ERROR_RT_FEATURE_NOT_SUPPORT.
 */
ACL_FUNC_VISIBILITY aclError aclrtCmoAsync(void *src, size_t size, aclrtCmoType cmoType,
                                           aclrtStream stream);

/* Registration of host memory. */
typedef enum {
  ACL_HOST_REGISTER_MAPPED = 0,
  ACL_HOST_REGISTER_IOMEMORY = 4,
  ACL_HOST_REGISTER_READONLY = 8,
} aclrtHostRegisterType;

#define ACL_HOST_REG_MAPPED 0x2UL
#define ACL_HOST_REG_IOMEMORY 0x4UL
#define ACL_HOST_REG_READONLY 0x8UL
#define ACL_HOST_REG_PINNED 0x10000000UL

/*
 * Make size bytes of the caller's host memory, on a page, known to devices; the device's address
 * for them is the host's. Kernels and copies of this library reach host memory anyway. type:
 * MAPPED; flag: ACL_HOST_REG_MAPPED and ACL_HOST_REG_PINNED; IOMEMORY and READONLY are
 * ACL_ERROR_RT_FEATURE_NOT_SUPPORT. A null pointer or a zero size is ACL_ERROR_INVALID_PARAM, a
 * range that is registered already ACL_ERROR_RT_PARAM_INVALID.
 */
ACL_FUNC_VISIBILITY aclError aclrtHostRegister(void *ptr, uint64_t size, aclrtHostRegisterType type,
                                               void **devPtr);
ACL_FUNC_VISIBILITY aclError aclrtHostRegisterV2(void *ptr, uint64_t size, uint32_t flag);

/*
 * *pDevice: the device's address of host memory registered with MAPPED; any address inside. flag
 * must be 0. ACL_ERROR_RT_PARAM_INVALID for other memory.
 */
ACL_FUNC_VISIBILITY aclError aclrtHostGetDevicePointer(void *pHost, void **pDevice, uint32_t flag);

/* Ends a registration that starts at ptr; ACL_ERROR_RT_PARAM_INVALID if there is none. */
ACL_FUNC_VISIBILITY aclError aclrtHostUnregister(void *ptr);

/* Memory shared between processes by key: flags of export and import. */
#define ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION 0x1UL
#define ACL_RT_IPC_MEM_IMPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS 0x1UL

/*
 * key: a text by which other processes of the user import [devPtr, +size), which lies in memory of
 * aclrtMalloc. len, the bytes at key, is 65 or more. flags: an ACL_RT_IPC_MEM_EXPORT_FLAG_*; by
 * default importers must be listed by aclrtIpcMemSetImportPid first, with their
 * aclrtDeviceGetBareTgid. ACL_ERROR_INVALID_PARAM for a null pointer or a zero size,
 * ACL_ERROR_RT_PARAM_INVALID for anything else.
 */
ACL_FUNC_VISIBILITY aclError aclrtIpcMemGetExportKey(void *devPtr, size_t size, char *key,
                                                     size_t len, uint64_t flags);
ACL_FUNC_VISIBILITY aclError aclrtIpcMemSetImportPid(const char *key, int32_t *pid, size_t num);

/*
 * *devPtr: an address of this process for the exporter's memory, for the thread's device, until
 * aclrtIpcMemClose; not to be freed. flags: an ACL_RT_IPC_MEM_IMPORT_FLAG_*, without effect.
 * ACL_ERROR_RT_PARAM_INVALID for a key that leads nowhere, in the exporting process and in one that
 * is not listed. The memory stays what it is even if the exporter frees it or ends.
 */
ACL_FUNC_VISIBILITY aclError aclrtIpcMemImportByKey(void **devPtr, const char *key, uint64_t flags);

/*
 * In an importing process: takes the address back. In the exporting one: nobody can import any
 * more; the memory is still the caller's to free. ACL_ERROR_RT_PARAM_INVALID for a key that is not
 * in use here.
 */
ACL_FUNC_VISIBILITY aclError aclrtIpcMemClose(const char *key);

#ifdef __cplusplus
}
#endif
