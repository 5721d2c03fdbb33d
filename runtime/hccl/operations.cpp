// HCCL operations: the checks of semantics C.1 in its order, then Communicator::Submit.

#include <utility>

#include "base/not_allowed.h"
#include "base/raw_value.h"
#include "collective/types.h"
#include "hccl/argument_checks.h"
#include "hccl/guard.h"
#include "hccl/hccl.h"
#include "hccl/requests.h"

using namespace hcclrun;  // NOLINT: the boundary's definitions are in the global namespace

static_assert(
    int(DataType::kInt8) == HCCL_DATA_TYPE_INT8 && int(DataType::kInt16) == HCCL_DATA_TYPE_INT16 &&
    int(DataType::kInt32) == HCCL_DATA_TYPE_INT32 && int(DataType::kFp16) == HCCL_DATA_TYPE_FP16 &&
    int(DataType::kFp32) == HCCL_DATA_TYPE_FP32 && int(DataType::kInt64) == HCCL_DATA_TYPE_INT64 &&
    int(DataType::kUint64) == HCCL_DATA_TYPE_UINT64 &&
    int(DataType::kUint8) == HCCL_DATA_TYPE_UINT8 &&
    int(DataType::kUint16) == HCCL_DATA_TYPE_UINT16 &&
    int(DataType::kUint32) == HCCL_DATA_TYPE_UINT32 &&
    int(DataType::kFp64) == HCCL_DATA_TYPE_FP64 && int(DataType::kBf16) == HCCL_DATA_TYPE_BFP16 &&
    int(DataType::kInt128) == HCCL_DATA_TYPE_INT128);
static_assert(int(ReduceOp::kSum) == HCCL_REDUCE_SUM && int(ReduceOp::kProd) == HCCL_REDUCE_PROD &&
              int(ReduceOp::kMax) == HCCL_REDUCE_MAX && int(ReduceOp::kMin) == HCCL_REDUCE_MIN);

namespace {

// Mostly everything is in order, which is found without making a Fault.
Fault CheckReductionQuickly(uint64_t count, const char* parameter, int32_t type, int32_t op) {
  if (count <= kMaxCount && op >= 0 && op <= 3 && type >= 0 && type <= 255 &&
      ElementSize(static_cast<DataType>(type)) != 0 &&
      ReductionSupported(static_cast<DataType>(type), static_cast<ReduceOp>(op)))
    return Fault::None();
  return CheckReduction(count, parameter, type, op);
}

// For operations with a root, whose range depends on the communicator.
Fault SubmitRooted(const OpRequest& request, const std::shared_ptr<Communicator>& comm,
                   aclrtStream stream) {
  if (Fault f = CheckRoot(*comm, request.root)) return f;
  return Submit(request, comm, stream);
}

Fault SubmitRooted(OpRequest&& request, HcclComm comm, aclrtStream stream) {
  if (ExchangeNow(&request, comm, stream)) return Fault::None();
  Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
  return c.ok() ? SubmitRooted(request, *c, stream) : c.fault();
}

}  // namespace

extern "C" {

HcclResult HcclAllReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType,
                         HcclReduceOp op, HcclComm comm, aclrtStream stream) {
  return Guarded(CallId::HcclAllReduce, comm, [&]() -> Fault {
    if (count == 0) return Fault::None();
    if (!comm) return Null("comm");
    if (!sendBuf) return Null("sendBuf");
    if (!recvBuf) return Null("recvBuf");
    if (!stream) return Null("stream");
    if (Fault f = CheckReductionQuickly(count, "count", RawValue(dataType), RawValue(op))) return f;
    OpRequest r =
        Request(Op::kAllReduce, CallId::HcclAllReduce, RawValue(dataType), count, sendBuf, recvBuf);
    r.reduce_op = static_cast<ReduceOp>(RawValue(op));
    return Submit(std::move(r), comm, stream);
  });
}

HcclResult HcclReduceScatter(void* sendBuf, void* recvBuf, uint64_t recvCount,
                             HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                             aclrtStream stream) {
  return Guarded(CallId::HcclReduceScatter, comm, [&]() -> Fault {
    if (recvCount == 0) return Fault::None();
    if (!stream) return Null("stream");
    if (!comm) return Null("comm");
    if (!sendBuf) return Null("sendBuf");
    if (!recvBuf) return Null("recvBuf");
    if (Fault f = CheckReductionQuickly(recvCount, "recvCount", RawValue(dataType), RawValue(op)))
      return f;
    OpRequest r = Request(Op::kReduceScatter, CallId::HcclReduceScatter, RawValue(dataType),
                          recvCount, sendBuf, recvBuf);
    r.reduce_op = static_cast<ReduceOp>(RawValue(op));
    return Submit(std::move(r), comm, stream);
  });
}

HcclResult HcclAllGather(void* sendBuf, void* recvBuf, uint64_t sendCount, HcclDataType dataType,
                         HcclComm comm, aclrtStream stream) {
  return Guarded(CallId::HcclAllGather, comm, [&]() -> Fault {
    if (sendCount == 0) return Fault::None();
    if (!comm) return Null("comm");
    if (!sendBuf) return Null("sendBuf");
    if (!recvBuf) return Null("recvBuf");
    if (!stream) return Null("stream");
    if (Fault f = CheckCount(sendCount, "sendCount")) return f;
    if (Fault f = CheckMovement(RawValue(dataType))) return f;
    return Submit(Request(Op::kAllGather, CallId::HcclAllGather, RawValue(dataType), sendCount,
                          sendBuf, recvBuf),
                  comm, stream);
  });
}

HcclResult HcclAlltoAll(const void* sendBuf, uint64_t sendCount, HcclDataType sendType,
                        const void* recvBuf, uint64_t recvCount, HcclDataType recvType,
                        HcclComm comm, aclrtStream stream) {
  return Guarded(CallId::HcclAlltoAll, comm, [&]() -> Fault {
    if (sendCount == 0 && recvCount == 0) return Fault::None();
    if (!sendBuf) return Null("sendBuf");
    if (!recvBuf) return Null("recvBuf");
    if (sendCount != recvCount)
      return Fault(FaultKind::kBadValue, {recvCount, sendCount, sendCount}, "recvCount");
    if (RawValue(sendType) != RawValue(recvType)) {
      return Fault(FaultKind::kBadValue,
                   {uint64_t(int64_t{RawValue(recvType)}), uint64_t(int64_t{RawValue(sendType)}),
                    uint64_t(int64_t{RawValue(sendType)})},
                   "recvType");
    }
    if (!stream) return Null("stream");
    if (!comm) return Null("comm");
    if (sendBuf == recvBuf) return NotAllowed("recvBuf equals sendBuf; pass two separate buffers");
    if (Fault f = CheckMovement(RawValue(sendType))) return f;
    return Submit(Request(Op::kAllToAll, CallId::HcclAlltoAll, RawValue(sendType), sendCount,
                          sendBuf, const_cast<void*>(recvBuf)),
                  comm, stream);
  });
}

HcclResult HcclBroadcast(void* buf, uint64_t count, HcclDataType dataType, uint32_t root,
                         HcclComm comm, aclrtStream stream) {
  return Guarded(CallId::HcclBroadcast, comm, [&]() -> Fault {
    if (count == 0) return Fault::None();
    if (!stream) return Null("stream");
    if (!comm) return Null("comm");
    if (!buf) return Null("buf");
    if (Fault f = CheckCount(count, "count")) return f;
    if (Fault f = CheckMovement(RawValue(dataType))) return f;
    OpRequest r =
        Request(Op::kBroadcast, CallId::HcclBroadcast, RawValue(dataType), count, buf, buf);
    r.root = root;
    return SubmitRooted(std::move(r), comm, stream);
  });
}

HcclResult HcclReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType,
                      HcclReduceOp op, uint32_t root, HcclComm comm, aclrtStream stream) {
  return Guarded(CallId::HcclReduce, comm, [&]() -> Fault {
    if (count == 0) return Fault::None();
    if (!comm) return Null("comm");
    if (!sendBuf) return Null("sendBuf");
    if (!recvBuf) return Null("recvBuf");
    if (!stream) return Null("stream");
    if (Fault f = CheckReductionQuickly(count, "count", RawValue(dataType), RawValue(op))) return f;
    OpRequest r =
        Request(Op::kReduce, CallId::HcclReduce, RawValue(dataType), count, sendBuf, recvBuf);
    r.reduce_op = static_cast<ReduceOp>(RawValue(op));
    r.root = root;
    return SubmitRooted(std::move(r), comm, stream);
  });
}

HcclResult HcclScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType,
                       uint32_t root, HcclComm comm, aclrtStream stream) {
  return Guarded(CallId::HcclScatter, comm, [&]() -> Fault {
    if (recvCount == 0) return Fault::None();
    if (!comm) return Null("comm");
    if (!recvBuf) return Null("recvBuf");
    if (!stream) return Null("stream");
    OpRequest r =
        Request(Op::kScatter, CallId::HcclScatter, RawValue(dataType), recvCount, sendBuf, recvBuf);
    r.root = root;
    if (MayMove(RawValue(dataType)) && ExchangeNow(&r, comm, stream)) return Fault::None();
    Result<std::shared_ptr<Communicator>> c = FindCommunicator(comm);
    if (!c.ok()) return c.fault();
    if ((*c)->rank() == root && !sendBuf) return Null("sendBuf");
    if (Fault f = CheckCount(recvCount, "recvCount")) return f;
    if (Fault f = CheckMovement(RawValue(dataType))) return f;
    return SubmitRooted(r, *c, stream);
  });
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
  return Guarded(CallId::HcclBarrier, comm, [&]() -> Fault {
    if (!comm) return Null("comm");
    if (!stream) return Null("stream");
    return Submit(
        Request(Op::kBarrier, CallId::HcclBarrier, HCCL_DATA_TYPE_FP32, 0, nullptr, nullptr), comm,
        stream);
  });
}

}  // extern "C"
