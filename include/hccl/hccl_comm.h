/*
 * Communicators: creation, queries, destruction (semantics D), and registration of symmetric
 * windows (semantics A).
 *
 * A communicator is used by one thread at a time; communicators of different devices may live in
 * different threads of one process. A thread sets its device before it creates one. Time limits of
 * waiting for other ranks come from the environment variable HCCL_CONNECT_TIMEOUT.
 */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "../acl/acl_rt.h"
#include "hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Expansion modes by name. A configuration's hcclOpExpansionMode uses other numbers. ---- */
typedef enum {
  HCCL_OP_EXPANSION_MODE_INVALID = -1,
  HCCL_OP_EXPANSION_MODE_AI_CPU = 0,
  HCCL_OP_EXPANSION_MODE_AIV = 1,
  HCCL_OP_EXPANSION_MODE_HOST = 2,
  HCCL_OP_EXPANSION_MODE_HOST_TS = 3,
  HCCL_OP_EXPANSION_MODE_CCU_MS = 4,
  HCCL_OP_EXPANSION_CCU_MS = 4, /* name in CANN 9.1 */
  HCCL_OP_EXPANSION_MODE_CCU_SCHED = 5,
  HCCL_OP_EXPANSION_CCU_SCHED = 5, /* name in CANN 9.1 */
  HCCL_OP_EXPANSION_AIV_ONLY = 6,
} HcclOpExpansionMode;
typedef HcclOpExpansionMode HcclConfigTypeOpExpansionMode;

/* What HcclConfigGetInfo can tell. */
typedef enum {
  HCCL_CONFIG_TYPE_INVALID = -1,
  HCCL_CONFIG_TYPE_OP_EXPANSION_MODE = 0, /* HcclConfigTypeOpExpansionMode */
  HCCL_CONFIG_TYPE_HCCL_ALGO = 1,         /* terminated text, as in HCCL_ALGO */
} HcclConfigType;

/* Called by HcclCommDestroy and HcclCommResume; args as given with it. */
typedef HcclResult (*HcclCommStateCallback)(HcclComm comm, HcclCommStatePhase phase, void *args);

/* ---- Creation ---- */

/*
 * Called on the rank that will be the root: fills *rootInfo, which the program sends to all ranks
 * as HCCL_ROOT_INFO_BYTES raw bytes. The process then takes the other ranks' connections until the
 * communicator is made or the time limit passes. Needs a current device. HCCL_E_PTR for NULL;
 * HCCL_E_PARA if an HCCL environment variable is illegal.
 */
ACL_FUNC_VISIBILITY HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo);

/*
 * Creates a communicator of nRanks ranks; called by each of them with the same root info and its
 * own rank, 0 to nRanks - 1. Blocks until all have arrived. *comm is released by HcclCommDestroy
 * and untouched on failure. Checks in this order (semantics D.2): a current device; nRanks 0, rank
 * >= nRanks (HCCL_E_PARA); comm, rootInfo NULL (HCCL_E_PTR); environment and config (HCCL_E_PARA);
 * name in use in this process (HCCL_E_PARA).
 * HCCL_E_TIMEOUT if the root cannot be reached in time; HCCL_E_INTERNAL if a rank does not arrive,
 * or ranks disagree about nRanks or claim the same rank; HCCL_E_PARA if two ranks have the same
 * device. config is read during the call. With a NULL config HCCL_E_PTR, with a wrong magic word
 * HCCL_E_PARA.
 */
ACL_FUNC_VISIBILITY HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo,
                                                    uint32_t rank, HcclComm *comm);
ACL_FUNC_VISIBILITY HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks,
                                                          const HcclRootInfo *rootInfo,
                                                          uint32_t rank,
                                                          const HcclCommConfig *config,
                                                          HcclComm *comm);

/*
 * Creates a communicator of the ranks that the rank table in the file clusterInfo lists (semantics
 * D.5). Does not wait for the other ranks: one that is missing is told by the first operation
 * (HCCL_E_TIMEOUT after HCCL_CONNECT_TIMEOUT). One per device at a time. Its name, unless config
 * has one, is "hccl_world_group". *comm is NULL on failure.
 * Checks in this order (semantics D.4): a current device; clusterInfo, comm NULL (HCCL_E_PTR);
 * environment; config, NULL being HCCL_E_PTR; the file: unreadable, not named .json, not JSON, or
 * without "status", HCCL_E_INTERNAL. While "status" is not "completed" the file is read again every
 * second, for half an hour at most. Another communicator of a rank table on this device
 * HCCL_E_UNAVAIL; name in use HCCL_E_PARA; the table: an item is missing HCCL_E_NOT_FOUND, wrong
 * HCCL_E_PARA, an unknown version HCCL_E_NOT_SUPPORT; rank is not in it HCCL_E_PARA; rank's device
 * is not the current one HCCL_E_UNAVAIL.
 */
ACL_FUNC_VISIBILITY HcclResult HcclCommInitClusterInfo(const char *clusterInfo, uint32_t rank,
                                                       HcclComm *comm);
ACL_FUNC_VISIBILITY HcclResult HcclCommInitClusterInfoConfig(const char *clusterInfo, uint32_t rank,
                                                             HcclCommConfig *config,
                                                             HcclComm *comm);

/*
 * Creates the communicators of ndev ranks that are all in this process: rank i works on
 * devices[i], and comms[i] is its side. The devices are set by the call and given back by
 * HcclCommDestroy; a thread sets the device of a communicator before it uses it. Either all are
 * made or none. Checks in this order (semantics D.6): a current device; ndev 0 (HCCL_E_PARA);
 * devices, comms NULL (HCCL_E_PTR); a device that does not exist, or twice (HCCL_E_PARA). A rank
 * that cannot be made is HCCL_E_INTERNAL.
 */
ACL_FUNC_VISIBILITY HcclResult HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms);

/*
 * Creates a communicator of rankNum ranks of *comm: rankIds lists them as ranks of *comm, in the
 * order of their ranks in the new one; subCommRankId is the caller's place in it. All members pass
 * the same list, subCommId and name. Local, does not wait for the others: who is missing or passed
 * something else is told by the first operation (HCCL_E_TIMEOUT after HCCL_CONNECT_TIMEOUT). The
 * new communicator has HCCL buffers, windows and time limits of its own; its name, unless config
 * has one, is "<name of *comm>_sub_<subCommId>". *comm may be a sub-communicator, and may be
 * destroyed first.
 * A rank that is no member may call with rankIds NULL and subCommId 0xFFFFFFFF: HCCL_SUCCESS, and
 * *subComm is NULL. Checks in this order (semantics D.6): subComm NULL (HCCL_E_PTR); only one of
 * rankIds and subCommId set, rankNum 0, subCommRankId >= rankNum (HCCL_E_PARA); config, comm NULL
 * (HCCL_E_PTR); environment and config; a list with an entry that is no rank, or twice, or that
 * has another rank than the caller's at subCommRankId; name in use (HCCL_E_PARA).
 */
ACL_FUNC_VISIBILITY HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t rankNum,
                                                       uint32_t *rankIds, uint64_t subCommId,
                                                       uint32_t subCommRankId,
                                                       HcclCommConfig *config, HcclComm *subComm);

/*
 * Prepares a configuration in which nothing is set: the size, magic word and version of this
 * header, the not-set mark where 0 would be a setting, zeros and empty strings elsewhere (semantics
 * D.3). Lives in the program, not in the library, so that the layout is the one the program was
 * compiled with.
 */
static inline void HcclCommConfigInit(HcclCommConfig *config) {
  const size_t size = sizeof(*config);
  const uint32_t magic = HCCL_COMM_CONFIG_MAGIC_WORD;
  const uint32_t version = HCCL_COMM_CONFIG_VERSION;
  if (config == NULL) {
    return;
  }
  memset(config, 0, sizeof(*config));
  memcpy(config->reserved, &size, sizeof(size));
  memcpy(config->reserved + sizeof(size), &magic, sizeof(magic));
  memcpy(config->reserved + sizeof(size) + sizeof(magic), &version, sizeof(version));
  config->hcclBufferSize = HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET;
  config->hcclDeterministic = HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET;
  config->hcclOpExpansionMode = HCCL_COMM_DEFAULT_OP_EXPANSION_MODE;
  config->hcclRdmaTrafficClass = HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET;
  config->hcclRdmaServiceLevel = HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET;
  config->hcclExecTimeOut = HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET;
  config->hcclQos = HCCL_COMM_QOS_CONFIG_NOT_SET;
  config->hcclSymWinMaxMemSizePerRank = HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE;
  config->hcclChannelSqDepth = HCCL_COMM_SQ_DEPTH_CONFIG_NOT_SET;
}

/*
 * Destroys a communicator, with the windows it still has. Local: no other rank has to call it at
 * the same time, and no stream is synchronised, so synchronise those with operations of it first.
 * NULL is HCCL_SUCCESS, an unknown handle HCCL_E_PARA (semantics D.6). A process that ends before
 * the operations called earlier are done counts as having failed them.
 */
ACL_FUNC_VISIBILITY HcclResult HcclCommDestroy(HcclComm comm);

/* ---- Queries: local, do not block; HCCL_E_PTR for NULL (semantics D.6) ---- */

ACL_FUNC_VISIBILITY HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize);
ACL_FUNC_VISIBILITY HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank);

/* commName: room for COMM_NAME_MAX_LENGTH characters; receives a terminated string. */
ACL_FUNC_VISIBILITY HcclResult HcclGetCommName(HcclComm comm, char *commName);

/*
 * The communicator of this name on the current device of the thread; HCCL_E_PARA if there is none.
 */
ACL_FUNC_VISIBILITY HcclResult HcclCommGetHandleWithName(const char *commName, HcclComm *comm);

/*
 * *asyncError: why the communicator is out of use: HCCL_SUCCESS if it is not, HCCL_E_REMOTE for a
 * lost peer, HCCL_E_UNAVAIL when a rank gave up an operation half-way. Calls that do not match
 * between ranks, and time-outs, are told by the stream alone. From any thread, also while
 * operations run.
 */
ACL_FUNC_VISIBILITY HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult *asyncError);

/*
 * Whether the communicator named commId on the current device of the thread takes operations.
 * *status is HCCL_COMM_STATUS_INVALID for one that is out of use, and, with HCCL_E_PARA, when there
 * is none. HCCL_E_PTR for NULL.
 */
ACL_FUNC_VISIBILITY HcclResult HcclCommGetStatus(const char *commId, HcclCommStatus *status);

/*
 * Writes what the communicator's configuration and the environment have made of a setting into
 * info, which has room for infoLen bytes: HcclConfigTypeOpExpansionMode, or the algorithms as text,
 * "" where nothing was said. HCCL_E_PTR for NULL, HCCL_E_PARA for too little room or another
 * cfgType.
 */
ACL_FUNC_VISIBILITY HcclResult HcclConfigGetInfo(HcclComm comm, HcclConfigType cfgType,
                                                 uint32_t infoLen, void *info);

/* HCCL_COMM_CONFIG_RESERVED: the capabilities of HcclCommConfigCapability below it are there. */
ACL_FUNC_VISIBILITY uint32_t HcclGetCommConfigCapability(void);

/*
 * A short text for a code; never NULL, a constant string, for any number (semantics F.1). Needs no
 * initialisation.
 */
ACL_FUNC_VISIBILITY const char *HcclGetErrorString(HcclResult code);

/* ---- Settings, and what changes a communicator ---- */

/*
 * HCCL_DETERMINISTIC of the process: 0 or 1; other values are HCCL_E_PARA, 2 HCCL_E_NOT_SUPPORT.
 * Ignored when the environment variable HCCL_DETERMINISTIC is set, and for an unknown config.
 * Results are deterministic either way (semantics D.7). HCCL_E_PTR for a NULL configValue.
 */
ACL_FUNC_VISIBILITY HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue);
ACL_FUNC_VISIBILITY HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue *configValue);

/*
 * From Suspend to Resume the communicator takes no operations: they return HCCL_E_SUSPENDING. What
 * was called before goes on. Local (semantics D.8).
 */
ACL_FUNC_VISIBILITY HcclResult HcclCommSuspend(HcclComm comm);
ACL_FUNC_VISIBILITY HcclResult HcclCommResume(HcclComm comm);

/*
 * From now on cb is called whenever a communicator of this process is destroyed or resumed: before
 * and after, in the calling thread, with args. Callbacks have names, in whose order they are
 * called; a new one of the same name replaces the old one, NULL removes it. What they answer is
 * told if it is not HCCL_SUCCESS and changes nothing. HCCL_E_PTR for a NULL regName.
 */
ACL_FUNC_VISIBILITY HcclResult HcclCommRegCommStateCallback(const char *regName,
                                                            HcclCommStateCallback cb, void *args);

/*
 * Which ranks use their backup network card: useBackup[i] for rank ranks[i]. Checked and without
 * effect, since there are no network cards. NULL is HCCL_E_PTR, a number that is no rank
 * HCCL_E_PARA.
 */
ACL_FUNC_VISIBILITY HcclResult HcclCommWorkingDevNicSet(HcclComm comm, uint32_t *ranks,
                                                        bool *useBackup, uint32_t nRanks);

/* ---- Groups of calls (semantics D.9) ----
 *
 * Between HcclGroupStart and HcclGroupEnd of a thread its calls check their arguments and are kept;
 * the outermost HcclGroupEnd does them. Creations from a root info come first, all at the same
 * time, so that one thread can make the communicators of several devices; of their arguments only
 * the pointers are checked before. Destructions come last. Sends and receives of a
 * communicator become one batch on the stream of the first, so that their order cannot block.
 * Collectives run in the order of decreasing size, and HcclGroupEnd waits for their streams. It
 * returns the first error of all. Without HcclGroupStart it is HCCL_E_NOT_SUPPORT. A communicator
 * that is created in a group can be used after it.
 */
ACL_FUNC_VISIBILITY HcclResult HcclGroupStart(void);
ACL_FUNC_VISIBILITY HcclResult HcclGroupEnd(void);

/* Whether the calling thread is in a group. HCCL_E_PTR for NULL. */
ACL_FUNC_VISIBILITY HcclResult HcclGroupStatusGet(bool *isGroupEnabled);

/* ---- Barrier ---- */

/*
 * Tasks queued later on stream run after every rank's stream has reached its barrier. The host does
 * not wait, and the barrier has no execution time limit. NULL arguments are HCCL_E_PTR (semantics
 * C.2).
 */
ACL_FUNC_VISIBILITY HcclResult HcclBarrier(HcclComm comm, aclrtStream stream);

/* ---- Symmetric windows (semantics A) ---- */

/*
 * Registers device memory of all ranks as one window. Collective: the n-th call of every rank
 * belongs together; blocks until all have called. addr lies in a mapping of aclrtMapMem, which
 * becomes part of the window as a whole; size bytes from addr must lie inside it. Mapped sizes must
 * agree between the ranks. flag must be 1. *winHandle is released by HcclCommSymWinDeregister and
 * valid in this process only. Registering a mapping again gives another handle to the same window
 * memory (semantics A.6).
 *
 * Checked in the order of semantics A.3: comm, addr, winHandle NULL (HCCL_E_PTR); size 0, flag not
 * 1 (HCCL_E_PARA); more than one SuperPoD, or no Atlas A3 (HCCL_E_NOT_SUPPORT); first call: window
 * space per rank 0, or more than the device has (HCCL_E_PARA); one rank: HCCL_SUCCESS; addr is not
 * mapped physical memory, or the range leaves its mapping (HCCL_E_PARA); window space exhausted
 * (HCCL_E_MEMORY); a rank does not arrive in time: HCCL_E_INTERNAL in the first Register of a
 * communicator, whose outcome it remembers (semantics A.4), HCCL_E_TCP_TRANSFER later; ranks
 * disagree about place or mapped size: HCCL_E_INTERNAL on all of them.
 */
ACL_FUNC_VISIBILITY HcclResult HcclCommSymWinRegister(HcclComm comm, void *addr, uint64_t size,
                                                      HcclCommSymWindow *winHandle, uint32_t flag);

/*
 * Ends a registration. Local; ranks should nevertheless issue the same sequence of Register and
 * Deregister calls, or later registrations will disagree. Operations that use the window must have
 * finished. Memory and mapping stay the caller's. NULL is HCCL_E_PTR, an unknown handle, or one
 * whose communicator is gone, HCCL_E_PARA (semantics A.7).
 */
ACL_FUNC_VISIBILITY HcclResult HcclCommSymWinDeregister(HcclCommSymWindow winHandle);

/*
 * Finds the window of this communicator that contains the size bytes from ptr: *winHandle, and
 * *offset in bytes from the start of the mapping. No ownership passes. NULL arguments are
 * HCCL_E_PTR, size 0 HCCL_E_PARA, a communicator that can have no windows HCCL_E_PTR again, no such
 * window, and always with one rank, HCCL_E_NOT_FOUND (semantics A.8).
 */
ACL_FUNC_VISIBILITY HcclResult HcclCommSymWinGet(HcclComm comm, void *ptr, size_t size,
                                                 HcclCommSymWindow *winHandle, size_t *offset);

/* ---- Zero copy, for framework plug-ins (semantics D.10) ----
 *
 * A framework declares an address range of its own reservation, maps physical memory into it and
 * activates the mapped blocks; AllGather, ReduceScatter, AllReduce and Broadcast whose input and
 * output lie in active blocks then move data without staging. The tables belong to the process.
 * alignment, offset and flags are ignored. NULL is HCCL_E_PTR, another chip than Atlas A3
 * HCCL_E_NOT_SUPPORT, one rank HCCL_SUCCESS; everything else wrong is HCCL_E_PARA: size 0, an
 * overlap, an address outside a set range, one that still has active blocks.
 */
ACL_FUNC_VISIBILITY HcclResult HcclCommSetMemoryRange(HcclComm comm, void *baseVirPtr, size_t size,
                                                      size_t alignment, uint64_t flags);
ACL_FUNC_VISIBILITY HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void *baseVirPtr);
ACL_FUNC_VISIBILITY HcclResult HcclCommActivateCommMemory(HcclComm comm, void *virPtr, size_t size,
                                                          size_t offset, aclrtDrvMemHandle handle,
                                                          uint64_t flags);
ACL_FUNC_VISIBILITY HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void *virPtr);

/* ---- Memory fit for windows ---- */

/* As HcommMemAlloc and HcommMemFree (hcomm_res.h), under an earlier name (semantics B.3). */
ACL_FUNC_VISIBILITY HcclResult HcclMemAlloc(void **ptr, size_t size);
ACL_FUNC_VISIBILITY HcclResult HcclMemFree(void *ptr);

#ifdef __cplusplus
}
#endif
