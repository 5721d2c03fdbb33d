/*
 * Base types of AscendCL: result codes, handles, data types.
 *
 * Conventions of all acl headers
 *  - Sizes and offsets are bytes, timeouts of synchronising calls milliseconds, device ids 0 ...
 *    count-1.
 *  - A call that answers another code than ACL_SUCCESS did nothing and left its outputs alone,
 *    unless it says otherwise.
 *  - A null output pointer, a null object and a zero size are ACL_ERROR_INVALID_PARAM; a value that
 *    only the runtime below can judge is ACL_ERROR_RT_PARAM_INVALID; a call that needs a device on
 *    a thread without one is ACL_ERROR_RT_CONTEXT_NULL (semantics B.1, G.3). The text of the last
 *    failure is available from aclGetRecentErrMsg.
 *  - Every call may be made from any thread. Handles are valid in the process that made them, in
 *    every thread; destroying one while another thread uses it is the caller's race.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "acl_linkage.h"
#include "error_codes/ge_error_codes.h"
#include "error_codes/rt_error_codes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Handles: opaque, owned by the library, released by the Destroy call of their kind. ---- */
typedef void *aclrtStream; /* NULL stands for the context's default stream in acl calls */
typedef void *aclrtEvent;
typedef void *aclrtContext;
typedef void *aclrtNotify;

/* An allocator that the user registers for a stream, and what its callbacks pass around. */
typedef void *aclrtAllocatorDesc;
typedef void *aclrtAllocator;
typedef void *aclrtAllocatorBlock;
typedef void *aclrtAllocatorAddr;

typedef int aclError;        /* ACL_SUCCESS, an ACL_ERROR_* below, or one of rt_error_codes.h */
typedef uint16_t aclFloat16; /* bits of an IEEE binary16 */
typedef struct aclDataBuffer aclDataBuffer;

/* ---- Result codes of the acl layer ---- */
ACL_INT_CONSTANT(ACL_ERROR_NONE, 0);
ACL_INT_CONSTANT(ACL_SUCCESS, 0);

/* 100xxx and 148xxx: wrong use by the caller. */
ACL_INT_CONSTANT(ACL_ERROR_INVALID_PARAM, 100000);
ACL_INT_CONSTANT(ACL_ERROR_UNINITIALIZE, 100001);
ACL_INT_CONSTANT(ACL_ERROR_REPEAT_INITIALIZE, 100002);
ACL_INT_CONSTANT(ACL_ERROR_INVALID_FILE, 100003);
ACL_INT_CONSTANT(ACL_ERROR_WRITE_FILE, 100004);
ACL_INT_CONSTANT(ACL_ERROR_INVALID_FILE_SIZE, 100005);
ACL_INT_CONSTANT(ACL_ERROR_PARSE_FILE, 100006);
ACL_INT_CONSTANT(ACL_ERROR_FILE_MISSING_ATTR, 100007);
ACL_INT_CONSTANT(ACL_ERROR_FILE_ATTR_INVALID, 100008);
ACL_INT_CONSTANT(ACL_ERROR_INVALID_DUMP_CONFIG, 100009);
ACL_INT_CONSTANT(ACL_ERROR_INVALID_PROFILING_CONFIG, 100010);
ACL_INT_CONSTANT(ACL_ERROR_INVALID_MODEL_ID, 100011);
ACL_INT_CONSTANT(ACL_ERROR_DESERIALIZE_MODEL, 100012);
ACL_INT_CONSTANT(ACL_ERROR_PARSE_MODEL, 100013);
ACL_INT_CONSTANT(ACL_ERROR_READ_MODEL_FAILURE, 100014);
ACL_INT_CONSTANT(ACL_ERROR_MODEL_SIZE_INVALID, 100015);
ACL_INT_CONSTANT(ACL_ERROR_MODEL_MISSING_ATTR, 100016);
ACL_INT_CONSTANT(ACL_ERROR_MODEL_INPUT_NOT_MATCH, 100017);
ACL_INT_CONSTANT(ACL_ERROR_MODEL_OUTPUT_NOT_MATCH, 100018);
ACL_INT_CONSTANT(ACL_ERROR_MODEL_NOT_DYNAMIC, 100019);
ACL_INT_CONSTANT(ACL_ERROR_OP_TYPE_NOT_MATCH, 100020);
ACL_INT_CONSTANT(ACL_ERROR_OP_INPUT_NOT_MATCH, 100021);
ACL_INT_CONSTANT(ACL_ERROR_OP_OUTPUT_NOT_MATCH, 100022);
ACL_INT_CONSTANT(ACL_ERROR_OP_ATTR_NOT_MATCH, 100023);
ACL_INT_CONSTANT(ACL_ERROR_OP_NOT_FOUND, 100024);
ACL_INT_CONSTANT(ACL_ERROR_OP_LOAD_FAILED, 100025);
ACL_INT_CONSTANT(ACL_ERROR_UNSUPPORTED_DATA_TYPE, 100026);
ACL_INT_CONSTANT(ACL_ERROR_FORMAT_NOT_MATCH, 100027);
ACL_INT_CONSTANT(ACL_ERROR_BIN_SELECTOR_NOT_REGISTERED, 100028);
ACL_INT_CONSTANT(ACL_ERROR_KERNEL_NOT_FOUND, 100029);
ACL_INT_CONSTANT(ACL_ERROR_BIN_SELECTOR_ALREADY_REGISTERED, 100030);
ACL_INT_CONSTANT(ACL_ERROR_KERNEL_ALREADY_REGISTERED, 100031);
ACL_INT_CONSTANT(ACL_ERROR_INVALID_QUEUE_ID, 100032);
ACL_INT_CONSTANT(ACL_ERROR_REPEAT_SUBSCRIBE, 100033);
ACL_INT_CONSTANT(ACL_ERROR_STREAM_NOT_SUBSCRIBE, 100034);
ACL_INT_CONSTANT(ACL_ERROR_THREAD_NOT_SUBSCRIBE, 100035);
ACL_INT_CONSTANT(ACL_ERROR_WAIT_CALLBACK_TIMEOUT, 100036);
ACL_INT_CONSTANT(ACL_ERROR_REPEAT_FINALIZE, 100037);
ACL_INT_CONSTANT(ACL_ERROR_NOT_STATIC_AIPP, 100038);
ACL_INT_CONSTANT(ACL_ERROR_COMPILING_STUB_MODE, 100039);
ACL_INT_CONSTANT(ACL_ERROR_GROUP_NOT_SET, 100040);
ACL_INT_CONSTANT(ACL_ERROR_GROUP_NOT_CREATE, 100041);
ACL_INT_CONSTANT(ACL_ERROR_PROF_ALREADY_RUN, 100042);
ACL_INT_CONSTANT(ACL_ERROR_PROF_NOT_RUN, 100043);
ACL_INT_CONSTANT(ACL_ERROR_DUMP_ALREADY_RUN, 100044);
ACL_INT_CONSTANT(ACL_ERROR_DUMP_NOT_RUN, 100045);
ACL_INT_CONSTANT(ACL_ERROR_PROF_REPEAT_SUBSCRIBE, 148046);
ACL_INT_CONSTANT(ACL_ERROR_PROF_API_CONFLICT, 148047);
ACL_INT_CONSTANT(ACL_ERROR_INVALID_MAX_OPQUEUE_NUM_CONFIG, 148048);
ACL_INT_CONSTANT(ACL_ERROR_INVALID_OPP_PATH, 148049);
ACL_INT_CONSTANT(ACL_ERROR_OP_UNSUPPORTED_DYNAMIC, 148050);
ACL_INT_CONSTANT(ACL_ERROR_RELATIVE_RESOURCE_NOT_CLEARED, 148051);
ACL_INT_CONSTANT(ACL_ERROR_UNSUPPORTED_JPEG, 148052);
ACL_INT_CONSTANT(ACL_ERROR_INVALID_BUNDLE_MODEL_ID, 148053);

/* 200xxx: a resource is missing, does not match or is not supported. */
ACL_INT_CONSTANT(ACL_ERROR_BAD_ALLOC, 200000);
ACL_INT_CONSTANT(ACL_ERROR_API_NOT_SUPPORT, 200001);
ACL_INT_CONSTANT(ACL_ERROR_INVALID_DEVICE, 200002);
ACL_INT_CONSTANT(ACL_ERROR_MEMORY_ADDRESS_UNALIGNED, 200003);
ACL_INT_CONSTANT(ACL_ERROR_RESOURCE_NOT_MATCH, 200004);
ACL_INT_CONSTANT(ACL_ERROR_INVALID_RESOURCE_HANDLE, 200005);
ACL_INT_CONSTANT(ACL_ERROR_FEATURE_UNSUPPORTED, 200006);
ACL_INT_CONSTANT(ACL_ERROR_PROF_MODULES_UNSUPPORTED, 200007);

/* 300xxx and 500xxx: limits and internal failures. */
ACL_INT_CONSTANT(ACL_ERROR_STORAGE_OVER_LIMIT, 300000);
ACL_INT_CONSTANT(ACL_ERROR_INTERNAL_ERROR, 500000);
ACL_INT_CONSTANT(ACL_ERROR_FAILURE, 500001);
ACL_INT_CONSTANT(ACL_ERROR_GE_FAILURE, 500002);
ACL_INT_CONSTANT(ACL_ERROR_RT_FAILURE, 500003);
ACL_INT_CONSTANT(ACL_ERROR_DRV_FAILURE, 500004);
ACL_INT_CONSTANT(ACL_ERROR_PROFILING_FAILURE, 500005);

/* ---- Descriptions of data ---- */
typedef enum {
  ACL_DT_UNDEFINED = -1,
  ACL_FLOAT = 0,
  ACL_FLOAT16 = 1, /* IEEE binary16 */
  ACL_INT8 = 2,
  ACL_INT32 = 3,
  ACL_UINT8 = 4,
  ACL_INT16 = 6,
  ACL_UINT16 = 7,
  ACL_UINT32 = 8,
  ACL_INT64 = 9,
  ACL_UINT64 = 10,
  ACL_DOUBLE = 11,
  ACL_BOOL = 12,
  ACL_STRING = 13,
  ACL_COMPLEX64 = 16,
  ACL_COMPLEX128 = 17,
  ACL_BF16 = 27, /* upper half of an IEEE binary32 */
  ACL_INT4 = 29,
  ACL_UINT1 = 30,
  ACL_COMPLEX32 = 33,
  ACL_HIFLOAT8 = 34,
  ACL_FLOAT8_E5M2 = 35,
  ACL_FLOAT8_E4M3FN = 36,
  ACL_FLOAT8_E8M0 = 37,
  ACL_FLOAT6_E3M2 = 38,
  ACL_FLOAT6_E2M3 = 39,
  ACL_FLOAT4_E2M1 = 40,
  ACL_FLOAT4_E1M2 = 41,
  ACL_HIFLOAT4 = 42, /* CANN 9.0 only */
} aclDataType;

typedef enum {
  ACL_FORMAT_UNDEFINED = -1,
  ACL_FORMAT_NCHW = 0,
  ACL_FORMAT_NHWC = 1,
  ACL_FORMAT_ND = 2,
  ACL_FORMAT_NC1HWC0 = 3,
  ACL_FORMAT_FRACTAL_Z = 4,
  ACL_FORMAT_NC1HWC0_C04 = 12,
  ACL_FORMAT_HWCN = 16,
  ACL_FORMAT_NDHWC = 27,
  ACL_FORMAT_FRACTAL_NZ = 29,
  ACL_FORMAT_NCDHW = 30,
  ACL_FORMAT_NDC1HWC0 = 32,
  ACL_FRACTAL_Z_3D = 33,
  ACL_FORMAT_NC = 35,
  ACL_FORMAT_NCL = 47,
  ACL_FORMAT_FRACTAL_NZ_C0_16 = 50,
  ACL_FORMAT_FRACTAL_NZ_C0_32 = 51,
  ACL_FORMAT_FRACTAL_NZ_C0_2 = 52,
  ACL_FORMAT_FRACTAL_NZ_C0_4 = 53,
  ACL_FORMAT_FRACTAL_NZ_C0_8 = 54,
} aclFormat;

typedef enum {
  ACL_MEMTYPE_DEVICE = 0,
  ACL_MEMTYPE_HOST = 1,
  ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT = 2,
} aclMemType;

/* ---- Log, system parameters, capabilities ---- */
typedef enum {
  ACL_DEBUG = 0,
  ACL_INFO = 1,
  ACL_WARNING = 2,
  ACL_ERROR = 3,
} aclLogLevel;

typedef enum {
  ACL_OPT_DETERMINISTIC = 0,
  ACL_OPT_ENABLE_DEBUG_KERNEL = 1,
  ACL_OPT_STRONG_CONSISTENCY = 2,
  ACL_OPT_ENABLE_KERNEL_EARLY_START = 3,
  ACL_OPT_EARLY_START = 3, /* name used by CANN 9.0 */
} aclSysParamOpt;

typedef enum {
  ACL_CANN_ATTR_UNDEFINED = -1,
  ACL_CANN_ATTR_INF_NAN = 0,
  ACL_CANN_ATTR_BF16 = 1,
  ACL_CANN_ATTR_JIT_COMPILE = 2,
} aclCannAttr;

typedef enum {
  ACL_DEVICE_INFO_UNDEFINED = -1,
  ACL_DEVICE_INFO_AI_CORE_NUM = 0,
  ACL_DEVICE_INFO_VECTOR_CORE_NUM = 1,
  ACL_DEVICE_INFO_L2_SIZE = 2,
} aclDeviceInfo;

/*
 * The name of the emulated chip, of the Atlas A3 family ("Ascend910_93..."). Never NULL; a constant
 * string that the library owns. Needs neither aclInit nor a device. Any thread.
 */
ACL_FUNC_VISIBILITY const char *aclrtGetSocName(void);

/*
 * *cannAttrList: the features that exist, a constant array that the library owns; *num: its length.
 * Null pointers are ACL_ERROR_INVALID_PARAM.
 */
ACL_FUNC_VISIBILITY aclError aclGetCannAttributeList(const aclCannAttr **cannAttrList, size_t *num);

/*
 * *value: 1 if there is the feature, else 0. Inf and NaN, and BF16, exist; there is no compiler of
 * operators. ACL_ERROR_INVALID_PARAM for a null pointer or another attribute.
 */
ACL_FUNC_VISIBILITY aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t *value);

/*
 * *value: a size of the emulated chip: cores, or bytes of L2 cache. ACL_ERROR_INVALID_PARAM for a
 * null pointer or another kind of size, ACL_ERROR_RT_INVALID_DEVICEID for an unknown device.
 */
ACL_FUNC_VISIBILITY aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo,
                                                    int64_t *value);

/*
 * Writes a line of the program to the log, formatted as by printf, if ASCEND_GLOBAL_LOG_LEVEL (or
 * ASCEND_MODULE_LOG_LEVEL for ASCENDCL) lets the level pass: 0 debug, 1 info, 2 warning, 3 error
 * (the default), 4 none. func and file may be NULL; nothing is written if fmt is.
 */
ACL_FUNC_VISIBILITY void aclAppLog(aclLogLevel logLevel, const char *func, const char *file,
                                   uint32_t line, const char *fmt, ...);

/* ---- Data ---- */

/*
 * Bytes of an element; 1 for the types whose elements share a byte, 0 for ACL_STRING, undefined
 * types and those narrower than 8 bits that have no element of their own.
 */
ACL_FUNC_VISIBILITY size_t aclDataTypeSize(aclDataType dataType);

/*
 * Between binary16 and binary32, rounded to nearest, ties to even. As on the device, neither knows
 * Inf and NaN: what is too large for binary16, Inf and NaN becomes the largest number (65504) of
 * the same sign, and the bits that IEEE 754 uses for Inf and NaN are read as numbers from 65536 on.
 */
ACL_FUNC_VISIBILITY float aclFloat16ToFloat(aclFloat16 value);
ACL_FUNC_VISIBILITY aclFloat16 aclFloatToFloat16(float value);

/*
 * A description of size bytes at data; both are the caller's and not looked at. The caller destroys
 * it; that does not free the data. NULL only if memory runs short. aclDestroyDataBuffer and
 * aclUpdateDataBuffer answer ACL_ERROR_INVALID_PARAM for NULL; the address of NULL is NULL and its
 * size 0. aclGetDataBufferSize is for sizes below 4 GiB.
 */
ACL_FUNC_VISIBILITY aclDataBuffer *aclCreateDataBuffer(void *data, size_t size);
ACL_FUNC_VISIBILITY aclError aclDestroyDataBuffer(const aclDataBuffer *dataBuffer);
ACL_FUNC_VISIBILITY aclError aclUpdateDataBuffer(aclDataBuffer *dataBuffer, void *data, size_t size);
ACL_FUNC_VISIBILITY void *aclGetDataBufferAddr(const aclDataBuffer *dataBuffer);
ACL_FUNC_VISIBILITY uint32_t aclGetDataBufferSize(const aclDataBuffer *dataBuffer);
ACL_FUNC_VISIBILITY size_t aclGetDataBufferSizeV2(const aclDataBuffer *dataBuffer);

#ifdef __cplusplus
}
#endif
