/* What hcclrun did, for tests and for people who learn. An extension of hcclrun; link -lhccl. */
#ifndef HCCLRUN_INSPECT_H_
#define HCCLRUN_INSPECT_H_

#include "acl/acl_linkage.h"
#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  HCCLRUN_PATH_WINDOW = 0,   /* straight between the registered windows (semantics A.10) */
  HCCLRUN_PATH_BUFFERED = 1, /* through the HCCL buffers */
} hcclrunPath;

/* The path of the last operation of this communicator that this rank has finished. Synchronise the
 * stream first. Before any operation: HCCLRUN_PATH_BUFFERED. HCCL_E_PTR for null arguments,
 * HCCL_E_PARA for an unknown handle. */
ACL_FUNC_VISIBILITY HcclResult hcclrunLastPath(HcclComm comm, hcclrunPath *path);

#ifdef __cplusplus
}
#endif

#endif
