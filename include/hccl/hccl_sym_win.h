/* Access to the memory of peers through symmetric windows (semantics A.8). */
#pragma once

#include "hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * *ptr: where this process sees the byte at offset, counted from the start of the mapping, in the
 * window memory of peerRank, a rank of the window's communicator; its own rank is allowed. Valid
 * while the window is registered. Usable in acl copies and in user compute; on hardware device code
 * only calls this. NULL arguments are HCCL_E_PTR; peerRank that is no rank, or offset outside the
 * mapping, HCCL_E_PARA. Local, any thread, does not block.
 */
ACL_FUNC_VISIBILITY HcclResult HcclSymWinGetPeerPointer(HcclCommSymWindow winHandle, size_t offset,
                                                        uint32_t peerRank, void **ptr);

#ifdef __cplusplus
}
#endif
