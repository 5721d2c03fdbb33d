// Send, Recv and BatchSendRecv: the checks of semantics C.1 in its
// order, then Communicator::SubmitTransfers.

#include <vector>

#include "base/not_allowed.h"
#include "base/raw_value.h"
#include "comm/comm_table.h"
#include "hccl/argument_checks.h"
#include "hccl/guard.h"
#include "hccl/hccl.h"
#include "hccl/requests.h"

using namespace hcclrun;  // NOLINT: the boundary's definitions are in the global namespace

namespace {

Fault CheckPeer(const Communicator& comm, uint32_t peer, const char* parameter) {
  return peer >= comm.size() ? Fault(FaultKind::kBadValue, {peer, 0, comm.size() - 1}, parameter)
                             : Fault::None();
}

Fault SubmitOne(CallId call, TransferEnd end, void* buffer, uint64_t count, int32_t type,
                uint32_t peer, const char* parameter, HcclComm comm, aclrtStream stream) {
  if (Fault f = CheckCount(count, "count")) return f;
  if (Fault f = CheckMovement(type)) return f;
  const TransferRequest request{end, peer, static_cast<DataType>(type), count, buffer};
  if (TransferNow(call, request, comm, stream)) return Fault::None();
  Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
  if (!c.ok()) return c.fault();
  if (Fault f = CheckPeer(**c, peer, parameter)) return f;
  // No stream could ever meet the other end (semantics C.2).
  if (peer == (*c)->rank()) {
    return NotAllowed(absl::StrCat(parameter, " is ", peer,
                                   ", the own rank; transfers to oneself take HcclBatchSendRecv"));
  }
  return SubmitTransfers(call, absl::MakeConstSpan(&request, 1), *c, stream);
}

// Sends of a batch to the own rank meet its receives from the own rank; one that is left over would
// never end.
Fault CheckSelfPairs(const std::vector<TransferRequest>& requests, uint32_t self) {
  uint64_t ends[2] = {0, 0};
  for (const TransferRequest& r : requests) {
    if (r.peer == self) ends[r.end]++;
  }
  if (ends[kSenderEnd] == ends[kReceiverEnd]) return Fault::None();
  return Fault(FaultKind::kBadValue, {ends[kReceiverEnd], ends[kSenderEnd], ends[kSenderEnd]},
               "the number of receives from the own rank, which is also sent to in this batch,");
}

}  // namespace

extern "C" {

HcclResult HcclSend(void* sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank,
                    HcclComm comm, aclrtStream stream) {
  return Guarded(CallId::HcclSend, comm, [&]() -> Fault {
    if (count == 0) return Fault::None();
    if (!comm) return Null("comm");
    if (!sendBuf) return Null("sendBuf");
    if (!stream) return Null("stream");
    return SubmitOne(CallId::HcclSend, kSenderEnd, sendBuf, count, RawValue(dataType), destRank,
                     "destRank", comm, stream);
  });
}

HcclResult HcclRecv(void* recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank,
                    HcclComm comm, aclrtStream stream) {
  return Guarded(CallId::HcclRecv, comm, [&]() -> Fault {
    if (count == 0) return Fault::None();
    if (!comm) return Null("comm");
    if (!recvBuf) return Null("recvBuf");
    if (!stream) return Null("stream");
    return SubmitOne(CallId::HcclRecv, kReceiverEnd, recvBuf, count, RawValue(dataType), srcRank,
                     "srcRank", comm, stream);
  });
}

HcclResult HcclBatchSendRecv(HcclSendRecvItem* sendRecvInfo, uint32_t itemNum, HcclComm comm,
                             aclrtStream stream) {
  return Guarded(CallId::HcclBatchSendRecv, comm, [&]() -> Fault {
    if (!comm) return Null("comm");
    if (!stream) return Null("stream");
    if (!sendRecvInfo) return Null("sendRecvInfo");
    if (itemNum == 0) return Fault::None();
    Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
    if (!c.ok()) return c.fault();
    std::vector<TransferRequest> requests;
    requests.reserve(itemNum);
    for (uint32_t i = 0; i < itemNum; i++) {
      const HcclSendRecvItem& item = sendRecvInfo[i];
      if (!item.buf) continue;  // semantics C.1
      if (Fault f = CheckMovement(RawValue(item.dataType))) return f;
      if (Fault f = CheckCount(item.count, "count")) return f;
      if (Fault f = CheckPeer(**c, item.remoteRank, "remoteRank")) return f;
      const int32_t type = RawValue(item.sendRecvType);
      if (type != HCCL_SEND && type != HCCL_RECV)
        return Fault(FaultKind::kBadValue, {uint64_t(int64_t{type}), HCCL_SEND, HCCL_RECV},
                     "sendRecvType");
      if (item.count == 0) continue;  // as a send or receive of its own
      requests.push_back({type == HCCL_SEND ? kSenderEnd : kReceiverEnd, item.remoteRank,
                          static_cast<DataType>(RawValue(item.dataType)), item.count, item.buf});
    }
    if (requests.empty()) return Fault::None();
    if (Fault f = CheckSelfPairs(requests, (*c)->rank())) return f;
    return SubmitTransfers(CallId::HcclBatchSendRecv, requests, *c, stream);
  });
}

}  // extern "C"
