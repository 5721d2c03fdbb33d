/*
 * HCCL: the collective operations, and through the includes communicators and the AscendCL runtime.
 *
 * Rules of all operations (semantics C)
 *  - R is the communicator's number of ranks; counts are elements of dataType, not bytes.
 *  - Every rank calls the same operations of one communicator in the same order with matching
 *    arguments; a mismatch is found and reported on every call. One thread at a time per
 *    communicator.
 *  - The call checks its arguments, queues the operation on stream and returns; it does not wait
 *    for other ranks. stream must be one of this process; NULL, the default stream, is HCCL_E_PTR.
 *    Results are there for later tasks of the stream, and for the host after synchronising it,
 *    which also reports what went wrong on the way. Buffers must stay valid, and send buffers
 *    unchanged, until then.
 *  - Buffers are device memory. count 0 is HCCL_SUCCESS without taking part, before any other
 *    check; operations with arrays of counts say themselves when there is nothing to do.
 *  - In the order in which each operation checks (semantics C.1): NULL arguments are HCCL_E_PTR, a
 *    count above 0x7FFFFFFFF is HCCL_E_PARA, an unknown or unsupported dataType or op, or a pair of
 *    them that cannot be reduced (semantics C.4), HCCL_E_NOT_SUPPORT, a root that is no rank
 *    HCCL_E_PARA. A suspended communicator answers HCCL_E_SUSPENDING.
 *  - Reductions combine the ranks' elements in ascending rank order and round to dataType after
 *    every step, so that results are the same on every run, but not always bit for bit those of
 *    hardware.
 *  - AllGather, AllReduce, ReduceScatter and AlltoAll work directly on user memory if input and
 *    output lie in symmetric windows (semantics A.10); otherwise they go through the HCCL buffers.
 */
#pragma once

#include "../acl/acl.h"
#include "hccl_comm.h"
#include "hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * recvBuf[k] = reduction over all ranks' sendBuf[k], count elements each. sendBuf == recvBuf is
 * allowed.
 */
ACL_FUNC_VISIBILITY HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count,
                                             HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                             aclrtStream stream);

/* buf of rank root becomes everybody's buf, count elements. root's buffer is only read. */
ACL_FUNC_VISIBILITY HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType,
                                             uint32_t root, HcclComm comm, aclrtStream stream);

/*
 * Rank i receives block i, of recvCount elements, of the reduction of all sendBufs, which hold
 * recvCount * R. recvBuf may be the rank's own block of sendBuf.
 */
ACL_FUNC_VISIBILITY HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount,
                                                 HcclDataType dataType, HcclReduceOp op,
                                                 HcclComm comm, aclrtStream stream);

/*
 * recvBuf, of sendCount * R elements, holds rank i's sendBuf as block i on every rank. sendBuf may
 * be the rank's own block of recvBuf.
 */
ACL_FUNC_VISIBILITY HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount,
                                             HcclDataType dataType, HcclComm comm,
                                             aclrtStream stream);

/*
 * Block j of rank i's sendBuf becomes block i of rank j's recvBuf. Counts are per peer: the buffers
 * hold count * R elements. sendCount != recvCount, sendType != recvType and sendBuf == recvBuf are
 * HCCL_E_PARA; the shortcut for count 0 needs both counts to be 0.
 */
ACL_FUNC_VISIBILITY HcclResult HcclAlltoAll(const void *sendBuf, uint64_t sendCount,
                                            HcclDataType sendType, const void *recvBuf,
                                            uint64_t recvCount, HcclDataType recvType,
                                            HcclComm comm, aclrtStream stream);

/*
 * Operations whose blocks differ in size. Arrays are uint64_t, one number per rank, in elements;
 * they are read before the call returns. Displacements count from the buffer's start; blocks may
 * lie in any order and leave gaps, which stay untouched. A count above 0x7FFFFFFFF is HCCL_E_PARA.
 * Numbers that must agree between ranks are compared on every call: if they do not, the operation
 * fails on all ranks at synchronisation and moves nothing. None of these operations uses windows.
 */

/*
 * Rank i's sendBuf, of recvCounts[i] elements, goes to recvDispls[i] of everybody's recvBuf.
 * recvCounts and recvDispls are the same on all ranks, sendCount is the own one of recvCounts, else
 * HCCL_E_PARA. sendBuf may be NULL if sendCount is 0. If all counts are 0 nobody takes part.
 * sendBuf may be the rank's own block of recvBuf.
 */
ACL_FUNC_VISIBILITY HcclResult HcclAllGatherV(void *sendBuf, uint64_t sendCount, void *recvBuf,
                                              const void *recvCounts, const void *recvDispls,
                                              HcclDataType dataType, HcclComm comm,
                                              aclrtStream stream);

/*
 * Rank i receives the reduction of the sendCounts[i] elements at sendDispls[i] of all sendBufs.
 * sendCounts and sendDispls are the same on all ranks, recvCount is the own one of sendCounts, else
 * HCCL_E_PARA. HCCL_REDUCE_PROD, and maximum and minimum of int64, are HCCL_E_NOT_SUPPORT. recvBuf
 * may be NULL if recvCount is 0. If all counts are 0 nobody takes part. recvBuf may be the rank's
 * own block of sendBuf.
 */
ACL_FUNC_VISIBILITY HcclResult HcclReduceScatterV(void *sendBuf, const void *sendCounts,
                                                  const void *sendDispls, void *recvBuf,
                                                  uint64_t recvCount, HcclDataType dataType,
                                                  HcclReduceOp op, HcclComm comm,
                                                  aclrtStream stream);

/*
 * sendCounts[j] elements at sdispls[j] of rank i's sendBuf go to rdispls[i] of rank j's recvBuf,
 * where recvCounts[i] says the same number. sendBuf == recvBuf is HCCL_E_PARA. A buffer that is
 * neither read nor written may be NULL. Every rank takes part, even with all counts 0.
 */
ACL_FUNC_VISIBILITY HcclResult HcclAlltoAllV(const void *sendBuf, const void *sendCounts,
                                             const void *sdispls, HcclDataType sendType,
                                             const void *recvBuf, const void *recvCounts,
                                             const void *rdispls, HcclDataType recvType,
                                             HcclComm comm, aclrtStream stream);

/*
 * As HcclAlltoAllV with all counts in one matrix, the same on all ranks: rank i sends
 * sendCountMatrix[i * R + j] elements to rank j. Data are packed: blocks lie one behind the other
 * by peer, in sendBuf and in recvBuf.
 */
ACL_FUNC_VISIBILITY HcclResult HcclAlltoAllVC(const void *sendBuf, const void *sendCountMatrix,
                                              HcclDataType sendType, const void *recvBuf,
                                              HcclDataType recvType, HcclComm comm,
                                              aclrtStream stream);

/*
 * As HcclAllReduce, with the result in root's recvBuf only. recvBuf must not be NULL on any rank;
 * its contents are undefined on the others afterwards.
 */
ACL_FUNC_VISIBILITY HcclResult HcclReduce(void *sendBuf, void *recvBuf, uint64_t count,
                                          HcclDataType dataType, HcclReduceOp op, uint32_t root,
                                          HcclComm comm, aclrtStream stream);

/*
 * Block i of root's sendBuf, recvCount * R elements, goes to rank i's recvBuf, root's own block
 * included. sendBuf is looked at on root only and may be NULL elsewhere.
 */
ACL_FUNC_VISIBILITY HcclResult HcclScatter(void *sendBuf, void *recvBuf, uint64_t recvCount,
                                           HcclDataType dataType, uint32_t root, HcclComm comm,
                                           aclrtStream stream);

/*
 * Sends count elements to rank destRank, which receives them with the matching HcclRecv or
 * HcclBatchSendRecv: the k-th send of a pair of ranks meets its k-th receive, whatever the streams.
 * The stream, not the caller, waits until the other end has come; two ranks that both send before
 * they receive, on one stream, wait for ever. The ends must agree on count and dataType; otherwise
 * both fail at synchronisation and nothing is moved. The own rank is HCCL_E_PARA here.
 */
ACL_FUNC_VISIBILITY HcclResult HcclSend(void *sendBuf, uint64_t count, HcclDataType dataType,
                                        uint32_t destRank, HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclRecv(void *recvBuf, uint64_t count, HcclDataType dataType,
                                        uint32_t srcRank, HcclComm comm, aclrtStream stream);

/*
 * itemNum sends and receives at once; none of them waits for another. They meet sends and receives
 * of the other ranks in the order of the items, one by one, as HcclSend and HcclRecv do; the ranks'
 * batches need not be equally long. Items with buf NULL or count 0 are skipped. Items to and from
 * the own rank meet each other: there must be as many sends as receives, else HCCL_E_PARA. The
 * array is read before the call returns.
 */
ACL_FUNC_VISIBILITY HcclResult HcclBatchSendRecv(HcclSendRecvItem *sendRecvInfo, uint32_t itemNum,
                                                 HcclComm comm, aclrtStream stream);

#ifdef __cplusplus
}
#endif
