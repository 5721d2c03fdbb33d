/*
 * Types of HCCL: result codes, operations, data types, the root info and the communicator
 * configuration.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../acl/acl_linkage.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Result of every HCCL call (semantics F.1). Texts: HcclGetErrorString and aclGetRecentErrMsg. */
typedef enum {
  HCCL_SUCCESS = 0,
  HCCL_E_PARA = 1,     /* a value is wrong */
  HCCL_E_PTR = 2,      /* a pointer is NULL that must not be */
  HCCL_E_MEMORY = 3,   /* memory or window space is exhausted */
  HCCL_E_INTERNAL = 4, /* also: ranks disagree, or one is missing */
  HCCL_E_NOT_SUPPORT = 5,
  HCCL_E_NOT_FOUND = 6,
  HCCL_E_UNAVAIL = 7, /* a resource is in use or gone */
  HCCL_E_SYSCALL = 8,
  HCCL_E_TIMEOUT = 9,
  HCCL_E_OPEN_FILE_FAILURE = 10,
  HCCL_E_TCP_CONNECT = 11,
  HCCL_E_ROCE_CONNECT = 12,
  HCCL_E_TCP_TRANSFER = 13, /* exchange between ranks timed out */
  HCCL_E_ROCE_TRANSFER = 14,
  HCCL_E_RUNTIME = 15, /* an acl call failed underneath */
  HCCL_E_DRV = 16,     /* sharing or mapping of memory failed */
  HCCL_E_PROFILING = 17,
  HCCL_E_CCE = 18,
  HCCL_E_NETWORK = 19,
  HCCL_E_AGAIN = 20, /* busy, try again */
  HCCL_E_REMOTE = 21,
  HCCL_E_SUSPENDING = 22, /* the communicator is suspended */
  HCCL_E_OPRETRY_FAIL = 23,
  HCCL_E_OOM = 24,
  HCCL_E_IN_STATUS = 1041,
  HCCL_E_RESERVED = 1042, /* end marker; 23 in CANN 8.1 */
} HcclResult;

/* A communicator: owned by the process that created it, released by HcclCommDestroy. */
typedef void *HcclComm;

/* A symmetric window: opaque, meaningful in this process only. CommSymWindow is an earlier name. */
typedef void *HcclCommSymWindow;
typedef HcclCommSymWindow CommSymWindow;

/*
 * An earlier name of the flag of HcclCommSymWinRegister; only 1 is accepted (semantics A.3 steps
 * 5-6).
 */
enum symmetricMemoryFlag {
  HCCL_WIN_DEFAULT = 0,
  HCCL_WIN_COLL_SYMMETRIC = 1,
};

typedef enum {
  HCCL_REDUCE_SUM = 0,
  HCCL_REDUCE_PROD = 1,
  HCCL_REDUCE_MAX = 2,
  HCCL_REDUCE_MIN = 3,
  HCCL_REDUCE_RESERVED = 255,
} HcclReduceOp;

/* Which of them can be reduced and which only moved: semantics C.4. */
typedef enum {
  HCCL_DATA_TYPE_INT8 = 0,
  HCCL_DATA_TYPE_INT16 = 1,
  HCCL_DATA_TYPE_INT32 = 2,
  HCCL_DATA_TYPE_FP16 = 3, /* IEEE binary16 */
  HCCL_DATA_TYPE_FP32 = 4,
  HCCL_DATA_TYPE_INT64 = 5,
  HCCL_DATA_TYPE_UINT64 = 6,
  HCCL_DATA_TYPE_UINT8 = 7,
  HCCL_DATA_TYPE_UINT16 = 8,
  HCCL_DATA_TYPE_UINT32 = 9,
  HCCL_DATA_TYPE_FP64 = 10,
  HCCL_DATA_TYPE_BFP16 = 11, /* upper half of an IEEE binary32 */
  HCCL_DATA_TYPE_INT128 = 12,
  HCCL_DATA_TYPE_HIF8 = 14,
  HCCL_DATA_TYPE_FP8E4M3 = 15,
  HCCL_DATA_TYPE_FP8E5M2 = 16,
  HCCL_DATA_TYPE_FP8E8M0 = 17,
  HCCL_DATA_TYPE_RESERVED = 255,
} HcclDataType;

typedef enum {
  HCCL_SEND = 0,
  HCCL_RECV = 1,
  HCCL_SEND_RECV_RESERVED = 2,
} HcclSendRecvType;

/* One side of a transfer in a batch. Programs initialise it as an aggregate, in this order. */
typedef struct HcclSendRecvItemDef {
  HcclSendRecvType sendRecvType;
  void *buf;
  uint64_t count; /* elements */
  HcclDataType dataType;
  uint32_t remoteRank;
} HcclSendRecvItem;

/* ---- Lengths and defaults: typed variables in C++, macros in C, where they bound arrays ---- */
#ifdef __cplusplus
/* Array lengths, terminator included. */
static const uint32_t HCCL_ROOT_INFO_BYTES = 4108;
static const uint32_t COMM_NAME_MAX_LENGTH = 128;
static const uint32_t BUFFER_NAME_MAX_LENGTH = 128;
static const uint32_t UDI_MAX_LENGTH = 128;
static const uint32_t HCCL_COMM_ALGO_MAX_LENGTH = 1600;
static const uint32_t HCCL_COMM_RETRY_ENABLE_MAX_LENGTH = 50;
static const uint32_t HCCL_COMM_RETRY_PARAMS_MAX_LENGTH = 128;
static const uint32_t HCCL_COMM_CONFIG_INFO_BYTES = 24;
/* Values that HcclCommConfigInit writes, and defaults. */
static const uint32_t HCCL_COMM_CONFIG_MAGIC_WORD = 0xf0f0f0f0;
static const uint32_t HCCL_COMM_CONFIG_VERSION = 11;
static const uint32_t HCCL_COMM_DEFAULT_BUFFSIZE = 200;
static const uint32_t HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET = 0xffffffff;
static const uint32_t HCCL_COMM_DEFAULT_DETERMINISTIC = 0;
static const uint32_t HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET = 0xffffffff;
static const uint32_t HCCL_COMM_DEFAULT_OP_EXPANSION_MODE = 0;
static const uint32_t HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET = 0xffffffff;
static const uint32_t HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET = 0xffffffff;
static const int32_t HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET = -1;
static const uint32_t HCCL_COMM_QOS_CONFIG_NOT_SET = 0xffffffff;
static const uint32_t HCCL_COMM_SQ_DEPTH_CONFIG_NOT_SET = 0xffffffff;
static const uint64_t HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE = 16;
#else
#define HCCL_ROOT_INFO_BYTES 4108U
#define COMM_NAME_MAX_LENGTH 128U
#define BUFFER_NAME_MAX_LENGTH 128U
#define UDI_MAX_LENGTH 128U
#define HCCL_COMM_ALGO_MAX_LENGTH 1600U
#define HCCL_COMM_RETRY_ENABLE_MAX_LENGTH 50U
#define HCCL_COMM_RETRY_PARAMS_MAX_LENGTH 128U
#define HCCL_COMM_CONFIG_INFO_BYTES 24U
#define HCCL_COMM_CONFIG_MAGIC_WORD 0xf0f0f0f0U
#define HCCL_COMM_CONFIG_VERSION 11U
#define HCCL_COMM_DEFAULT_BUFFSIZE 200U
#define HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET 0xffffffffU
#define HCCL_COMM_DEFAULT_DETERMINISTIC 0U
#define HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET 0xffffffffU
#define HCCL_COMM_DEFAULT_OP_EXPANSION_MODE 0U
#define HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET 0xffffffffU
#define HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET 0xffffffffU
#define HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET (-1)
#define HCCL_COMM_QOS_CONFIG_NOT_SET 0xffffffffU
#define HCCL_COMM_SQ_DEPTH_CONFIG_NOT_SET 0xffffffffU
#define HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE 16UL
#endif

/*
 * What the root of a new communicator hands to the other ranks, as raw bytes by any channel of the
 * program's own (semantics D.1). One root info makes one communicator.
 */
typedef struct HcclRootInfoDef {
  char internal[HCCL_ROOT_INFO_BYTES];
} HcclRootInfo;

/*
 * Settings of one communicator; prepared by HcclCommConfigInit, then changed by the program. Fields
 * are only ever appended, and the library reads a field only if version includes it and it lies
 * within the size that the client's header wrote into reserved, so that programs built with older
 * headers work (semantics D.3). A setting here outranks the environment.
 */
typedef struct HcclCommConfigDef {
  /* size_t size, uint32_t magic, uint32_t version, uint64_t 0: written by HcclCommConfigInit. */
  char reserved[HCCL_COMM_CONFIG_INFO_BYTES];
  uint32_t hcclBufferSize;    /* MB of one of the two HCCL buffers, at least 1 */
  uint32_t hcclDeterministic; /* 0, 1, or 2, which counts as 1; reductions here always are */
  char hcclCommName[COMM_NAME_MAX_LENGTH]; /* terminated; empty: chosen by the library */
  char hcclUdi[UDI_MAX_LENGTH];            /* terminated; a text of the user's for messages */
  /* 0 default, 1 host, 2 AI CPU, 3 AIV, 4 AIV only. Not the numbers of HcclOpExpansionMode. */
  uint32_t hcclOpExpansionMode;
  uint32_t hcclRdmaTrafficClass;                           /* no network here: ignored */
  uint32_t hcclRdmaServiceLevel;                           /* ignored */
  uint32_t hcclWorldRankID;                                /* ignored */
  uint64_t hcclJobID;                                      /* ignored */
  uint8_t aclGraphZeroCopyEnable;                          /* 0 or 1 */
  int32_t hcclExecTimeOut;                                 /* seconds; 0: never */
  /* Written like the variables HCCL_ALGO, HCCL_OP_RETRY_ENABLE and HCCL_OP_RETRY_PARAMS; without
   * effect, there is no network. An hcclAlgo written otherwise is HCCL_E_PARA. */
  char hcclAlgo[HCCL_COMM_ALGO_MAX_LENGTH];
  char hcclRetryEnable[HCCL_COMM_RETRY_ENABLE_MAX_LENGTH];
  char hcclRetryParams[HCCL_COMM_RETRY_PARAMS_MAX_LENGTH];
  char hcclBufferName[BUFFER_NAME_MAX_LENGTH]; /* who has the same shares HCCL buffers (C.6) */
  uint32_t hcclQos;                            /* ignored */
  uint64_t hcclSymWinMaxMemSizePerRank;        /* GB of window space per rank (semantics A.2) */
  uint32_t hcclChannelSqDepth;                 /* ignored */
} HcclCommConfig;

/* Capability numbers: a feature is there if its number is below HcclGetCommConfigCapability(). */
typedef enum {
  HCCL_COMM_CONFIG_BUFFER_SIZE = 0,
  HCCL_COMM_CONFIG_DETERMINISTIC = 1,
  HCCL_COMM_CONFIG_COMM_NAME = 2,
  HCCL_COMM_CONFIG_OP_EXPANSION_MODE = 3,
  HCCL_COMM_CONFIG_SUPPORT_INIT_BY_ENV = 4,
  HCCL_COMM_CONFIG_WORLD_RANKID = 5,
  HCCL_COMM_CONFIG_JOBID = 6,
  HCCL_COMM_CONFIG_ACLGRAPH_ZEROCOPY_ENABLE = 7,
  HCCL_COMM_CONFIG_EXEC_TIMEOUT = 8,
  HCCL_COMM_CONFIG_ALGO = 9,
  HCCL_COMM_CONFIG_RETRY = 10,
  HCCL_COMM_CONFIG_BUFFER_NAME = 11,
  HCCL_COMM_CONFIG_RESERVED = 12, /* end marker; 5 in CANN 8.1 */
} HcclCommConfigCapability;

/* What HcclCommGetStatus answers. */
typedef enum {
  HCCL_COMM_STATUS_READY = 0,
  HCCL_COMM_STATUS_SUSPENDING = 1, /* HcclCommSuspend was called, HcclCommResume not yet */
  HCCL_COMM_STATUS_INVALID = 254,  /* out of use, or no such communicator */
  HCCL_COMM_STATUS_RESERVED = 255,
} HcclCommStatus;

/* When a callback of HcclCommRegCommStateCallback is called. */
typedef enum {
  HCCL_COMM_STATE_PHASE_INVALID = -1,
  HCCL_COMM_STATE_PHASE_DESTROY_PRE = 0,  /* HcclCommDestroy begins, the handle is valid */
  HCCL_COMM_STATE_PHASE_DESTROY_POST = 1, /* it is done, the handle is a mere number */
  HCCL_COMM_STATE_PHASE_RESUME_PRE = 2,   /* around HcclCommResume */
  HCCL_COMM_STATE_PHASE_RESUME_POST = 3,
} HcclCommStatePhase;

/* Process-wide settings. */
typedef enum {
  HCCL_DETERMINISTIC = 0,
  HCCL_CONFIG_RESERVED = 1,
} HcclConfig;

union HcclConfigValue {
  int32_t value;
};
#ifndef __cplusplus
typedef union HcclConfigValue HcclConfigValue;
#endif

#ifdef __cplusplus
}
#endif
