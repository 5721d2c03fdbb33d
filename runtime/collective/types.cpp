#include "collective/types.h"

namespace hcclrun {
namespace {

uint64_t SaturatingProduct(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

}  // namespace

uint32_t ElementSize(DataType type) {
  switch (type) {
    case DataType::kInt8:
    case DataType::kUint8:
    case DataType::kHif8:
    case DataType::kFp8E4M3:
    case DataType::kFp8E5M2:
    case DataType::kFp8E8M0:
      return 1;
    case DataType::kInt16:
    case DataType::kUint16:
    case DataType::kFp16:
    case DataType::kBf16:
      return 2;
    case DataType::kInt32:
    case DataType::kUint32:
    case DataType::kFp32:
      return 4;
    case DataType::kInt64:
    case DataType::kUint64:
    case DataType::kFp64:
      return 8;
    case DataType::kInt128:
      return 16;
  }
  return 0;
}

const char* Name(DataType type) {
  switch (type) {
    case DataType::kInt8:
      return "int8";
    case DataType::kInt16:
      return "int16";
    case DataType::kInt32:
      return "int32";
    case DataType::kFp16:
      return "fp16";
    case DataType::kFp32:
      return "fp32";
    case DataType::kInt64:
      return "int64";
    case DataType::kUint64:
      return "uint64";
    case DataType::kUint8:
      return "uint8";
    case DataType::kUint16:
      return "uint16";
    case DataType::kUint32:
      return "uint32";
    case DataType::kFp64:
      return "fp64";
    case DataType::kBf16:
      return "bfp16";
    case DataType::kInt128:
      return "int128";
    case DataType::kHif8:
      return "hif8";
    case DataType::kFp8E4M3:
      return "fp8e4m3";
    case DataType::kFp8E5M2:
      return "fp8e5m2";
    case DataType::kFp8E8M0:
      return "fp8e8m0";
  }
  return "unknown";
}

const char* Name(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return "sum";
    case ReduceOp::kProd:
      return "prod";
    case ReduceOp::kMax:
      return "max";
    case ReduceOp::kMin:
      return "min";
  }
  return "unknown";
}

const char* Name(Op op) {
  switch (op) {
    case Op::kAllGather:
      return "AllGather";
    case Op::kReduceScatter:
      return "ReduceScatter";
    case Op::kAllReduce:
      return "AllReduce";
    case Op::kAllToAll:
      return "AlltoAll";
    case Op::kBroadcast:
      return "Broadcast";
    case Op::kReduce:
      return "Reduce";
    case Op::kScatter:
      return "Scatter";
    case Op::kBarrier:
      return "Barrier";
    case Op::kAllGatherV:
      return "AllGatherV";
    case Op::kReduceScatterV:
      return "ReduceScatterV";
    case Op::kAllToAllV:
      return "AlltoAllV";
    case Op::kAllToAllVC:
      return "AlltoAllVC";
    case Op::kSend:
      return "Send";
    case Op::kRecv:
      return "Recv";
    case Op::kBatchSendRecv:
      return "BatchSendRecv";
  }
  return "unknown";
}

const char* Name(Path path) {
  switch (path) {
    case Path::kWindow:
      return "window";
    case Path::kBuffered:
      return "buffered";
  }
  return "unknown";
}

bool ReductionSupported(DataType type, ReduceOp op) {
  if (op > ReduceOp::kMin) return false;
  switch (type) {
    case DataType::kInt8:
    case DataType::kInt32:
    case DataType::kFp16:
    case DataType::kFp32:
    case DataType::kInt64:
      return true;
    case DataType::kInt16:
    case DataType::kBf16:
      return op != ReduceOp::kProd;
    default:
      return false;
  }
}

bool MovementSupported(DataType type) {
  switch (type) {
    case DataType::kInt8:
    case DataType::kInt16:
    case DataType::kInt32:
    case DataType::kFp16:
    case DataType::kFp32:
    case DataType::kInt64:
    case DataType::kUint64:
    case DataType::kUint8:
    case DataType::kUint16:
    case DataType::kUint32:
    case DataType::kFp64:
    case DataType::kBf16:
      return true;
    default:
      return false;
  }
}

bool WindowReduction(DataType type, ReduceOp op) {
  return ReductionSupported(type, op) && type != DataType::kInt64 && op != ReduceOp::kProd;
}

bool IsReduction(Op op) {
  return op == Op::kAllReduce || op == Op::kReduceScatter || op == Op::kReduce ||
         op == Op::kReduceScatterV;
}

ExtentBytes Extents(Op op, uint64_t count, uint32_t elem, uint32_t ranks, uint32_t rank,
                    uint32_t root) {
  const uint64_t block = SaturatingProduct(count, elem);
  const uint64_t all = SaturatingProduct(block, ranks);
  const bool is_root = rank == root;
  switch (op) {
    case Op::kAllGather:
      return {block, all};
    case Op::kReduceScatter:
      return {all, block};
    case Op::kAllReduce:
      return {block, block};
    case Op::kAllToAll:
      return {all, all};
    case Op::kBroadcast:
      return {is_root ? block : 0, block};
    case Op::kReduce:
      return {block, is_root ? block : 0};
    case Op::kScatter:
      return {is_root ? all : 0, block};
    case Op::kSend:
      return {block, 0};
    case Op::kRecv:
      return {0, block};
    case Op::kBarrier:
    case Op::kAllGatherV:
    case Op::kReduceScatterV:
    case Op::kAllToAllV:
    case Op::kAllToAllVC:
    case Op::kBatchSendRecv:
      break;
  }
  return {0, 0};
}

}  // namespace hcclrun
