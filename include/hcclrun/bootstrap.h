/* How a program started by hcclrun learns its rank and passes the root info of rank 0 to the other
 * ranks. An extension of hcclrun: programs that must also run on hardware use MPI, a file or a
 * store of their own for this. Link with -lhccl. All functions may be called from any thread. */
#ifndef HCCLRUN_BOOTSTRAP_H_
#define HCCLRUN_BOOTSTRAP_H_

#include "acl/acl_linkage.h"
#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rank of this process in its job and number of ranks of the job, as the launcher started it.
 * Without hcclrun: 0 and 1. */
ACL_FUNC_VISIBILITY int hcclrunRank(void);
ACL_FUNC_VISIBILITY int hcclrunSize(void);

/* Gives rank 0's root info to every rank of the job. Every rank calls it, the same number of times;
 * the n-th calls belong together. Rank 0 passes what HcclGetRootInfo() gave it and returns at once;
 * on other ranks *rootInfo is overwritten, and the call waits for rank 0 as long as
 * HCCL_CONNECT_TIMEOUT says. Without hcclrun, or in a job of one rank, it leaves *rootInfo alone
 * and succeeds. HCCL_E_PTR: rootInfo is null. HCCL_E_TIMEOUT: rank 0 did not come. HCCL_E_UNAVAIL:
 * more than 256 calls. HCCL_E_INTERNAL: the job is ending. */
ACL_FUNC_VISIBILITY HcclResult hcclrunShareRootInfo(HcclRootInfo *rootInfo);

#ifdef __cplusplus
}
#endif

#endif
