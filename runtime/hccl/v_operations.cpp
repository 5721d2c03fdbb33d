// HCCL operations with arrays of counts: the checks of semantics C.1 in its order, then
// Communicator::Submit. The arrays are copied here and may go when the call returns.

#include "base/not_allowed.h"
#include "base/raw_value.h"
#include "comm/v_arguments.h"
#include "hccl/argument_checks.h"
#include "hccl/guard.h"
#include "hccl/hccl.h"
#include "hccl/requests.h"

using namespace hcclrun;  // NOLINT: the boundary's definitions are in the global namespace

namespace {

const uint64_t* Numbers(const void* array) { return static_cast<const uint64_t*>(array); }

Fault CheckCounts(const uint64_t* counts, uint32_t n, const char* parameter) {
  for (uint32_t i = 0; i < n; i++) {
    if (Fault f = CheckCount(counts[i], parameter)) {
      f.text = absl::StrCat(parameter, "[", i, "]");
      return f;
    }
  }
  return Fault::None();
}

bool AllZero(const uint64_t* counts, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    if (counts[i] != 0) return false;
  }
  return true;
}

// AllGatherV and ReduceScatterV: the rank's own count appears twice.
Fault CheckOwnCount(uint64_t given, const char* parameter, uint64_t in_array) {
  return given == in_array ? Fault::None()
                           : Fault(FaultKind::kBadValue, {given, in_array, in_array}, parameter);
}

// ReduceScatterV can less than the other reductions (semantics C.4).
Fault CheckReductionV(uint64_t count, const char* parameter, int32_t type, int32_t op) {
  if (Fault f = CheckReduction(count, parameter, type, op)) return f;
  const DataType t = static_cast<DataType>(type);
  const ReduceOp o = static_cast<ReduceOp>(op);
  if (o == ReduceOp::kProd || (t == DataType::kInt64 && o != ReduceOp::kSum)) {
    return Fault(FaultKind::kNotSupported,
                 absl::StrCat("the reduction ", Name(o), " of ", Name(t), " in ReduceScatterV"));
  }
  return Fault::None();
}

Fault CheckTypes(int32_t send_type, int32_t recv_type) {
  if (Fault f = CheckMovement(send_type)) return f;
  if (Fault f = CheckMovement(recv_type)) return f;
  if (send_type == recv_type) return Fault::None();
  return Fault(
      FaultKind::kBadValue,
      {uint64_t(int64_t{recv_type}), uint64_t(int64_t{send_type}), uint64_t(int64_t{send_type})},
      "recvType");
}

Fault CheckApart(const void* send, const void* recv) {
  if (!send || send != recv) return Fault::None();
  return NotAllowed("recvBuf equals sendBuf; pass two separate buffers");
}

uint32_t ElementSizeOf(int32_t type) { return ElementSize(static_cast<DataType>(type)); }

}  // namespace

extern "C" {

HcclResult HcclAllGatherV(void* sendBuf, uint64_t sendCount, void* recvBuf, const void* recvCounts,
                          const void* recvDispls, HcclDataType dataType, HcclComm comm,
                          aclrtStream stream) {
  return Guarded(CallId::HcclAllGatherV, comm, [&]() -> Fault {
    if (!recvCounts) return Null("recvCounts");
    if (!recvDispls) return Null("recvDispls");
    if (!comm) return Null("comm");
    if (!stream) return Null("stream");
    if (sendCount > 0 && !sendBuf) return Null("sendBuf");
    const int32_t type = RawValue(dataType);
    if (Fault f = CheckCount(sendCount, "sendCount")) return f;
    if (Fault f = CheckMovement(type)) return f;
    Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
    if (!c.ok()) return c.fault();
    const uint32_t rank = (*c)->rank(), ranks = (*c)->size();
    const uint64_t* counts = Numbers(recvCounts);
    if (Fault f = CheckCounts(counts, ranks, "recvCounts")) return f;
    if (AllZero(counts, ranks)) return Fault::None();
    if (!recvBuf) return Null("recvBuf");
    if (Fault f = CheckOwnCount(sendCount, "sendCount, which recvCounts has, too,", counts[rank]))
      return f;
    OpRequest r = Request(Op::kAllGatherV, CallId::HcclAllGatherV, type, 0, sendBuf, recvBuf);
    r.v = MakeVArguments(r.op, rank, ranks, ElementSizeOf(type),
                         {nullptr, nullptr, counts, Numbers(recvDispls)});
    return Submit(r, *c, stream);
  });
}

HcclResult HcclReduceScatterV(void* sendBuf, const void* sendCounts, const void* sendDispls,
                              void* recvBuf, uint64_t recvCount, HcclDataType dataType,
                              HcclReduceOp op, HcclComm comm, aclrtStream stream) {
  return Guarded(CallId::HcclReduceScatterV, comm, [&]() -> Fault {
    if (!stream) return Null("stream");
    if (!sendCounts) return Null("sendCounts");
    if (!sendDispls) return Null("sendDispls");
    if (!comm) return Null("comm");
    if (recvCount > 0 && !recvBuf) return Null("recvBuf");
    const int32_t type = RawValue(dataType);
    if (Fault f = CheckReductionV(recvCount, "recvCount", type, RawValue(op))) return f;
    Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
    if (!c.ok()) return c.fault();
    const uint32_t rank = (*c)->rank(), ranks = (*c)->size();
    const uint64_t* counts = Numbers(sendCounts);
    if (Fault f = CheckCounts(counts, ranks, "sendCounts")) return f;
    if (AllZero(counts, ranks)) return Fault::None();
    if (!sendBuf) return Null("sendBuf");
    if (Fault f = CheckOwnCount(recvCount, "recvCount, which sendCounts has, too,", counts[rank]))
      return f;
    OpRequest r =
        Request(Op::kReduceScatterV, CallId::HcclReduceScatterV, type, 0, sendBuf, recvBuf);
    r.reduce_op = static_cast<ReduceOp>(RawValue(op));
    r.v = MakeVArguments(r.op, rank, ranks, ElementSizeOf(type),
                         {counts, Numbers(sendDispls), nullptr, nullptr});
    return Submit(r, *c, stream);
  });
}

HcclResult HcclAlltoAllV(const void* sendBuf, const void* sendCounts, const void* sdispls,
                         HcclDataType sendType, const void* recvBuf, const void* recvCounts,
                         const void* rdispls, HcclDataType recvType, HcclComm comm,
                         aclrtStream stream) {
  return Guarded(CallId::HcclAlltoAllV, comm, [&]() -> Fault {
    if (!sendCounts) return Null("sendCounts");
    if (!sdispls) return Null("sdispls");
    if (!recvCounts) return Null("recvCounts");
    if (!rdispls) return Null("rdispls");
    if (!stream) return Null("stream");
    if (!comm) return Null("comm");
    if (Fault f = CheckApart(sendBuf, recvBuf)) return f;
    Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
    if (!c.ok()) return c.fault();
    const uint32_t rank = (*c)->rank(), ranks = (*c)->size();
    const uint64_t *sent = Numbers(sendCounts), *received = Numbers(recvCounts);
    if (Fault f = CheckCounts(sent, ranks, "sendCounts")) return f;
    if (Fault f = CheckCounts(received, ranks, "recvCounts")) return f;
    if (!sendBuf && !AllZero(sent, ranks)) return Null("sendBuf");
    if (!recvBuf && !AllZero(received, ranks)) return Null("recvBuf");
    const int32_t type = RawValue(sendType);
    if (Fault f = CheckTypes(type, RawValue(recvType))) return f;
    OpRequest r = Request(Op::kAllToAllV, CallId::HcclAlltoAllV, type, 0, sendBuf,
                          const_cast<void*>(recvBuf));
    r.v = MakeVArguments(r.op, rank, ranks, ElementSizeOf(type),
                         {sent, Numbers(sdispls), received, Numbers(rdispls)});
    return Submit(r, *c, stream);
  });
}

HcclResult HcclAlltoAllVC(const void* sendBuf, const void* sendCountMatrix, HcclDataType sendType,
                          const void* recvBuf, HcclDataType recvType, HcclComm comm,
                          aclrtStream stream) {
  return Guarded(CallId::HcclAlltoAllVC, comm, [&]() -> Fault {
    if (!sendCountMatrix) return Null("sendCountMatrix");
    if (!comm) return Null("comm");
    if (!stream) return Null("stream");
    if (Fault f = CheckApart(sendBuf, recvBuf)) return f;
    Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
    if (!c.ok()) return c.fault();
    const uint32_t rank = (*c)->rank(), ranks = (*c)->size();
    const uint64_t* matrix = Numbers(sendCountMatrix);
    if (Fault f = CheckCounts(matrix + uint64_t{rank} * ranks, ranks,
                              absl::StrCat("sendCountMatrix[", rank, "]").c_str()))
      return f;
    const int32_t type = RawValue(sendType);
    const uint32_t elem = ElementSizeOf(type);
    std::shared_ptr<VArguments> v = MakeVArguments(rank, ranks, elem ? elem : 1, matrix);
    if (!sendBuf && !AllZero(v->array(kSendCounts), ranks)) return Null("sendBuf");
    if (!recvBuf && !AllZero(v->array(kRecvCounts), ranks)) return Null("recvBuf");
    if (Fault f = CheckTypes(type, RawValue(recvType))) return f;
    OpRequest r = Request(Op::kAllToAllVC, CallId::HcclAlltoAllVC, type, 0, sendBuf,
                          const_cast<void*>(recvBuf));
    r.v = std::move(v);
    return Submit(r, *c, stream);
  });
}

}  // extern "C"
