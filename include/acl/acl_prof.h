/*
 * Profiling. The calls are accepted so that programs that profile themselves run unchanged; they
 * collect nothing and write no files. They need neither aclInit nor a device, from any thread.
 */
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What to collect; bits of dataTypeConfig. Without effect here. */
#define ACL_PROF_ACL_API 0x1ULL
#define ACL_PROF_TASK_TIME 0x2ULL
#define ACL_PROF_AICORE_METRICS 0x4ULL
#define ACL_PROF_AICPU 0x8ULL
#define ACL_PROF_L2CACHE 0x10ULL
#define ACL_PROF_HCCL_TRACE 0x20ULL
#define ACL_PROF_TRAINING_TRACE 0x40ULL
#define ACL_PROF_MSPROFTX 0x80ULL
#define ACL_PROF_RUNTIME_API 0x100ULL
#define ACL_PROF_GE_API_L0 0x200ULL
#define ACL_PROF_TASK_TIME_L0 0x800ULL
#define ACL_PROF_TASK_MEMORY 0x1000ULL
#define ACL_PROF_GE_API_L1 0x1000000ULL
#define ACL_PROF_TASK_TIME_L2 0x2000ULL
#define ACL_PROF_OP_ATTR 0x4000ULL
#define ACL_PROF_TASK_TIME_L3 0x8000ULL
#define ACL_PROF_API_STATS 0x400000000ULL
#define ACL_PROF_AICORE_SHAPE 0x800000000ULL

#define ACL_PROF_MAX_OP_NAME_LEN 257
#define ACL_PROF_MAX_OP_TYPE_LEN 65

typedef enum {
  ACL_AICORE_ARITHMETIC_UTILIZATION = 0,
  ACL_AICORE_PIPE_UTILIZATION = 1,
  ACL_AICORE_MEMORY_BANDWIDTH = 2,
  ACL_AICORE_L0B_AND_WIDTH = 3,
  ACL_AICORE_RESOURCE_CONFLICT_RATIO = 4,
  ACL_AICORE_MEMORY_UB = 5,
  ACL_AICORE_L2_CACHE = 6,
  ACL_AICORE_PIPE_EXECUTE_UTILIZATION = 7,
  ACL_AICORE_MEMORY_ACCESS = 8,
  ACL_AICORE_NONE = 255,
} aclprofAicoreMetrics;

typedef enum {
  ACL_PROF_ARGS_MIN = 0,
  ACL_PROF_STORAGE_LIMIT = 1,
  ACL_PROF_AIV_METRICS = 2, /* CANN 8.1 only */
  ACL_PROF_SYS_HARDWARE_MEM_FREQ = 3,
  ACL_PROF_LLC_MODE = 4,
  ACL_PROF_SYS_IO_FREQ = 5,
  ACL_PROF_SYS_INTERCONNECTION_FREQ = 6,
  ACL_PROF_DVPP_FREQ = 7,
  ACL_PROF_HOST_SYS = 8,
  ACL_PROF_HOST_SYS_USAGE = 9,
  ACL_PROF_HOST_SYS_USAGE_FREQ = 10,
  ACL_PROF_LOW_POWER_FREQ = 11,
  ACL_PROF_SYS_MEM_SERVICEFLOW = 12,
  ACL_PROF_SYS_CPU_FREQ = 13,
  ACL_PROF_OPTYPE = 14,
  ACL_PROF_NTS_METRICS = 15,
  ACL_PROF_PATH = 16,
  ACL_PROF_ARGS_MAX = 17,
} aclprofConfigType;

typedef enum {
  ACL_STEP_START = 0,
  ACL_STEP_END = 1,
} aclprofStepTag;

typedef struct aclprofConfig aclprofConfig;
typedef struct aclprofAicoreEvents aclprofAicoreEvents;
typedef struct aclprofStepInfo aclprofStepInfo;

/* No-op. profilerResultPath: a directory of length characters. ACL_SUCCESS. */
ACL_FUNC_VISIBILITY aclError aclprofInit(const char *profilerResultPath, size_t length);

/* No-op. ACL_SUCCESS, also without aclprofInit. */
ACL_FUNC_VISIBILITY aclError aclprofFinalize(void);

/* No-ops. ACL_SUCCESS for any argument. */
ACL_FUNC_VISIBILITY aclError aclprofStart(const aclprofConfig *profilerConfig);
ACL_FUNC_VISIBILITY aclError aclprofStop(const aclprofConfig *profilerConfig);

/*
 * An object to hand to Start, Stop and DestroyConfig; nothing of it is used. NULL only if memory
 * runs short. The arguments are not looked at and not kept. The caller destroys it.
 */
ACL_FUNC_VISIBILITY aclprofConfig *aclprofCreateConfig(uint32_t *deviceIdList, uint32_t deviceNums,
                                                       aclprofAicoreMetrics aicoreMetrics,
                                                       const aclprofAicoreEvents *aicoreEvents,
                                                       uint64_t dataTypeConfig);

/* Destroys what aclprofCreateConfig returned. ACL_ERROR_INVALID_PARAM for NULL. */
ACL_FUNC_VISIBILITY aclError aclprofDestroyConfig(const aclprofConfig *profilerConfig);

/* No-op. ACL_SUCCESS for any argument. */
ACL_FUNC_VISIBILITY aclError aclprofSetConfig(aclprofConfigType configType, const char *config,
                                              size_t configLength);

/*
 * Steps of a training. The object, which the caller destroys (NULL is ignored), holds nothing, and
 * marking a step's start or end is a no-op. ACL_ERROR_INVALID_PARAM for a null stepInfo.
 */
ACL_FUNC_VISIBILITY aclprofStepInfo *aclprofCreateStepInfo(void);
ACL_FUNC_VISIBILITY void aclprofDestroyStepInfo(aclprofStepInfo *stepinfo);
ACL_FUNC_VISIBILITY aclError aclprofGetStepTimestamp(aclprofStepInfo *stepInfo, aclprofStepTag tag,
                                                     aclrtStream stream);

/*
 * Marks and ranges in the time line: no-ops. Stamps are the caller's to destroy (NULL is ignored);
 * *rangeId becomes 0. ACL_ERROR_INVALID_PARAM for a null msg, stamp or rangeId.
 */
ACL_FUNC_VISIBILITY aclError aclprofMarkEx(const char *msg, size_t msgLen, aclrtStream stream);
ACL_FUNC_VISIBILITY void *aclprofCreateStamp(void);
ACL_FUNC_VISIBILITY void aclprofDestroyStamp(void *stamp);
ACL_FUNC_VISIBILITY aclError aclprofPush(void *stamp);
ACL_FUNC_VISIBILITY aclError aclprofPop(void);
ACL_FUNC_VISIBILITY aclError aclprofRangeStart(void *stamp, uint32_t *rangeId);
ACL_FUNC_VISIBILITY aclError aclprofRangeStop(uint32_t rangeId);
ACL_FUNC_VISIBILITY aclError aclprofSetStampTraceMessage(void *stamp, const char *msg,
                                                         uint32_t msgLen);
ACL_FUNC_VISIBILITY aclError aclprofMark(void *stamp);

#ifdef __cplusplus
}
#endif
