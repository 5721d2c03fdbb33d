#pragma once
// Element types, reductions and operations of HCCL as plain enumerations, and the facts about them
// that need no communicator: sizes, names, which combinations are defined, and how many bytes an
// operation reads and writes.

#include <cstddef>
#include <cstdint>

namespace hcclrun {

// The numbers are HCCL's. A value that arrives through the C API may be cast once it is known to
// fit into a byte; one that is not listed is "unknown" to every function below.
enum class DataType : uint8_t {
  kInt8 = 0,
  kInt16 = 1,
  kInt32 = 2,
  kFp16 = 3,
  kFp32 = 4,
  kInt64 = 5,
  kUint64 = 6,
  kUint8 = 7,
  kUint16 = 8,
  kUint32 = 9,
  kFp64 = 10,
  kBf16 = 11,
  kInt128 = 12,
  kHif8 = 14,
  kFp8E4M3 = 15,
  kFp8E5M2 = 16,
  kFp8E8M0 = 17,
};

enum class ReduceOp : uint8_t { kSum = 0, kProd = 1, kMax = 2, kMin = 3 };

// What a sum or product of fp16 or bf16 is held in from one step to the next (semantics C.4).
enum class Accumulator : uint8_t { kElementType, kFp32 };

enum class Op : uint8_t {
  kAllGather,
  kReduceScatter,
  kAllReduce,
  kAllToAll,
  kBroadcast,
  kReduce,
  kScatter,
  kBarrier,
  kAllGatherV,
  kReduceScatterV,
  kAllToAllV,
  kAllToAllVC,
  kSend,
  kRecv,
  kBatchSendRecv,
};

// How the bytes travel: straight between the users' buffers, or through the HCCL buffers.
enum class Path : uint8_t { kWindow, kBuffered };

// Bytes of one element; 0 if the type is unknown.
uint32_t ElementSize(DataType type);

// Names as HCCL users write them ("fp16", "sum", "AlltoAll"); "unknown" for any other value.
const char* Name(DataType type);
const char* Name(ReduceOp op);
const char* Name(Op op);
const char* Name(Path path);

// Whether the combination is defined (semantics C.4). ReduceScatterV is narrower; its caller
// excludes the rest.
bool ReductionSupported(DataType type, ReduceOp op);

// Whether operations that only move data accept the type (semantics C.4).
bool MovementSupported(DataType type);

// Whether a reduction may take the window path (semantics A.10 item 2): what the hardware's copy
// engine can reduce.
bool WindowReduction(DataType type, ReduceOp op);

bool IsReduction(Op op);

// The operations that work in symmetric windows (semantics A.10 item 1).
constexpr bool UsesWindows(Op op) {
  return op == Op::kAllGather || op == Op::kReduceScatter || op == Op::kAllReduce ||
         op == Op::kAllToAll;
}

// Operations described by arrays of counts.
constexpr bool IsVOperation(Op op) {
  return op == Op::kAllGatherV || op == Op::kReduceScatterV || op == Op::kAllToAllV ||
         op == Op::kAllToAllVC;
}

// Those of them with a length for every pair of ranks.
constexpr bool IsPairwiseV(Op op) { return op == Op::kAllToAllV || op == Op::kAllToAllVC; }

struct ExtentBytes {
  uint64_t in_bytes;
  uint64_t out_bytes;
};

// Bytes which rank `rank` of `ranks` passes in and gets out (semantics C.2), `count` in the unit of
// the operation and `elem` bytes per element. A size that does not fit into 64 bits is UINT64_MAX,
// which no range can satisfy. Buffers that the rank does not read or write have extent 0: the input
// of all but the root for Broadcast and Scatter, the output of all but the root for Reduce. Send
// has an input, Recv an output. Barrier has no extent, operations described by
// arrays of counts have none here (collective/v_layout.h).
ExtentBytes Extents(Op op, uint64_t count, uint32_t elem, uint32_t ranks, uint32_t rank,
                    uint32_t root);

}  // namespace hcclrun
